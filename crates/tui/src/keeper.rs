//! What the workbench writes to files: on a thread of its own, so that a slow disk holds up no key; in the order in which it was
//! wished, and waited for at the end. What is typed belongs to one person of one tenant, and is kept in a folder of theirs.

use crate::event::Event;
use crate::state::Toast;
use crate::unsaved::{self, file_name};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use tokio::sync::mpsc::UnboundedSender;

/// Where text is written that was typed before it was known by whom; it is offered to nobody.
const NOBODY: &str = "nobody";

/// Whose text it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Person {
    /// Their tenant.
    pub tenant: Option<String>,
    /// Their id.
    pub user: String,
}

impl Person {
    /// Their folder. No name of a file holds `@`, so a user of no tenant is told from every other.
    fn folder(&self) -> String {
        let user = file_name(&self.user);
        self.tenant.as_deref().map_or_else(|| user.clone(), |tenant| format!("{user}@{}", file_name(tenant)))
    }
}

type Then = Box<dyn FnOnce(Option<String>) -> Event + Send>;

/// Something to do with files.
enum Work {
    /// Keep a text in a folder under a key, or remove it.
    Keep { dir: PathBuf, key: String, text: Option<String> },
    /// Read what is kept.
    Read { dir: PathBuf, key: String, then: Then },
    /// Write a new file in the working folder.
    Write { name: String, content: String },
}

impl Work {
    /// Puts it into a folder of the folder it names.
    fn below(&mut self, name: &str) {
        if let Work::Keep { dir, .. } | Work::Read { dir, .. } = self {
            dir.push(name);
        }
    }
}

/// The thread, and what waits for it.
pub struct Keeper {
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    /// The folder of the person at the workbench, once it is known who that is.
    folder: Option<String>,
    /// What was wished before that.
    held: Vec<Work>,
}

impl Keeper {
    /// A keeper that tells of what it did.
    ///
    /// # Errors
    /// There is no room for another thread.
    pub fn new(events: UnboundedSender<Event>) -> std::io::Result<Self> {
        let (work, wished) = channel();
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || run(&wished, &events))?;
        Ok(Self { work: Some(work), thread: Some(thread), folder: None, held: Vec::new() })
    }

    /// From now on it keeps for this person; for none, everything waits until it is known for whom.
    pub fn belongs_to(&mut self, person: Option<&Person>) {
        self.folder = person.map(Person::folder);
        if self.folder.is_some() {
            std::mem::take(&mut self.held).into_iter().for_each(|work| self.wish(work));
        }
    }

    /// Where the person's own files are, below the folder of all.
    pub fn folder(&self, all: &Path) -> PathBuf {
        all.join(self.folder.as_deref().unwrap_or(NOBODY))
    }

    /// Keeps a text under a key, or removes it.
    pub fn keep(&mut self, all: PathBuf, key: String, text: Option<String>) {
        self.wish(Work::Keep { dir: all, key, text });
    }

    /// Reads the text that is kept under a key.
    pub fn read(&mut self, all: PathBuf, key: String, then: Then) {
        self.wish(Work::Read { dir: all, key, then });
    }

    /// Writes a new file in the working folder, and says where.
    pub fn write(&mut self, name: String, content: String) {
        self.send(Work::Write { name, content });
    }

    fn wish(&mut self, mut work: Work) {
        match &self.folder {
            Some(folder) => {
                work.below(folder);
                self.send(work);
            }
            None => self.held.push(work),
        }
    }

    fn send(&self, work: Work) {
        // The thread ends after this one alone.
        let _ = self.work.as_ref().map(|sender| sender.send(work));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        for mut work in std::mem::take(&mut self.held) {
            if matches!(work, Work::Keep { text: Some(_), .. }) {
                work.below(NOBODY);
                self.send(work);
            }
        }
        self.work = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn run(wished: &Receiver<Work>, events: &UnboundedSender<Event>) {
    while let Ok(work) = wished.recv() {
        let event = match work {
            Work::Keep { dir, key, text } => match unsaved::keep(&dir, &key, text.as_deref()) {
                Ok(()) => continue,
                Err(why) => Event::Toast(Toast::bad(format!("Unsaved text could not be kept: {why}."))),
            },
            Work::Read { dir, key, then } => then(unsaved::kept(&dir, &key)),
            Work::Write { name, content } => Event::Toast(match unsaved::write_new(&name, &content) {
                Ok(path) => Toast::good(format!("Written to {}.", path.display())),
                Err(why) => Toast::bad(why),
            }),
        };
        // Who does not listen any more does not want to know.
        let _ = events.send(event);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn person(user: &str, tenant: Option<&str>) -> Person {
        Person { tenant: tenant.map(str::to_owned), user: user.into() }
    }

    fn keeper(person: Option<&Person>) -> (Keeper, UnboundedReceiver<Event>) {
        let (sender, events) = unbounded_channel();
        let mut keeper = Keeper::new(sender).unwrap();
        keeper.belongs_to(person);
        (keeper, events)
    }

    fn read(keeper: &mut Keeper, dir: &Path, key: &str) {
        let then = |text: Option<String>| Event::Toast(Toast::good(text.unwrap_or_else(|| "nothing".into())));
        keeper.read(dir.into(), key.into(), Box::new(then));
    }

    fn said(events: &mut UnboundedReceiver<Event>) -> String {
        match events.blocking_recv().unwrap() {
            Event::Toast(toast) => toast.text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_is_done_in_order_and_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let ann = person("ann", Some("acme"));
        let (mut keeper, mut events) = keeper(Some(&ann));
        for n in 0..200 {
            keeper.keep(dir.path().into(), "chat-a".into(), Some(n.to_string()));
        }
        read(&mut keeper, dir.path(), "chat-a");
        keeper.keep(dir.path().into(), "chat-a".into(), Some("the last".into()));
        drop(keeper);
        assert_eq!(said(&mut events), "199", "what was kept before it was asked for, and nothing later");
        assert_eq!(unsaved::kept(&dir.path().join("ann@acme"), "chat-a").as_deref(), Some("the last"));
    }

    #[test]
    fn each_person_of_each_tenant_has_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let people =
            [("ann", Some("acme")), ("ann", Some("other")), ("ann", None), ("Ann", Some("acme")), ("bo", Some("acme"))];
        for (user, tenant) in people {
            let who = person(user, tenant);
            let (mut keeper, mut events) = keeper(Some(&who));
            read(&mut keeper, dir.path(), "agent-x");
            assert_eq!(said(&mut events), "nothing", "{who:?}");
            keeper.keep(dir.path().into(), "agent-x".into(), Some("mine".into()));
        }
    }

    #[test]
    fn before_it_is_known_by_whom_it_waits() {
        let dir = tempfile::tempdir().unwrap();
        let (mut unknown, mut events) = keeper(None);
        unknown.keep(dir.path().into(), "chat-a".into(), Some("typed".into()));
        read(&mut unknown, dir.path(), "chat-a");
        unknown.belongs_to(Some(&person("ann", None)));
        assert_eq!(said(&mut events), "typed");
        unknown.belongs_to(None);
        unknown.keep(dir.path().into(), "chat-a".into(), Some("by whom?".into()));
        drop(unknown);
        assert_eq!(unsaved::kept(&dir.path().join("ann"), "chat-a").as_deref(), Some("typed"));
        assert_eq!(unsaved::kept(&dir.path().join(NOBODY), "chat-a").as_deref(), Some("by whom?"), "it is not lost");
    }
}
