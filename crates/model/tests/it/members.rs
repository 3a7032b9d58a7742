//! Owns the check that our types have the members that the schema of every revision has, with the
//! same duty to be there.
//!
//! For each definition an example with every member is made from the schema. It must survive; it
//! must still be read without a member that is optional, and refused without one that is required
//! or with one of another type.

use std::collections::BTreeSet;

use polyport_model::{NOTIFICATIONS, REQUESTS};
use serde_json::{Value, json};

use crate::kinds::{self, RoundTrip};
use crate::sample::{Samples, is_required};
use crate::spec;

/// Required by some revision, yet optional here: definition (`*`: any), place and member, why.
const MAY_BE_ABSENT: &[Exception] = &[
    (
        "*",
        "_meta",
        "only the newest revision requires it of requests; its codec checks",
    ),
    (
        "*",
        "cacheScope",
        "legacy servers have none; absent means private",
    ),
    (
        "*",
        "resultType",
        "legacy servers have none; absent means complete",
    ),
    (
        "*",
        "ttlMs",
        "legacy servers have none; absent means stale at once",
    ),
    (
        "CancelledNotification",
        "requestId",
        "one revision lets it be absent, where tasks have a cancel of their own",
    ),
    (
        "CancelledNotificationParams",
        "requestId",
        "as in the notification",
    ),
    (
        "CompletedTask",
        "result",
        "one type for a task in every status",
    ),
    (
        "ElicitRequestURLParams",
        "elicitationId",
        "one revision has it, the next has not",
    ),
    (
        "EnumSchema",
        "enum",
        "without choices it is a field for text",
    ),
    ("FailedTask", "error", "one type for a task in every status"),
    (
        "InputRequiredTask",
        "inputRequests",
        "one type for a task in every status",
    ),
    (
        "LegacyTitledEnumSchema",
        "enum",
        "without choices it is a field for text",
    ),
    (
        "TitledMultiSelectEnumSchema",
        "items/anyOf",
        "one type for choices with and without labels",
    ),
    (
        "TitledSingleSelectEnumSchema",
        "oneOf",
        "without choices it is a field for text",
    ),
    (
        "UntitledMultiSelectEnumSchema",
        "items/enum",
        "one type for choices with and without labels",
    ),
    (
        "UntitledMultiSelectEnumSchema",
        "items/type",
        "one type for choices with and without labels",
    ),
    (
        "UntitledSingleSelectEnumSchema",
        "enum",
        "without choices it is a field for text",
    ),
];

type Exception = (&'static str, &'static str, &'static str);

/// Kept as text and not looked into: member, why.
const KEPT_AS_TEXT: &[(&str, &str)] = &[
    ("_meta", "what is in it belongs to whoever reads that key"),
    (
        "arguments",
        "decoded by the tool; the edge checks that it is an object",
    ),
    ("inputSchema", "a JSON Schema"),
    ("outputSchema", "a JSON Schema"),
    (
        "requestedSchema",
        "a JSON Schema; its fields are checked as definitions of their own",
    ),
    ("requests", "a core task capability; read by name"),
    ("result", "decoded by the method that made the task"),
    ("structuredContent", "an object once, any value later"),
];

/// Definitions that no type stands for: name, why.
const WITHOUT_TYPE: &[(&str, &str)] = &[
    ("Annotated", "a base of others"),
    ("BaseMetadata", "a base of others"),
    ("CacheableResult", "a base of others"),
    ("ClientNotification", "a choice of notifications"),
    ("Icons", "a base of others"),
    ("InputResponseRequestParams", "a base of others"),
    ("JSONRPCError", "the wire's"),
    ("JSONRPCErrorResponse", "the wire's"),
    ("JSONRPCNotification", "the wire's"),
    ("JSONRPCRequest", "the wire's"),
    ("JSONRPCResponse", "the wire's"),
    ("JSONRPCResultResponse", "the wire's"),
    ("Notification", "the wire's"),
    (
        "NotificationMetaObject",
        "a `_meta` object: keys are in envelope.rs",
    ),
    ("PaginatedRequest", "a base of others"),
    ("PaginatedResult", "a base of others"),
    ("Request", "the wire's"),
    (
        "RequestMetaObject",
        "a `_meta` object: keys are in envelope.rs",
    ),
    ("ResourceContents", "a base of others"),
    (
        "ResultMetaObject",
        "a `_meta` object: keys are in envelope.rs",
    ),
    (
        "SubscriptionsListenResultMetaObject",
        "a `_meta` object: keys are in envelope.rs",
    ),
    ("TaskAugmentedRequestParams", "a base of others"),
];

#[test]
fn members_agree_with_every_schema() {
    let Some(folder) = spec::folder() else { return };
    let mut count = 0;
    for schema in spec::SCHEMAS {
        let definitions = spec::definitions(&folder, schema);
        for (name, definition) in definitions.as_object().unwrap() {
            count += usize::from(check_definition(
                schema,
                name,
                &Samples(&definitions),
                definition,
            ));
        }
    }
    assert!(count >= 250, "only {count} definitions were checked");
}

#[test]
fn methods_are_those_of_every_schema() {
    let Some(folder) = spec::folder() else { return };
    let mut methods = BTreeSet::new();
    for schema in spec::SCHEMAS {
        collect_methods(&spec::definitions(&folder, schema), &mut methods);
    }
    let ours: BTreeSet<String> = REQUESTS
        .iter()
        .chain(NOTIFICATIONS)
        .map(|&name| name.to_owned())
        .collect();
    assert_eq!(ours, methods);
    assert!(
        NOTIFICATIONS
            .iter()
            .all(|name| name.starts_with("notifications/"))
    );
}

fn collect_methods(schema: &Value, methods: &mut BTreeSet<String>) {
    if let Some(method) = schema.pointer("/properties/method/const") {
        methods.insert(method.as_str().unwrap().to_owned());
    }
    match schema {
        Value::Object(members) => members
            .values()
            .for_each(|member| collect_methods(member, methods)),
        Value::Array(items) => items.iter().for_each(|item| collect_methods(item, methods)),
        _ => {}
    }
}

/// Checks one definition, if it is of an object with members; gives back whether it is.
fn check_definition(schema: &str, name: &str, samples: &Samples<'_>, definition: &Value) -> bool {
    if definition.get("properties").is_none()
        || name.ends_with("ResultResponse")
        || kinds::failure(name).is_some()
    {
        return false;
    }
    let (object, round_trip) = match (kinds::object(schema, name), kinds::message(schema, name)) {
        (Some(round_trip), _) => (definition, round_trip),
        (_, Some((method, round_trip))) => {
            assert_eq!(
                definition["properties"]["method"]["const"], method,
                "{schema} {name}"
            );
            let Some(params) = definition.pointer("/properties/params") else {
                return false;
            };
            (params, round_trip)
        }
        _ => {
            assert!(
                WITHOUT_TYPE.iter().any(|(listed, _)| *listed == name),
                "{schema} {name}: no type stands for it"
            );
            return false;
        }
    };
    let check = Check {
        schema,
        name,
        samples,
        round_trip,
        full: samples.full(object),
    };
    check.survives(&check.full);
    check.members(samples.resolve(object), "");
    true
}

struct Check<'a> {
    schema: &'a str,
    name: &'a str,
    samples: &'a Samples<'a>,
    round_trip: RoundTrip,
    full: Value,
}

