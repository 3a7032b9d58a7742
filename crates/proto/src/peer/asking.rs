//! The asking end of a conversation: how a request is written so that a peer of the revision takes it. Not how it is sent.

use std::ops::Range;

use polyport_wire::{Raw, RequestId, splice, write};

use crate::envelope::ClientFacts;
use crate::revision::{Era, Revision};

/// Writes the messages of a client that speaks one revision.
#[derive(Debug)]
pub struct Asking {
    revision: Revision,
    client: ClientFacts,
    /// Its capabilities as a modern request states them.
    stated: Raw,
    next: i64,
    /// The last of the requests that open the conversation, which are never cancelled (basic/utilities/cancellation).
    opening: i64,
}

impl Asking {
    /// A client of that revision. Ids begin at 1: some peers take 0 for none.
    pub fn new(revision: Revision, client: ClientFacts) -> Self {
        Self {
            revision,
            stated: stated(&client.capabilities),
            client,
            next: 1,
            opening: 0,
        }
    }

    /// The revision it speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Has a request had this id?
    pub fn has_had(&self, id: &RequestId) -> bool {
        matches!(id, RequestId::Number(n) if (1..self.next).contains(n))
    }

    /// Speaks another revision from now on; ids go on.
    pub fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// The member of `_meta` that asks for progress of the next request. The token is the id of that request.
    pub fn next_token(&self) -> String {
        format!("\"progressToken\":{}", self.next)
    }

    /// The question about the era, in the revision of now (2026-07-28, basic/versioning). Like the handshake it is never cancelled.
    pub fn probe(&mut self) -> (RequestId, Vec<u8>) {
        let (id, message) = self.request("server/discover", "{}", "");
        self.opening = self.next - 1;
        (id, message)
    }

    /// What must be asked before anything else; none in the modern era. [`initialized`](Self::initialized) follows the answer.
    pub fn opening(&mut self) -> Option<(RequestId, Vec<u8>)> {
        if self.revision.profile().era == Era::Modern {
            return None;
        }
        let mut params = format!(
            "{{\"protocolVersion\":\"{}\",\"capabilities\":",
            self.revision.name()
        )
        .into_bytes();
        params.extend_from_slice(self.client.capabilities.as_bytes());
        params.extend_from_slice(b",\"clientInfo\":");
        let info = self
            .client
            .info
            .as_ref()
            .map_or("{\"name\":\"polyport\",\"version\":\"0\"}", |info| {
                info.as_str()
            });
        params.extend_from_slice(info.as_bytes());
        params.push(b'}');
        let written = self.write("initialize", params.len(), |out| {
            out.extend_from_slice(&params);
        });
        self.opening = self.next - 1;
        Some((written.id, written.text))
    }

    /// `notifications/initialized`.
    pub fn initialized(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write::notification(&mut out, "notifications/initialized", None);
        out
    }

    /// A request. `params` is an object text; `meta` are ready members of `_meta`, such as a progress token. What else stands in a
    /// `_meta` of `params` stays.
    pub fn request(&mut self, method: &str, params: &str, meta: &str) -> (RequestId, Vec<u8>) {
        let written = self.request_of(None, method, params, meta);
        (written.id, written.text)
    }

    /// The same for another client than this one, in the era in which each request says whose it is.
    pub fn request_of(
        &mut self,
        client: Option<&ClientFacts>,
        method: &str,
        params: &str,
        meta: &str,
    ) -> Written {
        let meta = self.meta(client, meta);
        if meta.is_empty() {
            return self.write(method, params.len(), |out| {
                out.extend_from_slice(params.as_bytes());
            });
        }
        match with_meta(params, &meta[META.len()..meta.len() - 1]) {
            Some(merged) => self.write(method, merged.len(), |out| out.extend_from_slice(&merged)),
            None => self.write(method, params.len() + meta.len() + 1, |out| {
                splice::stamp(params, &meta, out);
            }),
        }
    }

