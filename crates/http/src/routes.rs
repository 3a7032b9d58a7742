//! What an endpoint answers on, as one table: no path is answered that does not stand here, with its methods and who may use it.

use http::Method;
use polyport_proto::http::PairPath;

/// A path that is answered.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Served {
    /// The path, without a slash at the end.
    pub path: String,
    /// The methods, as `Allow` names them.
    pub methods: &'static str,
    /// Who may use it.
    pub access: Access,
    pub(crate) way: Way,
}

impl Served {
    /// Does a request for it want to become a WebSocket, and may that be?
    #[cfg(feature = "ws")]
    pub(crate) fn is_socket(&self, head: &http::request::Parts) -> bool {
        matches!(self.way, Way::Endpoint | Way::Socket)
            && crate::ws::is_upgrade(&head.method, &head.headers)
    }

    /// What `Allow` names where this method is refused: without a session there is nothing to GET or to DELETE.
    pub(crate) fn allowed(&self, refused: &Method) -> &'static str {
        match (self.way, refused) {
            (Way::Endpoint, &Method::GET | &Method::DELETE) => "POST",
            _ => self.methods,
        }
    }
}

/// What answers on a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    /// Streamable HTTP.
    Endpoint,
    /// One half of HTTP with SSE.
    Pair(PairPath),
    /// Nothing but a WebSocket.
    #[cfg(feature = "ws")]
    Socket,
}

/// Who may use a path, once `Host` and `Origin` are ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Access {
    /// Whom the endpoint's [`Authorize`](crate::Authorize) lets in. Without one: whoever reaches it.
    Authorized,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Routes(Vec<Served>);

impl Routes {
    /// A path stands there once: what comes first keeps it.
    pub(crate) fn new(
        path: &str,
        sessions: bool,
        pair: Option<&Pair>,
        #[cfg_attr(not(feature = "ws"), expect(unused))] socket: Option<&str>,
    ) -> Self {
        let serve = |path: &str, methods, way| Served {
            path: path.to_owned(),
            methods,
            access: Access::Authorized,
            way,
        };
        let methods = if sessions {
            "GET, POST, DELETE"
        } else {
            "POST"
        };
        let pair = pair.into_iter().flat_map(|pair| {
            [
                serve(&pair.stream, "GET", Way::Pair(PairPath::Stream)),
                serve(&pair.messages, "POST", Way::Pair(PairPath::Messages)),
            ]
        });
        let mut all = vec![serve(path, methods, Way::Endpoint)];
        #[cfg(feature = "ws")]
        let pair =
            pair.chain(socket.map(|path| serve(path.trim_end_matches('/'), "GET", Way::Socket)));
        for served in pair {
            if !all.iter().any(|other| other.path == served.path) {
                all.push(served);
            }
        }
        Self(all)
    }

    pub(crate) fn all(&self) -> &[Served] {
        &self.0
    }

    /// The entry of a path, with or without a slash at its end.
    pub(crate) fn find(&self, path: &str) -> Option<&Served> {
        let path = path.strip_suffix('/').unwrap_or(path);
        self.0.iter().find(|served| served.path == path)
    }
}

/// The two paths of HTTP with SSE. One that is the endpoint's own is the endpoint's.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Where a client opens the stream. Defaults to `/sse`.
    pub stream: String,
    /// Where it posts its messages. Defaults to `/messages`.
    pub messages: String,
}

impl Default for Pair {
    fn default() -> Self {
        Self {
            stream: "/sse".to_owned(),
            messages: "/messages".to_owned(),
        }
    }
}

impl Pair {
    pub(crate) fn trimmed(self) -> Self {
        let trim = |path: String| path.trim_end_matches('/').to_owned();
        Self {
            stream: trim(self.stream),
            messages: trim(self.messages),
        }
    }
}
