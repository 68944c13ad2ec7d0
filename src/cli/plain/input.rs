//! Lines that are typed, with the time at which each began: what was typed before a question cannot answer it.

use std::collections::VecDeque;
use std::io::Read as _;
use std::time::Instant;
use tokio::sync::mpsc;

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// Its text, without its end.
    pub text: String,
    /// When its first character was read.
    pub began: Instant,
}

/// Takes bytes as they are read and gives whole lines.
#[derive(Debug, Default)]
struct Lines {
    part: Vec<u8>,
    began: Option<Instant>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], at: Instant, mut line: impl FnMut(Typed)) {
        for byte in bytes {
            let began = *self.began.get_or_insert(at);
            if *byte == b'\n' {
                line(self.whole(began));
            } else {
                self.part.push(*byte);
            }
        }
    }

    fn whole(&mut self, began: Instant) -> Typed {
        self.began = None;
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.part)).trim_end_matches('\r').to_owned();
        Typed { text, began }
    }

    /// The last line, when it has no end.
    fn rest(&mut self) -> Option<Typed> {
        let began = self.began.take()?;
        Some(self.whole(began))
    }
}

/// What is typed.
pub struct Input {
    lines: mpsc::UnboundedReceiver<Typed>,
    kept: VecDeque<Typed>,
}

impl Input {
    /// Reads stdin from now on; nothing else may.
    pub fn new() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        // A thread of its own: a read of a terminal cannot be called back, and must not hold up the end of the program.
        std::thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut bytes = [0; 4096];
            let mut part = Lines::default();
            loop {
                match stdin.read(&mut bytes) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => part.take(&bytes[..count], Instant::now(), |line| _ = sender.send(line)),
                }
            }
            if let Some(line) = part.rest() {
                let _ = sender.send(line);
            }
        });
        Self { lines, kept: VecDeque::new() }
    }

    /// The next line; none when there will be no more.
    pub async fn next(&mut self) -> Option<Typed> {
        match self.kept.pop_front() {
            Some(line) => Some(line),
            None => self.lines.recv().await,
        }
    }

    /// Keeps lines for later, before those that come.
    pub fn keep(&mut self, lines: VecDeque<Typed>) {
        self.kept.extend(lines);
    }

    /// Drops what was typed so far, in the line discipline of a terminal too. Answers how many lines that were.
    pub fn discard(&mut self) -> usize {
        // Without a terminal there is nothing to flush, and the time of a line tells.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let mut count = std::mem::take(&mut self.kept).len();
        while self.lines.try_recv().is_ok() {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Typed};
    use std::time::{Duration, Instant};

    #[test]
    fn a_line_is_as_old_as_its_first_character() {
        let first = Instant::now();
        let later = first + Duration::from_secs(5);
        let mut lines = Lines::default();
        let mut whole = Vec::new();
        lines.take(b"one\r\nappr", first, |line| whole.push(line));
        lines.take("ove\nz\u{fc}".as_bytes(), later, |line| whole.push(line));
        whole.extend(lines.rest());
        let line = |text: &str, began| Typed { text: text.into(), began };
        assert_eq!(whole, [line("one", first), line("approve", first), line("z\u{fc}", later)]);
        assert_eq!(lines.rest(), None);
    }
}
