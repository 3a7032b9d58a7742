//! Connections in virtual time: peers that drip, and what HTTP/2 lets one send without ever making a request.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use polyport_rt::{Service, Stop};
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::Config;

fn endpoint() -> Endpoint {
    Endpoint::new(Service::new(Puppet::default()), Config::default())
}

/// The client's end of a connection that is served.
fn connect(endpoint: &Endpoint) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(connection(endpoint.clone(), ours, Stop::never()));
    theirs
}

/// Sends this at once, then a byte of `drip` each second, over and over; what came back, and after how many seconds the
/// connection ended.
async fn drip(endpoint: &Endpoint, first: &[u8], drip: &'static [u8]) -> (Vec<u8>, u64) {
    let (mut reader, mut writer) = tokio::io::split(connect(endpoint));
    let begun = Instant::now();
    writer.write_all(first).await.unwrap();
    let dripping = tokio::spawn(async move {
        for byte in drip.iter().cycle() {
            sleep(Duration::from_secs(1)).await;
            if writer.write_all(&[*byte]).await.is_err() {
                return;
            }
        }
    });
    let mut got = Vec::new();
    // A connection that is cut off may be an error to its reader.
    let ended = timeout(Duration::from_secs(3_600), reader.read_to_end(&mut got)).await;
    dripping.abort();
    let seconds = begun.elapsed().as_secs();
    assert!(ended.is_ok(), "still there after {seconds} s");
    (got, seconds)
}

// req: V-418
#[tokio::test(start_paused = true)]
async fn v_418_whoever_drips_is_let_go() {
    let endpoint = endpoint();
    let head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let body = [&head[..], b"Content-Length: 5000\r\n\r\n"].concat();
    let chunked = [&head[..], b"Transfer-Encoding: chunked\r\n\r\nfff\r\n"].concat();
    for (first, status) in [
        (&b"POST /mcp HTTP/1.1\r\nHost: loc"[..], None),
        (&head[..], None),
        (&body, Some("408")),
        (&chunked, Some("408")),
    ] {
        let (got, seconds) = drip(&endpoint, first, b"x").await;
        let got = String::from_utf8(got).unwrap();
        // Where no request has come, hyper ends the connection with 408 or without a word.
        if status.is_some() {
            assert_eq!(got.split(' ').nth(1), status, "{got}");
        }
        assert!((30..=61).contains(&seconds), "{seconds}: {got}");
    }
    let (got, seconds) = drip(&endpoint, b"", b"POST /mcp HTTP/1.1\r\n").await;
    assert!(seconds <= 61, "{seconds}: {got:?}");
}

// req: V-418
#[tokio::test(start_paused = true)]
async fn v_418_whoever_takes_nothing_is_let_go() {
    let big = "x".repeat(100_000);
    let modern = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{big}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {}\r\n\r\n{modern}",
        modern.len()
    );
    for taken in [0, 1_000] {
        let (ours, mut theirs) = tokio::io::duplex(1 << 12);
        let serving = tokio::spawn(connection(endpoint(), ours, Stop::never()));
        theirs.write_all(request.as_bytes()).await.unwrap();
        theirs.read_exact(&mut vec![0; taken]).await.unwrap();
        let begun = Instant::now();
        let ended = timeout(Duration::from_secs(3_600), serving).await;
        let seconds = begun.elapsed().as_secs();
        assert!(ended.is_ok() && (60..=61).contains(&seconds), "{seconds}");
    }
}

#[tokio::test]
async fn what_is_accepted_waits_for_no_full_segment() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let room = Arc::new(Semaphore::new(1));
    let address = listener.local_addr().unwrap();
    let (client, accepted) = tokio::join!(
        TcpStream::connect(address),
        accept(&listener, &room, Duration::from_secs(1))
    );
    assert!(accepted.unwrap().0.nodelay().unwrap());
    drop(client);
}

#[cfg(feature = "http2")]
mod http2 {
    use hyper_util::rt::TokioExecutor;

    use super::*;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const GO_AWAY: u8 = 7;
    const WINDOW_UPDATE: u8 = 8;
    const CONTINUATION: u8 = 9;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;

