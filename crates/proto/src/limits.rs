//! Every bound of the protocol core: unit, default, and what happens at it. Each is a knob.

use std::time::Duration;

/// The bounds within which a peer is served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message: a stdio line or an HTTP body. Defaults to 16 MiB. A longer HTTP body is refused with 413
    /// before it is read; a longer line is skipped and answered with one error that names the limit.
    pub message_bytes: usize,
    /// Depth, elements per container and in all, and messages per batch. Defaults to 128, 100,000, 1,000,000 and 100; beyond, the
    /// message is refused.
    pub json: polyport_wire::Limits,
    /// Bytes of `clientInfo` and `capabilities` in a legacy `initialize`, which a session keeps. Defaults to 64 KiB; more is refused.
    pub client_facts_bytes: usize,
    /// Bytes of the target and the headers of an HTTP request. Defaults to 64 KiB; beyond, the request is refused with 431. The
    /// listener takes no less than 8 KiB.
    pub head_bytes: usize,
    /// Bytes of HTTP bodies above 64 KiB that are held at once, from all clients. Defaults to 256 MiB; beyond, a request is refused
    /// with 503.
    pub bodies_bytes: usize,
    /// Calls that one connection or session may have running. Defaults to 256; one more is refused at once.
    pub calls_per_session: usize,
    /// Calls that may run in the whole server. Defaults to 4,096; one more is refused at once, over HTTP with 503.
    pub calls: usize,
    /// Legacy HTTP sessions in all. Defaults to 10,000. At the bound a session makes room that waits for
    /// `notifications/initialized` for 5 seconds, else one idle for more than a minute, else one that waits for 200 ms; when there is
    /// none, `initialize` is answered 503.
    pub sessions: usize,
    /// Legacy HTTP sessions of one proven principal. Defaults to 64; the longest idle one makes room.
    pub sessions_per_principal: usize,
    /// How long a session may be idle. Defaults to 30 minutes; then it is gone and answered 404.
    pub session_idle: Duration,
    /// How long a session may live. Defaults to 24 hours; then it is gone and answered 404.
    pub session_life: Duration,
    /// How long a session may wait for `notifications/initialized`. Defaults to 60 seconds; then it is gone.
    pub session_opening: Duration,
    /// Streams that one legacy session may hold open with GET. Defaults to 4; one more is refused with 409.
    pub streams_per_session: usize,
    /// Events that a stream of a legacy session keeps for a client that takes it up again with `Last-Event-ID`. Defaults to 256;
    /// older ones are gone, and asking for what followed them is answered 410.
    pub replay_events: usize,
    /// Bytes of these events. Defaults to 1 MiB; as above. The last event of a stream is kept however long it is.
    pub replay_bytes: usize,
    /// Streams of one session that are kept when no client reads them and no call fills them. Defaults to 16; the oldest makes room.
    pub replay_streams: usize,
    /// How long such a stream keeps its events. Defaults to 5 minutes; then they are gone.
    pub replay_time: Duration,
    /// Bytes of events kept for all clients, with those that wait for one. Defaults to 256 MiB; beyond, nothing written is kept, and
    /// what nobody waits for is left out.
    pub replay_bytes_in_all: usize,
    /// How long a call may be silent before its answer becomes a stream, where a stream can be taken up again from its beginning.
    /// Defaults to 2 seconds; elsewhere it is `keep_alive`.
    pub stream_after: Duration,
    /// Messages waiting to be written to one peer. Defaults to 256; beyond, progress and logs are left out, answers are not.
    pub queue_messages: usize,
    /// Bytes waiting to be written to one peer. Defaults to 4 MiB; as above.
    pub queue_bytes: usize,
    /// Log messages of no call that wait for one legacy client. Defaults to 64; older ones make room, and the client is told how many
    /// are missing.
    pub waiting_logs: usize,
    /// Bytes of these messages. Defaults to 256 KiB; as above, and a message that is longer by itself is left out, too.
    pub waiting_logs_bytes: usize,
    /// Requests of ours that one legacy session may have waiting for their answer. Defaults to 64; one more question has no answer.
    pub questions_per_session: usize,
    /// How long a question of a legacy call may wait for its answer: people think, or are away. Defaults to 10 minutes; then the call
    /// is told that nobody answered, and the client that we no longer wait.
    pub question_wait: Duration,
    /// Pages to which one legacy session was sent and that are not done. Defaults to 64; the oldest is forgotten, and its end not told.
    pub visits_per_session: usize,
    /// How long a question over HTTP may wait while nobody reads the stream of its call. Defaults to 60 seconds; then the client counts
    /// as gone, and the call is told so. A client that was sent away has this time on top of the one after which it is to come back.
    pub question_unread: Duration,
    /// Requests of ours that all legacy HTTP sessions of one principal may have waiting for their answer; clients that prove nothing
    /// count as one principal. Defaults to 512; one more question has no answer.
    pub questions_per_principal: usize,
    /// How long a modern client may take to come back with answers. Defaults to an hour; then it begins again.
    pub state_life: Duration,
    /// Bytes of sealed state that travel with a client. Defaults to 16 KiB; what is longer stays here under a handle.
    pub state_bytes: usize,
    /// Bytes of state that stay here under handles, for all clients. Defaults to 16 MiB; the oldest makes room.
    pub state_store_bytes: usize,
    /// Resources to which one legacy session, or one `subscriptions/listen`, may subscribe. Defaults to 1,024; one more is refused.
    pub subscriptions: usize,
    /// Streams of `subscriptions/listen` that one proven principal may hold open. Defaults to 8; one more is refused.
    pub listens_per_principal: usize,
    /// How long a cancelled call may tidy up before it is dropped. Defaults to 2 seconds.
    pub cancel_grace: Duration,
    /// How long running calls may take when the server stops or its input ends. Defaults to 10 seconds; then they are cut.
    pub drain: Duration,
    /// How long what a server does before it serves may take. Defaults to 30 seconds; then it does not serve and says so.
    pub start: Duration,
    /// How long what a server does after it has served may take. Defaults to 10 seconds; then it is cut.
    pub shutdown: Duration,
    /// How long a client may take to send the head, and then the body, of an HTTP request. Defaults to 30 seconds each; then 408 or an end.
    pub request_read: Duration,
    /// How long a client may take nothing of what is written to it over HTTP, or (on Linux) confirm none of it. Defaults to 60
    /// seconds; then its connection ends. Over HTTP/2 also how long it may make no room for the next 16 KiB of an answer; then that
    /// answer ends.
    pub response_write: Duration,
    /// Requests that one HTTP/2 connection may have open at once. Defaults to 100; more are refused by that protocol's means.
    pub requests_per_connection: u32,
    /// HTTP connections open at once. Defaults to 4,096; more wait to be accepted.
    pub connections: usize,
    /// How often an idle stream gets a comment, so that no proxy ends it. Defaults to 15 seconds.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            json: polyport_wire::Limits::default(),
            client_facts_bytes: 64 << 10,
            head_bytes: 64 << 10,
            bodies_bytes: 256 << 20,
            calls_per_session: 256,
            calls: 4_096,
            sessions: 10_000,
            sessions_per_principal: 64,
            session_idle: Duration::from_secs(30 * 60),
            session_life: Duration::from_secs(24 * 60 * 60),
            session_opening: Duration::from_secs(60),
            streams_per_session: 4,
            replay_events: 256,
            replay_bytes: 1 << 20,
            replay_streams: 16,
            replay_time: Duration::from_secs(5 * 60),
            replay_bytes_in_all: 256 << 20,
            stream_after: Duration::from_secs(2),
            queue_messages: 256,
            queue_bytes: 4 << 20,
            waiting_logs: 64,
            waiting_logs_bytes: 256 << 10,
            questions_per_session: 64,
            question_wait: Duration::from_secs(10 * 60),
            visits_per_session: 64,
            question_unread: Duration::from_secs(60),
            questions_per_principal: 512,
            state_life: Duration::from_secs(60 * 60),
            state_bytes: 16 << 10,
            state_store_bytes: 16 << 20,
            subscriptions: 1_024,
            listens_per_principal: 8,
            cancel_grace: Duration::from_secs(2),
            drain: Duration::from_secs(10),
            start: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
            request_read: Duration::from_secs(30),
            response_write: Duration::from_secs(60),
            requests_per_connection: 100,
            connections: 4_096,
            keep_alive: Duration::from_secs(15),
        }
    }
}
