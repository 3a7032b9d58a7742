//! References within a schema: how their pointers are spelled, and what they point at.

use polyport_model::Object;
use polyport_wire::Raw;
use serde_json::Value;

use crate::percent::decode_broken_text;

/// What a reference within a schema refers to (`#/$defs/Place`); none: it leaves the schema, or leads nowhere.
pub fn referred<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decode_broken_text(reference.strip_prefix('#')?))
}

/// The same in a schema that is kept as its text: what it points at, as it is written.
pub fn pointed(root: &Raw, reference: &str) -> Option<Raw> {
    let pointer = decode_broken_text(reference.strip_prefix('#')?);
    let mut at = root.clone();
    let mut steps = pointer.split('/');
    if !steps.next()?.is_empty() {
        return None;
    }
    for step in steps {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at.decode::<Vec<Raw>>() {
            Ok(elements) => elements.get(step.parse::<usize>().ok()?)?.clone(),
            Err(_) => at.decode::<Object>().ok()?.remove(&step)?,
        };
    }
    Some(at)
}
