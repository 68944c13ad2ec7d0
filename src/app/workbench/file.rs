//! The workbench's part of the settings file. Only its lines are changed: comments and everything else stay as they are, and
//! what was edited is read back before it is written.

use crate::app::settings::Settings;
use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use toml::{Table, Value};
use tui::TuiSettings;

/// The table of the workbench, and the one of its keys.
const WORKBENCH: &str = "workbench";
const KEYS: &str = "workbench.keys";

/// Writes what differs between the settings before and now; what came from the environment or from flags stays out of the file.
///
/// # Errors
/// Why it was not written, for the person.
pub(super) fn save(path: &Path, before: &TuiSettings, now: &TuiSettings) -> Result<(), String> {
    // A settings file may be a link into a folder with a history of its own.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("the settings file cannot be read ({})", error.kind())),
    };
    let mut wanted = Settings::parse(&text).map_err(|why| format!("the settings file has a fault: {why}"))?.workbench;
    if now.theme != before.theme {
        wanted.theme.clone_from(&now.theme);
    }
    if now.mouse != before.mouse {
        wanted.mouse = now.mouse;
    }
    if now.reduced_motion != before.reduced_motion {
        wanted.reduced_motion = now.reduced_motion;
    }
    for id in before.keys.keys().chain(now.keys.keys()).collect::<BTreeSet<_>>() {
        match now.keys.get(id) {
            same if same == before.keys.get(id) => {}
            Some(keys) => _ = wanted.keys.insert(id.clone(), keys.clone()),
            None => _ = wanted.keys.remove(id),
        }
    }
    let edited = edit(&text, &wanted)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("the folder of the settings cannot be made ({})", error.kind()))?;
    }
    replace(path, &edited).map_err(|error| format!("the settings file cannot be written ({})", error.kind()))
}

/// Written beside and renamed, so that a crash leaves the old file or the new one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("toml.new");
    let mut out = fs::File::create(&beside)?;
    if let Ok(old) = fs::metadata(path) {
        out.set_permissions(old.permissions())?;
    }
    out.write_all(text.as_bytes())?;
    out.sync_data()?;
    fs::rename(&beside, path)
}

/// The text of a settings file with these settings of the workbench in it.
fn edit(text: &str, wanted: &TuiSettings) -> Result<String, String> {
    let by_hand =
        || "the settings file sets the workbench in a form that cannot be edited here; change it by hand".to_owned();
    let old: Table = text.parse().map_err(|_| by_hand())?;
    let table = Table::try_from(wanted).map_err(|_| by_hand())?;
    let defaults = Table::try_from(TuiSettings::default()).map_err(|_| by_hand())?;
    let there = |section: &str, key: &str| {
        let found = section.split('.').try_fold(&old, |at, name| at.get(name)?.as_table());
        found.is_some_and(|table| table.contains_key(key))
    };
    let mut lines = Lines(text.split('\n').map(str::to_owned).collect());
    for (key, value) in table.iter().filter(|(key, _)| *key != "keys") {
        // A default that the file does not name need not stand there.
        if there(WORKBENCH, key) || defaults.get(key) != Some(value) {
            lines.set(WORKBENCH, key, Some(value));
        }
    }
    let own = |table: &Table| table.get(WORKBENCH)?.as_table()?.get("keys")?.as_table().cloned();
    let ids: BTreeSet<String> =
        own(&old).unwrap_or_default().keys().cloned().chain(wanted.keys.keys().cloned()).collect();
    let keys = table.get("keys").and_then(Value::as_table);
    for id in ids {
        lines.set(KEYS, &id, keys.and_then(|keys| keys.get(&id)));
    }
    let edited = lines.0.join("\n");
    // However the file is written: what is read back has to be what was wanted, with all else as it was.
    let mut new: Table = edited.parse().map_err(|_| by_hand())?;
    let mut old = old;
    old.remove(WORKBENCH);
    let read = new.remove(WORKBENCH).map_or(Ok(TuiSettings::default()), Value::try_into).map_err(|_| by_hand())?;
    if new == old && read == *wanted { Ok(edited) } else { Err(by_hand()) }
}

/// The lines of the file.
struct Lines(Vec<String>);

impl Lines {
    /// Where the lines of a table are, without its heading.
    fn section(&self, name: &str) -> Option<(usize, usize)> {
        let start = self.0.iter().position(|line| heading(line).as_deref() == Some(name))? + 1;
        let end = self.0[start..].iter().position(|line| line.trim_start().starts_with('['));
        Some((start, end.map_or(self.0.len(), |end| start + end)))
    }

    /// Sets a key of a table, or takes it away.
    fn set(&mut self, section: &str, key: &str, value: Option<&Value>) {
        let Some((start, end)) = self.section(section) else {
            if let Some(value) = value {
                self.append(section, key, value);
            }
            return;
        };
        let found = (start..end).find(|at| key_of(&self.0[*at]) == Some(key));
        match (found, value) {
            (Some(at), value) => {
                // With its end, for a line may end with `\r\n`.
                let whole = |last: &usize| (self.0[at..=*last].join("\n") + "\n").parse::<Table>().is_ok();
                let last = (at..end).find(whole).unwrap_or(at);
                let line = value.map(|value| {
                    let indent: String = self.0[at].chars().take_while(|c| c.is_whitespace()).collect();
                    format!("{indent}{key} = {value}{}", comment(&self.0[last]))
                });
                self.0.splice(at..=last, line);
            }
            (None, Some(value)) => {
                // After the last key: comments behind it may belong to the next table.
                let says = |line: &String| !line.trim().is_empty() && !line.trim_start().starts_with('#');
                let at = self.0[start..end].iter().rposition(says).map_or(start, |at| start + at + 1);
                self.0.insert(at, format!("{key} = {value}"));
            }
            (None, None) => {}
        }
    }

