//! Who looks on at a conversation: hears each message as it was said, both ways. Named by the task that opens it, whatever carries it.

use std::sync::Arc;

/// Whose message it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Speaker {
    /// Ours.
    Client,
    /// Theirs. It may be no message at all.
    Server,
}

/// Hears each message as text, without framing. Called where messages are read and written: it must not wait, nor ask for anything.
pub type Tap = Arc<dyn Fn(Speaker, &[u8]) + Send + Sync>;

tokio::task_local! {
    static TAP: Tap;
}

/// Opens conversations on which `tap` looks from their first message on.
pub async fn tapped<T>(tap: Tap, opening: impl Future<Output = T>) -> T {
    TAP.scope(tap, opening).await
}

/// Who looks on at what this task opens.
pub(super) fn current() -> Option<Tap> {
    TAP.try_with(Arc::clone).ok()
}
