//! Profiles: named ways to a home or to a server, and what comes of one together with the flags.

use super::builder::variable;
use client::{Credential, Pace, Password, Server};
use contract::{Code, Result, StudioError};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use text::Secret;

/// A named way to a home or to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSettings {
    /// The server's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Where it answers below that; may hold `{tenant}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The tenant: of the prefix, or of `user` in a home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The environment variable that holds the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The file that holds the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Where user and password are sent for a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_url: Option<String>,
    /// The user who signs in, or for whom to speak in a home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The environment variable that holds the password; without it the terminal is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// A home on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
}

/// What the command line and the environment say about where to go.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// A server's address.
    pub server: Option<String>,
    /// A token for it.
    pub token: Option<Secret>,
    /// Whether the token was typed, and does not only stand in the environment. Typed, it wins over the profile's credential;
    /// one that stands there may be another server's, and is for profiles that have none.
    pub token_typed: bool,
    /// Whether a home is named.
    pub home: bool,
    /// Whom to speak for in a home.
    pub speak_as: Option<String>,
}

/// Where the program goes.
#[derive(Debug)]
pub enum Whither {
    /// Into a home on this machine.
    Home {
        /// Which, when a profile names one.
        home: Option<PathBuf>,
        /// Whom to speak for.
        speak_as: Option<String>,
    },
    /// To a server.
    Server(Box<Server>),
}

impl ProfileSettings {
    /// What a single field cannot know.
    pub(super) fn check(&self) -> std::result::Result<(), &'static str> {
        let server_only = [
            (self.token_env.is_some(), "`token_env`"),
            (self.token_file.is_some(), "`token_file`"),
            (self.login_url.is_some(), "`login_url`"),
            (self.password_env.is_some(), "`password_env`"),
            (self.prefix.is_some(), "`prefix`"),
        ];
        match (&self.server, &self.home) {
            (Some(_), Some(_)) => return Err("it names a `server` and a `home`; name one"),
            (None, _) if server_only.iter().any(|(is, _)| *is) => {
                return Err("a token, a login and a `prefix` need a `server`");
            }
            _ => {}
        }
        if [self.token_env.is_some(), self.token_file.is_some(), self.login_url.is_some()]
            .iter()
            .filter(|x| **x)
            .count()
            > 1
        {
            return Err("name one of `token_env`, `token_file` and `login_url`");
        }
        if self.login_url.is_some() != (self.server.is_some() && self.user.is_some()) {
            return Err("on a server, `login_url` and `user` belong together; a token knows its user");
        }
        if self.password_env.is_some() && self.login_url.is_none() {
            return Err("`password_env` needs a `login_url`");
        }
        if self.server.is_none() && self.tenant.is_some() && self.user.is_none() {
            return Err("`tenant` needs a `user` in a home");
        }
        Ok(())
    }

    fn credential(&self, ask: fn(&str) -> Result<Secret>) -> Result<Credential> {
        if let (Some(url), Some(user)) = (&self.login_url, &self.user) {
            let password = match &self.password_env {
                Some(name) => Password::Known(variable(name).map(Secret::new).ok_or_else(|| unset(name))?),
                None => Password::Asked(ask),
            };
            return Ok(Credential::Login { url: url.clone(), user: user.clone(), password });
        }
        if let Some(name) = &self.token_env {
            return variable(name).map(token_of).ok_or_else(|| unset(name))?;
        }
        if let Some(file) = &self.token_file {
            let text = std::fs::read_to_string(file).map_err(|e| {
                invalid(format!("The file {} of the profile's token cannot be read ({}).", file.display(), e.kind()))
            })?;
            return token_of(text);
        }
        Ok(Credential::Nobody)
    }
}

fn token_of(text: String) -> Result<Credential> {
    let token = text.trim();
    if token.is_empty() {
        Err(invalid("The token is empty."))
    } else {
        Ok(Credential::Token(Secret::new(token.into())))
    }
}

