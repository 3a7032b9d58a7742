//! A WebSocket as a stream of lines: each text message is one line. Owns pings, and how a connection is closed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Bytes that wait to be written, beside one message.
const WRITTEN_AHEAD: usize = 1 << 20;

/// Characters of a reason that are told.
const REASON: usize = 123;

/// Reads and writes lines; the peer reads and writes text messages.
pub(crate) struct Lines<S> {
    socket: WebSocketStream<S>,
    /// Of a message that has come: what has not been read.
    coming: Bytes,
    /// Of a line that is written: its beginning.
    going: Vec<u8>,
    /// Why it is closed, once it is to be.
    closing: Option<(CloseCode, &'static str)>,
    /// Nothing more comes.
    over: bool,
    /// What the peer has done wrong.
    fault: Option<String>,
    /// With which words the peer has closed it, if it has said any.
    farewell: Option<String>,
    ping: Interval,
    /// Has anything come since the last ping?
    heard: bool,
    /// Somebody waits for room to write. Whoever else asked for it would be woken in his place.
    is_blocked: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Lines<S> {
    /// After the handshake. Messages longer than `most` end the connection; so does a peer that says nothing for twice `alive`.
    pub(crate) async fn new(stream: S, role: Role, most: usize, alive: Duration) -> Self {
        let config = WebSocketConfig::default()
            .max_message_size(Some(most))
            .max_frame_size(Some(most))
            .max_write_buffer_size(most.saturating_mul(2).saturating_add(WRITTEN_AHEAD));
        let mut ping = interval(alive);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.reset();
        Self {
            socket: WebSocketStream::from_raw_socket(stream, role, Some(config)).await,
            coming: Bytes::new(),
            going: Vec::new(),
            closing: None,
            over: false,
            fault: None,
            farewell: None,
            ping,
            heard: true,
            is_blocked: false,
        }
    }

    /// How the connection is closed, unless the peer has been told something else already.
    pub(super) fn close_as(&mut self, code: CloseCode, reason: &'static str) {
        self.closing.get_or_insert((code, reason));
    }

    /// The peer has broken the rules, and is told by a code.
    fn blame(&mut self, code: CloseCode, fault: &'static str) {
        self.close_as(code, fault);
        self.fault = Some(fault.to_owned());
    }

    /// Looks whether the peer is there. An error: it is not.
    fn poll_alive(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.ping.poll_tick(cx).is_ready() {
            if !std::mem::replace(&mut self.heard, false) {
                self.close_as(CloseCode::Error, "no answer to a ping");
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the peer is silent",
                ));
            }
            if self.is_blocked {
                // It has enough to read already; whoever writes bounds how long it may take.
                self.heard = true;
                continue;
            }
            if let Poll::Ready(Ok(())) = Pin::new(&mut self.socket).poll_ready(cx) {
                let sent = Pin::new(&mut self.socket).start_send(Message::Ping(Bytes::new()));
                sent.map_err(|error| broken(&error))?;
                // What cannot be written yet goes with the next that is.
                let _ = Pin::new(&mut self.socket).poll_flush(cx);
            }
        }
        Ok(())
    }

    /// The next message, as a line; None: nothing more comes.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        loop {
            let next = ready!(Pin::new(&mut self.socket).poll_next(cx));
            self.heard = true;
            match next {
                Some(Ok(Message::Text(text))) => return Poll::Ready(Ok(Some(line(&text.into())))),
                Some(Ok(Message::Binary(_))) => {
                    self.blame(CloseCode::Unsupported, "messages are text");
                    return Poll::Ready(Ok(None));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(Error::Capacity(_))) => {
                    self.blame(CloseCode::Size, "the message is too long");
                    return Poll::Ready(Ok(None));
                }
                Some(Err(Error::Utf8(_))) => {
                    self.blame(CloseCode::Invalid, "the message is no text");
                    return Poll::Ready(Ok(None));
                }
                Some(Err(Error::Protocol(fault)))
                    if fault != ProtocolError::ResetWithoutClosingHandshake =>
                {
                    self.close_as(CloseCode::Protocol, "this is no WebSocket");
                    self.fault = Some(fault.to_string());
                    return Poll::Ready(Ok(None));
                }
                Some(Ok(Message::Close(Some(frame)))) if frame.code != CloseCode::Normal => {
                    tracing::info!(code = %frame.code, reason = %frame.reason, "the peer closes the WebSocket");
                    let reason: String = frame.reason.chars().take(REASON).collect();
                    let reason = match &*reason {
                        "" => reason,
                        reason => format!(" ({reason})"),
                    };
                    let code = u16::from(frame.code);
                    // The library shows its own answer in place of a close with a code that may not be sent.
                    let or = match (frame.code, frame.reason.as_str()) {
                        (CloseCode::Protocol, "Protocol violation") => {
                            ", or with one that may not be sent"
                        }
                        _ => "",
                    };
                    self.farewell = Some(format!(
                        "the peer closed the WebSocket with code {code}{reason}{or}"
                    ));
                    return Poll::Ready(Ok(None));
                }
                Some(Err(error @ Error::Io(_))) => return Poll::Ready(Err(broken(&error))),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Poll::Ready(Ok(None)),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Lines<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.coming.is_empty() {
            if self.over {
                // Nobody reads what a WebSocket says after its end.
                return Poll::Ready(Err(match (&self.fault, &self.farewell) {
                    (Some(fault), _) => io::Error::new(io::ErrorKind::InvalidData, fault.clone()),
                    (None, Some(said)) => {
                        io::Error::new(io::ErrorKind::ConnectionAborted, said.clone())
                    }
                    (None, None) => io::ErrorKind::ConnectionAborted.into(),
                }));
            }
            let Poll::Ready(message) = self.poll_message(cx)? else {
                self.poll_alive(cx)?;
                return Poll::Pending;
            };
            match message {
                Some(line) => self.coming = line,
                None => self.over = true,
            }
        }
        let most = self.coming.len().min(buf.remaining());
        buf.put_slice(&self.coming[..most]);
        self.coming.advance(most);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lines<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(end) = memchr::memchr(b'\n', buf) else {
            self.going.extend_from_slice(buf);
            return Poll::Ready(Ok(buf.len()));
        };
        let ready = Pin::new(&mut self.socket).poll_ready(cx);
        self.is_blocked = ready.is_pending();
        ready!(ready).map_err(|error| broken(&error))?;
        let mut line = std::mem::take(&mut self.going);
        line.extend_from_slice(&buf[..end]);
        let text = String::from_utf8(line)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what is sent is no text"))?;
        let sent = Pin::new(&mut self.socket).start_send(Message::text(text));
        sent.map_err(|error| broken(&error))?;
        Poll::Ready(Ok(end + 1))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        self.is_blocked = flushed.is_pending();
        flushed.map_err(|error| broken(&error))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some((code, reason)) = self.closing.take() {
            ready!(Pin::new(&mut self.socket).poll_ready(cx)).map_err(|error| broken(&error))?;
            let frame = CloseFrame {
                code,
                reason: reason.into(),
            };
            let sent = Pin::new(&mut self.socket).start_send(Message::Close(Some(frame)));
            sent.map_err(|error| broken(&error))?;
        }
        let closed = ready!(Pin::new(&mut self.socket).poll_close(cx));
        Poll::Ready(closed.map_err(|error| broken(&error)))
    }
}

