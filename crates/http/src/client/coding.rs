//! Content codings: takes the compressed body of an answer apart as it comes, a little at a time, so that what swells is never held
//! beyond the bound of a plain one.

use std::fmt;
use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use http::{HeaderMap, HeaderValue, header};
use http_body::Body as _;
use hyper::body::Incoming;
use polyport_rt::CallError;
use tokio::task::coop::consume_budget;

/// What may be sent to us.
pub(super) const TAKEN: HeaderValue = HeaderValue::from_static("gzip, deflate");
/// Compressed bytes that are taken apart at once. By its format deflate makes at most 1,032 bytes of one, out of a window of 32 KiB, so
/// one step makes 264 KiB at most.
pub(crate) const STEP: usize = 256;
/// Room that is made for what comes out.
const ROOM: usize = 16 << 10;

/// A body as it was before it was compressed.
#[derive(Debug)]
pub(super) struct Plain {
    body: Incoming,
    coding: Coding,
    /// What has come and is still to be taken apart.
    packed: Bytes,
    /// Something has come.
    begun: bool,
    ended: bool,
}

pub(crate) enum Coding {
    Identity,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Deflate),
}

/// What is called deflate: with the frame of zlib (RFC 9110, 8.4.1.2), or without, as some servers send it. The first two bytes tell.
#[derive(Default)]
pub(crate) struct Deflate {
    first: Vec<u8>,
    stream: Option<Decompress>,
    ended: bool,
}

/// What is wrong with a compressed body.
const CORRUPT: &str = "it is not compressed in the way that its Content-Encoding says";
const CUT: &str = "the compressed answer ended in its midst";

impl Plain {
    /// The body that comes with these headers.
    ///
    /// # Errors
    /// It is compressed in a way that was not asked for.
    pub(super) fn new(headers: &HeaderMap, body: Incoming) -> Result<Self, CallError> {
        Ok(Self {
            body,
            coding: Coding::of(headers)?,
            packed: Bytes::new(),
            begun: false,
            ended: false,
        })
    }

    /// Does more come out of it than went in?
    pub(super) fn is_packed(&self) -> bool {
        !matches!(self.coding, Coding::Identity)
    }

    /// Is it known already that no more comes?
    pub(super) fn is_at_end(&self) -> bool {
        !self.is_packed() && self.body.is_end_stream()
    }

    /// The next piece; None at its end.
    pub(super) async fn piece(&mut self) -> Option<Result<Bytes, CallError>> {
        if !self.is_packed() {
            return piece(&mut self.body).await;
        }
        loop {
            let unpacked = if !self.packed.is_empty() {
                let step = self.packed.split_to(self.packed.len().min(STEP));
                self.coding.unpack(&step)
            } else if self.ended {
                return None;
            } else {
                match piece(&mut self.body).await {
                    Some(Ok(packed)) => {
                        self.begun |= !packed.is_empty();
                        self.packed = packed;
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => {
                        self.ended = true;
                        // An answer without a byte may name a coding, too.
                        if self.begun && !self.coding.is_whole() {
                            return Some(Err(CallError::Broken(CUT.to_owned())));
                        }
                    }
                }
                continue;
            };
            match unpacked {
                Some(text) if text.is_empty() => {}
                Some(text) => return Some(Ok(text.into())),
                None => {
                    self.ended = true;
                    self.packed = Bytes::new();
                    return Some(Err(CallError::Unreadable(CORRUPT.to_owned())));
                }
            }
            // What is there already must not keep everybody else waiting.
            consume_budget().await;
        }
    }
}

/// The next piece of a body as it is sent; None at its end.
async fn piece(body: &mut Incoming) -> Option<Result<Bytes, CallError>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Ok(frame) => {
                // Trailers hold nothing of ours.
                if let Ok(bytes) = frame.into_data() {
                    return Some(Ok(bytes));
                }
            }
            Err(error) => return Some(Err(CallError::Broken(error.to_string()))),
        }
    }
}

impl Coding {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, CallError> {
        let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
        let (named, more) = (codings.next(), codings.next());
        let named = named.map_or(&b"identity"[..], |named| named.as_bytes());
        let is = |name: &str| named.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        if more.is_none() {
            if is("identity") || is("") {
                return Ok(Self::Identity);
            }
            if is("gzip") || is("x-gzip") {
                return Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))));
            }
            if is("deflate") {
                return Ok(Self::Deflate(Deflate::default()));
            }
        }
        let named = String::from_utf8_lossy(named);
        let named: String = named.chars().take(40).collect();
        let again = if more.is_some() {
            " more than once"
        } else {
            ""
        };
        Err(CallError::Unreadable(format!(
            "it is compressed{again} ({named:?}), which was not asked for: the server may use gzip or deflate, once"
        )))
    }

    /// What comes of these bytes. None: they are not what was said.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Identity => Some(packed.to_owned()),
            Self::Gzip(stream) => {
                stream.write_all(packed).ok()?;
                // So that an event is there as soon as it has come.
                stream.flush().ok()?;
                Some(std::mem::take(stream.get_mut()))
            }
            Self::Deflate(stream) => stream.unpack(packed),
        }
    }

    /// Has all come that was to come?
    pub(crate) fn is_whole(&mut self) -> bool {
        match self {
            Self::Identity => true,
            Self::Gzip(stream) => stream.try_finish().is_ok(),
            Self::Deflate(stream) => stream.ended,
        }
    }
}

impl Deflate {
    fn unpack(&mut self, packed: &[u8]) -> Option<Vec<u8>> {
        let Some(stream) = &mut self.stream else {
            self.first.extend_from_slice(packed);
            let &[method, flags, ..] = &self.first[..] else {
                return Some(Vec::new());
            };
            let is_zlib =
                method & 0x0f == 8 && u16::from_be_bytes([method, flags]).is_multiple_of(31);
            let mut stream = Decompress::new(is_zlib);
            let first = inflate(&mut stream, &self.first, &mut self.ended);
            self.stream = Some(stream);
            return first;
        };
        if self.ended {
            return None;
        }
        inflate(stream, packed, &mut self.ended)
    }
}

/// What comes of these bytes; `ended`: nothing may follow. None: they are no such stream.
fn inflate(stream: &mut Decompress, mut packed: &[u8], ended: &mut bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        out.reserve(ROOM);
        let (read, made) = (stream.total_in(), stream.total_out());
        let status = stream.decompress_vec(packed, &mut out, FlushDecompress::None);
        let taken = usize::try_from(stream.total_in() - read).ok()?;
        packed = packed.get(taken..)?;
        match status.ok()? {
            Status::StreamEnd => {
                *ended = true;
                return packed.is_empty().then_some(out);
            }
            _ if taken == 0 && stream.total_out() == made => return Some(out),
            _ => {}
        }
    }
}

impl fmt::Debug for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "Identity",
            Self::Gzip(_) => "Gzip",
            Self::Deflate(_) => "Deflate",
        })
    }
}
