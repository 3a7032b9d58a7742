//! The `params` of a request or notification: which of the members that routing needs are there, and
//! where. What they have to be is the method's business.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::scan::{Bad, Scanner, check_length, space};
use crate::span::Span;
use crate::{Limits, Malformed, MalformedKind, Raw, text};

/// The members of `params` that are noted on the way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Member {
    /// `name`, of tools and prompts.
    Name,
    /// `uri`, of resources.
    Uri,
    /// `cursor`, of lists.
    Cursor,
    /// `arguments`, of tools and prompts.
    Arguments,
    /// `_meta`.
    Meta,
    /// `inputResponses`.
    InputResponses,
    /// `requestState`.
    RequestState,
}

/// The `params` of one message, as places in its frame. Absent params have no members.
///
/// Cloning it copies no text. Every accessor that returns `&str` checks again that the member is UTF-8,
/// some microseconds for 64 KiB, so call it once; [`Self::member`] is free.
#[derive(Clone, Default)]
pub struct Params {
    pub(crate) frame: Bytes,
    pub(crate) spans: Spans,
}

impl Params {
    /// Params that are absent.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads a params object that comes without its message. `null` counts as absent; repeated keys are
    /// refused at every depth, as in a message.
    pub fn parse(text: Bytes, limits: &Limits) -> Result<Self, Malformed> {
        let mut spans = Spans::default();
        check_length(&text)?;
        let mut scanner = Scanner::new(&text, limits);
        scanner.unique = true;
        let start = space(&text, 0);
        let mut read = || {
            let end = spans.read(&mut scanner, start, 0)?;
            scanner.end(end)
        };
        read().map_err(|Bad(offset)| Malformed::unreadable(&text, offset))?;
        if let Some((kind, offset)) = scanner.excess {
            return Err(Malformed::new(kind, offset));
        }
        if let Some(offset) = scanner.repeated.or(scanner.repeated_within) {
            return Err(Malformed::new(MalformedKind::DuplicateKey, offset));
        }
        spans
            .settle(&text)
            .map_err(|kind| Malformed::new(kind, spans.whole.start()))?;
        Ok(Self { frame: text, spans })
    }

    /// Whether the message has params (other than null).
    pub fn is_present(&self) -> bool {
        self.spans.whole.is_present()
    }

    /// The whole object.
    pub fn text(&self) -> Option<&str> {
        self.text_at(self.spans.whole)
    }

    /// The whole object.
    pub fn raw(&self) -> Option<Raw> {
        self.raw_at(self.spans.whole)
    }

    /// Bytes of the frame that these parameters, and every slice of them, keep alive.
    pub fn frame_len(&self) -> usize {
        self.frame.len()
    }

    /// `name`, if it is a string.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.string(Member::Name)
    }

    /// `uri`, if it is a string.
    pub fn uri(&self) -> Option<Cow<'_, str>> {
        self.string(Member::Uri)
    }

    /// `cursor`, if it is a string.
    pub fn cursor(&self) -> Option<Cow<'_, str>> {
        self.string(Member::Cursor)
    }

    /// `arguments`, as JSON text.
    pub fn arguments(&self) -> Option<&str> {
        self.text_at(self.spans.member(Member::Arguments))
    }

    /// `_meta`, as JSON text.
    pub fn meta(&self) -> Option<&str> {
        self.text_at(self.spans.member(Member::Meta))
    }

    /// `inputResponses`, as JSON text.
    pub fn input_responses(&self) -> Option<&str> {
        self.text_at(self.spans.member(Member::InputResponses))
    }

    /// `requestState`, as JSON text.
    pub fn request_state(&self) -> Option<&str> {
        self.text_at(self.spans.member(Member::RequestState))
    }

    /// `_meta.progressToken`, as JSON text.
    pub fn progress_token(&self) -> Option<&str> {
        self.text_at(self.spans.meta[MetaMember::ProgressToken as usize])
    }

    /// Is there a `_meta["io.modelcontextprotocol/protocolVersion"]`?
    pub fn has_protocol_version(&self) -> bool {
        self.spans.meta[MetaMember::ProtocolVersion as usize].is_present()
    }

    /// `_meta["io.modelcontextprotocol/protocolVersion"]`, as JSON text.
    pub fn protocol_version(&self) -> Option<&str> {
        self.text_at(self.spans.meta[MetaMember::ProtocolVersion as usize])
    }

    /// `_meta["io.modelcontextprotocol/clientInfo"]`, as JSON text.
    pub fn client_info(&self) -> Option<&str> {
        self.text_at(self.spans.meta[MetaMember::ClientInfo as usize])
    }

    /// `_meta["io.modelcontextprotocol/clientCapabilities"]`, as JSON text.
    pub fn client_capabilities(&self) -> Option<&str> {
        self.text_at(self.spans.meta[MetaMember::ClientCapabilities as usize])
    }

    /// `_meta["io.modelcontextprotocol/logLevel"]`, as JSON text.
    pub fn log_level(&self) -> Option<&str> {
        self.text_at(self.spans.meta[MetaMember::LogLevel as usize])
    }

    /// Whether the member is there, of whatever type.
    pub fn has(&self, member: Member) -> bool {
        self.spans.member(member).is_present()
    }

    /// A member, sharing the frame.
    pub fn member(&self, member: Member) -> Option<Raw> {
        self.raw_at(self.spans.member(member))
    }

    /// A JSON value that lies inside these params, without a copy: what an accessor returned, or a value
    /// inside of that.
    ///
    /// # Panics
    ///
    /// When `text` lies elsewhere.
    pub fn slice(&self, text: &str) -> Raw {
        Raw::checked(self.frame.slice_ref(text.as_bytes()))
    }

    fn string(&self, member: Member) -> Option<Cow<'_, str>> {
        let text = self.text_at(self.spans.member(member))?;
        text::decode(text.strip_prefix('"')?.strip_suffix('"')?)
    }

    fn text_at(&self, span: Span) -> Option<&str> {
        let text = span.is_present().then(|| &self.frame[span.range()])?;
        Some(std::str::from_utf8(text).expect("the scanner has checked the frame"))
    }

    pub(crate) fn raw_at(&self, span: Span) -> Option<Raw> {
        span.is_present()
            .then(|| Raw::checked(self.frame.slice(span.range())))
    }
}