impl<'a> Check<'a> {
    /// Checks the members of the object at a place (a JSON pointer) of the example.
    fn members(&self, schema: &'a Value, place: &str) {
        for (member, member_schema) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let without = self.with(place, member, None);
            match (
                is_required(schema, member),
                self.may_be_absent(place, member),
            ) {
                (false, _) => self.survives(&without),
                (true, None) => {
                    assert!(
                        self.read(&without).is_err(),
                        "{} is read without `{place}/{member}`",
                        self.title()
                    );
                }
                // An exception for one definition that is none any more must go.
                (true, Some(exception)) => {
                    assert!(
                        exception.0 == "*" || self.read(&without).is_ok(),
                        "{}: {exception:?}",
                        self.title()
                    );
                }
            }
            self.member(member_schema, place, member);
        }
    }

    fn member(&self, schema: &'a Value, place: &str, member: &str) {
        if KEPT_AS_TEXT.iter().any(|(listed, _)| *listed == member) {
            return;
        }
        for value in self.samples.alternatives(schema) {
            self.survives(&self.with(place, member, Some(value)));
        }
        if let Some(wrong) = self.samples.wrong(schema) {
            let wrong = self.with(place, member, Some(wrong));
            assert!(
                self.read(&wrong).is_err(),
                "{} takes anything for `{place}/{member}`",
                self.title()
            );
        }
        // What has a name is checked as a definition of its own.
        if schema.get("properties").is_some() {
            self.members(
                schema,
                &format!("{place}/{}", member.replace('~', "~0").replace('/', "~1")),
            );
        }
    }

    fn with(&self, place: &str, member: &str, value: Option<Value>) -> Value {
        let mut example = self.full.clone();
        let object = example
            .pointer_mut(place)
            .unwrap_or_else(|| panic!("{} has no {place}", self.title()));
        let object = object.as_object_mut().unwrap();
        match value {
            Some(value) => object.insert(member.to_owned(), value),
            None => object.remove(member),
        };
        example
    }

    fn survives(&self, example: &Value) {
        match self.read(example) {
            Ok(again) => assert_eq!(again, *example, "{}", self.title()),
            Err(error) => panic!("{}: {error}\n{example:#}", self.title()),
        }
    }

    fn read(&self, example: &Value) -> Result<Value, serde_json::Error> {
        (self.round_trip)(&example.to_string())
    }

    fn may_be_absent(&self, place: &str, member: &str) -> Option<&'static Exception> {
        let path = format!("{place}/{member}");
        MAY_BE_ABSENT
            .iter()
            .find(|(name, absent, _)| (*name == "*" || *name == self.name) && path[1..] == **absent)
    }

    fn title(&self) -> String {
        format!("{} {}", self.schema, self.name)
    }
}

#[test]
fn a_member_that_is_null_is_read_as_absent() {
    let round_trip = kinds::object("", "Tool").unwrap();
    let tool = json!({ "name": "a", "inputSchema": {}, "title": null, "annotations": null, "_meta": null });
    assert_eq!(
        round_trip(&tool.to_string()).unwrap(),
        json!({ "name": "a", "inputSchema": {} })
    );
}
