//! How often clients are told that lists of a server have changed: at once, and then no sooner than a while after the last time. A server
//! that says it all the time is asked for its lists by those who listen, and a list that changes by being asked for would never end.

use std::time::Duration;

use polyport_rt::Bus;
use tokio::time::{Instant, sleep_until};

/// Between two times that a list is said to have changed.
const WINDOW: Duration = Duration::from_secs(1);

/// A list of a server.
#[derive(Clone, Copy)]
pub(super) enum Listed {
    Prompts,
    Resources,
    Tools,
}

const ALL: [Listed; 3] = [Listed::Prompts, Listed::Resources, Listed::Tools];

/// When each list was last said to have changed, and which has since.
#[derive(Default)]
pub(super) struct Calm {
    last: [Option<Instant>; 3],
    waits: [bool; 3],
}

impl Calm {
    /// A list has changed.
    pub(super) fn changed(&mut self, listed: Listed, bus: &Bus) {
        self.waits[listed as usize] = true;
        self.tell(bus);
    }

    /// Waits until something is to be told that could not be at once.
    pub(super) async fn due(&self) {
        let waiting = ALL.into_iter().filter(|it| self.waits[*it as usize]);
        match waiting.filter_map(|it| self.next(it)).min() {
            Some(next) => sleep_until(next).await,
            None => std::future::pending().await,
        }
    }

    /// Tells what may be told now.
    pub(super) fn tell(&mut self, bus: &Bus) {
        let now = Instant::now();
        for listed in ALL {
            let at = listed as usize;
            if !self.waits[at] || self.next(listed).is_some_and(|next| now < next) {
                continue;
            }
            (self.waits[at], self.last[at]) = (false, Some(now));
            match listed {
                Listed::Prompts => bus.prompts_changed(),
                Listed::Resources => bus.resources_changed(),
                Listed::Tools => bus.tools_changed(),
            }
        }
    }

    fn next(&self, listed: Listed) -> Option<Instant> {
        self.last[listed as usize].map(|last| last + WINDOW)
    }
}
