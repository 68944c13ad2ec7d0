//! Whether something is asked for on a connection.
//!
//! A client of HTTP/2 can keep a line open for ever by answering pings and ask for nothing; so many of them would leave no room for
//! others.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The requests of one connection that are not answered whole yet. Clones count together.
#[derive(Clone, Default)]
pub struct Busy(Arc<Inner>);

#[derive(Default)]
struct Inner {
    open: AtomicUsize,
    changed: Notify,
}

/// A request that is not answered whole yet.
pub struct Request(Arc<Inner>);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_one();
    }
}

impl Busy {
    /// Counts a request until what this gives is dropped.
    pub fn enter(&self) -> Request {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        self.0.changed.notify_one();
        Request(self.0.clone())
    }

    /// Ends when nothing was asked for in so much time.
    pub async fn idle(self, time: Duration) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.open.load(Ordering::SeqCst) > 0 {
                changed.await;
            } else if tokio::time::timeout(time, changed).await.is_err() {
                return;
            }
        }
    }
}

/// A body that counts its request as open until it is sent.
pub fn counted(body: Body, request: Request) -> Body {
    Body::new(body.map_frame(move |frame: Frame<Bytes>| {
        let _ = &request;
        frame
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_only_while_nothing_is_open() {
        let (busy, minute) = (Busy::default(), Duration::from_secs(60));
        let request = busy.enter();
        let idle = tokio::spawn(busy.clone().idle(minute));
        tokio::time::sleep(minute * 5).await;
        assert!(!idle.is_finished());
        drop(request);
        tokio::time::sleep(minute / 2).await;
        drop(busy.enter());
        tokio::time::sleep(minute - Duration::from_secs(1)).await;
        assert!(!idle.is_finished());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(idle.is_finished());
    }
}
