//! Questions of a server about its user: answered by `--answer`, at the terminal, or by nobody, which is remembered.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport::ClientError;
use polyport::client::Connect;
use polyport::model::{ElicitFormParams, ElicitResult, ElicitUrlParams};
use tokio::sync::Notify;

use crate::arguments;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::terminal::{agrees, ask, defaults, done_there, is_terminal, misfit, waiting};
use crate::ui;

/// What a server has for the end of a call after a question that nobody answers.
const GRACE: Duration = Duration::from_secs(2);
/// The word that answers a question to visit a page.
const PAGE: &str = "url";
/// The word that answers a form as a whole, unless it has a field of that name.
const FORM: &str = "form";

/// The answers that were given beforehand, and what came of the questions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    words: Vec<String>,
    state: Arc<Mutex<State>>,
    /// A question was left without an answer.
    left: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// Why questions found no answer.
    open: Vec<Failure>,
    /// The fields that were asked for.
    asked: BTreeSet<String>,
}

impl Answers {
    /// The answers of the command line, `field=value` each.
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// A connection whose questions come here; `time` is for what there is to do at pages.
    pub(crate) fn on(&self, connect: Connect, time: Option<Duration>) -> Connect {
        let connect = match time {
            Some(time) => connect.visiting(time),
            None => connect,
        };
        let (forms, pages) = (self.clone(), self.clone());
        let is_said = self.given(PAGE).is_some();
        connect
            .until_visited(move |pages| done_there(pages, is_said))
            .on_form(move |form| {
                let answers = forms.clone();
                async move { waiting(move || answers.fill(&form)).await }
            })
            .on_page(move |page| {
                let answers = pages.clone();
                async move { waiting(move || answers.visit(&page)).await }
            })
    }

    /// What is asked of a server, as long as its questions find answers: one that has none is the end of it, whatever the server makes of
    /// that.
    ///
    /// # Errors
    /// Its own, or the first question that nobody has answered.
    pub(crate) async fn during<T, E>(
        &self,
        asked: impl Future<Output = Result<T, E>>,
        failed: impl FnOnce(&E) -> Failure,
    ) -> Result<T, Failure> {
        let left = async {
            self.left.notified().await;
            tokio::time::sleep(GRACE).await;
        };
        let done = tokio::select! {
            biased;
            done = asked => Some(done),
            () = left => None,
        };
        ui::clear_status();
        // What came of it came of nobody being there.
        self.check(matches!(done, Some(Ok(_))))?;
        let nobody = || Failure::unexpected("the server asks, and nobody answers").code(UNANSWERED);
        done.ok_or_else(nobody)?.map_err(|error| failed(&error))
    }

    /// What a call comes to whose questions found no answer; nothing, if all did.
    ///
    /// # Errors
    /// The first that nobody has answered.
    fn check(&self, is_called: bool) -> Result<(), Failure> {
        let mut state = self.lock();
        let unasked = self.unasked(&state.asked);
        if state.open.is_empty() {
            for (name, remedy) in unasked.into_iter().filter(|_| is_called) {
                ui::note(&format!(
                    "warning: nothing has asked for --answer {name}{remedy}\n"
                ));
            }
            return Ok(());
        }
        let failure = state.open.swap_remove(0);
        Err(match unasked.first() {
            Some((name, remedy)) => {
                let why = format!("{}; nothing asks for --answer {name}", failure.message());
                let hint = remedy.trim_start_matches([':', ' ']);
                let said = Failure::unexpected(why).code(failure.exit());
                match (hint, failure.remedy()) {
                    ("", Some(remedy)) => said.hint(remedy),
                    ("", None) => said,
                    (hint, _) => said.hint(hint),
                }
            }
            None => failure,
        })
    }

    /// Names of answers that no question had a place for, each with what may have been meant.
    fn unasked(&self, asked: &BTreeSet<String>) -> Vec<(String, String)> {
        let known: Vec<String> = asked.iter().cloned().collect();
        let names = self.words.iter().map(|word| field(word));
        let unasked = names.filter(|name| !asked.contains(*name));
        let remedy = |name: &str| match nearest(name, &known) {
            Some(near) => format!(": did you mean {near}?"),
            None => String::new(),
        };
        unasked
            .map(|name| (name.to_owned(), remedy(name)))
            .collect()
    }

