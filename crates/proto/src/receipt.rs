//! What is kept of a request while its call runs, so that it can be answered. Not the request itself.

use polyport_wire::RequestId;

use crate::revision::Revision;

/// What is needed to answer a request; stays at the edge while the call runs.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The request's id.
    pub id: RequestId,
    /// Its method.
    pub method: &'static str,
    /// The revision it is in.
    pub revision: Revision,
    /// It is `initialize`, asked of the handler as `server/discover`.
    pub opening: bool,
    /// It belongs to no session: what only a session could keep is not offered.
    pub alone: bool,
    /// The batch that its answer belongs to.
    pub batch: Option<u32>,
}
