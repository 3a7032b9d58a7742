//! Questions of a server about its user: answered by `--answer`, at the terminal, or by nobody, which is remembered.

use std::io::{self, BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polyport::Raw;
use polyport::client::Connect;
use polyport::model::{ElicitFormParams, ElicitResult, ElicitUrlParams, Object};
use polyport::schema::Validator;
use serde_json::{Map, Value};

use crate::arguments;
use crate::failure::Failure;
use crate::ui;

/// Tries at one field of a form.
const TRIES: usize = 3;

/// The answers that were given beforehand, and the questions that found none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    words: Vec<String>,
    open: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    /// The answers of the command line, `field=value` each.
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// A connection whose questions come here.
    pub(crate) fn on(&self, connect: Connect) -> Connect {
        let (forms, pages) = (self.clone(), self.clone());
        connect
            .on_form(move |form| {
                let answers = forms.clone();
                async move { waiting(move || answers.fill(&form)).await }
            })
            .on_page(move |page| {
                let answers = pages.clone();
                async move { waiting(move || answers.visit(&page)).await }
            })
    }

    /// The failure of a call whose questions nobody has answered.
    pub(crate) fn unanswered(&self) -> Option<Failure> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = open.first()?;
        let failure = Failure::unexpected(format!("the server asks: {asked}")).code(8);
        Some(failure.hint("--answer FIELD=VALUE answers it, and so does a terminal"))
    }

    fn fill(&self, form: &ElicitFormParams) -> ElicitResult {
        let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let is_of_form = |word: &&String| {
            let name = word.split(['=', ':', '.', '[']).next().unwrap_or_default();
            properties.contains_key(name)
        };
        let words: Vec<String> = self.words.iter().filter(is_of_form).cloned().collect();
        let mut given = match arguments::parse(&words, &schema) {
            Ok(given) => given,
            Err(failure) => {
                failure.tell();
                return self.leave(form.message.clone());
            }
        };
        let missing = arguments::missing(&given, &schema);
        if !missing.is_empty() {
            if !is_terminal() {
                return self.leave(format!("{} ({})", form.message, missing.join(", ")));
            }
            ui::clear_status();
            ui::say(&format!("{}\n", form.message));
            for (name, property) in &properties {
                if !given.contains_key(name) && !ask(name, property, &schema, &mut given) {
                    return ElicitResult::cancel();
                }
            }
        }
        if let Some(why) = misfit(&Value::Object(given.clone()), &schema) {
            Failure::usage(why).tell();
            return self.leave(form.message.clone());
        }
        let mut content = Object::new();
        for (name, value) in given {
            content.insert(name, Raw::trusted(value.to_string()));
        }
        ElicitResult::accept(Some(content))
    }

    fn visit(&self, page: &ElicitUrlParams) -> ElicitResult {
        if !is_terminal() {
            return self.leave(format!("{} ({})", page.message, page.url));
        }
        ui::clear_status();
        ui::say(&format!(
            "{}\n  {}\nGo there? [y/N] ",
            page.message, page.url
        ));
        match line().as_deref() {
            Some("y" | "Y" | "yes") => ElicitResult::accept(None),
            Some(_) => ElicitResult::decline(),
            None => ElicitResult::cancel(),
        }
    }

    /// Nobody is there.
    fn leave(&self, question: String) -> ElicitResult {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push(question);
        ElicitResult::cancel()
    }
}

/// Asks for one field. False: nobody answers any more.
fn ask(name: &str, property: &Value, schema: &Value, given: &mut Map<String, Value>) -> bool {
    let required = schema["required"].as_array().into_iter().flatten();
    let is_required = required.into_iter().any(|r| r == name);
    let about = property["description"]
        .as_str()
        .or_else(|| property["title"].as_str());
    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
    let skip = if is_required { "" } else { ", empty for none" };
    for _ in 0..TRIES {
        ui::say(&format!("  {name}{about}{skip}: "));
        let Some(text) = line() else { return false };
        if text.is_empty() && !is_required {
            return true;
        }
        match arguments::parse(&[format!("{name}={text}")], schema) {
            Ok(mut value) => match value.remove(name) {
                Some(value) => match misfit(&value, property) {
                    None => {
                        given.insert(name.to_owned(), value);
                        return true;
                    }
                    Some(why) => ui::say(&format!("error: {name}: {why}\n")),
                },
                None => return true,
            },
            Err(failure) => failure.tell(),
        }
    }
    false
}

/// What is wrong with a value. A schema that cannot be read is the server's to hold to.
fn misfit(value: &Value, schema: &Value) -> Option<String> {
    let validator = Validator::new(schema).ok()?;
    let invalid = validator.check(&value.to_string()).err()?;
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
