//! Lists of a server, page by page.

use polyport_model::{CODE_RESOURCE_NOT_FOUND, Cursor, Entries, Object, Ttl};
use polyport_proto::Code;
use polyport_wire::Raw;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::calls::List;
use super::fresh::{self, Asked};
use super::{Client, ClientError, unreadable};

/// Pages of one list that are asked for; a server with more has no end.
const MAX_PAGES: usize = 1_000;

impl Client {
    /// All entries of a list as they came, page by page, or as they are known while they are fresh.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn entries(&self, list: List) -> Result<Vec<Raw>, ClientError> {
        let offered = &self.opened.capabilities;
        let (what, is_offered) = match list {
            List::Tools => ("tools", offered.tools.is_some()),
            List::Prompts => ("prompts", offered.prompts.is_some()),
            List::Resources | List::Templates => ("resources", offered.resources.is_some()),
        };
        self.offers(what, is_offered)?;
        self.list(list).await
    }

    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        list: List,
    ) -> Result<Vec<T>, ClientError> {
        let (method, _) = list.words();
        let pages = match self.fresh.get(&Asked::List(list)) {
            Some(pages) => pages,
            None => self.pages(list).await?,
        };
        let mut all = Vec::new();
        for page in pages {
            let entries = Entries::<T>::decode(&page).map_err(|e| unreadable(&e))?;
            for bad in entries.bad {
                tracing::warn!(method, index = bad.index, error = %bad.error, "an entry of a list is left out");
            }
            all.extend(entries.good);
        }
        Ok(all)
    }

    /// The entries of each page, asked for from the first page on.
    async fn pages(&self, list: List) -> Result<Vec<Raw>, ClientError> {
        let (method, member) = list.words();
        let ticket = self.fresh.begin(Asked::List(list));
        // All of it is fresh while each of its pages is.
        let mut until: Option<Instant> = None;
        let mut pages = Vec::new();
        let mut params = "{}".to_owned();
        for _ in 0..MAX_PAGES {
            let page = self.request_raw(method, &params, None).await?;
            let page: Object = self.typed(&page)?;
            let page_until = fresh::until(member_of::<Ttl>(&page, "ttlMs")?);
            until = Some(until.map_or(page_until, |until| until.min(page_until)));
            let entries = page.get(member).ok_or_else(|| {
                ClientError::Unreadable(format!("{method}: there is no {member}"))
            })?;
            pages.push(entries.clone());
            let Some(cursor) = member_of::<Cursor>(&page, "nextCursor")? else {
                if let Some(until) = until {
                    self.fresh.keep(ticket, &pages, until);
                }
                return Ok(pages);
            };
            let cursor = serde_json::to_string(&cursor).map_err(|e| unreadable(&e))?;
            let next = format!("{{\"cursor\":{cursor}}}");
            if next == params {
                let why = format!("{method}: the cursor of a page leads to that page");
                return Err(ClientError::Unreadable(why));
            }
            params = next;
        }
        let why = format!("{method}: there are more than {MAX_PAGES} pages");
        Err(ClientError::Unreadable(why))
    }
}

/// May an error with this code say that there is no such tool, prompt or resource?
pub(super) fn may_be_unknown(code: i32) -> bool {
    let unknown = [Code::InvalidParams.number(), Code::MethodNotFound.number()];
    unknown.contains(&code) || code == CODE_RESOURCE_NOT_FOUND
}

/// A member of a page; null is none.
fn member_of<T: DeserializeOwned>(page: &Object, name: &str) -> Result<Option<T>, ClientError> {
    let member = page.decode::<Option<T>>(name).transpose();
    Ok(member.map_err(|e| unreadable(&e))?.flatten())
}
