//! What a session keeps for those who serve it: values by their type, and what is done with each at the end. Not what a client
//! said of itself: see [`Remembered`](crate::Remembered).

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values of one session. All its calls share them, and its end empties it for good. Most sessions keep nothing, and pay no room
/// for it.
#[derive(Default)]
pub struct Kept(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Values(Vec<Value>),
    Over,
}

/// A value, and what is done with it at the end.
struct Value {
    kind: TypeId,
    value: Arc<dyn Any + Send + Sync>,
    end: Box<dyn FnOnce() + Send>,
}

impl Kept {
    /// The value of that type; none: nobody keeps one, or the session is over.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let state = self.lock();
        let State::Values(values) = &*state else {
            return None;
        };
        // The one that came last has the place of its type.
        let found = values.iter().rev().find(|v| v.kind == TypeId::of::<T>())?;
        found.value.clone().downcast().ok()
    }

    /// Keeps a value in the place of its type. `at_end` gets it once: when the session ends, or at once where it is over.
    pub fn keep<T: Any + Send + Sync>(
        &self,
        value: T,
        at_end: impl FnOnce(Arc<T>) + Send + 'static,
    ) {
        let value = Arc::new(value);
        let mut state = self.lock();
        if matches!(*state, State::Over) {
            drop(state);
            return at_end(value);
        }
        let kept = Value {
            kind: TypeId::of::<T>(),
            value: value.clone(),
            end: Box::new(move || at_end(value)),
        };
        match &mut *state {
            State::Values(values) => values.push(kept),
            state => *state = State::Values(vec![kept]),
        }
    }

    /// Is the session over?
    pub fn is_over(&self) -> bool {
        matches!(*self.lock(), State::Over)
    }

    /// Ends the session: what came last is ended first. Saying it again changes nothing.
    pub fn end(&self) {
        let state = std::mem::replace(&mut *self.lock(), State::Over);
        if let State::Values(values) = state {
            for Value { value, end, .. } in values.into_iter().rev() {
                drop(value);
                end();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match &*self.lock() {
            State::Values(values) => values.len(),
            State::Empty | State::Over => 0,
        };
        write!(f, "Kept({count} values)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    type Seen = Arc<Mutex<Vec<String>>>;

    fn keep<T: Any + Send + Sync + fmt::Debug>(kept: &Kept, value: T, seen: &Seen) {
        let seen = seen.clone();
        kept.keep(value, move |value| {
            seen.lock().unwrap().push(format!("{value:?}"))
        });
    }

    // req: D-08
    #[test]
    fn d_08_values_end_with_their_session() {
        let seen = Seen::default();
        let kept = Kept::default();
        keep(&kept, 1_u32, &seen);
        keep(&kept, "one", &seen);
        assert_eq!(
            (kept.get::<u32>().as_deref(), kept.get::<u64>()),
            (Some(&1), None)
        );
        let held = kept.get::<&str>().unwrap();
        kept.end();
        kept.end();
        assert_eq!(*seen.lock().unwrap(), ["\"one\"", "1"]);
        assert_eq!((kept.get::<u32>(), *held), (None, "one"));
        // Who comes too late is ended at once.
        keep(&kept, 2_u32, &seen);
        assert_eq!(seen.lock().unwrap().last().unwrap(), "2");
        assert!(kept.is_over() && kept.get::<u32>().is_none());
    }

    // req: D-08
    #[test]
    fn d_08_a_session_that_is_dropped_ends() {
        let seen = Seen::default();
        let kept = Kept::default();
        keep(&kept, 1_u32, &seen);
        drop(kept);
        assert_eq!(*seen.lock().unwrap(), ["1"]);
    }
}