    fn fill(&self, form: &ElicitFormParams) -> ElicitResult {
        let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        self.lock().asked.extend(properties.keys().cloned());
        let is_of_form = |word: &&String| properties.contains_key(field(word));
        let words: Vec<String> = self.words.iter().filter(is_of_form).cloned().collect();
        let misfits = |why: &str| {
            let why = format!(
                "the server asks: {}; --answer does not fit: {why}",
                form.message
            );
            Failure::unexpected(why).code(UNANSWERED)
        };
        let whole = match properties.contains_key(FORM) {
            true => None,
            false => {
                self.lock().asked.insert(FORM.to_owned());
                self.given(FORM)
            }
        };
        match whole {
            Some("accept") | None => {}
            Some("decline") => return ElicitResult::decline(),
            Some("cancel") => return ElicitResult::cancel(),
            Some(other) => {
                let failure = misfits(&format!("form={other}"));
                return self.leave(failure.hint("it is form=accept, form=decline or form=cancel"));
            }
        }
        let mut given = match arguments::parse(&words, &schema) {
            Ok(given) => given,
            Err(failure) => {
                let said = misfits(failure.message());
                return self.leave(match failure.remedy() {
                    Some(remedy) => said.hint(remedy),
                    None => said,
                });
            }
        };
        // Who takes the form as it stands takes what it begins with.
        let defaults = defaults(&properties, form.requested_schema.as_raw());
        for (name, value) in defaults.iter().filter(|_| whole.is_some()) {
            if !given.contains(name) {
                given.insert(name, value.clone());
            }
        }
        let missing = arguments::missing(&given, &schema);
        // What requires nothing may ask for leave: nobody has given it yet.
        let is_open = missing.is_empty() && words.is_empty() && whole.is_none();
        if is_open || !missing.is_empty() {
            if !is_terminal() {
                return self.leave(if is_open {
                    unanswered(&form.message).hint(
                        "--answer form=accept says that you agree, form=decline that you do not; so does a terminal",
                    )
                } else {
                    let asked = format!("{} ({})", form.message, missing.join(", "));
                    unanswered(&asked).hint("--answer FIELD=VALUE answers it, and so does a terminal")
                });
            }
            let _asking = ui::Asking::begin();
            ui::say(&format!("{}\n", form.message));
            for (name, property) in &properties {
                let default = defaults.get(name);
                if !given.contains(name) && !ask(name, property, &schema, default, &mut given) {
                    return ElicitResult::cancel();
                }
            }
            match is_open.then(|| agrees("Agree?")) {
                Some(Some(true)) | None => {}
                Some(Some(false)) => return ElicitResult::decline(),
                Some(None) => return ElicitResult::cancel(),
            }
        }
        if let Some(why) = misfit(&given, &schema) {
            return self.leave(misfits(&why));
        }
        ElicitResult::accept(Some(given))
    }

    fn visit(&self, page: &ElicitUrlParams) -> ElicitResult {
        self.lock().asked.insert(PAGE.to_owned());
        // Whatever else a browser would do with it is nothing that a server may ask for.
        if !["https://", "http://"]
            .iter()
            .any(|scheme| page.url.starts_with(scheme))
        {
            ui::clear_status();
            let url = page.url.chars().take(80).collect::<String>();
            let url = ui::one_line(&url);
            ui::say(&format!("note: the server names no page to go to: {url}\n"));
            return ElicitResult::decline();
        }
        match self.given(PAGE) {
            Some("accept") => {
                let url = ui::one_line(&page.url);
                ui::note(&format!("note: the server sends you to {url}\n"));
                return ElicitResult::accept(None);
            }
            Some("decline") => return ElicitResult::decline(),
            Some("cancel") => return ElicitResult::cancel(),
            Some(other) => {
                let why = format!(
                    "the server asks: {}; --answer does not fit: url={other}",
                    page.message
                );
                let failure = Failure::unexpected(why).code(UNANSWERED);
                return self.leave(failure.hint("it is url=accept, url=decline or url=cancel"));
            }
            None => {}
        }
        if !is_terminal() {
            let asked = format!("{} ({})", page.message, page.url);
            return self.leave(unanswered(&asked).hint(
                "--answer url=accept says that you go to that page, url=decline that you do not; so does a terminal",
            ));
        }
        let _asking = ui::Asking::begin();
        ui::say(&format!(
            "{}\n  {}\n",
            page.message,
            ui::one_line(&page.url)
        ));
        match agrees("Go there?") {
            Some(true) => ElicitResult::accept(None),
            Some(false) => ElicitResult::decline(),
            None => ElicitResult::cancel(),
        }
    }

    /// What the command line says for this name.
    fn given(&self, name: &str) -> Option<&str> {
        self.words.iter().find_map(|word| {
            let (known, value) = word.split_once('=')?;
            (known == name).then_some(value)
        })
    }

    /// Nobody answers it.
    fn leave(&self, why: Failure) -> ElicitResult {
        self.fail(why);
        ElicitResult::cancel()
    }

    /// A question had no answer, for this reason.
    pub(crate) fn fail(&self, why: Failure) {
        self.lock().open.push(why.code(UNANSWERED));
        self.left.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exit code of a question without an answer.
const UNANSWERED: u8 = 8;

fn unanswered(asked: &str) -> Failure {
    Failure::unexpected(format!("the server asks: {asked}")).code(UNANSWERED)
}

/// The field that a word names.
fn field(word: &str) -> &str {
    word.split(['=', ':', '.', '[']).next().unwrap_or_default()
}

/// What there is to do about an error that wants pages visited first.
pub(crate) fn visit_first(error: &ClientError) -> Option<String> {
    let pages = error.pages();
    let lines = pages
        .iter()
        .map(|page| format!("\n    {} ({})", page.url, page.message));
    let lines: String = lines.collect();
    (!pages.is_empty()).then(|| format!("visit first, and then try again:{lines}"))
}
