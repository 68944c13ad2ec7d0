//! Tables and records for people: cells are cleaned, columns are measured as a terminal shows them.

use super::output::Output;
use contract::Micros;
use std::io;
use text::Safe;

/// Longest cell, in columns; what is longer ends with `…`. Names and ids are shorter.
const MOST: usize = 64;

/// A table with a heading.
pub struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(heading: &[&'static str]) -> Self {
        Self { heading: heading.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; it has as many cells as the heading.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let clean = |cell: String| Safe::clean(&cell).truncate(MOST).as_str().to_owned();
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// Writes it; one without rows says `nothing` instead.
    pub fn write(&self, out: &Output, nothing: &str) -> io::Result<()> {
        if self.rows.is_empty() {
            out.note(nothing);
            return Ok(());
        }
        let mut widths: Vec<usize> = self.heading.iter().map(|h| text::width(h)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(text::width(cell));
            }
        }
        let heading: Vec<String> = self.heading.iter().map(|h| (*h).to_owned()).collect();
        out.heading(&laid_out(&heading, &widths))?;
        let mut body = String::new();
        for row in &self.rows {
            body.push_str(&laid_out(row, &widths));
            body.push('\n');
        }
        out.piece(&body)
    }
}

fn laid_out(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| text::pad(cell, *width)).collect();
    padded.join("  ").trim_end().to_owned()
}

/// A field of a record: its name, and its value if it has one.
pub type Field = (&'static str, Option<String>);

/// A record, a line per field; fields without a value are left out, values of several lines are indented.
pub fn record(out: &Output, fields: &[Field]) -> io::Result<()> {
    let mut text = lines(fields).join("\n");
    text.push('\n');
    out.piece(&text)
}

/// The lines of a record.
pub fn lines(fields: &[Field]) -> Vec<String> {
    let width = fields.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0) + 1;
    let gap = format!("\n{}", " ".repeat(width + 1));
    let filled = fields.iter().filter_map(|(name, value)| Some((name, value.as_deref().filter(|v| !v.is_empty())?)));
    filled
        .map(|(name, value)| {
            let value = Safe::clean_lines(value);
            format!("{} {}", text::pad(&format!("{name}:"), width), value.as_str().trim_end().replace('\n', &gap))
        })
        .collect()
}

/// A point in time as people here read it, to the minute.
pub fn when(at: Micros) -> String {
    chrono::DateTime::from_timestamp_micros(at.0)
        .unwrap_or_default()
        .with_timezone(&chrono::Local)
        .format("%Y-%m-%d %H:%M")
        .to_string()
}

/// How long it is until then, in the largest unit that says enough.
pub fn left(until: Micros) -> String {
    let seconds = (until.0 - Micros::now().0) / 1_000_000;
    match seconds {
        ..=0 => "over".to_owned(),
        1..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

/// An optional text in a cell.
pub fn or_dash(text: Option<&str>) -> String {
    text.filter(|t| !t.is_empty()).unwrap_or("-").to_owned()
}

/// JSON as people read it.
pub fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::when;
    use contract::Micros;

    #[test]
    fn a_time_is_a_day_and_a_minute() {
        // Wherever this runs: the zone changes digits, not the form.
        let form: String =
            when(Micros(1_796_095_440_123_456)).chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(form, "0000-00-00 00:00");
    }
}