/// Puts flags and profile together. `ask` reads the password of this user from the terminal; it is called when a request
/// needs it.
///
/// # Errors
/// What contradicts, or is not there.
pub fn whither(
    wanted: Wanted,
    profile: Option<(&str, &ProfileSettings)>,
    patience: Duration,
    ask: fn(&str) -> Result<Secret>,
) -> Result<Whither> {
    let Wanted { server, token, token_typed, home, speak_as } = wanted;
    let none = ProfileSettings::default();
    let (name, profile) = profile.unwrap_or(("", &none));
    if server.is_some() && !name.is_empty() {
        // Its token must not reach another server than the profile's.
        return Err(invalid(format!(
            "Both a server and the profile {name} are named. Name one of them: with --server or ASTUDIO_SERVER, or with \
             --profile or ASTUDIO_PROFILE."
        )));
    }
    let Some(url) = server.or_else(|| profile.server.clone()) else {
        // A variable may stand there for other calls; with nothing that says where to go it is taken for a forgotten server.
        if token.is_some() && (token_typed || !home && profile.home.is_none()) {
            return Err(StudioError::invalid_request(
                "A token is for a server, and none is named. Name it with --server, ASTUDIO_SERVER or --profile; for a home leave \
                 out --token and unset ASTUDIO_TOKEN, or name the home with --home or ASTUDIO_HOME.",
            ));
        }
        let own = profile.user.as_ref().map(|user| match &profile.tenant {
            Some(tenant) => format!("{user}@{tenant}"),
            None => user.clone(),
        });
        return Ok(Whither::Home { home: profile.home.clone(), speak_as: speak_as.or(own) });
    };
    if speak_as.is_some() {
        return Err(StudioError::invalid_request(
            "A server knows who you are by your token; --as and ASTUDIO_AS speak for users of a home. Use another token or \
             --profile.",
        ));
    }
    let own = profile.token_env.is_some() || profile.token_file.is_some() || profile.login_url.is_some();
    let token = token.filter(|_| token_typed || !own);
    let credential = token.map_or_else(|| profile.credential(ask), |token| Ok(Credential::Token(token)))?;
    Ok(Whither::Server(Box::new(Server {
        prefix: profile.prefix.clone(),
        tenant: profile.tenant.clone(),
        pace: Pace { patience, ..Pace::default() },
        ..Server::new(url, credential)
    })))
}

fn unset(name: &str) -> StudioError {
    invalid(format!("The variable {name}, which the profile names, is not set."))
}

