//! Servers at an address.

use polyport::client::{Connect, Target};
use polyport_config::mask;

use crate::failure::Failure;

/// A server at an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Remote {
    /// The address.
    pub(crate) url: String,
    /// What is sent with each request.
    pub(crate) headers: Vec<(String, String)>,
    /// Is it said to speak the older HTTP with SSE?
    pub(crate) is_sse: bool,
}

impl Remote {
    /// The way to it.
    ///
    /// # Errors
    /// It is no address, or a header is none.
    pub(crate) fn connect(self) -> Result<Connect, Failure> {
        let shown = mask::text(&self.url);
        let wrong = |why| Failure::usage(format!("{shown}: {why}"));
        let mut target = Target::new(&self.url).map_err(wrong)?;
        for (name, value) in &self.headers {
            target = target.header(name, value).map_err(wrong)?;
        }
        if self.is_sse {
            target = target.sse_first();
        }
        Ok(Connect::http(target))
    }
}
