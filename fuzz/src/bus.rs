//! The check of who hears of changes: bytes are a script of listeners that come, subscribe, take and go, and of changes; a model
//! keeps what each of them must hear.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use polyport_model::{ListenParams, SubscriptionFilter};
use polyport_proto::{Blame, ClientFacts, Level, Limits, Remembered, Revision};
use polyport_rt::{Alert, Bus, Listener, Watcher};
use polyport_wire::Raw;
use serde_json::{Value, json};

/// Plays `data` against a bus. Most letters have one or two digits behind them: which of four listeners (`0` to `3`), which of five
/// resources; what is no letter of the script does nothing.
///
/// - `S`, `F`: a legacy session listens, or a modern stream; the second digit of `F` is a filter of lists and resources.
/// - `P`: a modern stream listens to what the rest of the line, as params of `subscriptions/listen`, says.
/// - `s`, `u`: that listener subscribes to that resource, or wants it no more.
/// - `l`, `p`, `r`: the list of tools, prompts, resources has changed. `c`: that resource has.
/// - `L`: that session wants logs of that level. `g`: a log message of that level.
/// - `t`: that listener takes what it has not heard. `d`: it goes. `e`: the server ends all streams.
///
/// What must hold:
///
/// - Each hears what it wants, once, in order, with its own id; and is woken for it once.
/// - Subscriptions are within their bound; the watcher hears of the first and the last for each resource.
/// - Log messages are taken or counted as left out.
pub fn check(data: &[u8]) {
    let mut play = Play::new();
    let mut rest = data;
    while let [letter, after @ ..] = rest {
        rest = after;
        if *letter == b'P' {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (params, after) = rest.split_at(end.unwrap_or(rest.len()));
            play.listen_to(params);
            rest = after;
        } else {
            let (slot, choice) = (digit(&mut rest), digit(&mut rest));
            play.step(*letter, slot % EARS, choice);
        }
        play.compare();
    }
    play.ears.iter_mut().for_each(|ear| *ear = None);
    play.compare();
    assert_eq!((play.bus.listeners(), play.bus.watched()), (0, 0));
}

fn digit(rest: &mut &[u8]) -> usize {
    match rest {
        [byte @ b'0'..=b'9', after @ ..] => {
            *rest = after;
            usize::from(byte - b'0')
        }
        _ => 0,
    }
}

struct Play {
    bus: Bus,
    watcher: Arc<Heard>,
    ears: [Option<Ear>; EARS],
    /// Who is subscribed to what, as the watcher was told.
    watched: BTreeSet<String>,
    made: usize,
    dropped_logs: u64,
}

/// What one listener must hear.
struct Ear {
    listener: Arc<Listener>,
    session: Option<Arc<Remembered>>,
    id: String,
    alarm: Arc<Alarm>,
    alerts: usize,
    lists: [bool; 3],
    changed: [bool; 3],
    wants: BTreeSet<String>,
    updated: Vec<String>,
    logs: usize,
    ended: bool,
}

#[derive(Default)]
struct Alarm(AtomicUsize);

impl Alert for Alarm {
    fn alert(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<(String, bool)>>);

impl Watcher for Heard {
    fn watch(&self, uri: &str, on: bool) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((uri.to_owned(), on));
    }
}

impl Play {
    fn new() -> Self {
        let (bus, watcher) = (Bus::new(), Arc::new(Heard::default()));
        assert!(bus.set_watcher(watcher.clone()), "the first watcher");
        assert!(!bus.set_watcher(watcher.clone()), "there can be one");
        Self {
            bus,
            watcher,
            ears: Default::default(),
            watched: BTreeSet::new(),
            made: 0,
            dropped_logs: 0,
        }
    }

    fn step(&mut self, letter: u8, slot: usize, choice: usize) {
        let uri = URIS[choice % URIS.len()];
        match letter {
            b'S' => self.listen_as_session(slot),
            b'F' => self.listen_with(slot, &filter(choice)),
            b's' | b'u' => {
                if let Some(ear) = &mut self.ears[slot] {
                    ear.subscribe(uri, letter == b's');
                }
            }
            b'l' => self.change(0, Bus::tools_changed),
            b'p' => self.change(1, Bus::prompts_changed),
            b'r' => self.change(2, Bus::resources_changed),
            b'c' => self.update(uri),
            b'L' => {
                if let Some(session) = self.ears[slot].as_ref().and_then(|e| e.session.as_ref()) {
                    session.set_level(level(choice));
                }
            }
            b'g' => self.log(level(choice)),
            b't' => {
                if let Some(ear) = &mut self.ears[slot] {
                    ear.take();
                }
            }
            b'd' => self.ears[slot] = None,
            b'e' => {
                self.bus.end();
                let ears = self.ears.iter_mut().flatten();
                ears.for_each(|ear| ear.ended |= ear.session.is_none());
            }
            _ => {}
        }
    }

