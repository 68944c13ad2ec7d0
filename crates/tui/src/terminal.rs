//! The one owner of the terminal: enters and leaves its modes, reads its input with times, and gives it back on every way out.

use crate::backend::Steady;
use crate::event::{Input, Ms, What};
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture, Event as TermEvent, EventStream,
};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};
use futures_util::StreamExt;
use ratatui::Terminal as Screen;
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;
use std::io::{self, BufWriter, Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Whether the terminal is in our modes, so that giving it back happens once.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal in our hands.
pub struct Terminal {
    /// Never dropped: its end would print about a cursor it cannot show when the terminal is gone, and printing there panics.
    /// What it would do is done by [`give_back`].
    screen: ManuallyDrop<Screen<Steady<BufWriter<Stdout>>>>,
    reader: Option<JoinHandle<()>>,
    hang_up: HangUp,
    inputs: mpsc::UnboundedSender<Input>,
    began: Instant,
    mouse: bool,
    /// Rows of the last frame that hold a grapheme on whose width terminals differ.
    loose: Vec<bool>,
}

/// What undoes every mode that we may have set. Safe to write at any time.
pub fn reset(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        ResetColor,
        LeaveAlternateScreen,
        Show
    )
}

/// Gives the terminal back, if we have it. For panics and signals as well as for the ordinary end.
pub fn give_back() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = reset(&mut stdout());
        let _ = disable_raw_mode();
    }
}

impl Terminal {
    /// Takes the terminal. When this thread panics it is given back before the report is printed. A panic in another thread
    /// ends a task, not the workbench: its report goes to the log, for on the screen it would be noise.
    ///
    /// # Errors
    /// There is no terminal, or it refuses.
    pub fn take(began: Instant, inputs: mpsc::UnboundedSender<Input>) -> io::Result<Self> {
        let before = std::panic::take_hook();
        let owner = std::thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            let ours = std::thread::current().id() == owner;
            if !ours && ENTERED.load(Ordering::SeqCst) {
                tracing::error!(%panic, "a task failed");
                return;
            }
            give_back();
            before(panic);
        }));
        // A frame is one write: half frames flicker.
        let screen = Screen::new(Steady::new(BufWriter::with_capacity(1 << 16, stdout())))?;
        let mut terminal = Self {
            screen: ManuallyDrop::new(screen),
            reader: None,
            hang_up: HangUp::watch(),
            inputs,
            began,
            mouse: false,
            loose: Vec::new(),
        };
        terminal.enter()?;
        Ok(terminal)
    }

    fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange)?;
        if self.mouse {
            execute!(stdout(), EnableMouseCapture)?;
        }
        self.wipe()?;
        self.read();
        Ok(())
    }

    /// Clears the screen, so that the next frame is drawn whole. The screen's own `clear` would ask the terminal where the
    /// cursor is, and the answer goes to whoever reads the keys.
    fn wipe(&mut self) -> io::Result<()> {
        let size = self.screen.size()?;
        self.screen.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Starts the reader. It runs apart from drawing, so that its times are those of the keys.
    fn read(&mut self) {
        let (inputs, began) = (self.inputs.clone(), self.began);
        self.reader = Some(tokio::spawn(async move {
            let mut events = EventStream::new();
            // The end of the stream, or an error, is the loss of the terminal, and so is the end of this task.
            while let Some(Ok(event)) = events.next().await {
                let at = millis(began);
                let what = match event {
                    TermEvent::Key(key) => What::Key(key),
                    TermEvent::Paste(text) => What::Paste(text),
                    TermEvent::Mouse(mouse) => What::Mouse(mouse),
                    TermEvent::FocusGained => What::Focus(true),
                    TermEvent::FocusLost => What::Focus(false),
                    TermEvent::Resize(width, height) => What::Resize(width, height),
                };
                if inputs.send(Input { at, what }).is_err() {
                    break;
                }
            }
        }));
    }

    /// Waits until the terminal is lost: it hung up, or the reader has ended by itself. Not to be asked again after that.
    pub async fn lost(&mut self) {
        // Waited for here and not in a task: the reader can go round in circles on a terminal that is gone, and hold up what
        // its thread was to run next.
        let Some(reader) = &mut self.reader else { return std::future::pending().await };
        tokio::select! {
            _ = reader => {}
            () = self.hang_up.hung_up() => {}
        }
    }

    /// Leaves our modes for another program, and stops reading: a reader that lives would eat that program's keys.
    pub async fn lend(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.abort();
            let _ = reader.await;
        }
        give_back();
    }

    /// Takes the terminal again.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn take_again(&mut self) -> io::Result<()> {
        self.enter()
    }

    /// Columns and rows.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.screen.size()?;
        Ok((size.width, size.height))
    }

    /// Draws one frame inside a synchronized update and hands it to the terminal.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, clear: bool, draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        if clear {
            self.wipe()?;
        }
        let loose = &mut self.loose;
        self.screen.draw(|frame| {
            draw(frame);
            redraw_loose(frame.buffer_mut(), loose);
        })?;
        execute!(self.screen.backend_mut(), EndSynchronizedUpdate)
    }

    /// Captures the mouse, or lets it go.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        if on {
            execute!(self.screen.backend_mut(), EnableMouseCapture)
        } else {
            execute!(self.screen.backend_mut(), DisableMouseCapture)
        }
    }

    /// Writes bytes that are not part of a frame: title, bell, clipboard, notice.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.screen.backend_mut().write_all(bytes)?;
        Write::flush(self.screen.backend_mut())
    }
}

