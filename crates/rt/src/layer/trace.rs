//! A span for each call, under the names that OpenTelemetry's semantic conventions have for MCP. It says nothing of arguments and
//! results, and of the session only the tag that our log has for it.

use std::sync::Arc;

use polyport_proto::Outcome;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::{Layer, Next};
use crate::context::Call;
use crate::handler::BoxFuture;
use crate::journal::{is_tool_error, plain, session};

/// Opens a span around each call, at the level info, target `polyport::span`. Where nobody listens to it, it costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trace {
    uris: bool,
}

impl Trace {
    /// Spans without the URIs of resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spans that name the resource (`mcp.resource.uri`). Defaults to not: a URI may hold what belongs in no log.
    #[must_use]
    pub fn with_uris(mut self) -> Self {
        self.uris = true;
        self
    }

    fn span(self, call: &Call) -> Span {
        let context = &call.context;
        let envelope = context.envelope();
        // A legacy handshake comes as discovery.
        let method = match (call.method, envelope.session()) {
            ("server/discover", Some(_)) => "initialize",
            (method, _) => method,
        };
        let name = call.params.name().map(|name| plain(&name));
        let of = |wanted| name.as_deref().filter(|_| call.method == wanted);
        let (network, protocol) = match context.transport() {
            "stdio" | "memory" => ("pipe", None),
            "websocket" => ("tcp", Some("websocket")),
            _ => ("tcp", Some("http")),
        };
        let uri = call.params.uri().filter(|_| self.uris);
        tracing::info_span!(
            target: "polyport::span",
            "mcp.server",
            otel.name = name.as_ref().map_or_else(|| method.to_owned(), |name| format!("{method} {name}")),
            otel.kind = "server",
            otel.status_code = Empty,
            mcp.method.name = method,
            mcp.protocol.version = envelope.revision().name(),
            mcp.session.id = session(envelope),
            mcp.resource.uri = uri.map(|uri| plain(&uri)),
            gen_ai.operation.name = of("tools/call").map(|_| "execute_tool"),
            gen_ai.tool.name = of("tools/call"),
            gen_ai.prompt.name = of("prompts/get"),
            jsonrpc.request.id = plain(&context.request_id().to_string()),
            network.transport = network,
            network.protocol.name = protocol,
            rpc.response.status_code = Empty,
            error.type = Empty,
        )
    }
}

impl Layer for Trace {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        if !tracing::enabled!(target: "polyport::span", tracing::Level::INFO) {
            return next.run(call);
        }
        let span = self.span(&call);
        let unended = Unended(Some(span.clone()));
        // What the handler does before its first poll belongs to the span, too.
        let running = span.in_scope(|| next.run(call));
        let traced = async move {
            let outcome = running.await;
            unended.end(&outcome);
            outcome
        };
        Box::pin(traced.instrument(span))
    }
}

/// A span whose call has not ended. Dropped so, it was cancelled.
struct Unended(Option<Span>);

impl Unended {
    fn end(mut self, outcome: &Outcome) {
        let Some(span) = self.0.take() else { return };
        match outcome {
            Outcome::Failed(error) => {
                let code = error.code.number();
                span.record("rpc.response.status_code", code);
                fail(&span, &code.to_string());
            }
            Outcome::Complete(result) if is_tool_error(result.as_str()) => {
                fail(&span, "tool_error");
            }
            _ => {}
        }
    }
}

impl Drop for Unended {
    fn drop(&mut self) {
        if let Some(span) = &self.0 {
            fail(span, "cancelled");
        }
    }
}

fn fail(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
