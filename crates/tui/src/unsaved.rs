//! Text that is typed and not saved: kept in files, so that it survives a crash, and edited in the person's own editor.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn file(dir: &Path, key: &str) -> PathBuf {
    // The key may hold a name of others; only letters and digits become part of a file name.
    let name: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(100).collect();
    dir.join(format!("{name}.txt"))
}

/// Keeps a text under a key, or removes it. Written beside and renamed, so that a crash leaves the old or the new.
///
/// # Errors
/// The system's reason.
pub fn keep(dir: &Path, key: &str, text: Option<&str>) -> Result<(), String> {
    let path = file(dir, key);
    let done = match text {
        Some(text) => fs::create_dir_all(dir).and_then(|()| {
            let beside = path.with_extension("new");
            let mut out = private(fs::OpenOptions::new().create(true).truncate(true), &beside)?;
            out.write_all(text.as_bytes())?;
            out.sync_data()?;
            fs::rename(&beside, &path)
        }),
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other,
        },
    };
    done.map_err(|error| error.kind().to_string())
}

/// The text kept under a key.
pub fn kept(dir: &Path, key: &str) -> Option<String> {
    fs::read_to_string(file(dir, key)).ok()
}

fn private(options: &mut fs::OpenOptions, path: &Path) -> std::io::Result<fs::File> {
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Writes a new file in the working folder; a number is added when the name is taken. Answers the name.
///
/// # Errors
/// The system's reason.
pub fn write_new(name: &str, content: &str) -> Result<String, String> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
    for number in 0..1000 {
        let name = if number == 0 { format!("{stem}.{ending}") } else { format!("{stem}-{number}.{ending}") };
        match fs::OpenOptions::new().write(true).create_new(true).open(&name) {
            Ok(mut out) => {
                return out.write_all(content.as_bytes()).map(|()| name).map_err(|error| error.kind().to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{name} could not be written: {}", error.kind())),
        }
    }
    Err(format!("{name}: too many files of this name"))
}

/// Opens the editor on a text and answers what was saved. The terminal must have been given back.
///
/// # Errors
/// Why there is no new text, for the person.
pub async fn edit(editor: Option<String>, text: &str, ending: &str) -> Result<String, String> {
    let editor = editor.ok_or("No editor is set. Set VISUAL or EDITOR.")?;
    // Others write into this folder too: the name is not to be guessed, and nothing that is there already is opened.
    let path = std::env::temp_dir().join(format!("astudio-{}.{ending}", contract::ids::record_id()));
    let mut out = private(fs::OpenOptions::new().create_new(true), &path)
        .map_err(|error| format!("A file for the editor could not be made: {}.", error.kind()))?;
    out.write_all(text.as_bytes()).map_err(|error| error.kind().to_string())?;
    drop(out);
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or("No editor is set. Set VISUAL or EDITOR.")?;
    let status = tokio::process::Command::new(program).args(words).arg(&path).status().await;
    let edited = match status {
        Ok(status) if status.success() => fs::read_to_string(&path).map_err(|error| error.kind().to_string()),
        Ok(status) => Err(format!("The editor ended with {status}; nothing was taken over.")),
        Err(error) => Err(format!("The editor '{program}' could not be started: {}.", error.kind())),
    };
    let _ = fs::remove_file(&path);
    edited
}
