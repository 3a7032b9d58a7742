//! Questions of a server about its user: answered by `--answer`, at the terminal, or by nobody, which is remembered.

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport::ClientError;
use polyport::client::Connect;
use polyport::model::{ElicitFormParams, ElicitResult, ElicitUrlParams, Object};
use polyport::schema::Validator;
use polyport::serde::Serialize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use tokio::sync::Notify;

use crate::arguments;
use crate::failure::Failure;
use crate::kinds::short_value;
use crate::limit::Person;
use crate::nearest::nearest;
use crate::pieces;
use crate::places::Reading;
use crate::ui;

/// Tries at one field of a form.
const TRIES: usize = 3;
/// What a server has for the end of a call after a question that nobody answers.
const GRACE: Duration = Duration::from_secs(2);
/// How often somebody who is waited for at a terminal is known not to be waited for any more.
const LOOK: Duration = Duration::from_millis(100);

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
        for (name, property) in properties.iter().filter(|_| whole.is_some()) {
            if let Some(value) = default_of(property).filter(|_| !given.contains(name)) {
                given.insert(name.as_str(), pieces::value(value));
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
                if !given.contains(name) && !ask(name, property, &schema, &mut given) {
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

/// Asks at the terminal for arguments that are required and not given; what nobody gives stays missing.
pub(crate) async fn complete(given: Object, schema: &Value) -> Object {
    let missing: Vec<String> = arguments::required(schema)
        .into_iter()
        .filter(|name| !given.contains(name))
        .map(str::to_owned)
        .collect();
    if missing.is_empty() || !is_terminal() || ui::is_document() {
        return given;
    }
    let (schema, mut asked) = (schema.clone(), given.clone());
    let asking = tokio::task::spawn_blocking(move || {
        let _asking = ui::Asking::begin();
        for name in missing {
            let reading = Reading::of(&schema);
            let property = reading.told(&reading.member(&name));
            if !ask(&name, &property, &schema, &mut asked) {
                break;
            }
        }
        asked
    });
    asking.await.unwrap_or(given)
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

/// Waits until somebody at the terminal says that he has done what there is to do at pages; `is_said`: that they are visited was said
/// beforehand.
async fn done_there(pages: Vec<ElicitUrlParams>, is_said: bool) {
    // Of a page without an id no server tells.
    let is_told = pages.iter().all(|page| page.elicitation_id.is_some());
    if !is_told && (is_said || !is_terminal()) {
        return;
    }
    if !is_terminal() {
        ui::note("note: waiting until the server tells that all is done there\n");
        let _somewhere = Person::begin();
        return std::future::pending().await;
    }
    let _asking = ui::Asking::begin();
    ui::say("Waiting until all is done there; Enter asks the server again. ");
    let unneeded = Unneeded::default();
    let flag = unneeded.0.clone();
    // One that has failed has not been pressed.
    if tokio::task::spawn_blocking(move || pressed(&flag))
        .await
        .is_err()
    {
        std::future::pending::<()>().await;
    }
}

/// Tells whoever reads the terminal that nobody waits for it any more, so that the next question finds what is typed.
#[derive(Default)]
struct Unneeded(Arc<AtomicBool>);

impl Drop for Unneeded {
    fn drop(&mut self) {
        // Who has pressed Enter has begun a line.
        if !self.0.swap(true, Ordering::Relaxed) {
            ui::say("\n");
        }
    }
}

/// Waits for a line of standard input, and takes it, while it is needed.
fn pressed(unneeded: &AtomicBool) {
    let look = Timespec::try_from(LOOK).ok();
    while !unneeded.load(Ordering::Relaxed) {
        let input = io::stdin();
        let mut input = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut input, look.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            _ if unneeded.swap(true, Ordering::Relaxed) => {}
            _ => {
                line();
                return;
            }
        }
    }
}

/// Asks for leave. Nothing: nobody answers any more.
fn agrees(question: &str) -> Option<bool> {
    ui::say(&format!("{question} [y/N] "));
    Some(matches!(line()?.as_str(), "y" | "Y" | "yes"))
}

/// Asks for one field. False: nobody answers any more.
fn ask(name: &str, property: &Value, schema: &Value, given: &mut Object) -> bool {
    let required = schema["required"].as_array().into_iter().flatten();
    let is_required = required.into_iter().any(|r| r == name);
    let about = property["description"]
        .as_str()
        .or_else(|| property["title"].as_str());
    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
    let default = default_of(property);
    let skip = match default {
        Some(value) => format!(", empty for {}", short_value(value)),
        None if is_required => String::new(),
        None => ", empty for none".to_owned(),
    };
    for _ in 0..TRIES {
        let asked = format!("{name}{about}{skip}");
        ui::say(&format!("  {}: ", ui::one_line(&asked)));
        let Some(text) = line() else { return false };
        if let Some(value) = default.filter(|_| text.is_empty()) {
            given.insert(name, pieces::value(value));
            return true;
        }
        if text.is_empty() && !is_required {
            return true;
        }
        match arguments::parse_typed(name, &text, schema) {
            Ok(value) => match misfit(&value, property) {
                None => {
                    given.insert(name, value);
                    return true;
                }
                Some(why) => ui::say(&format!("error: {name}: {why}\n")),
            },
            Err(failure) => failure.tell(),
        }
    }
    false
}

/// The value that a field begins with. What does not fit is none.
fn default_of(property: &Value) -> Option<&Value> {
    let default = property.get("default");
    default.filter(|value| misfit(value, property).is_none())
}

/// What is wrong with a value. A schema that cannot be read is the server's to hold to.
fn misfit(value: &impl Serialize, schema: &Value) -> Option<String> {
    let validator = Validator::new(schema).ok()?;
    let text = serde_json::to_string(value).ok()?;
    let invalid = validator.check(&text).err()?;
    Some(invalid.to_string())
}

/// Whether nobody is to be asked, even at a terminal.
static NOBODY: AtomicBool = AtomicBool::new(false);

/// From now on nobody is asked.
pub(crate) fn ask_nobody() {
    NOBODY.store(true, Ordering::Relaxed);
}

/// Is somebody there who reads and types?
pub(crate) fn is_terminal() -> bool {
    !NOBODY.load(Ordering::Relaxed) && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A line of standard input. None: it has ended.
pub(crate) fn line() -> Option<String> {
    let mut text = String::new();
    let read = io::stdin().lock().read_line(&mut text);
    matches!(read, Ok(n) if n > 0).then(|| text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Somebody types; meanwhile messages are read.
async fn waiting(answer: impl FnOnce() -> ElicitResult + Send + 'static) -> ElicitResult {
    let answered = tokio::task::spawn_blocking(answer).await;
    answered.unwrap_or_else(|_| ElicitResult::cancel())
}
