//! Listening for changes on a server all the time, and with it knowing whether the server can be reached.

use super::again::Again;
use super::answer::Answer;
use super::connection::Connection;
use super::events::{LEAST, Open};
use super::exchange::Sending;
use super::{Proxy, refusal};
use contract::ops::events::WatchChanges;
use contract::{Code, Operation as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use std::time::Duration;
use tokio::time::sleep;

/// How often is looked where a server does not tell of changes.
const LOOK: Duration = Duration::from_secs(10);

/// Whenever something changed, or may have.
pub(super) fn changes(proxy: Proxy) -> BoxStream<'static, ()> {
    let again = Again::within(proxy.0.line.pace.patience);
    let listening = Listening { proxy, again, open: None, last: None, broken: false };
    stream::unfold(listening, |mut listening| async move {
        listening.next().await;
        Some(((), listening))
    })
    .boxed()
}

struct Listening {
    proxy: Proxy,
    again: Again,
    open: Option<Open>,
    /// The last place in the journal that came.
    last: Option<String>,
    /// Whether something may have been missed.
    broken: bool,
}

impl Listening {
    async fn next(&mut self) {
        loop {
            let Some(open) = &mut self.open else {
                if self.connect().await {
                    return;
                }
                continue;
            };
            match open.next().await {
                Some(Ok(event)) => {
                    self.last = Some(event.id).filter(|id| !id.is_empty()).or(self.last.take());
                    return;
                }
                end => {
                    if open.was_good() {
                        self.again.reset();
                    }
                    tracing::debug!(?end, "listening for changes broke");
                    self.open = None;
                    self.broken = true;
                    self.rest().await;
                }
            }
        }
    }

    /// Tries once to listen; answers whether somebody should look.
    async fn connect(&mut self) -> bool {
        let line = &self.proxy.0.line;
        let mut sending = Sending::get(line.address.at(WatchChanges::ROUTES[0], &[]));
        sending.last.clone_from(&self.last);
        let asked = line.exchange(&sending, Duration::ZERO).await;
        match asked {
            Ok(Answer::Stream(response)) => {
                self.open = Some(Open::new(response, line));
                std::mem::take(&mut self.broken)
            }
            // It answers, but not this: what changed is found by looking.
            Ok(Answer::Whole(whole)) => {
                if let Some(error) = refusal(whole) {
                    tracing::debug!(code = %error.code, "the server does not tell of changes");
                }
                self.again.reset();
                sleep(LOOK).await;
                true
            }
            // A refused sign-in, an answer of something else: the line is not at fault, and trying often would not help.
            Err(error) if error.code != Code::Unavailable => {
                tracing::debug!(code = %error.code, "changes cannot be listened for");
                self.broken = true;
                sleep(LOOK).await;
                false
            }
            Err(error) => {
                tracing::debug!(error = error.message, "the server cannot be reached");
                self.broken = true;
                self.rest().await;
                false
            }
        }
    }

    /// Says how it stands, and waits for the next try.
    async fn rest(&mut self) {
        let standing = &self.proxy.0.line.standing;
        let wait = self.again.next_of_many();
        let long = self.again.takes_long();
        standing.say(if long { Connection::Offline } else { Connection::Reconnecting { after: wait } });
        sleep(LEAST.min(wait)).await;
        tokio::select! {
            () = sleep(wait.saturating_sub(LEAST)) => {}
            // Somebody else got through.
            () = standing.restored() => {}
        }
    }
}
