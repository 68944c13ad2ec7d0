//! The way of cells to the terminal, safe for graphemes on whose width terminals differ.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::io::{self, Write};

/// Writes cells, and around each such grapheme tells the terminal where it is: what the grapheme may cover is made blank first, and
/// the cell after it is moved to.
#[derive(Debug)]
pub struct Steady<W: Write>(CrosstermBackend<W>);

impl<W: Write> Steady<W> {
    /// Over this writer.
    pub fn new(out: W) -> Self {
        Self(CrosstermBackend::new(out))
    }
}

impl<W: Write> Write for Steady<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.0)
    }
}

impl<W: Write> Backend for Steady<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Each call of the one below begins by moving the cursor.
        let mut firm = Vec::new();
        for (x, y, cell) in content {
            if !text::is_loose(cell.symbol()) {
                firm.push((x, y, cell));
                continue;
            }
            let mut blank = cell.clone();
            blank.set_symbol(" ");
            let covered = text::width(cell.symbol()) as u16;
            self.0.draw(std::mem::take(&mut firm).into_iter())?;
            self.0.draw((x..x + covered).map(|x| (x, y, &blank)))?;
            self.0.draw(std::iter::once((x, y, cell)))?;
        }
        self.0.draw(firm.into_iter())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.0.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}
