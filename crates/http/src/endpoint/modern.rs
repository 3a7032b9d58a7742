//! A request of the modern era: its headers against its body, and its answer or the stream that ends with it. Nothing is kept of it.

use std::sync::Arc;

use http::{HeaderMap, Response};
use polyport_proto::http::headers::Accepts;
use polyport_proto::http::{Mirror, Refusal};
use polyport_proto::revision::modern;
use polyport_proto::revision::seal::seal;
use polyport_proto::{Admitted, Blame, Receipt};
use polyport_rt::Call;
use polyport_rt::run::{Begun, begin};

use super::Endpoint;
use crate::body::{Body, OnClose};
use crate::exchange::Exchange;
use crate::respond;

impl Endpoint {
    pub(super) fn check_mirrored_arguments(
        &self,
        headers: &HeaderMap,
        receipt: &Receipt,
        admitted: &Admitted,
    ) -> Result<(), Refusal> {
        if receipt.method != "tools/call" {
            return Ok(());
        }
        let Some(tool) = admitted.params.name() else {
            return Ok(());
        };
        let failed = |error| Refusal {
            status: 500,
            id: Some(receipt.id.clone()),
            error: Some(error),
        };
        let Some(params) = self
            .0
            .service
            .header_params(&tool, &admitted.envelope)
            .map_err(failed)?
        else {
            return Ok(());
        };
        let checked = Mirror::new(headers).check_params(&params, admitted.params.arguments());
        checked.map_err(|blame| Refusal::new(&blame, Some(receipt.id.clone())))
    }

    /// A modern call: nothing is kept of it, and closing the response cancels it.
    pub(super) async fn modern(
        &self,
        receipt: Receipt,
        admitted: Admitted,
        accepts: Accepts,
    ) -> Response<Body> {
        let service = &self.0.service;
        let refused = if !accepts.sse && receipt.method == "subscriptions/listen" {
            // All that it comes to is a stream.
            Err(Blame::StreamNotAcceptable)
        } else {
            service.check_room()
        };
        if let Err(blame) = refused {
            return respond::refusal(&Refusal::new(&blame, Some(receipt.id)), "");
        }
        let exchange = Arc::new(Exchange::calls(&service.limits, 1, accepts.sse));
        let call = Call::new(admitted, exchange.clone());
        let context = call.context.clone();
        match begin(service, call) {
            Begun::Ready(outcome) => {
                let mut text = Vec::new();
                seal(&receipt, &outcome, service.speaks, &mut text);
                exchange.end(&context, modern::status(&outcome), text);
                let nothing = OnClose::Nothing;
                self.respond(exchange, accepts, nothing, begin_stream).await
            }
            Begun::Pending(running) => {
                let guard = OnClose::Cancel(context.clone());
                let (ended, speaks) = (exchange.clone(), service.speaks);
                running.spawn(service, move |outcome| {
                    let mut text = Vec::new();
                    if let Some(outcome) = outcome.as_ref().filter(|_| !context.is_cancelled()) {
                        seal(&receipt, outcome, speaks, &mut text);
                    }
                    ended.end(&context, outcome.as_ref().map_or(200, modern::status), text);
                });
                self.respond(exchange, accepts, guard, begin_stream).await
            }
        }
    }
}

/// A stream to which nobody can come back.
fn begin_stream(exchange: &Arc<Exchange>) {
    exchange.begin_stream(None);
}
