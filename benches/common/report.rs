//! Figures against aims.

/// What a figure is counted in, and which way is better.
#[derive(Clone, Copy, PartialEq)]
// No measurement uses all of them.
#[allow(dead_code)]
pub enum Unit {
    PerSecond,
    Millis,
    Micros,
    Megabytes,
    Mebibytes,
    Percent,
    Bytes,
    Times,
}

impl Unit {
    /// A figure as people read it.
    pub fn show(self, figure: f64) -> String {
        match self {
            Unit::PerSecond => format!("{}/s", thousands(figure.round())),
            Unit::Millis => format!("{figure:.1} ms"),
            Unit::Micros => format!("{figure:.1} µs"),
            Unit::Megabytes => format!("{figure:.1} MB"),
            Unit::Mebibytes => format!("{figure:.1} MiB"),
            Unit::Percent => format!("{figure:.3} %"),
            Unit::Bytes => format!("{} B", thousands(figure)),
            Unit::Times => format!("{figure:.2} times"),
        }
    }
}

/// With a comma between thousands.
pub fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Figures as people read them, by name.
// No measurement uses all of these.
#[allow(dead_code)]
pub type Figures = Vec<(&'static str, String)>;

struct Row {
    name: String,
    figure: String,
    spread: String,
    aim: String,
    ratio: String,
    verdict: &'static str,
}

/// The table, remarks below it, and the same figures of two programs beside each other.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
    beside: Vec<[String; 3]>,
}

impl Report {
    /// The median of some rounds against an aim.
    pub fn measure(&mut self, name: &str, unit: Unit, rounds: &[f64], aim: f64) {
        let figure = median(rounds);
        // Above one is better than the aim, whatever is counted.
        let ratio = match unit {
            Unit::PerSecond => figure / aim,
            // Nothing at all is wanted, and nothing is what there is.
            _ if figure == 0.0 => f64::INFINITY,
            _ => aim / figure,
        };
        let verdict = match ratio {
            r if r >= 1.0 => "ok",
            r if r >= 0.5 => "half",
            _ => "missed",
        };
        let (least, most) = rounds.iter().fold((f64::MAX, f64::MIN), |(a, b), r| (a.min(*r), b.max(*r)));
        self.rows.push(Row {
            name: name.to_owned(),
            figure: unit.show(figure),
            spread: format!("{} to {}", unit.show(least), unit.show(most)),
            aim: unit.show(aim),
            ratio: if ratio.is_finite() { format!("{ratio:.2}") } else { "∞".to_owned() },
            verdict,
        });
    }

    /// How many figures there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Something that belongs to the table.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The same figures of two programs.
    #[allow(dead_code)]
    pub fn beside(&mut self, one: &str, other: &str, ones: Figures, others: Figures) {
        self.beside.push(["beside another program".into(), one.into(), other.into()]);
        let rows = ones.into_iter().zip(others);
        self.beside.extend(rows.map(|((name, one), (_, other))| [name.to_owned(), one, other]));
    }

    fn table(&self) -> Vec<[&str; 6]> {
        let mut table = vec![["measure", "figure", "rounds", "aim", "ratio", ""]];
        table.extend(self.rows.iter().map(|r| {
            [r.name.as_str(), r.figure.as_str(), r.spread.as_str(), r.aim.as_str(), r.ratio.as_str(), r.verdict]
        }));
        table
    }

    /// For a terminal.
    pub fn print(&self) {
        columns(&self.table());
        self.notes.iter().for_each(|note| println!("{note}"));
        if !self.beside.is_empty() {
            println!();
            columns(&self.beside);
        }
    }

    /// For a page.
    pub fn markdown(&self) {
        table_of(&self.table(), "|---|---:|---:|---:|---:|---|");
        println!();
        self.notes.iter().for_each(|note| println!("- {note}"));
        if !self.beside.is_empty() {
            println!();
            table_of(&self.beside, "|---|---:|---:|");
        }
    }
}

fn columns<S: AsRef<str>, const N: usize>(table: &[[S; N]]) {
    let width = |column: usize| table.iter().map(|row| row[column].as_ref().chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in table {
        let cell = |(at, (cell, width)): (usize, (&S, &usize))| {
            let cell = cell.as_ref();
            if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let line: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        println!("{}", line.join("  ").trim_end());
    }
}

fn table_of<S: AsRef<str>, const N: usize>(table: &[[S; N]], rule: &str) {
    for (at, row) in table.iter().enumerate() {
        println!("| {} |", row.each_ref().map(AsRef::as_ref).join(" | "));
        if at == 0 {
            println!("{rule}");
        }
    }
}

/// The median; of an even number the upper of the two in the middle.
pub fn median(figures: &[f64]) -> f64 {
    quantile(figures, 0.5)
}

/// The figure below which this share of all lies.
pub fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}
