//! Somebody at the terminal: whether anybody is there, what they are asked, and what they type. Not what that answers.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polyport::Raw;
use polyport::model::{ElicitResult, ElicitUrlParams, Object};
use polyport::schema::Validator;
use polyport::serde::Serialize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value};

use crate::arguments;
use crate::limit::Person;
use crate::places::Reading;
use crate::ui;
use crate::written::{Written, shown};

/// Tries at one field of a form.
const TRIES: usize = 3;
/// How often somebody who is waited for at a terminal is known not to be waited for any more.
const LOOK: Duration = Duration::from_millis(100);

/// Asks at the terminal for arguments that are required and not given; what nobody gives stays missing.
pub(crate) async fn complete(given: Object, schema: &Value, text: &Raw) -> Object {
    let missing: Vec<String> = arguments::required(schema)
        .into_iter()
        .filter(|name| !given.contains(name))
        .map(str::to_owned)
        .collect();
    if missing.is_empty() || !is_terminal() || ui::is_document() {
        return given;
    }
    let (schema, text, mut asked) = (schema.clone(), text.clone(), given.clone());
    let asking = tokio::task::spawn_blocking(move || {
        let _asking = ui::Asking::begin();
        let written = Written::new(&text);
        for name in missing {
            let reading = Reading::of(&schema);
            let property = reading.told(&reading.member(&name));
            let default = default_of(&property, &written.property(&name));
            if !ask(&name, &property, &schema, default.as_ref(), &mut asked) {
                break;
            }
        }
        asked
    });
    asking.await.unwrap_or(given)
}

/// Waits until somebody at the terminal says that he has done what there is to do at pages; `is_said`: that they are visited was said
/// beforehand.
pub(crate) async fn done_there(pages: Vec<ElicitUrlParams>, is_said: bool) {
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
pub(crate) fn agrees(question: &str) -> Option<bool> {
    ui::say(&format!("{question} [y/N] "));
    Some(matches!(line()?.as_str(), "y" | "Y" | "yes"))
}

/// Asks for one field. False: nobody answers any more.
pub(crate) fn ask(
    name: &str,
    property: &Value,
    schema: &Value,
    default: Option<&Raw>,
    given: &mut Object,
) -> bool {
    let required = schema["required"].as_array().into_iter().flatten();
    let is_required = required.into_iter().any(|r| r == name);
    let about = property["description"]
        .as_str()
        .or_else(|| property["title"].as_str());
    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
    let skip = match default {
        Some(value) => format!(", empty for {}", shown(value)),
        None if is_required => String::new(),
        None => ", empty for none".to_owned(),
    };
    for _ in 0..TRIES {
        let asked = format!("{name}{about}{skip}");
        ui::say(&format!("  {}: ", ui::one_line(&asked)));
        let Some(text) = line() else { return false };
        if let Some(value) = default.filter(|_| text.is_empty()) {
            given.insert(name, value.clone());
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

/// What the fields of a form begin with.
pub(crate) fn defaults(properties: &Map<String, Value>, schema: &Raw) -> Object {
    let written = Written::new(schema);
    let default = |(name, property): (&String, &Value)| {
        let default = default_of(property, &written.property(name))?;
        Some((name.clone(), default))
    };
    properties.iter().filter_map(default).collect()
}

/// The value that a field begins with, as it is written. What does not fit is none.
fn default_of(property: &Value, written: &Written) -> Option<Raw> {
    let default = written.text("default", property.get("default")?);
    misfit(&default, property).is_none().then_some(default)
}

/// What is wrong with a value. A schema that cannot be read is the server's to hold to.
pub(crate) fn misfit(value: &impl Serialize, schema: &Value) -> Option<String> {
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
pub(crate) async fn waiting(
    answer: impl FnOnce() -> ElicitResult + Send + 'static,
) -> ElicitResult {
    let answered = tokio::task::spawn_blocking(answer).await;
    answered.unwrap_or_else(|_| ElicitResult::cancel())
}
