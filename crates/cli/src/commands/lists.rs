//! The lists of a server, asked for one after the other: one that fails is named, and is not the end of the others.

use std::process::ExitCode;

use polyport::client::List;
use polyport::{Client, ClientError, Code};

use crate::failure::Failure;
use crate::limit::Limit;
use crate::server;

/// Lists that are asked for.
pub(super) struct Asking<'a> {
    pub(super) client: &'a Client,
    server: &'a str,
    limit: Limit,
    failures: Vec<Failure>,
    /// One was answered.
    has_any: bool,
    /// Nobody is there any more, or there is no time left.
    is_over: bool,
}

impl<'a> Asking<'a> {
    pub(super) fn of(client: &'a Client, server: &'a str, limit: Limit) -> Self {
        Self {
            client,
            server,
            limit,
            failures: Vec::new(),
            has_any: false,
            is_over: false,
        }
    }

    /// What a list holds; nothing: it failed. One that is not offered is empty.
    pub(super) async fn list<T>(
        &mut self,
        list: List,
        asked: impl Future<Output = Result<Vec<T>, ClientError>>,
    ) -> Option<Vec<T>> {
        if self.is_over {
            return None;
        }
        let error = match self.limit.within(self.client, asked).await {
            Ok(entries) => {
                self.has_any = true;
                return Some(entries);
            }
            Err(ClientError::NotOffered(_)) => return Some(Vec::new()),
            // Many a server has resources and has never heard of templates.
            Err(ClientError::Refused(refused))
                if list == List::Templates && refused.code == Code::MethodNotFound.number() =>
            {
                return Some(Vec::new());
            }
            Err(error) => error,
        };
        self.is_over = matches!(
            error,
            ClientError::Closed | ClientError::Gone { .. } | ClientError::Unreachable(_)
        ) || self.limit.is_over();
        let what = format!("{} of {}", method(list), self.server);
        self.failures.push(server::failure(&error, &what));
        None
    }

    /// Is there something to print?
    ///
    /// # Errors
    /// Lists failed, and none was answered: the first failure.
    pub(super) fn has_any(&mut self) -> Result<(), Failure> {
        if self.has_any { Ok(()) } else { self.fails() }
    }

    /// Did none of them fail?
    ///
    /// # Errors
    /// The first failure.
    pub(super) fn fails(&mut self) -> Result<(), Failure> {
        if self.failures.is_empty() {
            return Ok(());
        }
        Err(self.failures.swap_remove(0))
    }

    /// Says which lists failed. What was printed is not all, and the exit code says so.
    pub(super) fn verdict(self, is_document: bool) -> Result<ExitCode, Failure> {
        let Some(first) = self.failures.first() else {
            return Ok(ExitCode::SUCCESS);
        };
        let code = first.exit();
        if is_document {
            let all: Vec<&str> = self.failures.iter().map(Failure::message).collect();
            let failure = Failure::unexpected(all.join("; ")).code(code);
            return Err(match first.remedy() {
                Some(remedy) => failure.hint(remedy),
                None => failure,
            });
        }
        self.warn();
        Ok(ExitCode::from(code))
    }

    /// Says which lists failed, where that is not what was asked for.
    pub(super) fn warn(&self) {
        for failure in &self.failures {
            failure.warn();
        }
    }
}

fn method(list: List) -> &'static str {
    match list {
        List::Tools => "tools/list",
        List::Resources => "resources/list",
        List::Templates => "resources/templates/list",
        List::Prompts => "prompts/list",
    }
}
