//! What the workbench wants done. Update only says it; the driver does it.

use crate::event::{Event, Ms};
use client::Client;
use client::Request;
use contract::{Operation, Result};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

/// Something to do.
pub enum Effect {
    /// Ask the client, and bring the answer back.
    Call {
        /// What, for the log.
        name: &'static str,
        /// The asking.
        run: Box<dyn FnOnce(Client) -> BoxFuture<'static, Event> + Send>,
    },
    /// Ask the client for a stream, and bring back each of its events until it ends or `key` is watched anew.
    Watch {
        /// One stream per key; a new one replaces the old.
        key: String,
        /// The asking.
        run: Box<dyn FnOnce(Client) -> BoxStream<'static, Event> + Send>,
    },
    /// Stop watching.
    Unwatch {
        /// The key.
        key: String,
    },
    /// Ask the program around us (the demo world, the settings file, another person).
    Host {
        /// The asking.
        run: Box<dyn FnOnce(std::sync::Arc<dyn crate::Host>) -> BoxFuture<'static, Event> + Send>,
    },
    /// Speak as another client from now on.
    Become(Client),
    /// Keep what is typed for this person from now on; for none, until it is known for whom.
    Belongs(Option<crate::keeper::Person>),
    /// Bring this event in: a way from a layer to a place.
    Send(Box<Event>),
    /// Come back with [`Event::Tick`] at this time.
    Wake(Ms),
    /// Put text on the clipboard; a toast says which way it went.
    Copy(String),
    /// Write a file; a toast says where, or why not.
    WriteFile {
        /// Name in the person's working folder.
        name: String,
        /// What it holds.
        content: String,
    },
    /// Open the person's editor on a text; the event is made from what they saved.
    Editor {
        /// The text.
        text: String,
        /// Ending of the file's name, for the editor's highlighting.
        ending: &'static str,
        /// Makes the event.
        then: Box<dyn FnOnce(std::result::Result<String, String>) -> Event + Send>,
    },
    /// Keep unsaved text, so that it survives a crash; none removes it.
    KeepUnsaved {
        /// Whose text it is.
        key: String,
        /// The text.
        text: Option<String>,
    },
    /// Read the text kept under a key, after all that was to be kept before.
    ReadKept {
        /// Whose text it is.
        key: String,
        /// Makes the event.
        then: Box<dyn FnOnce(Option<String>) -> Event + Send>,
    },
    /// Ring the terminal's bell, and when the terminal is not in front, show a desktop notice.
    Notice(String),
    /// Set the terminal's title.
    Title(String),
    /// Capture the mouse, or let it go.
    Mouse(bool),
    /// Stop the program for the shell (Ctrl-Z).
    Suspend,
    /// Leave.
    Quit,
}

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Effect::Call { name, .. } => write!(f, "Call({name})"),
            Effect::Watch { key, .. } => write!(f, "Watch({key})"),
            Effect::Unwatch { key } => write!(f, "Unwatch({key})"),
            Effect::Host { .. } => f.write_str("Host"),
            Effect::Become(_) => f.write_str("Become"),
            Effect::Belongs(person) => write!(f, "Belongs({person:?})"),
            Effect::Send(event) => write!(f, "Send({event:?})"),
            Effect::Wake(at) => write!(f, "Wake({at})"),
            Effect::Copy(text) => write!(f, "Copy({} bytes)", text.len()),
            Effect::WriteFile { name, .. } => write!(f, "WriteFile({name})"),
            Effect::Editor { .. } => f.write_str("Editor"),
            Effect::KeepUnsaved { key, text } => write!(f, "KeepUnsaved({key}, {})", text.is_some()),
            Effect::ReadKept { key, .. } => write!(f, "ReadKept({key})"),
            Effect::Notice(text) => write!(f, "Notice({text})"),
            Effect::Title(text) => write!(f, "Title({text})"),
            Effect::Mouse(on) => write!(f, "Mouse({on})"),
            Effect::Suspend => f.write_str("Suspend"),
            Effect::Quit => f.write_str("Quit"),
        }
    }
}

/// An effect that calls an operation and turns its answer into an event.
pub fn call<O: Operation>(
    path: O::Path,
    query: O::Query,
    body: O::Body,
    then: impl FnOnce(Result<O::Reply>) -> Event + Send + 'static,
) -> Effect
where
    client::Engine: client::Serve<O>,
{
    Effect::Call {
        name: O::ID,
        run: Box::new(move |client| {
            Box::pin(async move { then(client.call::<O>(Request { path, query, body }).await) })
        }),
    }
}
