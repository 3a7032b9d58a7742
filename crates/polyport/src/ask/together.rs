//! Several questions at once: all are open before any answer is waited for.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use super::{AskError, Asking};

/// Questions that are asked at once: tuples of up to six [`Asking`], or a list of them.
pub trait Together {
    /// Their answers, in the same order.
    type Answers;

    /// Asks them all.
    fn together(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send;
}

/// A question and, once it is there, its answer.
struct Slot<T> {
    asking: Asking<T>,
    answer: Option<T>,
}

impl<T> Slot<T> {
    fn new(asking: Asking<T>) -> Self {
        Self {
            asking,
            answer: None,
        }
    }

    /// True: the answer is there.
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Result<bool, AskError>
    where
        T: Unpin,
    {
        if self.answer.is_none()
            && let Poll::Ready(answer) = Pin::new(&mut self.asking).poll(cx)
        {
            self.answer = Some(answer?);
        }
        Ok(self.answer.is_some())
    }

    fn take(&mut self) -> Result<T, AskError> {
        self.answer.take().ok_or_else(AskError::over)
    }
}

impl<T: Send + Unpin> Together for Vec<Asking<T>> {
    type Answers = Vec<T>;

    async fn together(self) -> Result<Vec<T>, AskError> {
        let mut slots: Vec<_> = self.into_iter().map(Slot::new).collect();
        poll_fn(|cx| {
            let mut whole = true;
            for slot in &mut slots {
                match slot.poll(cx) {
                    Ok(there) => whole &= there,
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            if whole {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        })
        .await?;
        slots.iter_mut().map(Slot::take).collect()
    }
}

macro_rules! together {
    ($($T:ident $slot:ident),+) => {
        impl<$($T: Send + Unpin),+> Together for ($(Asking<$T>,)+) {
            type Answers = ($($T,)+);

            async fn together(self) -> Result<Self::Answers, AskError> {
                let ($($slot,)+) = self;
                $(let mut $slot = Slot::new($slot);)+
                poll_fn(|cx| {
                    let mut whole = true;
                    $(match $slot.poll(cx) {
                        Ok(there) => whole &= there,
                        Err(error) => return Poll::Ready(Err(error)),
                    })+
                    if whole { Poll::Ready(Ok(())) } else { Poll::Pending }
                })
                .await?;
                Ok(($($slot.take()?,)+))
            }
        }
    };
}

together!(A a);
together!(A a, B b);
together!(A a, B b, C c);
together!(A a, B b, C c, D d);
together!(A a, B b, C c, D d, E e);
together!(A a, B b, C c, D d, E e, F f);