impl fmt::Debug for Params {
    /// What is asked belongs in no log: only how much it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({} bytes)", self.spans.whole.range().len())
    }
}

/// Where the params and their members lie.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) whole: Span,
    members: [Span; 7],
    meta: [Span; 5],
}

impl Spans {
    /// Reads the value of `params`, of whatever type.
    pub(crate) fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        start: usize,
        depth: u32,
    ) -> Result<usize, Bad> {
        let Self {
            whole,
            members,
            meta,
        } = self;
        let end = object(scanner, start, depth, |scanner, name, start| {
            let member = member(name);
            let end = if let Some(Member::Meta) = member {
                object(scanner, start, depth + 1, |scanner, name, start| {
                    let end = scanner.value(start, depth + 2)?;
                    if let Some(member) = meta_member(name) {
                        meta[member as usize] = Span::new(start, end);
                    }
                    Ok(end)
                })?
            } else {
                scanner.value(start, depth + 1)?
            };
            if let Some(member) = member {
                members[member as usize] = Span::new(start, end);
            }
            Ok(end)
        })?;
        *whole = Span::new(start, end);
        Ok(end)
    }

    /// Decides what the type of the value means.
    pub(crate) fn settle(&mut self, frame: &[u8]) -> Result<(), MalformedKind> {
        match frame[self.whole.range()].first() {
            None | Some(b'{') => Ok(()),
            // Clients in the field send `"params":null` for none.
            Some(b'n') => {
                *self = Self::default();
                Ok(())
            }
            Some(b'[') => Err(MalformedKind::ParamsArray),
            Some(_) => Err(MalformedKind::ParamsPrimitive),
        }
    }

    fn member(&self, member: Member) -> Span {
        self.members[member as usize]
    }
}

/// Reads any value; if it is an object, `on` reads its members.
fn object(
    scanner: &mut Scanner<'_>,
    at: usize,
    depth: u32,
    mut on: impl FnMut(&mut Scanner<'_>, &[u8], usize) -> Result<usize, Bad>,
) -> Result<usize, Bad> {
    if scanner.opens_object(at, depth) {
        scanner.object(at, depth, |scanner, key, at| {
            let name = key.name(scanner.text());
            on(scanner, &name, at)
        })
    } else {
        scanner.value(at, depth)
    }
}

fn member(name: &[u8]) -> Option<Member> {
    Some(match name {
        b"name" => Member::Name,
        b"uri" => Member::Uri,
        b"cursor" => Member::Cursor,
        b"arguments" => Member::Arguments,
        b"_meta" => Member::Meta,
        b"inputResponses" => Member::InputResponses,
        b"requestState" => Member::RequestState,
        _ => return None,
    })
}

#[derive(Clone, Copy)]
enum MetaMember {
    ProgressToken,
    ProtocolVersion,
    ClientInfo,
    ClientCapabilities,
    LogLevel,
}

fn meta_member(name: &[u8]) -> Option<MetaMember> {
    if name == b"progressToken" {
        return Some(MetaMember::ProgressToken);
    }
    Some(match name.strip_prefix(b"io.modelcontextprotocol/")? {
        b"protocolVersion" => MetaMember::ProtocolVersion,
        b"clientInfo" => MetaMember::ClientInfo,
        b"clientCapabilities" => MetaMember::ClientCapabilities,
        b"logLevel" => MetaMember::LogLevel,
        _ => return None,
    })
}
