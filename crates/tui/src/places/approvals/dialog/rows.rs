//! What the dialog shows, as rows that fit its width: what would run, with which arguments, what will change, and then who asks.
//! All of it, nothing shortened; whatever does not fit is broken, never cut.

use contract::Micros;
use contract::ops::approvals::ApprovalView;
use serde_json::Value;
use text::Safe;

/// Columns of the names of facts.
pub const LABEL: usize = 10;

/// How a row is coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ink {
    /// A name in the first [`LABEL`] columns, then what it is.
    Fact,
    /// The same for the tool: the most important of all.
    Tool,
    /// A heading.
    Head,
    /// Values.
    Code,
    /// What is changed.
    Changed,
    /// Less important.
    Dim,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How it is coloured.
    pub ink: Ink,
    /// Clean text, no wider than was asked for.
    pub text: String,
}

/// A time to the minute, for people.
pub fn minute(at: Micros) -> String {
    format!("{} UTC", crate::words::minute(at))
}

/// Breaks a sentence as [`wrap`] does, behind a blank where there is one. The blank stays.
pub fn wrap_words(line: &str, width: usize, hang: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.to_owned();
    loop {
        let (piece, left) = {
            let mut broken = wrap(&rest, width, hang).into_iter();
            let piece = broken.next().unwrap_or_default();
            if broken.next().is_none() {
                pieces.push(piece);
                return pieces;
            }
            // Not behind the blanks at the beginning, nor behind the name of a fact.
            let blank =
                piece.rfind(' ').map(|at| at + 1).filter(|at| piece[..*at].trim_end().len() > hang_of(width, hang));
            let end = blank.unwrap_or(piece.len());
            (piece[..end].to_owned(), rest[end..].to_owned())
        };
        pieces.push(piece);
        rest = format!("{}{left}", " ".repeat(hang_of(width, hang)));
    }
}

/// Blanks at the beginning of a row that goes on, where there is room for them.
fn hang_of(width: usize, hang: usize) -> usize {
    if hang < width / 2 { hang } else { 0 }
}

/// Breaks one line into pieces of at most `width` columns; all but the first begin with `hang` blanks. Breaks after a written
/// line end (`\n` in a JSON text), so that long texts read as lines.
pub fn wrap(line: &str, width: usize, hang: usize) -> Vec<String> {
    let hang = hang_of(width, hang);
    let mut pieces = Vec::new();
    let (mut piece, mut used) = (String::new(), 0);
    for grapheme in text::graphemes(line) {
        let columns = text::width(grapheme);
        let line_end = piece.ends_with("\\n") && !piece.ends_with("\\\\n") && grapheme != "\"";
        if used > hang && (used + columns > width || line_end) {
            pieces.push(std::mem::replace(&mut piece, " ".repeat(hang)));
            used = hang;
        }
        piece.push_str(grapheme);
        used += columns;
    }
    pieces.push(piece);
    pieces
}

/// A name as it is, or as JSON when it could be taken for something else.
fn plain_name(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if plain { name.to_owned() } else { Value::from(name).to_string() }
}

struct Rows {
    width: usize,
    rows: Vec<Row>,
}

impl Rows {
    fn push(&mut self, ink: Ink, line: &str, hang: usize) {
        self.rows.extend(wrap(line, self.width, hang).into_iter().map(|text| Row { ink, text }));
    }

    fn fact(&mut self, label: &str, value: &str) {
        let ink = if label == "tool" { Ink::Tool } else { Ink::Fact };
        let line = format!("{label:<LABEL$}{}", Safe::clean(value));
        self.rows.extend(wrap_words(&line, self.width, LABEL).into_iter().map(|text| Row { ink, text }));
    }

    fn gap(&mut self, heading: &str) {
        self.push(Ink::Dim, "", 0);
        self.push(Ink::Head, heading, 0);
    }

    /// An object as `name: value` with its values as JSON; anything else as JSON.
    fn json(&mut self, value: &Value) {
        match value {
            Value::Object(map) if map.is_empty() => self.push(Ink::Dim, "(none)", 0),
            Value::Object(map) => {
                map.iter().for_each(|(name, value)| self.value(&format!("{}: ", plain_name(name)), value))
            }
            other => self.value("", other),
        }
    }

