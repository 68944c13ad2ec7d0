//! A server on 127.0.0.1 with a thread of its own, so that tests without a runtime can use it too.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::sync::oneshot;

/// A running server; it stops when it is dropped.
pub(crate) struct Loopback {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Serves `app` on a free port.
    pub(crate) fn serve(app: Router) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        listener.set_nonblocking(true).expect("a socket can be non-blocking");
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)
                    .expect("a listening socket can be registered")
                    // Small pieces leave at once, or each waits for an acknowledgement.
                    .tap_io(|socket| {
                        let _ = socket.set_nodelay(true);
                    });
                tokio::select! {
                    served = async { axum::serve(listener, app).await } => {
                        served.expect("serving does not fail");
                    }
                    _ = stopped => {}
                }
            });
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself; then nobody listens.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
