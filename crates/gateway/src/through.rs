//! What of a server reaches a client of some revision through a gateway: what passes, what is said in other words on the way, and what
//! cannot be. Said from the tables of both revisions; the work itself is the relay's.

use polyport::{Era, Revision};
use polyport_model::{EXTENSION_TASKS, Object, ServerCapabilities};
use polyport_proto::TaskForm;
use polyport_proto::revision::{Profile, Structured};

/// How something of a server fares on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fare {
    /// In the words in which it came.
    Passes,
    /// In other words, with the same meaning.
    Converted,
    /// It does not reach the client, or not as it was meant.
    Cannot,
}

/// Something of a server, and how it fares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Passage {
    /// How it fares.
    pub fare: Fare,
    /// What it is.
    pub what: &'static str,
    /// How, or why not; empty where there is nothing to say.
    pub how: &'static str,
}

/// A server as it stands behind a gateway.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// The revision that is spoken to it.
    pub revision: Revision,
    /// What it offers.
    pub offers: &'a ServerCapabilities,
    /// All clients share one session with it.
    pub is_common: bool,
}

/// What of a server reaches clients of this revision.
///
/// ```
/// use polyport::Revision;
/// use polyport_gateway::through::{Behind, Fare, through};
///
/// let offers = serde_json::from_str(r#"{"tools": {}, "logging": {}}"#)?;
/// let server = Behind { revision: Revision::V2025_11_25, offers: &offers, is_common: false };
/// let passages = through(server, Revision::V2026_07_28);
/// let cannot = passages.iter().filter(|it| it.fare == Fare::Cannot);
/// assert!(cannot.map(|it| it.what).any(|what| what == "log messages outside calls"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn through(server: Behind<'_>, client: Revision) -> Vec<Passage> {
    let mut way = Way {
        offers: server.offers,
        theirs: server.revision.profile(),
        ours: client.profile(),
        is_common: server.is_common,
        said: Vec::new(),
    };
    way.things();
    way.lists();
    if server.is_common {
        way.cannot(
            "questions to users and models, and for folders",
            "all clients share its session: there is nobody to ask",
        );
    } else {
        way.questions();
    }
    way.logs();
    way.tasks();
    way.cannot(
        "requests that no revision knows",
        "whoever sends one is told that there is no such method",
    );
    let mut said = way.said;
    said.sort_by_key(|passage| passage.fare as usize);
    said
}

struct Way<'a> {
    offers: &'a ServerCapabilities,
    theirs: &'a Profile,
    ours: &'a Profile,
    is_common: bool,
    said: Vec<Passage>,
}