    /// A frame (RFC 9113, 4.1).
    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut out = length[1..].to_vec();
        out.extend([kind, flags]);
        out.extend(stream.to_be_bytes());
        out.extend(payload);
        out
    }

    /// A field that is not kept in the table (RFC 7541, 6.2.2).
    fn field(out: &mut Vec<u8>, name: &str, value: &str) {
        out.push(0);
        for text in [name, value] {
            let mut length = text.len();
            if length < 127 {
                out.push(u8::try_from(length).unwrap());
            } else {
                out.push(127);
                length -= 127;
                while length >= 128 {
                    out.push(u8::try_from(length % 128).unwrap() | 128);
                    length /= 128;
                }
                out.push(u8::try_from(length).unwrap());
            }
            out.extend(text.as_bytes());
        }
    }

    fn fields(more: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        let plain = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/mcp"),
            (":authority", "localhost"),
            ("content-type", "application/json"),
        ];
        for (name, value) in plain.iter().chain(more) {
            field(&mut out, name, value);
        }
        out
    }

    /// The next frame: kind, flags, stream, payload. None: the connection has ended.
    async fn read(
        reader: &mut tokio::io::ReadHalf<DuplexStream>,
    ) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        reader.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        reader.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Some((head[3], head[4], stream, payload))
    }

    /// Sends frames and reads until the connection ends or nothing more comes; whether it has ended.
    async fn play(
        endpoint: &Endpoint,
        frames: Vec<Vec<u8>>,
    ) -> (Vec<(u8, u8, u32, Vec<u8>)>, bool) {
        let (mut reader, mut writer) = tokio::io::split(connect(endpoint));
        let sent = tokio::spawn(async move {
            let opening = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &[])];
            for bytes in opening.iter().chain(&frames) {
                if writer.write_all(bytes).await.is_err() {
                    break;
                }
            }
            writer
        });
        let mut got = Vec::new();
        let reads = async {
            while let Some(next) = read(&mut reader).await {
                got.push(next);
            }
        };
        let ended = timeout(Duration::from_secs(20), reads).await.is_ok();
        drop(sent.await.unwrap());
        (got, ended)
    }

    /// An ordinary request on a connection of its own is still answered.
    async fn is_well(endpoint: &Endpoint) {
        let mut stream = connect(endpoint);
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{INITIALIZE}",
            INITIALIZE.len()
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut got = String::new();
        stream.read_to_string(&mut got).await.unwrap();
        assert!(got.starts_with("HTTP/1.1 200"), "{got}");
    }

    // req: V-102
    #[tokio::test(start_paused = true)]
    async fn v_102_the_authority_is_a_host() {
        let puppet = Puppet::default();
        let endpoint = Endpoint::new(Service::new(puppet.clone()), Config::default());
        let io = TokioIo::new(connect(&endpoint));
        let opened = hyper::client::conn::http2::handshake(TokioExecutor::new(), io);
        let (mut sender, serving) = opened.await.unwrap();
        tokio::spawn(serving);
        for (authority, host, origin, status) in [
            ("localhost:7400", "", "", 200),
            ("127.0.0.1", "", "http://127.0.0.1", 200),
            ("LOCALHOST", "", "", 200),
            ("[::1]:7400", "[::1]:7400", "", 200),
            ("evil.test", "", "", 403),
            ("evil.test", "localhost", "", 403),
            ("localhost", "evil.test", "", 403),
            ("localhost.evil.test", "", "", 403),
            ("user@localhost", "", "", 403),
            ("localhost:7400", "", "http://evil.test", 403),
            ("localhost:7400", "", "http://localhost", 403),
        ] {
            for (method, path) in [
                ("POST", "/mcp"),
                ("GET", "/mcp"),
                ("DELETE", "/mcp"),
                ("GET", "/x"),
            ] {
                let mut request = http::Request::builder()
                    .method(method)
                    .uri(format!("http://{authority}{path}"))
                    .header("content-type", "application/json");
                for (name, value) in [("host", host), ("origin", origin)] {
                    if !value.is_empty() {
                        request = request.header(name, value);
                    }
                }
                let body =
                    http_body_util::Full::new(bytes::Bytes::from_static(INITIALIZE.as_bytes()));
                let got = sender
                    .send_request(request.body(body).unwrap())
                    .await
                    .unwrap();
                let what = format!("{method} {path} {authority} {host} {origin}");
                if method == "POST" || status == 403 {
                    assert_eq!(got.status(), status, "{what}");
                } else {
                    assert_ne!(got.status(), 403, "{what}");
                }
            }
        }
        assert_eq!(endpoint.sessions(), 4);
    }

    // req: V-418
    #[tokio::test(start_paused = true)]
    async fn v_418_one_connection_has_a_hundred_requests() {
        let endpoint = endpoint();
        let open = (0..102).map(|n| frame(HEADERS, END_HEADERS, 2 * n + 1, &fields(&[])));
        let (got, _) = play(&endpoint, open.collect()).await;
        // Settings: an identifier in two bytes, its value in four. 3 is the number of streams, 6 the length of a head.
        let (_, _, _, settings) = got.iter().find(|frame| frame.0 == SETTINGS).unwrap();
        for (id, value) in [(3, 100_u32), (6, 64 << 10)] {
            let setting = settings.chunks(6).find(|setting| setting[..2] == [0, id]);
            assert_eq!(setting.unwrap()[2..], value.to_be_bytes());
        }
        let refused: Vec<_> = got.iter().filter(|frame| frame.0 == RESET).collect();
        // The error is REFUSED_STREAM.
        let refused: Vec<_> = refused.iter().map(|f| (f.2, f.3[3])).collect();
        assert_eq!(refused, [(201, 7), (203, 7)]);
        is_well(&endpoint).await;
    }

    // req: V-418
    #[tokio::test(start_paused = true)]
    async fn v_418_requests_that_are_taken_back_end_the_connection() {
        let puppet = Puppet::default();
        let endpoint = Endpoint::new(Service::new(puppet.clone()), Config::default());
        let open_and_reset = |n: u32| {
            let mut both = frame(HEADERS, END_HEADERS, n, &fields(&[]));
            both.extend(frame(RESET, 0, n, &8_u32.to_be_bytes()));
            both
        };
        let flood = (0..10_000).map(|n| open_and_reset(2 * n + 1)).collect();
        let (got, ended) = play(&endpoint, flood).await;
        let farewell = got.iter().find(|frame| frame.0 == GO_AWAY);
        // ENHANCE_YOUR_CALM.
        assert_eq!(farewell.map(|frame| frame.3[7]), Some(11), "{}", got.len());
        assert!(ended);
        is_well(&endpoint).await;
    }

    // req: V-418
    #[tokio::test(start_paused = true)]
    async fn v_418_a_long_list_of_headers_is_refused() {
        let endpoint = endpoint();
        let long = "x".repeat(15_000);
        // One head in many frames, ended or not. The first is as long as it may be, and its request goes wrong for another reason.
        for (pieces, ends) in [(4, true), (5, true), (5, false), (2_000, false)] {
            let mut frames = vec![frame(HEADERS, END_STREAM, 1, &fields(&[]))];
            for n in 0..pieces {
                let mut more = Vec::new();
                field(&mut more, "x-long", &long);
                let flags = if ends && n + 1 == pieces {
                    END_HEADERS
                } else {
                    0
                };
                frames.push(frame(CONTINUATION, flags, 1, &more));
            }
            let (got, ended) = play(&endpoint, frames).await;
            if pieces == 4 {
                let answer = got.iter().find(|frame| frame.0 == HEADERS);
                // 12 is the status 400 (RFC 7541, A).
                assert_eq!(answer.map(|frame| frame.3[0]), Some(0x80 | 12));
                continue;
            }
            let reset = got.iter().any(|f| f.0 == RESET || f.0 == GO_AWAY);
            let refused = got.iter().any(|f| f.0 == HEADERS) || reset || ended;
            // What never ends is ended by the pings that nobody answers.
            assert!(refused || !ends, "{pieces}: {got:?}");
            let answered = got.iter().any(|f| f.0 == DATA);
            assert!(!answered, "{pieces}: {got:?}");
        }
        is_well(&endpoint).await;
    }

    /// What becomes of a call whose client answers pings, has this window at first and more of it by the second: how much came,
    /// after how many seconds it was reset, if it was, and whether it came to its end.
    async fn grant(
        endpoint: &Endpoint,
        call: &str,
        window: u32,
        more: u32,
    ) -> (usize, Option<u64>, bool) {
        let (mut reader, mut writer) = tokio::io::split(connect(endpoint));
        let settings = [&[0, 4][..], &window.to_be_bytes()].concat();
        let more_headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", NAME),
        ];
        let opening = [
            PREFACE.to_vec(),
            frame(SETTINGS, 0, 0, &settings),
            frame(HEADERS, END_HEADERS, 1, &fields(&more_headers)),
            frame(DATA, END_STREAM, 1, call.as_bytes()),
        ];
        writer.write_all(&opening.concat()).await.unwrap();
        let (sender, mut frames) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(next) = read(&mut reader).await {
                let _ = sender.send(next);
            }
        });
        let begun = Instant::now();
        let mut second = tokio::time::interval(Duration::from_secs(1));
        let mut came = 0;
        while begun.elapsed() < Duration::from_secs(600) {
            tokio::select! {
                _ = second.tick(), if more > 0 => {
                    let room = frame(WINDOW_UPDATE, 0, 1, &more.to_be_bytes());
                    writer.write_all(&room).await.unwrap();
                }
                next = frames.recv() => match next.unwrap() {
                    (PING, 0, _, text) => writer.write_all(&frame(PING, 1, 0, &text)).await.unwrap(),
                    (DATA, flags, 1, bytes) => {
                        came += bytes.len();
                        if flags & END_STREAM > 0 {
                            return (came, None, true);
                        }
                    }
                    (RESET, _, 1, _) => return (came, Some(begun.elapsed().as_secs()), false),
                    _ => {}
                },
            }
        }
        (came, None, false)
    }

    const NAME: &str = "echo";

    // req: V-418
    #[tokio::test(start_paused = true)]
    async fn v_418_an_answer_for_which_no_room_is_made_ends() {
        let puppet = Puppet::default();
        let endpoint = Endpoint::new(Service::new(puppet.clone()), Config::default());
        let call = |text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{NAME}","arguments":{{"a":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            )
        };
        let short = call("x");
        let long = call(&"x".repeat(12_000));
        for call in [&short, &long] {
            let (whole, _, is_whole) = grant(&endpoint, call, 1 << 16, 0).await;
            assert!(is_whole);
            let length = u32::try_from(whole).unwrap();
            // None, some, all but a byte.
            for window in [0, 1, 40, length - 1] {
                let (came, reset, _) = grant(&endpoint, call, window, 0).await;
                assert_eq!(came, usize::try_from(window).unwrap());
                assert!(
                    matches!(reset, Some(60..=61)),
                    "{window} of {length}: {reset:?}"
                );
            }
            // Exactly enough, and little by little.
            let (came, _, is_whole) = grant(&endpoint, call, length, 0).await;
            assert!(is_whole && came == whole, "{came} of {length}");
            let (came, _, is_whole) = grant(&endpoint, call, 0, 1 + length / 20).await;
            assert!(is_whole && came == whole, "{came} of {length}");
        }
    }

    // req: V-418
    #[tokio::test(start_paused = true)]
    async fn v_418_a_head_that_drips_is_let_go() {
        let endpoint = endpoint();
        let settings = frame(SETTINGS, 0, 0, &[]);
        let head = frame(HEADERS, 0, 1, &fields(&[]));
        // Frames that would take hours to come: no ping can be answered between their bytes.
        let long = |kind| frame(kind, 0, 1, &[0; 16_000])[..9].to_vec();
        for (begun, drips) in [
            ([long(HEADERS), fields(&[])].concat(), &[0][..]),
            ([head, long(CONTINUATION)].concat(), &[0]),
            (long(DATA), &[0]),
            // Not a byte more.
            (Vec::new(), &[]),
        ] {
            let first = [PREFACE, &settings, &begun].concat();
            let (_, seconds) = drip(&endpoint, &first, drips).await;
            assert!((30..=51).contains(&seconds), "{seconds} {}", begun.len());
        }
    }
}
