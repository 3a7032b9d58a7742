//! Lists of a server, page by page.

use polyport_model::{CODE_RESOURCE_NOT_FOUND, CacheScope, Cursor, Entries, Object, Ttl};
use polyport_proto::Code;
use polyport_wire::Raw;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::calls::List;
use super::fresh::{self, Asked, Known};
use super::{Client, ClientError, unreadable};

/// Pages of one list that are asked for; a server with more has no end.
const MAX_PAGES: usize = 1_000;

/// A list, and what its server says of keeping it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Its entries as they came.
    pub entries: Vec<Raw>,
    /// Until when it may be kept; that is now where the server, or its revision, says nothing.
    pub until: Instant,
    /// For whom.
    pub scope: CacheScope,
}

impl Client {
    /// All entries of a list as they came, page by page, or as they are known while they are fresh.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn entries(&self, list: List) -> Result<Vec<Raw>, ClientError> {
        entries(list, &self.offered(list).await?)
    }

    /// The same, without tools that nobody can call over this connection, and what the server says of keeping them: of several pages,
    /// what holds for all.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn listed(&self, list: List) -> Result<Listed, ClientError> {
        let known = self.offered(list).await?;
        let entries = entries(list, &known)?;
        Ok(Listed {
            entries: match list {
                List::Tools => self.mirroring_raw(entries),
                _ => entries,
            },
            until: known.until,
            scope: known.scope,
        })
    }

    async fn offered(&self, list: List) -> Result<Known, ClientError> {
        let offered = &self.opened.capabilities;
        let (what, is_offered) = match list {
            List::Tools => ("tools", offered.tools.is_some()),
            List::Prompts => ("prompts", offered.prompts.is_some()),
            List::Resources | List::Templates => ("resources", offered.resources.is_some()),
        };
        self.offers(what, is_offered)?;
        self.known(list).await
    }

    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        list: List,
    ) -> Result<Vec<T>, ClientError> {
        entries(list, &self.known(list).await?)
    }

    async fn known(&self, list: List) -> Result<Known, ClientError> {
        match self.fresh.get(&Asked::List(list)) {
            Some(known) => Ok(known),
            None => self.pages(list).await,
        }
    }

    /// The entries of each page, asked for from the first page on.
    async fn pages(&self, list: List) -> Result<Known, ClientError> {
        let (method, member) = list.words();
        let ticket = self.fresh.begin(Asked::List(list));
        // All of it is fresh while each of its pages is, and for everybody if each of them is.
        let mut until: Option<Instant> = None;
        let mut scope = CacheScope::Public;
        let mut parts = Vec::new();
        let mut params = "{}".to_owned();
        for _ in 0..MAX_PAGES {
            let page = self.request_raw(method, &params, None).await?;
            let page: Object = self.typed(&page)?;
            let page_until = fresh::until(member_of::<Ttl>(&page, "ttlMs")?);
            until = Some(until.map_or(page_until, |until| until.min(page_until)));
            let said = page.decode::<CacheScope>("cacheScope").transpose();
            if !matches!(said, Ok(Some(CacheScope::Public))) {
                scope = CacheScope::Private;
            }
            let entries = page.get(member).ok_or_else(|| {
                ClientError::Unreadable(format!("{method}: there is no {member}"))
            })?;
            parts.push(entries.clone());
            let Some(cursor) = member_of::<Cursor>(&page, "nextCursor")? else {
                let known = Known {
                    parts,
                    until: until.unwrap_or_else(Instant::now),
                    scope,
                };
                self.fresh.keep(ticket, &known);
                return Ok(known);
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

/// What is good of the entries of all pages.
fn entries<T: DeserializeOwned>(list: List, known: &Known) -> Result<Vec<T>, ClientError> {
    let (method, _) = list.words();
    let mut all = Vec::new();
    for page in &known.parts {
        let entries = Entries::<T>::decode(page).map_err(|e| unreadable(&e))?;
        for bad in entries.bad {
            tracing::warn!(method, index = bad.index, error = %bad.error, "an entry of a list is left out");
        }
        all.extend(entries.good);
    }
    Ok(all)
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
