//! Whether the server can be reached, for whoever shows it.

use std::time::Duration;
use tokio::sync::watch;

/// How the connection to a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The last that was tried worked.
    Connected,
    /// It broke; it is tried again after this time.
    Reconnecting {
        /// From the moment at which this was said.
        after: Duration,
    },
    /// It has been tried for long in vain. It is still tried, but seldom.
    Offline,
}

/// Where requests say how it went.
#[derive(Clone, Debug)]
pub(super) struct Standing(watch::Sender<Connection>);

impl Standing {
    /// Nothing was tried yet, and nothing broke.
    pub fn new() -> Self {
        Self(watch::Sender::new(Connection::Connected))
    }

    /// For whoever shows it.
    pub fn subscribe(&self) -> watch::Receiver<Connection> {
        self.0.subscribe()
    }

    /// Something worked.
    pub fn works(&self) {
        self.say(Connection::Connected);
    }

    /// A request is tried again after this. Whoever watches the connection all the time knows better when it is broken
    /// already.
    pub fn broke(&self, after: Duration) {
        if *self.0.borrow() == Connection::Connected {
            self.say(Connection::Reconnecting { after });
        }
    }

    /// Says how it stands.
    pub fn say(&self, connection: Connection) {
        self.0.send_if_modified(|now| {
            let changes = *now != connection;
            *now = connection;
            changes
        });
    }

    /// Waits until something worked while the connection counts as broken.
    pub async fn restored(&self) {
        let mut seen = self.subscribe();
        // It cannot be closed while this sender lives.
        let _ = seen.wait_for(|connection| *connection == Connection::Connected).await;
    }
}
