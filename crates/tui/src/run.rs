//! The driver: merges input, answers and timers into one channel, lets the state change, carries out what it wants, and draws
//! when the state says that the screen no longer shows it, at most 60 times a second. With nothing to do, nothing runs.

use crate::effect::Effect;
use crate::event::{Event, Ms};
use crate::keeper::Keeper;
use crate::keymap::Keymap;
use crate::state::{State, Toast};
use crate::terminal::{Terminal, millis};
use crate::theme::{Theme, ThemeSetting};
use crate::view::View;
use crate::{clipboard, unsaved};
use async_trait::async_trait;
use client::{Client, Connection};
use futures_util::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Shortest time between two frames, in milliseconds.
const FRAME_MS: Ms = 16;

/// As whom, over which engine.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `embedded`, or the server's address.
    pub engine: String,
    /// Whether the home is empty: the first screen welcomes.
    pub fresh: bool,
}

impl Profile {
    /// How the engine in this process is called.
    pub const EMBEDDED: &str = "embedded";

    /// Whether the engine is a server's.
    pub fn is_server(&self) -> bool {
        self.engine != Self::EMBEDDED
    }
}

/// A model that could be used without more ado.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundModel {
    /// `provider:model`, as an agent's record names it.
    pub llm: String,
    /// How it was found: the name of a variable, or an address.
    pub how: String,
}

/// What the program around the workbench can do for it.
#[async_trait]
pub trait Host: Send + Sync {
    /// Makes the demo world. Answers what was done, and the client of its default person.
    async fn make_demo(&self) -> contract::Result<(String, Client, Profile)>;
    /// Models found: keys in the environment, servers on loopback. Looks only at this machine.
    async fn find_models(&self) -> Vec<FoundModel>;
    /// The program's own log, newest last, from this place on; answers the place for the next call. Waits until there is
    /// something.
    async fn log(&self, from: usize) -> (Vec<String>, usize);
    /// Settings of the workbench as they are in the file.
    fn settings(&self) -> TuiSettings;
    /// Writes settings of the workbench into the file; answers where, for the person.
    ///
    /// # Errors
    /// Why it could not be written.
    fn save_settings(&self, settings: &TuiSettings) -> Result<String, String>;
    /// The person's own theme, from the file that the setting names.
    ///
    /// # Errors
    /// Why it cannot be used, by the file and its line.
    fn own_theme(&self, file: &Path) -> Result<Theme, String>;
    /// Waits until something in the home or on the server changed, or may have; returns at once for changes since the last
    /// call.
    async fn rung(&self);
    /// Waits until the connection to the server stands otherwise than this. Ends never for a home.
    async fn connection(&self, seen: Connection) -> Connection;
    /// Folder for unsaved text.
    fn unsaved_dir(&self) -> PathBuf;
    /// Command that opens the person's editor.
    fn editor(&self) -> Option<String>;
}

/// Settings of the workbench.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuiSettings {
    /// Colours.
    pub theme: ThemeSetting,
    /// Capture the mouse.
    pub mouse: bool,
    /// Nothing moves that need not.
    pub reduced_motion: bool,
    /// Own keys by the name of the action.
    pub keys: std::collections::BTreeMap<String, Vec<String>>,
}

/// How the workbench begins.
pub struct Options {
    /// Whom it asks.
    pub client: Client,
    /// As whom.
    pub profile: Profile,
    /// The program around.
    pub host: Arc<dyn Host>,
}