/// A message as one line. Line ends between tokens are only space; within a text there are none.
fn line(text: &Bytes) -> Bytes {
    let mut line = Vec::with_capacity(text.len() + 1);
    line.extend_from_slice(text);
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line.into()
}

fn broken(error: &Error) -> io::Error {
    match error {
        Error::Io(error) => io::Error::new(error.kind(), error.to_string()),
        Error::ConnectionClosed | Error::AlreadyClosed => {
            io::Error::new(io::ErrorKind::BrokenPipe, "the connection is closed")
        }
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, split};
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const ALIVE: Duration = Duration::from_secs(20);
    const MOST: usize = 8 << 20;

    /// Ours, and a peer that does as a test says.
    async fn pair(room: usize) -> (Lines<DuplexStream>, WebSocketStream<DuplexStream>) {
        let (ours, theirs) = tokio::io::duplex(room);
        let peer = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
        (Lines::new(ours, Role::Client, MOST, ALIVE).await, peer)
    }

    // req: S-SOCKET, S-GONE
    #[tokio::test(start_paused = true)]
    async fn a_peer_that_is_silent_is_asked_and_then_given_up() {
        let (mut lines, mut peer) = pair(1 << 10).await;
        let begun = Instant::now();
        // It reads nothing, and so answers no ping.
        let read = timeout(ALIVE * 10, lines.read_u8()).await.unwrap();
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), ALIVE * 2);
        let asked = peer.next().await.unwrap().unwrap();
        assert!(matches!(asked, Message::Ping(_)), "{asked:?}");
    }

    // req: S-SOCKET
    #[tokio::test(start_paused = true)]
    async fn a_peer_that_answers_pings_is_there_as_long_as_it_likes() {
        let (mut lines, mut peer) = pair(1 << 10).await;
        let talking = tokio::spawn(async move {
            // Whoever reads answers pings.
            let reading = async { while let Some(Ok(_)) = peer.next().await {} };
            let _ = timeout(ALIVE * 100, reading).await;
            peer.send(Message::text("{}")).await.unwrap();
            peer
        });
        let mut line = [0; 3];
        lines.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"{}\n");
        talking.await.unwrap();
    }

    // req: S-SOCKET
    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_room_is_woken_although_pings_are_due() {
        let (lines, mut peer) = pair(1 << 10).await;
        let (mut reader, mut writer) = split(lines);
        let reading = tokio::spawn(async move { reader.read_u8().await });
        let writing = tokio::spawn(async move {
            let long = [&vec![b'x'; 1 << 20][..], b"\n"].concat();
            writer.write_all(&long).await.unwrap();
            writer.flush().await.unwrap();
        });
        // It takes nothing while pings are due, and then all.
        sleep(ALIVE * 5 + ALIVE / 2).await;
        let begun = Instant::now();
        let taken = timeout(ALIVE * 10, peer.next()).await.unwrap();
        assert_eq!(taken.unwrap().unwrap().len(), 1 << 20);
        writing.await.unwrap();
        assert!(begun.elapsed() < ALIVE / 2, "woken by the next ping only");
        assert!(!reading.is_finished(), "a slow reader is no silent one");
        reading.abort();
    }
}