/// Has the rows written whole in which such a grapheme is or was, and those below them: a terminal that takes it for wider than
/// we do shows the rest of it in cells that nothing else would overwrite.
fn redraw_loose(buffer: &mut Buffer, before: &mut Vec<bool>) {
    let area = buffer.area;
    let is_loose = |y| (area.left()..area.right()).any(|x| text::is_loose(buffer[(x, y)].symbol()));
    let now: Vec<bool> = (area.top()..area.bottom()).map(is_loose).collect();
    let near = |rows: &[bool], at: usize| {
        rows[at.saturating_sub(1)..].iter().take(if at == 0 { 1 } else { 2 }).any(|row| *row)
    };
    before.resize(now.len(), false);
    for (at, y) in (area.top()..area.bottom()).enumerate() {
        if near(&now, at) || near(before, at) {
            for x in area.left()..area.right() {
                buffer[(x, y)].set_diff_option(CellDiffOption::AlwaysUpdate);
            }
            // The backend takes care of the cells behind such a grapheme; a blank written there would cut it in two.
            for x in area.left() + 1..area.right() {
                let symbol = buffer[(x - 1, y)].symbol();
                if text::is_loose(symbol) && text::width(symbol) > 1 {
                    buffer[(x, y)].set_diff_option(CellDiffOption::Skip);
                }
            }
        }
    }
    *before = now;
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Tells when the terminal has gone away. The event stream does not: at the end of its input it reads on and on.
#[cfg(unix)]
struct HangUp(Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>);

#[cfg(unix)]
impl HangUp {
    fn watch() -> Self {
        use std::os::fd::AsFd;
        use tokio::io::{Interest, unix::AsyncFd};
        let input = io::stdin().as_fd().try_clone_to_owned();
        // What is wrong with this constructor concerns descriptors that may be closed meanwhile; this one is owned.
        #[allow(deprecated)]
        let input = input.and_then(|input| AsyncFd::with_interest(input, Interest::ERROR));
        Self(input.ok())
    }

    async fn hung_up(&self) {
        match &self.0 {
            Some(input) => _ = input.ready(tokio::io::Interest::ERROR).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct HangUp;

#[cfg(not(unix))]
impl HangUp {
    fn watch() -> Self {
        Self
    }

    async fn hung_up(&self) {
        std::future::pending().await
    }
}

/// Milliseconds since the beginning.
pub fn millis(began: Instant) -> Ms {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