/// Runs the workbench until the person leaves.
///
/// # Errors
/// There is no terminal, or it is lost; keys in the settings that conflict, a theme that cannot be used.
pub async fn run(options: Options) -> io::Result<()> {
    let began = Instant::now();
    let settings = options.host.settings();
    let keymap = Keymap::new(&settings.keys).map_err(|faults| io::Error::other(faults.join("\n")))?;
    let own_theme = match &settings.theme {
        ThemeSetting::File(file) => Some(options.host.own_theme(file).map_err(io::Error::other)?),
        ThemeSetting::Named(_) => None,
    };
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let (input_sender, inputs) = mpsc::unbounded_channel();
    let (sender, events) = mpsc::unbounded_channel();
    let terminal = Terminal::take(began, input_sender)?;
    let (mut state, mut effects) = State::new(options.profile, keymap, terminal.size()?);
    state.no_colour = no_colour;
    state.own_theme = own_theme;
    state.apply(&settings, &mut effects);
    let keeper = Keeper::new(sender.clone())?;
    let mut driver = Driver {
        began,
        terminal,
        client: options.client,
        host: options.host,
        state,
        view: View::default(),
        sender,
        wakes: BTreeSet::new(),
        watches: HashMap::new(),
        last_frame: 0,
        quit: false,
        keeper,
    };
    driver.listen_for_rings();
    driver.listen_to_the_connection();
    let result = driver.turn(effects, inputs, events).await;
    for (_, watch) in driver.watches.drain() {
        watch.abort();
    }
    drop(driver);
    result
}

struct Driver {
    began: Instant,
    terminal: Terminal,
    client: Client,
    host: Arc<dyn Host>,
    state: State,
    view: View,
    sender: mpsc::UnboundedSender<Event>,
    wakes: BTreeSet<Ms>,
    watches: HashMap<String, JoinHandle<()>>,
    last_frame: Ms,
    quit: bool,
    /// The last field: the terminal is given back before the last files are waited for.
    keeper: Keeper,
}

impl Driver {
    fn now(&self) -> Ms {
        millis(self.began)
    }

