//! Figures against aims.

/// What a figure is counted in, and which way is better.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    PerSecond,
    Millis,
    Micros,
    Megabytes,
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Unit::PerSecond => format!("{}/s", thousands(figure.round())),
            Unit::Millis => format!("{figure:.1} ms"),
            Unit::Micros => format!("{figure:.1} µs"),
            Unit::Megabytes => format!("{figure:.1} MB"),
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

struct Row {
    name: String,
    figure: String,
    spread: String,
    aim: String,
    ratio: String,
    verdict: &'static str,
}

/// The table, and remarks below it.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Report {
    /// The median of some rounds against an aim.
    pub fn measure(&mut self, name: &str, unit: Unit, rounds: &[f64], aim: f64) {
        let figure = median(rounds);
        // Above one is better than the aim, whatever is counted.
        let ratio = if unit == Unit::PerSecond { figure / aim } else { aim / figure };
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
            ratio: format!("{ratio:.2}"),
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

    fn table(&self) -> Vec<[&str; 6]> {
        let mut table = vec![["measure", "figure", "rounds", "aim", "ratio", ""]];
        table.extend(self.rows.iter().map(|r| {
            [r.name.as_str(), r.figure.as_str(), r.spread.as_str(), r.aim.as_str(), r.ratio.as_str(), r.verdict]
        }));
        table
    }

    /// For a terminal.
    pub fn print(&self) {
        let table = self.table();
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..6).map(width).collect();
        for row in &table {
            let line: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(at, (cell, width))| if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
                .collect();
            println!("{}", line.join("  ").trim_end());
        }
        for note in &self.notes {
            println!("{note}");
        }
    }

    /// For a page.
    pub fn markdown(&self) {
        for (at, row) in self.table().iter().enumerate() {
            println!("| {} |", row.join(" | "));
            if at == 0 {
                println!("|---|---:|---:|---:|---:|---|");
            }
        }
        println!();
        for note in &self.notes {
            println!("- {note}");
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
