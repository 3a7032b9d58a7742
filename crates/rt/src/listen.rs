//! Subscriptions as calls: `subscriptions/listen` of the modern era, `resources/subscribe` and its end of the legacy one. The handler
//! says what it honours; who hears of it is kept here, and ends with the client.

use polyport_model::{ListenParams, SubscriptionFilter, method};
use polyport_proto::{Blame, Outcome, RpcError};
use polyport_wire::{Params, Raw, write};
use serde_json::json;

use crate::bus::write_tag;
use crate::context::Call;
use crate::fault::internal;
use crate::handler::BoxFuture;
use crate::service::Service;

/// Is it a method that is answered here?
pub(crate) fn is_subscription(name: &str) -> bool {
    matches!(
        name,
        method::SUBSCRIPTIONS_LISTEN | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE
    )
}

/// Answers such a call.
pub(crate) fn run(service: &Service, call: Call) -> BoxFuture<Outcome> {
    let service = service.clone();
    if call.method == method::SUBSCRIPTIONS_LISTEN {
        Box::pin(listen(service, call))
    } else {
        Box::pin(subscribe(service, call))
    }
}

/// What the client of a `subscriptions/listen` wants to hear of.
///
/// # Errors
/// It does not say so.
pub fn wished(params: &Params) -> Result<SubscriptionFilter, RpcError> {
    let asked = params.raw().map(|params| params.decode::<ListenParams>());
    let Some(Ok(asked)) = asked else {
        return Err(RpcError::invalid_params(
            "subscriptions/listen: notifications must be an object that says what to hear of",
        ));
    };
    Ok(asked.notifications)
}

/// A handler's answer to it: what of that it honours.
pub fn honoured(filter: &SubscriptionFilter) -> Outcome {
    Outcome::Complete(Raw::trusted(json!({"notifications": filter}).to_string()))
}

/// A stream of changes. The handler answers with the part of the filter that it honours; then the call lasts until its client, its
/// connection or the server ends it (basic/patterns/subscriptions).
async fn listen(service: Service, call: Call) -> Outcome {
    let context = call.context.clone();
    let asked = match wished(&call.params) {
        Ok(asked) => asked,
        Err(error) => return Outcome::Failed(error),
    };
    // Before the handler looks for each of them, and has a server behind it tell of them.
    let limit = service.limits.subscriptions;
    let (uris, tasks) = (asked.resource_subscriptions, asked.task_ids);
    if uris.map_or(0, |uris| uris.len()) + tasks.map_or(0, |tasks| tasks.len()) > limit {
        return Outcome::Failed(Blame::TooManySubscriptions { limit }.error());
    }
    let limits = &service.limits;
    let principal = context.envelope().principal();
    // Who is not known is bounded as all calls are.
    let most = principal.map_or(usize::MAX, |_| limits.listens_per_principal);
    let Some(_place) = service.listens.enter(principal, most) else {
        context.turn_away();
        let limit = limits.listens_per_principal;
        return Outcome::Failed(Blame::TooManyListens { limit }.error());
    };
    let honoured = match service.handler.clone().call_dyn(call).await {
        Outcome::Complete(honoured) => honoured,
        outcome => return outcome,
    };
    let Ok(ListenParams { notifications, .. }) = honoured.decode() else {
        return internal(
            method::SUBSCRIPTIONS_LISTEN,
            "the handler must answer with the notifications that it honours",
        );
    };
    let mut id = Vec::new();
    context.request_id().write(&mut id);
    let id = Raw::trusted(id);
    let listener = service.bus_of(context.envelope()).listen_filter(
        &notifications,
        id.clone(),
        context.alert(),
        limits,
    );
    let listener = match listener {
        Ok(listener) => listener,
        Err(blame) => return Outcome::Failed(blame.error()),
    };
    let mut acknowledged = b"{\"_meta\":".to_vec();
    write_tag(&mut acknowledged, &id);
    acknowledged.extend_from_slice(b",\"notifications\":");
    let notifications = serde_json::to_vec(&notifications).expect("made of texts");
    acknowledged.extend_from_slice(&notifications);
    acknowledged.push(b'}');
    if !context.send("notifications/subscriptions/acknowledged", &acknowledged) {
        return internal(
            method::SUBSCRIPTIONS_LISTEN,
            "there was no room for the first message of the stream",
        );
    }
    context.outlet().attach(&context, listener.clone());
    let _stream = service.stream();
    tokio::select! {
        _ = context.cancelled() => {}
        () = listener.ended() => {}
    }
    let mut result = b"{\"_meta\":".to_vec();
    write_tag(&mut result, &id);
    result.push(b'}');
    Outcome::Complete(Raw::trusted(result))
}

/// The handler says whether there is such a resource; the session then hears of it.
async fn subscribe(service: Service, call: Call) -> Outcome {
    let (context, on) = (
        call.context.clone(),
        call.method == method::RESOURCES_SUBSCRIBE,
    );
    let Some(uri) = call.params.uri().map(std::borrow::Cow::into_owned) else {
        return Outcome::Failed(RpcError::invalid_params(format!(
            "{}: uri is missing or not a text",
            call.method
        )));
    };
    let Some(listener) = context.outlet().listener() else {
        return Outcome::Failed(RpcError::invalid_params(
            "Subscriptions belong to a session, and this request has none: send initialize first",
        ));
    };
    let outcome = service.handler.clone().call_dyn(call).await;
    if matches!(outcome, Outcome::Complete(_)) {
        if !on {
            listener.unsubscribe(&uri);
        } else if let Err(blame) = listener.subscribe(&uri) {
            return Outcome::Failed(blame.error());
        }
    }
    outcome
}

/// Says to the client of a line-framed connection that we have ended its stream (basic/patterns/cancellation).
pub(crate) fn ended(id: &polyport_wire::RequestId) -> Vec<u8> {
    let mut params = b"{\"requestId\":".to_vec();
    id.write(&mut params);
    params.push(b'}');
    let mut out = Vec::new();
    let params = std::str::from_utf8(&params).ok();
    write::notification(&mut out, "notifications/cancelled", params);
    out
}
