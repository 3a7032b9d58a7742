//! The check of a WebSocket that is read and written as lines.

use std::io::ErrorKind;
use std::task::{Context, Poll, Waker};

use polyport_http::fuzzing::socket;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Runtime;
use tokio::task::coop::unconstrained;

/// Reads `data` as what a peer sends after the handshake: its first byte chooses the side, the limit and the pace.
///
/// - The lines, and how they end, do not depend on the pace. Each is one line, and no longer than the limit.
/// - Lines that we write, with whatever is in them, are the same lines to whom we write.
pub fn check(data: &[u8]) {
    let (&choice, stream) = data.split_first().unwrap_or((&0, data));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("nothing of the system is needed");
    let is_client = choice % 2 == 0;
    let most = [64, 4096, 1 << 20][usize::from(choice / 2) % 3];
    let pace = usize::from(choice / 6) + 1;
    let read = |pace| read(&runtime, is_client, most, stream, pace);
    let whole = read(stream.len().max(1));
    assert_eq!(whole, read(pace), "{pace} bytes at a time");
    for line in &whole.0 {
        assert!(line.len() <= most, "{} bytes", line.len());
        assert!(!line.contains(['\r', '\n']), "{line:?}");
    }
    written(&runtime, is_client, &String::from_utf8_lossy(stream));
}

/// The lines that came, and how it ended. No end: it waits for more.
type Read = (Vec<String>, Option<ErrorKind>);

fn read(runtime: &Runtime, is_client: bool, most: usize, stream: &[u8], pace: usize) -> Read {
    runtime.block_on(unconstrained(async {
        let (ours, mut theirs) = duplex(ROOM);
        let mut lines = socket(ours, is_client, most).await;
        let (mut text, mut end) = (Vec::new(), None);
        for piece in stream.chunks(pace).chain([&[][..]]) {
            if theirs.write_all(piece).await.is_err() || end.is_some() {
                break;
            }
            end = drain(&mut lines, &mut text).await;
        }
        let text = String::from_utf8(text).expect("messages are text");
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        assert_eq!(lines.pop().as_deref(), Some(""), "a line has its end");
        (lines, end)
    }))
}

/// Reads what is there already.
async fn drain<S: AsyncRead + Unpin>(lines: &mut S, text: &mut Vec<u8>) -> Option<ErrorKind> {
    loop {
        let reading = std::pin::pin!(lines.read_buf(text));
        match reading.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => return None,
            Poll::Ready(Ok(0)) => return Some(ErrorKind::UnexpectedEof),
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(error)) => return Some(error.kind()),
        }
    }
}

fn written(runtime: &Runtime, is_client: bool, text: &str) {
    let text = text.replace('\r', "");
    runtime.block_on(unconstrained(async {
        let (here, there) = duplex(ROOM);
        let mut ours = socket(here, is_client, ROOM).await;
        let mut theirs = socket(there, !is_client, ROOM).await;
        let mut found = Vec::new();
        for line in text.split('\n').take(MOST) {
            let line = format!("{line}\n");
            ours.write_all(line.as_bytes())
                .await
                .expect("there is room");
            ours.flush().await.expect("there is room");
            let end = drain(&mut theirs, &mut found).await;
            assert_eq!(end, None, "{line:?}");
            assert_eq!(String::from_utf8_lossy(&found), line);
            found.clear();
        }
    }));
}

/// Bytes that wait between both sides.
const ROOM: usize = 1 << 20;
/// Lines that are written.
const MOST: usize = 32;
