//! Asking the user, the model or for roots in the middle of a call: the same line in every revision.
//!
//! ```
//! # use polyport::{Server, ToolError, schemars::JsonSchema, serde::Deserialize};
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "polyport::serde")]
//! #[schemars(crate = "polyport::schemars")]
//! struct Name {
//!     /// As it shall be written on the badge.
//!     name: String,
//! }
//!
//! let server = Server::new("badges", "1.0.0").tool("badge", "Prints a badge.", |cx, (): ()| async move {
//!     let who: Name = cx.elicit("who", "Whose badge is it?").await?;
//!     Ok(format!("Printed a badge for {}.", who.name))
//! });
//! # let _ = server;
//! ```
//!
//! Every question has a key, its own within the call. A legacy client gets a request of ours and the function waits where it is. A
//! modern client gets all open questions as the result of the call and sends the call again with the answers: **the function runs
//! again from its beginning**, and each question that has an answer gives it at once. So what must happen once stands in
//! [`Cx::once`], and what must not be cut off half-way in [`Cx::shield`].

mod error;
pub(crate) mod form;
mod together;
mod visit;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};

use polyport_model::{
    Blocks, Content, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitResult,
    ListRootsResult, Role, Root, SamplingMessage, method,
};
use polyport_proto::Question;
use polyport_rt::{Ask, NoAnswer};
use polyport_wire::{Raw, write};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::server::context::Cx;
pub use error::AskError;
pub(crate) use error::Why;
#[doc(hidden)]
pub use form::of_schema as form;
pub use together::Together;
pub use visit::Visit;

/// What became of a question. None of these is an error: see [`Asking::answer`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer<T> {
    /// The answer.
    Given(T),
    /// The user, or whoever decides for them, said no.
    Declined,
    /// The user went away without deciding.
    Cancelled,
    /// The client cannot be asked this.
    Unsupported,
}

type Read<T> = Box<dyn FnOnce(Raw) -> Result<Answer<T>, AskError> + Send>;

/// A question. Awaited it gives the answer, or ends the call with a sentence for the one who called; [`answer`](Self::answer) leaves
/// that to you.
pub struct Asking<T>(Answering<T>);

/// A question whose every outcome is a value: see [`Asking::answer`].
pub struct Answering<T> {
    ask: Result<Ask, Option<AskError>>,
    read: Option<Read<T>>,
}

impl<T> Asking<T> {
    fn new(
        cx: &Cx,
        question: Result<Question, AskError>,
        read: impl FnOnce(Raw) -> Result<Answer<T>, AskError> + Send + 'static,
    ) -> Self {
        Self(Answering {
            ask: question.map(|question| cx.0.ask(question)).map_err(Some),
            read: Some(Box::new(read)),
        })
    }

    fn failed(error: AskError) -> Self {
        Self(Answering {
            ask: Err(Some(error)),
            read: None,
        })
    }

    /// The same with each outcome as a value, so that the function can go on without an answer.
    ///
    /// ```
    /// # use polyport::{Answer, Cx, ToolError};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Colour { colour: String }
    /// async fn paint(cx: Cx, (): ()) -> Result<String, ToolError> {
    ///     let colour = match cx.elicit("colour", "Which colour?").answer().await? {
    ///         Answer::Given(Colour { colour }) => colour,
    ///         Answer::Declined | Answer::Unsupported => "white".to_owned(),
    ///         Answer::Cancelled => return Err(ToolError::new("the user left; ask again later")),
    ///     };
    ///     Ok(format!("painted {colour}"))
    /// }
    /// # let _ = polyport::Server::new("painter", "1.0.0").tool("paint", "Paints.", paint);
    /// ```
    pub fn answer(self) -> Answering<T> {
        self.0
    }
}

impl<T> Future for Answering<T> {
    type Output = Result<Answer<T>, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let ask = match &mut this.ask {
            Ok(ask) => ask,
            Err(error) => {
                return Poll::Ready(Err(error.take().unwrap_or_else(AskError::over)));
            }
        };
        let Poll::Ready(answer) = Pin::new(ask).poll(cx) else {
            return Poll::Pending;
        };
        let unsupported = match answer {
            Ok(raw) => {
                let read = this.read.take();
                return Poll::Ready(read.map_or_else(|| Err(AskError::over()), |read| read(raw)));
            }
            // client/sampling, Error Handling: the user said no.
            Err(NoAnswer::Refused { code: -1, .. }) => return Poll::Ready(Ok(Answer::Declined)),
            // client/roots, Error Handling: a client without them says -32601.
            Err(NoAnswer::Refused { code: -32601, .. }) => "it answered that it has no such method",
            Err(NoAnswer::Unsupported(capability)) => capability,
            Err(no) => return Poll::Ready(Err(AskError::no_answer(no))),
        };
        // Whoever wants the answer and nothing else says what is missing.
        this.ask = Err(Some(AskError::unsupported(unsupported)));
        Poll::Ready(Ok(Answer::Unsupported))
    }
}