    fn listen_for_rings(&self) {
        let (host, sender) = (self.host.clone(), self.sender.clone());
        tokio::spawn(async move {
            loop {
                host.rung().await;
                if sender.send(Event::Rung).is_err() {
                    break;
                }
                // A busy home rings often; looking again a few times a second is enough.
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        });
    }

    fn listen_to_the_connection(&self) {
        let (host, sender) = (self.host.clone(), self.sender.clone());
        let began = self.began;
        tokio::spawn(async move {
            let mut seen = Connection::Connected;
            loop {
                seen = host.connection(seen).await;
                if sender.send(Event::Connection { at: millis(began), connection: seen }).is_err() {
                    break;
                }
            }
        });
    }

    async fn turn(
        &mut self,
        effects: Vec<Effect>,
        mut inputs: mpsc::UnboundedReceiver<crate::event::Input>,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) -> io::Result<()> {
        self.carry_out(effects).await?;
        let mut signals = Signals::listen()?;
        loop {
            // No frame after this: the terminal may be gone.
            if self.quit {
                return Ok(());
            }
            self.draw().await?;
            let now = self.now();
            let frame = self.state.dirty.then(|| self.last_frame + FRAME_MS);
            let wake = self.wakes.first().copied().into_iter().chain(frame).min();
            let sleep = async {
                match wake {
                    Some(at) => tokio::time::sleep(Duration::from_millis(at.saturating_sub(now))).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                biased;
                signal = signals.next() => {
                    if signal == Signal::Continue { Event::Input(self.resized()) } else { Event::End }
                }
                input = inputs.recv() => match input {
                    Some(input) => Event::Input(input),
                    None => Event::End,
                },
                Some(event) = events.recv() => event,
                () = self.terminal.lost() => Event::End,
                () = sleep => Event::Tick { at: self.now() },
                () = tokio::time::sleep(Duration::from_secs(3600)) => Event::Tick { at: self.now() },
            };
            self.step(event).await?;
            // What waits already is taken before the next frame, so that a burst costs one frame.
            for _ in 0..1000 {
                if let Ok(input) = inputs.try_recv() {
                    self.step(Event::Input(input)).await?;
                } else if let Ok(event) = events.try_recv() {
                    self.step(event).await?;
                } else {
                    break;
                }
            }
        }
    }

    fn resized(&self) -> crate::event::Input {
        let (width, height) = self.terminal.size().unwrap_or((80, 24));
        crate::event::Input { at: self.now(), what: crate::event::What::Resize(width, height) }
    }

    async fn step(&mut self, event: Event) -> io::Result<()> {
        if let Event::Tick { at } = event {
            self.wakes = self.wakes.split_off(&(at + 1));
        }
        let effects = self.state.update(event);
        self.carry_out(effects).await
    }

    async fn draw(&mut self) -> io::Result<()> {
        if !self.state.dirty || self.now() < self.last_frame + FRAME_MS {
            return Ok(());
        }
        self.state.dirty = false;
        let clear = std::mem::take(&mut self.state.clear);
        let (state, view) = (&self.state, &mut self.view);
        self.terminal.draw(clear, |frame| crate::draw::draw(state, view, frame))?;
        self.last_frame = self.now();
        let effects = self.state.update(Event::Drawn { at: self.last_frame });
        self.carry_out(effects).await
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        for effect in effects {
            match effect {
                Effect::Call { run, .. } => {
                    let (asked, sender) = (run(self.client.clone()), self.sender.clone());
                    tokio::spawn(async move {
                        let _ = sender.send(asked.await);
                    });
                }
                Effect::Watch { key, run } => {
                    let (mut stream, sender) = (run(self.client.clone()), self.sender.clone());
                    let task = tokio::spawn(async move {
                        while let Some(event) = stream.next().await {
                            if sender.send(event).is_err() {
                                break;
                            }
                        }
                    });
                    if let Some(old) = self.watches.insert(key, task) {
                        old.abort();
                    }
                }
                Effect::Unwatch { key } => {
                    if let Some(old) = self.watches.remove(&key) {
                        old.abort();
                    }
                }
                Effect::Host { run } => {
                    let (asked, sender) = (run(self.host.clone()), self.sender.clone());
                    tokio::spawn(async move {
                        let _ = sender.send(asked.await);
                    });
                }
                Effect::Become(client) => self.client = client,
                Effect::Send(event) => _ = self.sender.send(*event),
                Effect::Wake(at) => _ = self.wakes.insert(at),
                Effect::Copy(text) => {
                    let route = clipboard::copy(&text, &self.keeper.folder(&self.host.unsaved_dir()));
                    if let Some(bytes) = &route.bytes {
                        self.terminal.say(bytes)?;
                    }
                    let _ = self.sender.send(Event::Toast(Toast::good(route.said)));
                }
                Effect::WriteFile { name, content } => self.keeper.write(name, content),
                Effect::KeepUnsaved { key, text } => self.keeper.keep(self.host.unsaved_dir(), key, text),
                Effect::ReadKept { key, then } => self.keeper.read(self.host.unsaved_dir(), key, then),
                Effect::Belongs(person) => self.keeper.belongs_to(person.as_ref()),
                Effect::Editor { text, ending, then } => {
                    self.terminal.lend().await;
                    let edited = unsaved::edit(self.host.editor(), &text, ending).await;
                    self.terminal.take_again()?;
                    self.state.clear = true;
                    self.state.dirty = true;
                    let _ = self.sender.send(then(edited));
                }
                Effect::Notice(text) => {
                    let front = self.state.focused;
                    self.terminal.say(&clipboard::notice(&text, front))?;
                }
                Effect::Title(text) => self.terminal.say(&clipboard::title(&text))?,
                Effect::Mouse(on) => self.terminal.mouse(on)?,
                Effect::Suspend => {
                    self.terminal.lend().await;
                    suspend();
                    self.terminal.take_again()?;
                    self.state.clear = true;
                    self.state.dirty = true;
                }
                Effect::Quit => self.quit = true,
            }
        }
        Ok(())
    }
}

/// Stops this process for the shell that started it; returns after `fg`.
fn suspend() {
    #[cfg(unix)]
    {
        // The whole group, as the terminal itself would do it.
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[derive(PartialEq)]
enum Signal {
    End,
    Continue,
}

#[cfg(unix)]
struct Signals {
    ends: [tokio::signal::unix::Signal; 3],
    goes_on: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            ends: [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?],
            goes_on: signal(SignalKind::from_raw(18))?,
        })
    }

    async fn next(&mut self) -> Signal {
        let [term, hup, int] = &mut self.ends;
        tokio::select! {
            _ = term.recv() => Signal::End,
            _ = hup.recv() => Signal::End,
            _ = int.recv() => Signal::End,
            _ = self.goes_on.recv() => Signal::Continue,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        std::future::pending().await
    }
}
