//! Who speaks: the token that goes with each request, given or signed in for.

use super::joint::Joint;
use contract::{Code, Result, StudioError};
use reqwest::Url;
use serde_json::{Value, json};
use std::time::Duration;
use text::Secret;
use tokio::sync::OnceCell;

/// What a proxy signs in with.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Nothing; only what is open to everybody will answer.
    Nobody,
    /// A token.
    Token(Secret),
    /// A user and a password, sent as JSON to an address that answers with a token.
    Login {
        /// The address.
        url: String,
        /// The user.
        user: String,
        /// The password.
        password: Password,
    },
}

/// Where the password of a login comes from.
#[derive(Clone, Debug)]
pub enum Password {
    /// It is known.
    Known(Secret),
    /// A person is asked for that of this user, once, when the first request needs it. The call may block.
    Asked(fn(&str) -> Result<Secret>),
}

/// Names under which servers hand out a token.
const NAMES: [&str; 5] = ["token", "access_token", "accessToken", "jwt", "id_token"];

/// The credential in use.
#[derive(Debug)]
pub(super) struct SignIn {
    credential: Credential,
    /// The password that a person said.
    said: OnceCell<Secret>,
    /// The token of a login.
    fresh: Joint<Secret>,
}

/// A login as it is sent.
pub(super) struct Login {
    /// Where.
    pub url: Url,
    /// What.
    pub body: Value,
}

impl SignIn {
    /// With this credential.
    ///
    /// # Errors
    /// The address of the login is none.
    pub fn new(credential: Credential) -> Result<Self> {
        if let Credential::Login { url, .. } = &credential {
            address(url)?;
        }
        Ok(Self { credential, said: OnceCell::new(), fresh: Joint::new() })
    }

    /// Asks for the password now, if a person is to be asked for one and was not. Later there may be no terminal for it.
    ///
    /// # Errors
    /// Nobody can be asked.
    pub async fn ask_password(&self) -> Result<()> {
        if let Credential::Login { user, password, .. } = &self.credential {
            self.password(user, password).await?;
        }
        Ok(())
    }

    async fn password<'a>(&'a self, user: &str, password: &'a Password) -> Result<&'a Secret> {
        let ask = match password {
            Password::Known(password) => return Ok(password),
            Password::Asked(ask) => *ask,
        };
        let user = user.to_owned();
        // People type slowly.
        let asking = || async move {
            tokio::task::spawn_blocking(move || ask(&user)).await.map_err(|_| StudioError::internal())?
        };
        self.said.get_or_try_init(asking).await
    }

    /// The token to send. `send` signs in where that is needed, in the time that is left of the patience; requests at the same
    /// time wait for one of them. A token that the server has refused is not used again, and neither is a login: the same
    /// words would be refused again, and a server may close the account of somebody who says the wrong ones often.
    ///
    /// # Errors
    /// The login was refused, or could not be sent.
    pub async fn token(
        &self,
        refused: Option<&Secret>,
        patience: Duration,
        send: impl AsyncFnOnce(Login, Duration) -> Result<Value>,
    ) -> Result<Option<Secret>> {
        let (url, user, password) = match &self.credential {
            Credential::Nobody => return Ok(None),
            Credential::Token(token) => return Ok(Some(token.clone())),
            Credential::Login { url, user, password } => (url, user, password),
        };
        let stands = |token: &Secret| refused.is_none_or(|refused| refused.expose() != token.expose());
        let sign_in = async |left| {
            let password = self.password(user, password).await?;
            let login = Login { url: address(url)?, body: json!({ "username": user, "password": password.expose() }) };
            found(&send(login, left).await?).ok_or_else(|| {
                let message = "The sign-in was answered without a token. Check `login_url`.";
                StudioError::new(Code::Unauthorized, 401, message)
            })
        };
        self.fresh.get(patience, stands, refuses, sign_in).await.map(Some)
    }

    /// Whether another token can be had when one is refused.
    pub fn can_renew(&self) -> bool {
        matches!(self.credential, Credential::Login { .. })
    }
}

/// The address of a login.
fn address(url: &str) -> Result<Url> {
    Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()).ok_or_else(|| {
        let message = "The profile's `login_url` must start with http:// or https:// and name a host.";
        StudioError::new(Code::InvalidConfig, 422, message)
    })
}

/// Whether a login that failed so fails so every time.
fn refuses(error: &StudioError) -> bool {
    matches!(error.code, Code::Unauthorized | Code::InvalidConfig)
}

/// The token in the answer of a login, at its top or one level down.
fn found(answer: &Value) -> Option<Secret> {
    let here = |value: &Value| {
        NAMES.iter().find_map(|name| value[*name].as_str()).filter(|t| !t.is_empty()).map(|t| Secret::new(t.to_owned()))
    };
    here(answer).or_else(|| answer.as_object()?.values().find_map(here))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tokens_under_their_usual_names() {
        for answer in [
            json!({ "token": "t" }),
            json!({ "token_type": "bearer", "access_token": "t" }),
            json!({ "data": { "jwt": "t" } }),
        ] {
            assert_eq!(found(&answer).unwrap().expose(), "t", "{answer}");
        }
        for answer in [json!({}), json!({ "token": "" }), json!([{ "a": 1 }]), json!("t"), json!({ "token": 7 })] {
            assert!(found(&answer).is_none(), "{answer}");
        }
    }

    #[test]
    fn a_login_needs_an_address() {
        for url in ["", "h/login", "ftp://h"] {
            let password = Password::Known(Secret::new("geheim".into()));
            let error = SignIn::new(Credential::Login { url: url.into(), user: "u".into(), password }).unwrap_err();
            assert!(error.message.contains("login_url") && !error.message.contains("geheim"), "{error}");
        }
    }
}