impl<T> Future for Asking<T> {
    type Output = Result<T, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let answering = &mut self.get_mut().0;
        Pin::new(&mut *answering).poll(cx).map(|answer| {
            Err(match answer? {
                Answer::Given(value) => return Ok(value),
                Answer::Declined => AskError::declined(),
                Answer::Cancelled => AskError::cancelled(),
                Answer::Unsupported => match &mut answering.ask {
                    Err(error) => error.take().unwrap_or_else(AskError::over),
                    Ok(_) => AskError::over(),
                },
            })
        })
    }
}

impl<T> fmt::Debug for Asking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> fmt::Debug for Answering<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking")
            .field("ask", &self.ask)
            .finish_non_exhaustive()
    }
}

impl Cx {
    /// Asks the user to fill in a form: a struct of texts, numbers, booleans, choices (enums) and lists of choices.
    ///
    /// What is filled in is checked against the form. Never ask for secrets this way: clients show and may keep what is typed; use
    /// [`elicit_url`](Self::elicit_url) (client/elicitation).
    pub fn elicit<T>(&self, key: impl Into<String>, message: impl AsRef<str>) -> Asking<T>
    where
        T: DeserializeOwned + JsonSchema + 'static,
    {
        match form::of_type::<T>(self.revision().profile()) {
            Ok(form) => self.form(key.into(), message.as_ref(), form),
            Err(error) => Asking::failed(error),
        }
    }

    /// The same for a form that is known only when the program runs, as its JSON Schema; gives what was filled in.
    pub fn elicit_schema(
        &self,
        key: impl Into<String>,
        message: impl AsRef<str>,
        schema: Value,
    ) -> Asking<Map<String, Value>> {
        match form::of_schema(schema, self.revision().profile()) {
            Ok(form) => self.form(key.into(), message.as_ref(), form),
            Err(error) => Asking::failed(error),
        }
    }

    fn form<T: DeserializeOwned>(&self, key: String, message: &str, form: Value) -> Asking<T> {
        let mut params = b"{".to_vec();
        if self.revision().profile().elicits_url {
            params.extend_from_slice(b"\"mode\":\"form\",");
        }
        params.extend_from_slice(b"\"message\":");
        write::string(&mut params, message);
        params.extend_from_slice(b",\"requestedSchema\":");
        params.extend_from_slice(form.to_string().as_bytes());
        params.push(b'}');
        let question = question(key, method::ELICITATION_CREATE, Some(Raw::trusted(params)));
        Asking::new(self, Ok(question), move |raw| {
            elicited(&raw, |content| form::read(&form, &content))
        })
    }

    /// Asks the client's model.
    pub fn sample(
        &self,
        key: impl Into<String>,
        params: &CreateMessageParams,
    ) -> Asking<CreateMessageResult> {
        let question = Raw::encode(params)
            .map(|params| question(key.into(), method::SAMPLING_CREATE_MESSAGE, Some(params)))
            .map_err(AskError::internal);
        Asking::new(self, question, |raw| {
            raw.decode()
                .map(Answer::Given)
                .map_err(AskError::unreadable)
        })
    }

    /// Asks the client's model one thing, at most so many tokens long, and gives the text of its answer.
    pub fn sample_text(
        &self,
        key: impl Into<String>,
        prompt: impl Into<String>,
        max_tokens: i64,
    ) -> Asking<String> {
        let message = SamplingMessage::new(Role::User, Content::text(prompt));
        let params = CreateMessageParams::new(vec![message], max_tokens);
        let question = Raw::encode(&params)
            .map(|params| question(key.into(), method::SAMPLING_CREATE_MESSAGE, Some(params)))
            .map_err(AskError::internal);
        Asking::new(self, question, |raw| {
            let result: CreateMessageResult = raw.decode().map_err(AskError::unreadable)?;
            Ok(Answer::Given(text_of(&result.content)))
        })
    }

    /// May this call ask? In the modern era tools, prompts and reads may; in the legacy one all but the handshake.
    pub fn may_ask(&self) -> bool {
        self.0.may_ask()
    }

    /// Asks which folders the client works in. They narrow what may be touched and never widen it: see
    /// [`roots`](crate::model::Root).
    pub fn roots(&self, key: impl Into<String>) -> Asking<Vec<Root>> {
        let question = question(key.into(), method::ROOTS_LIST, None);
        Asking::new(self, Ok(question), |raw| {
            let result: ListRootsResult = raw.decode().map_err(AskError::unreadable)?;
            Ok(Answer::Given(result.roots))
        })
    }

