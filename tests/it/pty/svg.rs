//! A screen as a picture: cells become runs of text and rectangles; lines of frames are drawn, so that they meet.

use std::fmt::Write as _;
use vt100::Color;

/// Size of a cell and of its font, and the edge around the screen.
const CELL: (f64, f64) = (8.4, 18.0);
const FONT: f64 = 14.0;
const EDGE: f64 = 12.0;

/// Colours of a terminal.
pub struct Palette {
    ground: u32,
    text: u32,
    /// The sixteen.
    colours: [u32; 16],
}

/// A dark terminal.
pub const DARK: Palette = Palette {
    ground: 0x16_181d,
    text: 0xd6_dae2,
    colours: [
        0x16_181d, 0xe0_6c75, 0x98_c379, 0xe5_c07b, 0x61_afef, 0xc6_78dd, 0x56_c2cc, 0xd6_dae2, 0x6b_7280, 0xff_7b86,
        0xb5_e090, 0xff_d68a, 0x7e_bdff, 0xe0_96f5, 0x7f_e0ea, 0xff_ffff,
    ],
};

/// A light one.
pub const LIGHT: Palette = Palette {
    ground: 0xff_ffff,
    text: 0x24_292f,
    colours: [
        0x24_292f, 0xc0_2030, 0x1a_7f37, 0x8a_6100, 0x05_5ecc, 0x8a_30b8, 0x0b_7285, 0xd0_d7de, 0x6e_7781, 0xd1_242f,
        0x2d_a44e, 0xbf_8700, 0x21_8bff, 0xa4_75f9, 0x31_92aa, 0xff_ffff,
    ],
};

/// A cell that begins a character.
#[derive(Clone, PartialEq)]
pub struct Cell {
    /// The character with what is combined with it.
    pub text: String,
    column: usize,
    width: usize,
    look: Look,
}

#[derive(Clone, Copy, PartialEq)]
struct Look {
    ink: u32,
    /// None = that of the terminal.
    ground: Option<u32>,
    bold: bool,
    italic: bool,
    underline: bool,
}

/// The cells of a screen, row by row.
pub fn cells(screen: &vt100::Screen, palette: &Palette) -> Vec<Vec<Cell>> {
    let (rows, columns) = screen.size();
    let cell = |row, column: u16| {
        let cell = screen.cell(row, column)?;
        let (text, width) = (cell.contents(), if cell.is_wide() { 2 } else { 1 });
        let text = if text.is_empty() { " " } else { text }.to_owned();
        (!cell.is_wide_continuation()).then(|| Cell { text, column: column.into(), width, look: look(cell, palette) })
    };
    (0..rows.get()).map(|row| (0..columns.get()).filter_map(|column| cell(row, column)).collect()).collect()
}

fn look(cell: &vt100::Cell, palette: &Palette) -> Look {
    let colour = |colour, own| match colour {
        Color::Default => own,
        Color::Idx(index) => palette.colours[usize::from(index) % 16],
        Color::Rgb(r, g, b) => u32::from_be_bytes([0, r, g, b]),
    };
    let (mut ink, mut ground) = (colour(cell.fgcolor(), palette.text), colour(cell.bgcolor(), palette.ground));
    if cell.inverse() {
        std::mem::swap(&mut ink, &mut ground);
    }
    if cell.dim() {
        ink = mixed(ink, ground);
    }
    let ground = (ground != palette.ground).then_some(ground);
    Look { ink, ground, bold: cell.bold(), italic: cell.italic(), underline: cell.underline() }
}

/// Three parts of the one, two of the other.
fn mixed(one: u32, other: u32) -> u32 {
    let part = |shift: u32| ((((one >> shift) & 0xff) * 3 + ((other >> shift) & 0xff) * 2) / 5) << shift;
    part(16) | part(8) | part(0)
}

/// The picture.
pub fn svg(rows: &[Vec<Cell>], title: &str, palette: &Palette) -> String {
    let columns = rows.iter().flatten().map(|cell| cell.column + cell.width).max().unwrap_or(0);
    let (width, height) = (columns as f64 * CELL.0 + 2.0 * EDGE, rows.len() as f64 * CELL.1 + 2.0 * EDGE);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"{FONT}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        escaped(title),
        hex(palette.ground)
    );
    for (row, cells) in rows.iter().enumerate() {
        let top = EDGE + row as f64 * CELL.1;
        // Rectangles before all text of the row, or they would cover what reaches out of its cell.
        for run in cells.chunk_by(|a, b| a.look.ground == b.look.ground) {
            if let Some(ground) = run[0].look.ground {
                let (x, width) = span(run);
                let (height, fill) = (CELL.1, hex(ground));
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
                );
            }
        }
        for run in cells.chunk_by(|a, b| a.look == b.look && kind(a) == kind(b)) {
            match kind(&run[0]) {
                Kind::Blank => {}
                Kind::Frame => frame(&mut out, run, top),
                Kind::Text => words(&mut out, run, top),
            }
        }
    }
    out + "</svg>\n"
}

#[derive(PartialEq)]
enum Kind {
    Blank,
    Frame,
    Text,
}

fn kind(cell: &Cell) -> Kind {
    match cell.text.as_str() {
        " " => Kind::Blank,
        text if arms(text).is_some() => Kind::Frame,
        _ => Kind::Text,
    }
}

/// Where a run begins, and how wide it is.
fn span(run: &[Cell]) -> (f64, f64) {
    let columns: usize = run.iter().map(|cell| cell.width).sum();
    (EDGE + run[0].column as f64 * CELL.0, columns as f64 * CELL.0)
}

fn words(out: &mut String, run: &[Cell], top: f64) {
    let (x, width) = span(run);
    let look = run[0].look;
    let text: String = run.iter().map(|cell| escaped(&cell.text)).collect();
    let y = top + CELL.1 - 4.5;
    let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{width:.1}\" fill=\"{}\"", hex(look.ink));
    for (on, attribute) in [
        (look.bold, " font-weight=\"bold\""),
        (look.italic, " font-style=\"italic\""),
        (look.underline, " text-decoration=\"underline\""),
    ] {
        out.push_str(if on { attribute } else { "" });
    }
    let _ = writeln!(out, ">{text}</text>");
}

/// To which sides a character of a frame reaches: up, down, left, right.
fn arms(text: &str) -> Option<[bool; 4]> {
    let arms = match text {
        "─" => "lr",
        "│" => "ud",
        "┌" => "dr",
        "┐" => "dl",
        "└" => "ur",
        "┘" => "ul",
        "├" => "udr",
        "┤" => "udl",
        "┬" => "dlr",
        "┴" => "ulr",
        "┼" => "udlr",
        _ => return None,
    };
    Some(['u', 'd', 'l', 'r'].map(|side| arms.contains(side)))
}

fn frame(out: &mut String, run: &[Cell], top: f64) {
    let mut path = String::new();
    for cell in run {
        let left = EDGE + cell.column as f64 * CELL.0;
        let (x, y) = (left + CELL.0 / 2.0, top + CELL.1 / 2.0);
        let ends = [(x, top), (x, top + CELL.1), (left, y), (left + CELL.0, y)];
        let arms = arms(&cell.text).unwrap_or_default();
        for ((to_x, to_y), _) in ends.into_iter().zip(arms).filter(|(_, reaches)| *reaches) {
            let _ = write!(path, "M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}");
        }
    }
    let _ = writeln!(out, "<path d=\"{path}\" stroke=\"{}\"/>", hex(run[0].look.ink));
}

fn hex(colour: u32) -> String {
    format!("#{colour:06x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
