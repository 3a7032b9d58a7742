//! Pages that users are sent to, and the word that all is done there.

use polyport_model::{ElicitUrlParams, method};
use polyport_wire::{Raw, write};

use super::{AskError, Asking, elicited, question};
use crate::server::context::Cx;

/// A page that a user is sent to: [`Cx::visit`]. Cheap to clone; it may be kept when the call has ended.
#[derive(Clone, Debug)]
pub struct Visit(pub(super) polyport_rt::Visit);

impl Visit {
    /// 128 random bits as 32 hexadecimal digits, the same however often the function runs again to get its answers. Belongs in the
    /// page's address, so that the page knows which visit it is; it proves nothing about who opens it.
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// The page, for [`Fault::visit_first`](crate::Fault::visit_first). The address must hold nothing secret.
    pub fn page(&self, message: impl Into<String>, url: impl Into<String>) -> ElicitUrlParams {
        ElicitUrlParams {
            message: message.into(),
            url: url.into(),
            elicitation_id: Some(self.id().to_owned()),
            ..ElicitUrlParams::default()
        }
    }

    /// Tells the client that all is done there: a message of its own in the session that was sent to the page, and only there. False,
    /// and nothing is sent: it was not sent there, has been told, is gone, or its revision has no word for it.
    pub fn done(&self) -> bool {
        self.0.done()
    }
}

impl Cx {
    /// Sends the user to a page, such as one that asks for a secret or a payment. The answer says that the user agreed to go there,
    /// not that anything has been done: your page knows that.
    ///
    /// Who opens the page must be checked to be the user for whom the call was made (client/elicitation, Safe URL Handling). When all is
    /// done there, [`visit`](Self::visit) lets the client know.
    pub fn elicit_url(
        &self,
        key: impl Into<String>,
        message: impl AsRef<str>,
        url: impl AsRef<str>,
    ) -> Asking<()> {
        let mut params = b"{\"mode\":\"url\",\"message\":".to_vec();
        write::string(&mut params, message.as_ref());
        params.extend_from_slice(b",\"url\":");
        write::string(&mut params, url.as_ref());
        let key = key.into();
        if self.revision().profile().elicitation_ids {
            let visit = match self.visit(&key) {
                Ok(visit) => visit,
                Err(error) => return Asking::failed(error),
            };
            params.extend_from_slice(b",\"elicitationId\":");
            write::string(&mut params, visit.id());
        }
        params.push(b'}');
        let question = question(key, method::ELICITATION_CREATE, Some(Raw::trusted(params)));
        Asking::new(self, Ok(question), |raw| elicited(&raw, |_| Ok(())))
    }

    /// The page to which [`elicit_url`](Self::elicit_url) under this key sends the user, or a call that is refused until then: its id,
    /// for the address, and the way to tell the client that all is done there, also when the call has long ended.
    ///
    /// ```
    /// use polyport::{Cx, Fault, Server, ToolError, Visit};
    /// # use std::sync::{Mutex, PoisonError};
    /// # static OPEN: Mutex<Vec<Visit>> = Mutex::new(Vec::new());
    /// # fn is_signed_in() -> bool { false }
    ///
    /// async fn orders(cx: Cx, (): ()) -> Result<&'static str, ToolError> {
    ///     if !is_signed_in() {
    ///         let visit = cx.visit("sign-in")?;
    ///         let page = visit.page("Sign in to the shop", format!("https://shop.example/sign-in?visit={}", visit.id()));
    ///         OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(visit);
    ///         return Err(Fault::visit_first([page]).into());
    ///     }
    ///     Ok("tea")
    /// }
    ///
    /// /// What the page does once the user of that visit has signed in.
    /// fn signed_in(id: &str) {
    ///     let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    ///     if let Some(at) = open.iter().position(|visit| visit.id() == id) {
    ///         open.swap_remove(at).done(); // the client may call again now
    ///     }
    /// }
    /// # signed_in("");
    /// # let _ = Server::new("shop", "1.0.0").tool("orders", "What was ordered.", orders);
    /// ```
    ///
    /// # Errors
    /// The system gave no random bytes.
    pub fn visit(&self, key: &str) -> Result<Visit, AskError> {
        self.0.visit(key).map(Visit).map_err(AskError::internal)
    }

    /// Tells a client that was sent to a page under this key that all is done there, on the stream of this call. False: as for
    /// [`Visit::done`].
    pub fn elicitation_complete(&self, key: &str) -> bool {
        self.0.visited(key)
    }
}
