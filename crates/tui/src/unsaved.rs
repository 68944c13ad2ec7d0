//! Text that is typed and not saved: kept in files, so that it survives a crash, and edited in the person's own editor.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Longest name of a file that is made here, in bytes, before its ending; systems take 255.
const LONGEST: usize = 120;

/// A text of others as the name of a file or a folder: small letters, digits, `-` and `_` stand for themselves, everything else
/// for its bytes. Two texts never have one name, not even where letters of both cases are the same to the disk.
pub fn file_name(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => _ = write!(name, "%{other:02x}"),
        }
    }
    if name.len() > LONGEST {
        name.truncate(LONGEST - 33);
        name += &format!("-{}", &contract::canonical::sha256_hex(text.as_bytes())[..32]);
    }
    name
}

fn file(dir: &Path, key: &str) -> PathBuf {
    dir.join(format!("{}.txt", file_name(key)))
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

/// Writes a new file in the working folder; a number is added when the name is taken. Answers its whole path.
///
/// # Errors
/// The system's reason.
pub fn write_new(name: &str, content: &str) -> Result<PathBuf, String> {
    let folder = std::env::current_dir().map_err(|error| format!("The working folder is gone: {}.", error.kind()))?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
    for number in 0..1000 {
        let name = if number == 0 { format!("{stem}.{ending}") } else { format!("{stem}-{number}.{ending}") };
        let path = folder.join(name);
        let failed = |error: std::io::Error| format!("{} could not be written: {}.", path.display(), error.kind());
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut out) => return out.write_all(content.as_bytes()).map(|()| path.clone()).map_err(failed),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(format!("{name}: there are too many files of this name in {}.", folder.display()))
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

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn different_texts_have_different_names_that_lead_nowhere() {
        let long = |end: &str| format!("{}{end}", "x".repeat(500));
        let texts = ["a.b", "a-b", "A-b", "a%2eb", "..", "a/b", "", "é", "https://a:1/", &long("1"), &long("2")];
        let names: std::collections::BTreeSet<String> = texts.iter().map(|text| file_name(text)).collect();
        assert_eq!(names.len(), texts.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 120 && !name.contains(['.', '/', '\\', ':'])), "{names:?}");
    }
}
