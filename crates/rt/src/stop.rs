//! The wish that something ends: said once, heard by all who wait for it.

use tokio::sync::watch;

/// Says it. Dropping it without saying so means that it will never be said.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Hears it.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// A pair of both.
pub fn stop() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Says it; saying it again changes nothing.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// One that never comes.
    pub fn never() -> Self {
        stop().1
    }

    /// Has it been said?
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is said.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
