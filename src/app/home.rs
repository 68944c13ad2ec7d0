//! Where the home and the settings file are.

use contract::{Code, Result, StudioError};
use directories::ProjectDirs;
use std::path::PathBuf;

/// The folders of this program on this machine.
#[derive(Clone, Debug)]
pub struct Places {
    /// The home: database, keys, scripts.
    pub home: PathBuf,
    /// The settings file, if there is one.
    pub config: Option<PathBuf>,
}

impl Places {
    /// Finds them: the home that was named, else the platform's folder for data; the settings file that was named, else
    /// `config.toml` in the home, else in the platform's folder for settings.
    ///
    /// # Errors
    /// The platform has no folder for this user and none was named, or a named file is not there.
    pub fn find(home: Option<PathBuf>, config: Option<PathBuf>) -> Result<Self> {
        let dirs = ProjectDirs::from("", "", "astudio");
        let Some(home) = home.or_else(|| dirs.as_ref().map(|d| d.data_dir().to_owned())) else {
            return Err(invalid("This user has no home folder. Name a folder with --home or ASTUDIO_HOME."));
        };
        let config = match config {
            Some(file) if file.is_file() => Some(file),
            Some(file) => {
                return Err(invalid(&format!(
                    "There is no settings file {}. Check --config or ASTUDIO_CONFIG.",
                    file.display()
                )));
            }
            None => std::iter::once(home.clone())
                .chain(dirs.map(|d| d.config_dir().to_owned()))
                .map(|folder| folder.join("config.toml"))
                .find(|file| file.is_file()),
        };
        Ok(Self { home, config })
    }

    /// Where the program keeps what is its own when it works on a server: in the home if there is one, else in the platform's
    /// folder for that. No home is made by it.
    pub fn own(&self) -> PathBuf {
        let dirs = || ProjectDirs::from("", "", "astudio");
        let state = || dirs().map(|d| d.state_dir().unwrap_or_else(|| d.data_local_dir()).to_owned());
        if self.home.is_dir() { self.home.clone() } else { state().unwrap_or_else(|| self.home.clone()) }
    }

    /// The settings file to write: the one that was read, else a new one where it is looked for.
    pub fn config_to_write(&self) -> PathBuf {
        let beside = || ProjectDirs::from("", "", "astudio").filter(|_| !self.home.is_dir());
        let folder = || beside().map_or_else(|| self.home.clone(), |dirs| dirs.config_dir().to_owned());
        self.config.clone().unwrap_or_else(|| folder().join("config.toml"))
    }

    /// The database of the built-in toolkit `desk`.
    pub fn desk(&self) -> PathBuf {
        self.home.join("desk.db")
    }

    /// Whether the home has a database.
    pub fn is_made(&self) -> bool {
        self.home.join("astudio.db").is_file()
    }
}

/// The name of this machine's user as a user id: its letters and digits, else `me`.
pub fn own_user() -> String {
    let name = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|v| std::env::var(v).ok().filter(|n| !n.is_empty()));
    name.and_then(|name| rules::names::agent_name(&name).ok()).unwrap_or_else(|| "me".to_owned())
}

fn invalid(message: &str) -> StudioError {
    StudioError::new(Code::InvalidConfig, 422, message)
}