    fn value(&mut self, label: &str, value: &Value) {
        let pretty = format!("{label}{}", serde_json::to_string_pretty(value).unwrap_or_default());
        // Pretty JSON has line ends only between values: those inside of texts are written as escapes.
        for line in Safe::clean_lines(&pretty).lines() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            self.push(Ink::Code, &line, indent + 2);
        }
    }

    fn change(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>) {
        let shown = |value: Option<&Value>| value.map_or_else(|| "(nothing)".to_owned(), Value::to_string);
        let line = format!("{}: {} → {}", plain_name(name), shown(before), shown(after));
        self.push(Ink::Changed, &Safe::clean(&line), 2);
    }

    fn edited(&mut self, before: &Value, after: &Value) {
        let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
            self.change("arguments", Some(before), Some(after));
            return;
        };
        for (name, value) in new.iter().filter(|(name, value)| old.get(*name) != Some(value)) {
            self.change(name, old.get(name), Some(value));
        }
        for (name, value) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
            self.change(name, Some(value), None);
        }
    }

    /// `{changes: [{field, before, after}]}` is shown as changes, and the rest as it is.
    fn preview(&mut self, preview: &Value) {
        let mut rest = preview.clone();
        let changes = rest.as_object_mut().and_then(|map| {
            let all = map.get("changes")?.as_array()?.iter().all(|c| c.get("field").is_some_and(Value::is_string));
            if all { map.remove("changes") } else { None }
        });
        for change in changes.iter().flat_map(|changes| changes.as_array().into_iter().flatten()) {
            let field = change.get("field").and_then(Value::as_str).unwrap_or_default();
            self.change(field, change.get("before"), change.get("after"));
        }
        match &rest {
            Value::String(text) => {
                for line in Safe::clean_lines(text).lines() {
                    self.push(Ink::Code, &line, 2);
                }
            }
            Value::Object(map) if map.is_empty() => {}
            other => self.json(other),
        }
    }
}

/// All rows of an approval, with the arguments as the person changed them.
pub fn rows(view: &ApprovalView, edited: Option<&Value>, width: usize) -> Vec<Row> {
    let mut rows = Rows { width: width.max(1), rows: Vec::new() };
    rows.fact("tool", &view.tool);
    match edited.or(view.edited_args.as_ref()) {
        Some(edited) => {
            rows.gap("Arguments that were changed");
            rows.edited(&view.args, edited);
            rows.gap("Arguments that will run");
            rows.json(edited);
        }
        None => {
            rows.gap("Arguments");
            rows.json(&view.args);
        }
    }
    rows.gap("What will change");
    match &view.preview {
        // It tells of the call as it was asked; beside other arguments it would tell something untrue.
        Some(_) if edited.is_some_and(|edited| *edited != view.args) => {
            rows.push(Ink::Dim, "Not worked out for the changed arguments.", 0);
        }
        Some(preview) => rows.preview(preview),
        None => rows.push(Ink::Dim, "The tool does not say beforehand.", 0),
    }
    rows.push(Ink::Dim, "", 0);
    rows.fact("source", &format!("{} · {}", view.source, view.slug));
    rows.fact("agent", &format!("{}, version {}, on {}", view.agent, view.agent_version, view.model));
    let tenant = view.tenant.as_deref().map_or_else(|| "no tenant".to_owned(), |tenant| format!("tenant {tenant}"));
    rows.fact("asked by", &format!("{}, {tenant}, in session {}", view.requested_by, view.session));
    rows.fact("rule", &view.rule);
    rows.fact("times", &format!("asked {}, expires {}", minute(view.created_at), minute(view.expires_at)));
    if let Some(by) = &view.decided_by {
        rows.fact("answered", &format!("{} by {by}", view.status.as_str()));
    }
    if let Some(reason) = &view.reason {
        rows.fact("reason", reason);
    }
    rows.rows
}

#[cfg(test)]
mod tests {
    use super::{wrap, wrap_words};

    #[test]
    fn sentences_break_between_words_and_lose_nothing() {
        assert_eq!(wrap_words("rule one two three", 13, 5), ["rule one two ", "     three"]);
        assert_eq!(wrap_words("rule abcdefghijkl", 13, 5), ["rule abcdefgh", "     ijkl"]);
        assert_eq!(wrap_words("abcdefgh", 4, 0), ["abcd", "efgh"]);
        assert_eq!(wrap_words("a  b", 2, 0), ["a ", " b"]);
        for width in 1..20 {
            let text = "日本 语 words, and  more";
            let whole: String = wrap_words(text, width, 0).concat();
            assert_eq!(whole, text, "{width}");
        }
    }

    #[test]
    fn breaks_and_never_cuts() {
        assert_eq!(wrap("abcdef", 4, 0), ["abcd", "ef"]);
        assert_eq!(wrap("abcdefgh", 6, 2), ["abcdef", "  gh"]);
        assert_eq!(wrap("日本語", 3, 0), ["日", "本", "語"]);
        assert_eq!(wrap("日", 1, 5), ["日"]);
        assert_eq!(wrap("", 4, 0), [""]);
        assert_eq!(wrap(r#""a\nb\\nc\n""#, 80, 1), [r#""a\n"#, r#" b\\nc\n""#]);
    }

    #[test]
    fn a_preview_never_stands_beside_other_arguments() {
        let view = crate::places::approvals::tests::approval("1");
        let mut view = view;
        view.args = serde_json::json!({ "order_id": 1009 });
        view.preview = Some(serde_json::json!({ "order_id": 1009, "note": "Desk lamp" }));
        let shown = |edited: Option<&serde_json::Value>| {
            super::rows(&view, edited, 80).into_iter().map(|row| row.text).collect::<Vec<_>>().join("\n")
        };
        assert!(shown(None).contains("Desk lamp"));
        assert!(shown(Some(&view.args)).contains("Desk lamp"), "nothing was changed");
        let changed = shown(Some(&serde_json::json!({ "order_id": 1013 })));
        assert!(changed.contains("Not worked out for the changed arguments."), "{changed}");
        assert!(!changed.contains("Desk lamp"), "{changed}");
    }
}