impl Way<'_> {
    /// Tools, resources and prompts.
    fn things(&mut self) {
        let offers = self.offers;
        if offers.tools.is_some() {
            self.passes(
                "tools",
                "lists, calls, results, errors with their data, progress, cancellation",
            );
            let (theirs, ours) = (self.theirs.structured, self.ours.structured);
            let loses = |theirs, ours| match (theirs, ours) {
                (Structured::Absent, _) | (_, Structured::Any) => false,
                (Structured::Object, ours) => ours == Structured::Absent,
                (Structured::Any, _) => true,
            };
            if loses(theirs, ours) {
                let how = match ours {
                    Structured::Absent => "the client's revision knows none; they go as text",
                    _ => "the client's revision knows objects alone; what is none goes as text",
                };
                self.converted("structured results", how);
            }
        }
        if offers.prompts.is_some() {
            self.passes("prompts", "");
        }
        if offers.resources.is_some() {
            self.passes("resources and templates", "");
            if self.theirs.resource_missing != self.ours.resource_missing {
                let how = "each side has the code of its revision";
                self.converted("the error for a resource that is missing", how);
            }
        }
        if offers.completions.is_some() {
            match self.ours.completions_capability {
                true => self.passes("completion", ""),
                false => {
                    let how = "the client's revision declares none; whoever asks all the same is answered";
                    self.converted("completion", how);
                }
            }
        }
        let newer = [
            (
                self.theirs.audio && !self.ours.audio,
                "audio",
                "the client's revision knows none; it goes as a resource that holds it",
            ),
            (
                self.theirs.resource_links && !self.ours.resource_links,
                "links to resources in results",
                "the client's revision knows none; they go as text, with name and address",
            ),
        ];
        for (is_newer, what, how) in newer {
            if is_newer {
                self.converted(what, how);
            }
        }
    }

    /// What tells that something has changed.
    fn lists(&mut self) {
        if !self.is_bridge() {
            self.passes("the opening, instructions, and word of changed lists", "");
        } else if self.ours.era == Era::Modern {
            let how = "its handshake answers discovery; changed lists are told to whoever listens";
            self.converted("the opening, instructions, and word of changed lists", how);
        } else {
            let how = "discovery answers the handshake; changed lists are told to each session";
            self.converted("the opening, instructions, and word of changed lists", how);
        }
        if !self.offers.has_resource_subscriptions() {
            return;
        }
        let what = "subscriptions to resources";
        match (self.is_common, self.is_bridge()) {
            (true, _) => self.cannot(
                what,
                "all clients share its session, and one would end those of another",
            ),
            (false, false) => self.passes(what, ""),
            (false, true) => self.converted(
                what,
                "resources/subscribe on one side, subscriptions/listen on the other",
            ),
        }
    }

    /// What a server asks.
    fn questions(&mut self) {
        for (method, what) in [
            ("elicitation/create", "forms for users"),
            ("sampling/createMessage", "questions to models"),
            ("roots/list", "questions for folders"),
        ] {
            let (theirs, ours) = (self.asks(self.theirs, method), self.asks(self.ours, method));
            match (theirs, ours) {
                (false, _) => {}
                (true, false) => self.cannot(
                    what,
                    "the client's revision has none: the server is told so, or its call fails",
                ),
                (true, true) => self.question(what),
            }
        }
        let pages = "pages for users";
        match (self.theirs.elicits_url, self.ours.elicits_url) {
            (false, _) => {}
            (true, false) => self.converted(pages, "a refusal that names one becomes a sentence with its address; a question for one is refused"),
            (true, true) => self.question(pages),
        }
        if self.theirs.titled_choices
            && !self.ours.titled_choices
            && self.asks(self.ours, "elicitation/create")
        {
            self.cannot(
                "forms with several choices at once",
                "the client's revision has none: the server is told so, or its call fails",
            );
        }
        if self.theirs.era == Era::Legacy {
            let how = "one waits ten seconds for a call that it could belong to, and is refused";
            self.cannot("questions while no call runs", how);
        } else if self.is_bridge() {
            let how = "its revision has no word for it; the call fails";
            self.cannot(
                "word to the server that a question could not be answered",
                how,
            );
        }
    }

    fn question(&mut self, what: &'static str) {
        match (self.theirs.era, self.ours.era) {
            (Era::Legacy, Era::Modern) => {
                let how = "the call waits, 10 minutes at most, and the client comes back with the answers";
                self.converted(what, how);
            }
            (Era::Modern, Era::Legacy) => {
                let how = "the client is asked in its call, and the server again with the answers";
                self.converted(what, how);
            }
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => self.passes(what, ""),
        }
    }

    fn logs(&mut self) {
        if self.offers.logging.is_none() {
            return;
        }
        let what = "log messages of calls";
        match self.is_bridge() {
            false => self.passes(what, ""),
            true => self.converted(
                what,
                "the level is set once on one side, and said with each call on the other",
            ),
        }
        let outside = "log messages outside calls";
        if self.theirs.era == Era::Modern {
            // Its revision has none.
        } else if self.is_common {
            self.cannot(
                outside,
                "all clients share its session: they are for none of them",
            );
        } else if self.ours.era == Era::Modern {
            self.cannot(outside, "the client's revision has none: they are dropped");
        } else {
            self.passes(outside, "");
        }
    }

    fn tasks(&mut self) {
        let extensions = self.offers.extensions.as_ref();
        let has_extension = extensions.is_some_and(|all: &Object| all.contains(EXTENSION_TASKS));
        let offers = match self.theirs.tasks {
            TaskForm::Absent => false,
            TaskForm::Core => self.offers.tasks.is_some(),
            TaskForm::Extension => has_extension,
        };
        if !offers {
            return;
        }
        match (self.is_common, self.theirs.tasks == self.ours.tasks) {
            (true, _) => self.cannot(
                "lists of tasks",
                "all clients share its session: they would be those of others",
            ),
            (false, true) => self.passes("tasks", ""),
            (false, false) => self.cannot(
                "tasks",
                "the two revisions have others, or none; a call is waited for",
            ),
        }
    }

    fn asks(&self, profile: &Profile, method: &str) -> bool {
        profile.questions.contains(&method)
    }

    /// Do the two sides speak different eras?
    fn is_bridge(&self) -> bool {
        self.theirs.era != self.ours.era
    }

    fn passes(&mut self, what: &'static str, how: &'static str) {
        self.say(Fare::Passes, what, how);
    }

    fn converted(&mut self, what: &'static str, how: &'static str) {
        self.say(Fare::Converted, what, how);
    }

    fn cannot(&mut self, what: &'static str, how: &'static str) {
        self.say(Fare::Cannot, what, how);
    }

    fn say(&mut self, fare: Fare, what: &'static str, how: &'static str) {
        self.said.push(Passage { fare, what, how });
    }
}
