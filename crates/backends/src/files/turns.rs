//! Whose turn it is to change a path: two calls of one server never change the same file, or a directory and what is in it,
//! at once. Knows nothing of other programs.

use std::{
    path::PathBuf,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use super::{FilesError, pace::Pace};

/// Between two looks at whether the caller still wants to wait.
const LOOK: Duration = Duration::from_millis(50);

/// The paths that are being changed.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<Vec<Vec<PathBuf>>>,
    given_back: Condvar,
}

impl Turns {
    /// Waits until none of the paths, nothing above and nothing below them is being changed; then all are held until the
    /// guard is dropped. They are taken together, so that no two callers wait for each other.
    pub(crate) fn take(
        &self,
        paths: Vec<PathBuf>,
        pace: &Pace<'_>,
        shown: impl FnOnce() -> String,
    ) -> Result<Turn<'_>, FilesError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while taken.iter().flatten().any(|other| meets(other, &paths)) {
            if !pace.go_on()? {
                return Err(FilesError::TimeUp { path: shown() });
            }
            taken = self
                .given_back
                .wait_timeout(taken, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        taken.push(paths.clone());
        Ok(Turn { turns: self, paths })
    }
}

fn meets(other: &PathBuf, paths: &[PathBuf]) -> bool {
    paths
        .iter()
        .any(|path| path.starts_with(other) || other.starts_with(path))
}

/// Ends with its drop.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    paths: Vec<PathBuf>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut taken = self
            .turns
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = taken.iter().position(|paths| *paths == self.paths) {
            taken.swap_remove(at);
        }
        drop(taken);
        self.turns.given_back.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{super::Limits, *};

    fn paths(of: &[&str]) -> Vec<PathBuf> {
        of.iter().map(PathBuf::from).collect()
    }

    /// With no time to wait: is it taken?
    fn is_taken(turns: &Turns, of: &[&str]) -> bool {
        let limits = Limits {
            time: Duration::ZERO,
            ..Limits::default()
        };
        let pace = Pace::new(&limits, &|| false);
        turns.take(paths(of), &pace, String::new).is_err()
    }

    #[test]
    fn a_path_holds_what_is_above_and_below() {
        let turns = Turns::default();
        let (limits, never) = (Limits::default(), || false);
        let pace = Pace::new(&limits, &never);
        let turn = turns.take(paths(&["/a/b", "/c"]), &pace, String::new);
        for (path, want) in [
            ("/a/b", true),
            ("/a", true),
            ("/a/b/c", true),
            ("/", true),
            ("/c/x", true),
            ("/a/bc", false),
            ("/d", false),
        ] {
            assert_eq!(is_taken(&turns, &["/e", path]), want, "{path}");
        }
        drop(turn);
        assert!(!is_taken(&turns, &["/a/b"]));
    }

    #[test]
    fn a_cancelled_wait_ends() {
        let turns = Turns::default();
        let limits = Limits::default();
        let never = || false;
        let _held = turns.take(paths(&["/a"]), &Pace::new(&limits, &never), String::new);
        let looks = AtomicUsize::new(0);
        let soon = || looks.fetch_add(1, Ordering::Relaxed) == 1;
        let cancelled = turns.take(paths(&["/a"]), &Pace::new(&limits, &soon), String::new);
        assert!(matches!(cancelled, Err(FilesError::Cancelled)));
    }

    #[test]
    fn nobody_is_forgotten() {
        let (turns, inside) = (Turns::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (turns, inside) = (&turns, &inside);
                scope.spawn(move || {
                    let (limits, never) = (Limits::default(), || false);
                    let pace = Pace::new(&limits, &never);
                    for _ in 0..200 {
                        let of = if number % 2 == 0 {
                            ["/x", "/a/b"]
                        } else {
                            ["/a", "/y"]
                        };
                        let turn = turns.take(paths(&of), &pace, String::new).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert!(turns.taken.lock().unwrap().is_empty());
    }
}
