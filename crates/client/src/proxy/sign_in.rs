//! Who speaks: the token that goes with each request, given or signed in for.

use contract::{Code, Result, StudioError};
use reqwest::Url;
use serde_json::{Value, json};
use text::Secret;
use tokio::sync::Mutex;

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
        password: Secret,
    },
}

/// Names under which servers hand out a token.
const NAMES: [&str; 5] = ["token", "access_token", "accessToken", "jwt", "id_token"];

/// The credential in use.
#[derive(Debug)]
pub(super) struct SignIn {
    credential: Credential,
    /// The token of a login; none before the first.
    fresh: Mutex<Option<Secret>>,
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
        let sign_in = Self { credential, fresh: Mutex::new(None) };
        sign_in.login().transpose()?;
        Ok(sign_in)
    }

    /// The login that gives a token, if there is one.
    fn login(&self) -> Option<Result<Login>> {
        let Credential::Login { url, user, password } = &self.credential else { return None };
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        Some(match url {
            Some(url) => Ok(Login { url, body: json!({ "username": user, "password": password.expose() }) }),
            None => Err(StudioError::new(
                Code::InvalidConfig,
                422,
                "The profile's `login_url` must start with http:// or https:// and name a host.",
            )),
        })
    }

    /// The token to send. `send` signs in where that is needed; requests at the same time wait for one of them. A token that
    /// the server has refused is not used again.
    ///
    /// # Errors
    /// The login was refused, or could not be sent.
    pub async fn token(
        &self,
        refused: Option<&Secret>,
        send: impl AsyncFnOnce(Login) -> Result<Value>,
    ) -> Result<Option<Secret>> {
        let login = match &self.credential {
            Credential::Nobody => return Ok(None),
            Credential::Token(token) => return Ok(Some(token.clone())),
            Credential::Login { .. } => self.login(),
        };
        let mut fresh = self.fresh.lock().await;
        let stands = |token: &&Secret| refused.is_none_or(|refused| refused.expose() != token.expose());
        if let Some(token) = fresh.as_ref().filter(stands) {
            return Ok(Some(token.clone()));
        }
        let Some(login) = login.transpose()? else { return Ok(None) };
        *fresh = None;
        let token = found(&send(login).await?).ok_or_else(|| {
            StudioError::new(Code::Unauthorized, 401, "The sign-in was answered without a token. Check `login_url`.")
        })?;
        *fresh = Some(token.clone());
        Ok(Some(token))
    }

    /// Whether another token can be had when one is refused.
    pub fn can_renew(&self) -> bool {
        matches!(self.credential, Credential::Login { .. })
    }
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
            let password = Secret::new("geheim".into());
            let error = SignIn::new(Credential::Login { url: url.into(), user: "u".into(), password }).unwrap_err();
            assert!(error.message.contains("login_url") && !error.message.contains("geheim"), "{error}");
        }
    }
}
