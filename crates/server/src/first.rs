//! A line on which the first bytes have to come in time.
//!
//! Which version of HTTP a client speaks shows in its first bytes, and whoever waits for them has no clock of its own: a
//! connection on which nothing is sent, or the beginning of HTTP/2's preface only, would stay open for ever.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// What a client of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream that fails when it is not clear in time what is spoken on it.
pub struct First<S> {
    stream: S,
    /// While it is not clear: when the time is over, and how much of the preface has come.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> First<S> {
    /// Gives a stream so much time, from now on.
    pub fn within(time: Duration, stream: S) -> Self {
        Self { stream, waiting: Some((Box::pin(tokio::time::sleep(time)), 0)) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for First<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let Self { stream, waiting } = &mut *self;
        let Some((end, come)) = waiting else { return Pin::new(stream).poll_read(cx, buf) };
        if let Poll::Ready(read) = Pin::new(stream).poll_read(cx, buf) {
            let new = &buf.filled()[before..];
            *come += new.len();
            let is_open = *come < PREFACE.len() && PREFACE[..*come].ends_with(new) && !new.is_empty();
            if !is_open {
                *waiting = None;
            }
            return Poll::Ready(read);
        }
        ready!(end.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for First<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const TIME: Duration = Duration::from_millis(50);

    /// What reading 64 bytes comes to when a client sends these pieces and then nothing more.
    async fn read(pieces: &[&[u8]]) -> io::Result<usize> {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = First::within(TIME, server);
        let mut all = 0;
        for piece in pieces {
            client.write_all(piece).await.unwrap();
            all += server.read(&mut [0; 64]).await?;
        }
        match tokio::time::timeout(4 * TIME, server.read(&mut [0; 64])).await {
            Ok(read) => read,
            Err(_) => Ok(all),
        }
    }

    #[tokio::test]
    async fn what_is_spoken_shows_in_time_or_the_line_ends() {
        for unclear in [&[] as &[&[u8]], &[b"PRI"], &[b"PRI * HT", b"TP/2.0\r\n"], &[b"P"]] {
            assert_eq!(read(unclear).await.unwrap_err().kind(), io::ErrorKind::TimedOut, "{unclear:?}");
        }
        for clear in [&[b"GET" as &[u8]] as &[&[u8]], &[b"P", b"OST"], &[PREFACE], &[b"PRI", &PREFACE[3..]]] {
            assert_eq!(read(clear).await.unwrap(), clear.concat().len(), "{clear:?}");
        }
    }
}