    /// Asks several things at once: a tuple of up to six questions, or a list of questions of one kind. In the modern era that is
    /// one round.
    ///
    /// ```
    /// # use polyport::{Cx, ToolError};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Name { name: String }
    /// async fn greet(cx: Cx, (): ()) -> Result<String, ToolError> {
    ///     let (who, folders) = cx.ask_all((cx.elicit::<Name>("who", "Your name?"), cx.roots("folders"))).await?;
    ///     Ok(format!("{} works in {} folders", who.name, folders.len()))
    /// }
    /// # let _ = polyport::Server::new("greeter", "1.0.0").tool("greet", "Greets.", greet);
    /// ```
    ///
    /// # Errors
    /// The first question that has no answer.
    pub async fn ask_all<Q: Together>(&self, questions: Q) -> Result<Q::Answers, AskError> {
        questions.together().await
    }

    /// Runs a step once, however often the function runs again to get its answers: what the step came to is kept and given back.
    /// Only a step that succeeded is kept.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use polyport::{Cx, Revision, Server, ToolError, testing};
    /// # use serde_json::json;
    ///
    /// static ORDERS: AtomicU32 = AtomicU32::new(0);
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Address { street: String }
    ///
    /// async fn order(cx: Cx, (): ()) -> Result<String, ToolError> {
    ///     let taken = async { Ok::<_, ToolError>(ORDERS.fetch_add(1, Ordering::Relaxed) + 1) };
    ///     let number = cx.once("number", taken).await?;
    ///     let to: Address = cx.elicit("address", "Where to?").await?;
    ///     Ok(format!("order {number} goes to {}", to.street))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::new("shop", "1.0.0").tool("order", "Orders.", order);
    /// let client = json!({"elicitation": {}});
    /// let peer = testing::connect_to(server.into_service(), Revision::LATEST, &client).await?;
    /// let peer = peer.answering(|_, _| json!({"action": "accept", "content": {"street": "Baker Street"}}));
    /// let result = peer.call("order", &json!({})).await?;
    /// // The function ran twice, for its question; the number was taken once.
    /// assert_eq!(result["content"][0]["text"], "order 1 goes to Baker Street");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the step, what it came to cannot be kept as JSON, or a step of this key runs already.
    pub async fn once<T, E, F>(&self, key: &str, step: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
        F: Future<Output = Result<T, E>>,
    {
        if let Some(kept) = self.0.begin_step(key).map_err(AskError::no_answer)? {
            return Ok(kept.decode().map_err(AskError::internal)?);
        }
        let mut running = Step {
            cx: self,
            key,
            result: None,
        };
        let mut step = pin!(step);
        let value = poll_fn(|task| self.0.within_step(key, || step.as_mut().poll(task))).await?;
        running.result = Some(Raw::encode(&value).map_err(AskError::internal)?);
        Ok(value)
    }

    /// Runs a step to its end even if nobody waits for the call any more: one that must not be cut off half-way. A server that
    /// stops waits for it as long as for its calls.
    ///
    /// ```
    /// # use polyport::{Cx, ToolError};
    /// # async fn write(_: &str) -> std::io::Result<()> { Ok(()) }
    /// # async fn rename(_: &str, _: &str) -> std::io::Result<()> { Ok(()) }
    /// async fn publish(cx: Cx, (): ()) -> Result<String, ToolError> {
    ///     let both = async {
    ///         write("page.html.new").await?;
    ///         rename("page.html.new", "page.html").await
    ///     };
    ///     cx.shield(both).await?; // a client that goes away now leaves no half of it
    ///     Ok("published".to_owned())
    /// }
    /// # let _ = polyport::Server::new("press", "1.0.0").tool("publish", "Publishes.", publish);
    /// ```
    pub async fn shield<F>(&self, step: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        polyport_rt::shield::run(step).await
    }

    /// What an earlier round brought under a key, for a function that gives back its questions instead of waiting: see
    /// [`Fault::need_input`](crate::Fault::need_input).
    pub fn answered(&self, key: &str) -> Option<Raw> {
        self.0.answer(key)
    }

    /// The text that such a function gave along with its questions.
    pub fn state(&self) -> Option<String> {
        self.0.state()
    }
}

/// A step that runs.
struct Step<'a> {
    cx: &'a Cx,
    key: &'a str,
    result: Option<Raw>,
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.cx.0.end_step(self.key, self.result.take());
    }
}

fn question(key: String, method: &'static str, params: Option<Raw>) -> Question {
    Question {
        key,
        method,
        params,
        is_passed_on: false,
    }
}

fn elicited<T>(
    raw: &Raw,
    read: impl FnOnce(Raw) -> Result<T, AskError>,
) -> Result<Answer<T>, AskError> {
    let result: ElicitResult = raw.decode().map_err(AskError::unreadable)?;
    Ok(match result.action {
        ElicitAction::Accept => {
            let content = Raw::encode(&result.content.unwrap_or_default());
            Answer::Given(read(content.map_err(AskError::internal)?)?)
        }
        ElicitAction::Decline => Answer::Declined,
        ElicitAction::Cancel => Answer::Cancelled,
    })
}

fn text_of(blocks: &Blocks) -> String {
    let texts = blocks.as_slice().iter().filter_map(|block| match block {
        Content::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
