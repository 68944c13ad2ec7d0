//! How a command ends: the one place where a refusal becomes an exit code and a hint.

use super::reach::Way;
use contract::{Code, StudioError};
use std::process::ExitCode;

/// Exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// It could not be done, though nothing was wrong with the request.
    Failed = 1,
    /// The command or what it was given has the wrong form.
    Usage = 2,
    /// A person has to approve first.
    Waiting = 3,
    /// A rule forbids it.
    Refused = 4,
    /// What was named is not there.
    NotFound = 5,
    /// Something else was faster, or stands in the way.
    Conflict = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The engine, or the program in its place, refused.
    Studio(StudioError),
    /// Output could not be written. A closed pipe is one of these and no error at all.
    Output(std::io::Error),
}

impl From<StudioError> for Failure {
    fn from(error: StudioError) -> Self {
        Self::Studio(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

/// What a command returns.
pub type Outcome = Result<Exit, Failure>;

/// A fault of the command line that clap cannot see.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Studio(StudioError::invalid_request(message))
}

/// The exit code of a refusal.
pub fn exit_of(error: &StudioError) -> Exit {
    match error.code {
        // These answer with the status of another case, so as not to tell more than they must.
        Code::StudioDisabled | Code::ToolingNotPermitted | Code::BotClassNotAllowed | Code::TenantRequired => {
            Exit::Refused
        }
        Code::KeySourceUnavailable | Code::ReloadFailed => Exit::Failed,
        _ => match error.status {
            400 | 405 | 413 | 415 | 422 => Exit::Usage,
            401 | 403 => Exit::Refused,
            404 => Exit::NotFound,
            409 | 410 => Exit::Conflict,
            _ => Exit::Failed,
        },
    }
}

/// What a person could do next on this command line, where the message itself cannot know.
pub fn hint(error: &StudioError, way: &Way) -> Option<String> {
    let command = |rest: &str| way.command(rest);
    Some(match error.code {
        Code::VersionConflict => {
            format!("read it again with {}, then use the new --expected-version", command("agents show NAME"))
        }
        Code::VaultUnavailable if way.is_server() => {
            "where the server runs, `astudio doctor` says where its master key should be".into()
        }
        Code::VaultUnavailable => format!("{} says where its master key should be", command("doctor")),
        Code::KeySourceUnavailable if way.is_server() => format!(
            "store a key with {}, or let whoever runs the server set the provider's variable there",
            command("keys set PROVIDER")
        ),
        Code::KeySourceUnavailable => format!(
            "store a key with {}, or set the provider's variable; {} lists them",
            command("keys set PROVIDER"),
            command("doctor")
        ),
        Code::KeySourceRequired => "say which key pays with --key-source server or --key-source byok".into(),
        Code::Unauthorized if way.is_server() => {
            "your token says who you are: look at --token, the profile or ASTUDIO_TOKEN, in this order".into()
        }
        Code::Unauthorized => {
            format!("{} says who you are, and --as USER@TENANT speaks for another", command("doctor"))
        }
        Code::TurnOpen => {
            format!("{} takes the open turn up again; another --session starts afresh", command("ask --resume SESSION"))
        }
        Code::ConfirmationRequired => format!("let an agent call it: {} asks for approval", command("ask AGENT …")),
        Code::ApprovalExpired => format!("{} asks again", command("approvals reask ID")),
        Code::AlreadyDecided => format!("{} says who decided what", command("approvals show ID")),
        Code::RouteNotFound => "`astudio api` lists the operations".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_refusal_has_an_exit_code_that_is_no_success() {
        for meta in contract::ops::ALL {
            for (code, status) in meta.refusals {
                let exit = exit_of(&StudioError::new(*code, *status, "x"));
                assert_ne!(exit, Exit::Done, "{} {code}", meta.id);
                assert_ne!(exit, Exit::Waiting, "{} {code}", meta.id);
            }
        }
    }

    #[test]
    fn the_codes_people_script_against() {
        let exit = |code, status| exit_of(&StudioError::new(code, status, "x"));
        assert_eq!(exit(Code::NotFound, 404), Exit::NotFound);
        assert_eq!(exit(Code::StudioDisabled, 404), Exit::Refused);
        assert_eq!(exit(Code::VersionConflict, 409), Exit::Conflict);
        assert_eq!(exit(Code::ApprovalExpired, 410), Exit::Conflict);
        assert_eq!(exit(Code::AuthoringDenied, 403), Exit::Refused);
        assert_eq!(exit(Code::ToolingNotPermitted, 422), Exit::Refused);
        assert_eq!(exit(Code::InvalidConfig, 422), Exit::Usage);
        assert_eq!(exit(Code::StudioStorageUnavailable, 503), Exit::Failed);
        assert_eq!(exit(Code::QueryFailed, 502), Exit::Failed);
    }

    #[test]
    fn hints_lead_where_the_command_went() {
        let said = |code, way: &Way| hint(&StudioError::new(code, 400, "x"), way).unwrap_or_default();
        let server = Way::served("astudio --server http://h");
        assert!(said(Code::AlreadyDecided, &server).starts_with("`astudio --server http://h approvals show ID` "));
        for code in [Code::Unauthorized, Code::VaultUnavailable, Code::KeySourceUnavailable, Code::TurnOpen] {
            let said = said(code, &server);
            assert!(!said.contains("home") && !said.contains("--as"), "{said}");
        }
        assert!(said(Code::Unauthorized, &Way::default()).starts_with("`astudio doctor` says"));
        assert!(said(Code::TurnOpen, &Way::typed(true)).starts_with("`ask --resume SESSION` takes"));
    }
}