    /// A new table at the end of the file.
    fn append(&mut self, section: &str, key: &str, value: &Value) {
        while self.0.last().is_some_and(|line| line.trim().is_empty()) {
            self.0.pop();
        }
        if !self.0.is_empty() {
            self.0.push(String::new());
        }
        self.0.extend([format!("[{section}]"), format!("{key} = {value}"), String::new()]);
    }
}

/// The name of the table that a line begins.
fn heading(line: &str) -> Option<String> {
    let (name, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim();
    let parts: Vec<&str> = name.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect();
    (rest.is_empty() || rest.starts_with('#')).then(|| parts.join("."))
}

/// The key that a line sets.
fn key_of(line: &str) -> Option<&str> {
    Some(line.split_once('=')?.0.trim().trim_matches(['"', '\'']))
}

/// The comment behind a value, with the white space before it, and the end of the line.
fn comment(line: &str) -> &str {
    // A mark inside a text leaves a text without its end before it.
    match line.match_indices('#').map(|(at, _)| at).find(|at| is_value(&line[..*at])) {
        Some(at) => &line[line[..at].trim_end().len()..],
        None if line.ends_with('\r') => "\r",
        None => "",
    }
}

/// Whether the text sets a key, or is the last line of a list.
fn is_value(text: &str) -> bool {
    text.parse::<Table>().is_ok_and(|table| !table.is_empty()) || text.trim() == "]"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tui::theme::ThemeName;

    fn wanted(theme: ThemeName, mouse: bool, keys: &[(&str, &[&str])]) -> TuiSettings {
        let keys =
            keys.iter().map(|(id, keys)| ((*id).into(), keys.iter().map(|key| (*key).into()).collect())).collect();
        TuiSettings { theme: theme.into(), mouse, reduced_motion: false, keys }
    }

    #[test]
    fn a_file_without_the_table_gets_one() {
        let light = wanted(ThemeName::Light, false, &[("quit", &["ctrl-x", "f2"])]);
        assert_eq!(
            edit("", &light).unwrap(),
            "[workbench]\ntheme = \"light\"\n\n[workbench.keys]\nquit = [\"ctrl-x\", \"f2\"]\n"
        );
        let text = "# mine\n[turn]\nsteps = 3 # few\n\n\n";
        assert_eq!(
            edit(text, &light).unwrap().lines().take(5).collect::<Vec<_>>(),
            ["# mine", "[turn]", "steps = 3 # few", "", "[workbench]"]
        );
        assert_eq!(edit(text, &TuiSettings::default()).unwrap(), text, "defaults need not stand there");
    }

    #[test]
    fn only_the_lines_of_the_workbench_change() {
        let text = "\
# a = 1
[workbench] # mine
  theme = \"dark\" # not \"light\" # really

# motion
reduced_motion = true

# of the turn
[turn]
steps = 3

[workbench.keys]
# leave
quit = [
  \"ctrl-x\", # one
  \"f2\",
] # two
help = [\"#\"] # a mark
palette = [\"f3\"]

[log]
filter = \"warn\"
";
        let now = wanted(ThemeName::Plain, true, &[("help", &["f1", "#"]), ("palette", &["f3"]), ("save", &["f4"])]);
        let edited = edit(text, &now).unwrap();
        assert_eq!(
            edited,
            "\
# a = 1
[workbench] # mine
  theme = \"plain\" # not \"light\" # really

# motion
reduced_motion = false
mouse = true

# of the turn
[turn]
steps = 3

[workbench.keys]
# leave
help = [\"f1\", \"#\"] # a mark
palette = [\"f3\"]
save = [\"f4\"]

[log]
filter = \"warn\"
"
        );
        // Setting what is there changes nothing.
        assert_eq!(edit(&edited, &now).unwrap(), edited);
    }

    #[test]
    fn line_ends_stay() {
        let edited =
            edit("[workbench]\r\ntheme = \"dark\"\r\nmouse = false # x\r\n", &wanted(ThemeName::Light, true, &[]));
        assert_eq!(edited.unwrap(), "[workbench]\r\ntheme = \"light\"\r\nmouse = true # x\r\n");
    }

    #[test]
    fn what_cannot_be_edited_safely_is_refused() {
        let light = wanted(ThemeName::Light, false, &[]);
        for text in [
            "workbench = { theme = \"dark\" }\n",
            "workbench.theme = \"dark\"\n",
            "[rehearsal]\nfolders = [\"\"\"\n[workbench]\n\"\"\"]\n",
        ] {
            let edited = edit(text, &light);
            // Either it is right, or nothing is written.
            assert!(edited.as_ref().is_err_and(|why| why.contains("by hand")), "{text}: {edited:?}");
        }
    }

    #[test]
    fn only_what_was_changed_here_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        // The mouse came from a flag.
        let before = wanted(ThemeName::Dark, true, &[("quit", &["ctrl-x"])]);
        let now = wanted(ThemeName::Light, true, &[]);
        save(&path, &before, &now).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[workbench]\ntheme = \"light\"\n");
        assert_eq!(
            Settings::load(Some(&path), std::iter::empty(), &[]).unwrap().workbench.theme,
            ThemeName::Light.into()
        );
        fs::write(&path, "[turn]\nstepz = 1\n").unwrap();
        assert!(save(&path, &before, &now).unwrap_err().contains("stepz"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[turn]\nstepz = 1\n");
    }
}