    fn listen_as_session(&mut self, slot: usize) {
        let client = ClientFacts {
            info: None,
            capabilities: Raw::from_static("{}"),
        };
        let session = Arc::new(Remembered::new(Revision::V2025_11_25, client));
        let (alarm, alert) = alarm();
        let weak = Arc::downgrade(&alert);
        let listener = self.bus.listen_session(session.clone(), weak, &limits());
        let mut ear = Ear::new(listener, alarm);
        ear.session = Some(session);
        ear.lists = [true; 3];
        self.ears[slot] = Some(ear);
    }

    fn listen_to(&mut self, params: &[u8]) {
        let Ok(ListenParams { notifications, .. }) = serde_json::from_slice(params) else {
            return;
        };
        self.listen_with(0, &notifications);
    }

    fn listen_with(&mut self, slot: usize, filter: &SubscriptionFilter) {
        // Read once more, from its JSON.
        let told = serde_json::to_value(filter).expect("a filter is JSON");
        let on = |name: &str| told[name] == true;
        let uris = told["resourceSubscriptions"].as_array();
        let uris = uris.into_iter().flatten().filter_map(Value::as_str);
        let wants: BTreeSet<String> = uris.map(str::to_owned).collect();
        self.made += 1;
        let id = json!(format!("{}\n\"", self.made)).to_string();
        let (alarm, alert) = alarm();
        let raw = Raw::trusted(id.clone());
        let weak = Arc::downgrade(&alert);
        match self.bus.listen_filter(filter, raw, weak, &limits()) {
            Ok(listener) => {
                assert!(wants.len() <= MAX, "{wants:?} is too many");
                let mut ear = Ear::new(listener, alarm);
                ear.id = id;
                ear.wants = wants;
                ear.lists = [
                    on("toolsListChanged"),
                    on("promptsListChanged"),
                    on("resourcesListChanged"),
                ];
                self.ears[slot] = Some(ear);
            }
            Err(blame) => {
                assert_eq!(blame, Blame::TooManySubscriptions { limit: MAX });
                assert!(wants.len() > MAX, "{wants:?} is not too many");
            }
        }
    }

    fn change(&mut self, list: usize, tell: fn(&Bus)) {
        tell(&self.bus);
        for ear in self.ears.iter_mut().flatten() {
            if ear.lists[list] && !ear.changed[list] {
                ear.changed[list] = true;
                ear.alerts += 1;
            }
        }
    }

    fn update(&mut self, uri: &str) {
        self.bus.updated(uri);
        for ear in self.ears.iter_mut().flatten() {
            if ear.wants.contains(uri) && !ear.updated.iter().any(|waiting| waiting == uri) {
                ear.updated.push(uri.to_owned());
                ear.alerts += 1;
            }
        }
    }

    fn log(&mut self, level: Level) {
        self.bus.log(level, Some("a\n"), "{\"n\":1}");
        for ear in self.ears.iter_mut().flatten() {
            match &ear.session {
                None => self.dropped_logs += 1,
                Some(session) if session.level().is_some_and(|wanted| level >= wanted) => {
                    ear.logs += 1;
                    ear.alerts += 1;
                }
                Some(_) => {}
            }
        }
    }

    /// What the bus says of itself, and what its watcher has heard.
    fn compare(&mut self) {
        let mut ears = self.ears.iter().flatten();
        assert_eq!(self.bus.listeners(), ears.clone().count());
        let wanted: BTreeSet<String> = ears.clone().flat_map(|e| e.wants.clone()).collect();
        assert_eq!(self.bus.watched(), wanted.len());
        let mut heard = self
            .watcher
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (uri, on) in heard.drain(..) {
            let new = if on {
                self.watched.insert(uri.clone())
            } else {
                self.watched.remove(&uri)
            };
            assert!(new, "{uri} is watched {on} twice");
        }
        assert_eq!(self.watched, wanted);
        assert_eq!(self.bus.dropped_logs(), self.dropped_logs);
        assert!(ears.all(|ear| ear.alarm.0.load(Ordering::Relaxed) == ear.alerts));
        for ear in self.ears.iter().flatten() {
            let ended = pin!(ear.listener.ended());
            let ended = ended.poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(ended == Poll::Ready(()), ear.ended);
        }
    }
}

