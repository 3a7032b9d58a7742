//! How many connections to one server there may be at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::ClientError;

/// How long one more waits for another to end: as long as most servers need for it.
const WAIT: Duration = Duration::from_secs(2);

/// Room for so many. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Room {
    most: usize,
    places: Arc<Semaphore>,
}

/// One of the places, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(most));
        Self { most, places }
    }

    pub(super) fn is_full(&self) -> bool {
        self.places.available_permits() == 0
    }

    /// Takes a place.
    ///
    /// # Errors
    /// There is none, and there comes none soon.
    pub(super) async fn enter(&self) -> Result<Place, ClientError> {
        match timeout(WAIT, self.places.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Place { _permit: permit }),
            _ => Err(ClientError::NoRoom(self.most)),
        }
    }
}