    /// `_meta` of a request: the members given, and in the modern era those that say who asks. Empty: it has none.
    fn meta(&self, client: Option<&ClientFacts>, given: &str) -> String {
        let is_modern = self.revision.profile().era == Era::Modern;
        if given.is_empty() && !is_modern {
            return String::new();
        }
        let theirs = client.map(|client| stated(&client.capabilities));
        let stated = theirs.as_ref().unwrap_or(&self.stated).as_str();
        let info = client.unwrap_or(&self.client).info.as_ref();
        let info = info.map_or("", Raw::as_str);
        let mut meta = String::with_capacity(given.len() + stated.len() + info.len() + OF_META);
        meta.push_str(META);
        meta.push_str(given);
        if is_modern {
            if !given.is_empty() {
                meta.push(',');
            }
            meta.push_str("\"io.modelcontextprotocol/protocolVersion\":\"");
            meta.push_str(self.revision.name());
            meta.push_str("\",\"io.modelcontextprotocol/clientCapabilities\":");
            meta.push_str(stated);
            if !info.is_empty() {
                meta.push_str(",\"io.modelcontextprotocol/clientInfo\":");
                meta.push_str(info);
            }
        }
        meta.push('}');
        meta
    }

    /// `notifications/cancelled` for a request of ours. None: it is one that may not be cancelled.
    pub fn cancel(&self, id: &RequestId, reason: Option<&str>) -> Option<Vec<u8>> {
        if matches!(id, RequestId::Number(n) if *n <= self.opening) {
            return None;
        }
        let mut params = b"{\"requestId\":".to_vec();
        id.write(&mut params);
        if let Some(reason) = reason {
            params.extend_from_slice(b",\"reason\":");
            write::string(&mut params, reason);
        }
        params.push(b'}');
        let mut out = Vec::new();
        write::notification(
            &mut out,
            "notifications/cancelled",
            std::str::from_utf8(&params).ok(),
        );
        Some(out)
    }

    /// Writes a request whose parameters take that much room.
    fn write(&mut self, method: &str, room: usize, params: impl FnOnce(&mut Vec<u8>)) -> Written {
        let id = RequestId::Number(self.next);
        self.next += 1;
        let mut text = Vec::with_capacity(room + method.len() + OF_REQUEST);
        let params = write::request_with(&mut text, &id, method, params);
        Written { id, text, params }
    }
}

/// A request as it was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its id.
    pub id: RequestId,
    /// All of it.
    pub text: Vec<u8>,
    /// Where in it the parameters are.
    pub params: Range<usize>,
}

/// Room for what is around the parameters and the method of a request, the line break behind it included.
const OF_REQUEST: usize = 72;
/// How `_meta` begins.
const META: &str = "\"_meta\":{";
/// Room for `_meta` without what is given and what is said of the client.
const OF_META: usize = 160;

/// The modern era has no tasks of servers with their clients.
fn stated(capabilities: &Raw) -> Raw {
    let text = capabilities.as_str();
    if !text.contains("\"tasks\"") && !text.contains('\\') {
        return capabilities.clone();
    }
    let mut out = b"{".to_vec();
    splice::members(capabilities.as_str(), |key, value| {
        if key == "tasks" {
            return;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        write::string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    });
    out.push(b'}');
    Raw::trusted(out)
}

/// The parameters with these members in the `_meta` that they have. A member of theirs with the same name makes room. None: they
/// have none.
fn with_meta(params: &str, members: &str) -> Option<Vec<u8>> {
    if !params.contains("_meta") {
        return None;
    }
    let mut theirs = None;
    splice::members(params, |key, value| {
        if key == "_meta" && value.starts_with('{') {
            theirs = Some(value);
        }
    });
    let theirs = theirs?;
    let mut ours = Vec::new();
    splice::members(&format!("{{{members}}}"), |key, _| {
        ours.push(key.to_owned())
    });
    let mut merged = format!("{{{members}").into_bytes();
    splice::members(theirs, |key, value| {
        if !ours.iter().any(|our| our == key) {
            merged.push(b',');
            write::string(&mut merged, key);
            merged.push(b':');
            merged.extend_from_slice(value.as_bytes());
        }
    });
    merged.push(b'}');
    let start = theirs.as_ptr() as usize - params.as_ptr() as usize;
    let mut out = Vec::new();
    let edit = (start..start + theirs.len(), merged.as_slice());
    splice::replace(params.as_bytes(), &[edit], &mut out);
    Some(out)
}
