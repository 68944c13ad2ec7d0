//! How a command ends: the one place where a refusal becomes an exit code and a hint.

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
pub fn hint(error: &StudioError) -> Option<&'static str> {
    Some(match error.code {
        Code::VersionConflict => "read it again with `astudio agents show NAME`, then use the new --expected-version",
        Code::VaultUnavailable => "where the home is, `astudio doctor` says where its master key should be",
        Code::KeySourceUnavailable => {
            "store a key with `astudio keys set PROVIDER`, or set the provider's variable where the home is; there `astudio doctor` lists them"
        }
        Code::KeySourceRequired => "say which key pays with --key-source server or --key-source byok",
        Code::Unauthorized => {
            "in a home `astudio doctor` says who you are, and --as USER@TENANT speaks for another; on a server your token does: ASTUDIO_TOKEN or --profile"
        }
        Code::TurnOpen => {
            "`astudio ask --resume SESSION` takes the open turn up again; another --session starts afresh"
        }
        Code::ConfirmationRequired => "let an agent call it: `astudio ask AGENT …` asks for approval",
        Code::ApprovalExpired => "`astudio approvals reask ID` asks again",
        Code::AlreadyDecided => "`astudio approvals show ID` says who decided what",
        Code::RouteNotFound => "`astudio api` lists the operations",
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
}