fn invalid(message: impl Into<String>) -> StudioError {
    StudioError::new(Code::InvalidConfig, 422, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::app::Settings;

    fn go(wanted: Wanted, profile: &ProfileSettings) -> Result<Whither> {
        let named = (*profile != ProfileSettings::default()).then_some(("p", profile));
        whither(wanted, named, Duration::from_secs(1), |_| panic!("nothing was sent yet"))
    }

    fn server(to: Whither) -> Server {
        match to {
            Whither::Server(server) => *server,
            Whither::Home { .. } => panic!("a home"),
        }
    }

    #[test]
    fn without_a_server_it_is_a_home() {
        let wanted = Wanted { speak_as: Some("vic".into()), ..Wanted::default() };
        let profile =
            ProfileSettings { user: Some("ann".into()), tenant: Some("acme".into()), ..ProfileSettings::default() };
        let of = |to| match to {
            Whither::Home { home, speak_as } => (home, speak_as),
            Whither::Server(_) => panic!("a server"),
        };
        assert_eq!(of(go(wanted, &profile).unwrap()), (None, Some("vic".into())), "flags win");
        let profile = ProfileSettings { home: Some("/h".into()), ..profile };
        assert_eq!(of(go(Wanted::default(), &profile).unwrap()), (Some("/h".into()), Some("ann@acme".into())));
    }

    fn token(text: &str) -> Option<Secret> {
        Some(Secret::new(text.into()))
    }

    #[test]
    fn a_token_needs_a_server() {
        let typed = Wanted { token: token("t"), token_typed: true, home: true, ..Wanted::default() };
        let ambient = Wanted { token_typed: false, home: false, ..typed.clone() };
        let at_home = ProfileSettings { home: Some("/h".into()), ..ProfileSettings::default() };
        for (wanted, profile) in
            [(&typed, &at_home), (&typed, &ProfileSettings::default()), (&ambient, &Default::default())]
        {
            let error = go(wanted.clone(), profile).unwrap_err();
            assert!(error.code == Code::InvalidRequest && error.message.contains("--server"), "{error}");
        }
        // A variable that is there for other calls does not keep anybody from a home that is named.
        assert!(matches!(go(ambient.clone(), &at_home), Ok(Whither::Home { .. })));
        let named = Wanted { home: true, ..ambient };
        assert!(matches!(go(named, &ProfileSettings::default()), Ok(Whither::Home { .. })));
    }

    #[test]
    fn what_is_said_wins_over_the_profile_and_a_profile_keeps_its_credential_to_its_server() {
        let elsewhere = Wanted { server: Some("http://a".into()), token: token("flag"), ..Wanted::default() };
        let to = server(go(elsewhere.clone(), &ProfileSettings::default()).unwrap());
        assert!(matches!(to.credential, Credential::Token(token) if token.expose() == "flag"));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "filed\n").unwrap();
        let filed =
            ProfileSettings { server: Some("http://b".into()), token_file: Some(file), ..ProfileSettings::default() };
        assert!(go(elsewhere.clone(), &filed).unwrap_err().message.contains("profile p"));
        let login = ProfileSettings {
            login_url: Some("http://b/login".into()),
            user: Some("ann".into()),
            token_file: None,
            ..filed.clone()
        };
        let unset = ProfileSettings { password_env: Some("ASTUDIO_TEST_NOT_SET".into()), ..login.clone() };
        let no_variable =
            ProfileSettings { token_env: Some("ASTUDIO_TEST_NOT_SET".into()), token_file: None, ..filed.clone() };
        let missing = ProfileSettings { token_file: Some("/nowhere/token".into()), ..filed.clone() };
        for profile in [&filed, &login, &unset, &no_variable, &missing] {
            let typed = Wanted { server: None, token_typed: true, ..elsewhere.clone() };
            let to = server(go(typed, profile).unwrap());
            assert_eq!(to.url, "http://b");
            assert!(matches!(to.credential, Credential::Token(token) if token.expose() == "flag"), "{profile:?}");
        }
        // A token that stands in the environment may be another server's.
        let ambient = Wanted { server: None, ..elsewhere };
        let open = ProfileSettings { token_file: None, ..filed.clone() };
        let to = server(go(ambient.clone(), &open).unwrap());
        assert!(matches!(to.credential, Credential::Token(token) if token.expose() == "flag"));
        let to = server(go(ambient.clone(), &login).unwrap());
        assert!(matches!(to.credential, Credential::Login { .. }));
        assert!(go(ambient.clone(), &missing).is_err());
        let to = server(go(ambient, &filed).unwrap());
        assert!(matches!(to.credential, Credential::Token(token) if token.expose() == "filed"));
        let to = server(go(Wanted::default(), &login).unwrap());
        assert!(matches!(to.credential, Credential::Login { password: Password::Asked(_), .. }));
        for profile in [&unset, &no_variable] {
            let error = go(Wanted::default(), profile).unwrap_err();
            assert!(error.message.contains("ASTUDIO_TEST_NOT_SET"), "{error}");
        }
    }

    #[test]
    fn nobody_speaks_for_others_on_a_server() {
        let wanted = Wanted { server: Some("http://a".into()), speak_as: Some("vic".into()), ..Wanted::default() };
        assert_eq!(go(wanted, &ProfileSettings::default()).unwrap_err().code, Code::InvalidRequest);
    }

    fn load(text: &str) -> Result<Settings> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        Settings::load(Some(&file), std::iter::empty(), &[])
    }

    #[test]
    fn profiles_are_checked() {
        let good = "[profiles.a]\nserver = 'https://h'\ntoken_env = 'T'\n[profiles.b]\nhome = '/h'\nuser = 'ann'\ntenant = 'acme'\n\
                    [profiles.c]\nserver = 'https://h'\nprefix = '/{tenant}'\ntenant = 'x'\nlogin_url = 'https://h/l'\nuser = 'u'\n";
        assert_eq!(load(good).unwrap().profiles.len(), 3);
        for bad in [
            "server = 'https://h'\nhome = '/h'",
            "token_env = 'T'",
            "server = 'https://h'\ntoken_env = 'T'\ntoken_file = '/t'",
            "server = 'https://h'\nlogin_url = 'https://h/l'",
            "server = 'https://h'\nuser = 'ann'",
            "server = 'https://h'\npassword_env = 'P'",
            "home = '/h'\ntenant = 'acme'",
            "server = 'https://h'\ntoken = 'secret'",
        ] {
            let error = load(&format!("[profiles.x]\n{bad}\n")).unwrap_err();
            assert!(!error.message.contains("secret'") && error.code == Code::InvalidConfig, "{bad}: {error}");
        }
    }
}
