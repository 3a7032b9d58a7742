//! What a session keeps for those who serve it: values by their type, and what is done with each at the end. Not what a client
//! said of itself: see [`Remembered`](crate::Remembered).

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values of one session. All its calls share them, and its end empties it for good.
#[derive(Default)]
pub struct Kept(Mutex<State>);

#[derive(Default)]
struct State {
    over: bool,
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    ends: Vec<Box<dyn FnOnce() + Send>>,
}

impl Kept {
    /// The value of that type; none: nobody keeps one, or the session is over.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let value = self.lock().values.get(&TypeId::of::<T>()).cloned()?;
        value.downcast().ok()
    }

    /// Keeps a value in the place of its type. `at_end` gets it once: when the session ends, or at once where it is over.
    pub fn keep<T: Any + Send + Sync>(
        &self,
        value: T,
        at_end: impl FnOnce(Arc<T>) + Send + 'static,
    ) {
        let value = Arc::new(value);
        let mut state = self.lock();
        if state.over {
            drop(state);
            return at_end(value);
        }
        state.values.insert(TypeId::of::<T>(), value.clone());
        state.ends.push(Box::new(move || at_end(value)));
    }

    /// Is the session over?
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Ends the session: what came last is ended first. Saying it again changes nothing.
    pub fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        let (values, ends) = (
            std::mem::take(&mut state.values),
            std::mem::take(&mut state.ends),
        );
        drop(state);
        drop(values);
        ends.into_iter().rev().for_each(|end| end());
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
        write!(f, "Kept({} values)", self.lock().values.len())
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