impl Ear {
    fn new(listener: Arc<Listener>, alarm: Arc<Alarm>) -> Self {
        Self {
            listener,
            session: None,
            id: String::new(),
            alarm,
            alerts: 0,
            lists: [false; 3],
            changed: [false; 3],
            wants: BTreeSet::new(),
            updated: Vec::new(),
            logs: 0,
            ended: false,
        }
    }

    fn subscribe(&mut self, uri: &str, on: bool) {
        if !on {
            self.listener.unsubscribe(uri);
            self.wants.remove(uri);
            self.updated.retain(|waiting| waiting != uri);
            return;
        }
        let room = self.wants.len() < MAX || self.wants.contains(uri);
        let full = Err(Blame::TooManySubscriptions { limit: MAX });
        let expected = if room { Ok(()) } else { full };
        assert_eq!(self.listener.subscribe(uri), expected);
        if room {
            self.wants.insert(uri.to_owned());
        }
    }

    fn take(&mut self) {
        let said = self.listener.take();
        let said = said.iter().map(|text| {
            assert!(!text.contains(&b'\n'), "one line");
            serde_json::from_slice(text).expect("JSON is said")
        });
        let (logs, said): (Vec<Value>, Vec<Value>) =
            said.partition(|message: &Value| message["method"] == "notifications/message");
        let mut expected = Vec::new();
        for (changed, list) in self
            .changed
            .iter_mut()
            .zip(["tools", "prompts", "resources"])
        {
            if std::mem::take(changed) {
                let method = format!("notifications/{list}/list_changed");
                expected.push(message(&method, &self.id, None));
            }
        }
        for uri in self.updated.drain(..) {
            let method = "notifications/resources/updated";
            expected.push(message(method, &self.id, Some(uri)));
        }
        assert_eq!(said, expected);
        let left_out = logs.iter().filter_map(|log| {
            let words = log["params"]["data"].as_str()?;
            words.split(' ').next()?.parse::<usize>().ok()
        });
        let left_out: Vec<_> = left_out.collect();
        let sum = logs.len() - left_out.len() + left_out.iter().sum::<usize>();
        assert_eq!(sum, std::mem::take(&mut self.logs), "{logs:?}");
    }
}

fn message(method: &str, id: &str, uri: Option<String>) -> Value {
    let mut params = BTreeMap::new();
    if !id.is_empty() {
        let id: Value = serde_json::from_str(id).expect("an id is JSON");
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        params.insert("_meta", meta);
    }
    params.extend(uri.map(|uri| ("uri", json!(uri))));
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_empty() {
        message["params"] = json!(params);
    }
    message
}

fn alarm() -> (Arc<Alarm>, Arc<dyn Alert>) {
    let alarm = Arc::new(Alarm::default());
    (alarm.clone(), alarm)
}

fn filter(choice: usize) -> SubscriptionFilter {
    let uris = URIS.iter().take(choice).map(|uri| (*uri).to_owned());
    SubscriptionFilter {
        tools_list_changed: Some(choice & 1 == 0),
        prompts_list_changed: (choice & 2 == 0).then_some(true),
        resources_list_changed: (choice > 4).then_some(choice & 4 == 0),
        // Twice is once.
        resource_subscriptions: (choice > 0).then(|| uris.clone().chain(uris).collect()),
        ..SubscriptionFilter::default()
    }
}

fn level(choice: usize) -> Level {
    [Level::Debug, Level::Info, Level::Error][choice % 3]
}

const EARS: usize = 4;
/// Resources that one listener may subscribe to.
const MAX: usize = 3;

fn limits() -> Arc<Limits> {
    let mut limits = Limits::default();
    limits.subscriptions = MAX;
    Arc::new(limits)
}
/// Two that look alike, one that needs escapes, one that is nothing.
const URIS: [&str; 5] = ["file:///a", "file:///A", "a\n\"é", "", "file:///a "];
