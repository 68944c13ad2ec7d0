//! Where scripts come from: the built-in ones, and a person's own folders.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::ScriptError;
use super::script::{MAX_SCRIPT_BYTES, Script, parse};

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../assets/rehearsal/", $name, ".yaml")))),*]
    };
}

/// The scripts that come with the program: names and YAML.
pub const BUILT_IN: [(&str, &str); 14] = built_in![
    "chaos",
    "faq",
    "greeter",
    "manual",
    "night-watch",
    "onboarding",
    "orders-desk",
    "release-notes",
    "sales-notes",
    "slow-teller",
    "standup",
    "stock-clerk",
    "summariser",
    "support",
];

/// A script in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptInfo {
    /// Its name; `rehearsal:<name>` is the model it is chosen by.
    pub name: String,
    /// What it does; empty when the script is broken.
    pub about: String,
    /// What a person could say to it.
    pub examples: Vec<String>,
    /// Whether it came with the program.
    pub built_in: bool,
    /// Why it cannot be played, if it cannot.
    pub error: Option<ScriptError>,
}

/// The scripts at hand. A file `<folder>/<name>.yaml` wins over a built-in script of that
/// name, and an earlier folder over a later one. Files are read anew each time, so that an
/// edited script speaks from the next answer on.
#[derive(Debug, Default)]
pub struct Scripts {
    folders: Vec<PathBuf>,
    /// What was read last under a name, so that an unchanged script is not checked again.
    known: Mutex<HashMap<String, (String, Arc<Script>)>>,
}

impl Scripts {
    /// The built-in scripts, and those in `folders`; a folder that does not exist is empty.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, known: Mutex::default() }
    }

    /// The script of a name. Reads files, so it may block for a moment.
    pub fn find(&self, name: &str) -> Result<Arc<Script>, ScriptError> {
        if !is_script_name(name) {
            let shown: String = name.chars().take(64).collect();
            return Err(ScriptError::new(&shown, "a script's name is 1 to 64 characters of a-z, 0-9, `-` and `_`"));
        }
        let Some((yaml, _)) = self.source(name)? else {
            return Err(ScriptError::new(
                name,
                format!(
                    "there is no such script; take one of {}, or write {name}.yaml into a scripts folder",
                    self.names().join(", ")
                ),
            ));
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((source, script)) = known.get(name)
            && *source == yaml
        {
            return Ok(Arc::clone(script));
        }
        let script = parse(name, &yaml)?;
        if script.name != name {
            return Err(ScriptError::new(
                name,
                format!("its `name` is `{}`, but its file is called {name}.yaml; make them the same", script.name),
            ));
        }
        let script = Arc::new(script);
        known.insert(name.to_owned(), (yaml, Arc::clone(&script)));
        Ok(script)
    }

    /// All scripts by name, broken ones with their error.
    pub fn list(&self) -> Vec<ScriptInfo> {
        let info = |name: String| {
            let built_in = matches!(self.source(&name), Ok(Some((_, true))));
            match self.find(&name) {
                Ok(script) => ScriptInfo {
                    about: script.about.trim().to_owned(),
                    examples: script.examples.clone(),
                    built_in,
                    error: None,
                    name,
                },
                Err(error) => {
                    ScriptInfo { name, about: String::new(), examples: Vec::new(), built_in, error: Some(error) }
                }
            }
        };
        self.names().into_iter().map(info).collect()
    }

    fn names(&self) -> Vec<String> {
        let mut names: BTreeMap<String, ()> = BUILT_IN.iter().map(|(name, _)| ((*name).to_owned(), ())).collect();
        for folder in &self.folders {
            let Ok(entries) = folder.read_dir() else {
                continue;
            };
            for entry in entries.flatten() {
                let file = PathBuf::from(entry.file_name());
                if file.extension().is_some_and(|e| e == "yaml")
                    && let Some(name) = file.file_stem().and_then(|stem| stem.to_str())
                    && is_script_name(name)
                {
                    names.insert(name.to_owned(), ());
                }
            }
        }
        names.into_keys().collect()
    }

    /// A script's YAML, and whether it is a built-in one.
    fn source(&self, name: &str) -> Result<Option<(String, bool)>, ScriptError> {
        for folder in &self.folders {
            if let Some(yaml) = read(name, &folder.join(format!("{name}.yaml")))? {
                return Ok(Some((yaml, false)));
            }
        }
        Ok(BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, yaml)| ((*yaml).to_owned(), true)))
    }
}

/// A file's text, as far as a script may be long and one byte more; `None` without a file.
fn read(name: &str, path: &Path) -> Result<Option<String>, ScriptError> {
    let unreadable = |why: ErrorKind| {
        ScriptError::new(
            name,
            format!("its file cannot be read as text ({why}); check that it is UTF-8 and may be read"),
        )
    };
    match path.metadata() {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(unreadable(ErrorKind::InvalidInput)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.kind())),
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_SCRIPT_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.kind()))?;
    if bytes.len() > MAX_SCRIPT_BYTES {
        // The cut may lie inside a character; the length is what is wrong.
        return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| unreadable(ErrorKind::InvalidData))
}

/// Whether a text can name a script: nothing in it can lead out of a folder.
pub(crate) fn is_script_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}
