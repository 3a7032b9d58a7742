//! Batches are cut into their elements.

use bytes::Bytes;
use polyport_wire::MalformedKind::{Empty, NotJson, NotUtf8, TooDeep, TooManyElements};
use polyport_wire::{Limits, MalformedKind, batch};
use proptest::prelude::*;

use crate::generated;

fn split(frame: &str) -> Result<Vec<String>, MalformedKind> {
    let elements = batch::split(&Bytes::from(frame.to_owned()), &Limits::default());
    let text = |element: Bytes| String::from_utf8(element.to_vec()).unwrap();
    elements
        .map(|elements| elements.into_iter().map(text).collect())
        .map_err(|fault| fault.kind)
}

#[test]
fn elements_come_without_their_surroundings() {
    assert_eq!(
        split(" [ {} , [1, 2] ,\n7 ] ").unwrap(),
        ["{}", "[1, 2]", "7"]
    );
    assert_eq!(split(r#" {"a":1} "#).unwrap(), [r#"{"a":1}"#]);
}

#[test]
fn broken_batches_are_refused() {
    assert_eq!(split("[]"), Err(Empty));
    assert_eq!(split(" [ ] "), Err(Empty));
    assert_eq!(split("[{},]"), Err(NotJson));
    assert_eq!(split("[{}"), Err(NotJson));
    assert_eq!(split("[{}]]"), Err(NotJson));
    assert_eq!(split(""), Err(NotJson));
    let not_utf8 = batch::split(&Bytes::from_static(b"[\"\xff\"]"), &Limits::default());
    assert_eq!(not_utf8.unwrap_err().kind, NotUtf8);
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    assert_eq!(split(&deep), Err(TooDeep));
}

#[test]
fn a_batch_may_have_a_hundred_messages() {
    let batch = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    assert_eq!(split(&batch(100)).unwrap().len(), 100);
    assert_eq!(split(&batch(101)), Err(TooManyElements));
    assert_eq!(split(&batch(200_000)), Err(TooManyElements));
}

#[test]
fn the_first_byte_tells() {
    for (frame, is_batch) in [
        ("[", true),
        (" \r\n\t[{}]", true),
        ("{}", false),
        ("", false),
        ("\u{feff}[]", false),
    ] {
        assert_eq!(batch::is_batch(frame.as_bytes()), is_batch, "{frame}");
    }
}

proptest! {
    #[test]
    fn elements_are_what_was_put_in(values in prop::collection::vec(generated::value(), 1..9), space in generated::space()) {
        let frame = format!("{space}[{space}{}{space}]", values.join(&format!("{space},{space}")));
        prop_assert_eq!(split(&frame).unwrap(), values);
    }
}
