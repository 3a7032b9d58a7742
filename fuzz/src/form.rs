//! The check of forms that are made of JSON Schemas.

use polyport::Revision;
use polyport::ask::form;
use polyport::schema::Validator;
use polyport_model::{Field, FormSchema};
use serde_json::Value;

/// Reads `data` as the number of a revision and a JSON Schema.
///
/// - It gives a form or an error that says why.
/// - A form is one as the specification knows it: each field of a known kind; what is required is a field.
/// - It has the words of its revision and no others, and what is filled in can be checked against it.
/// - A form made of a form is the same form.
pub fn check(data: &[u8]) {
    let Some((choice, schema)) = data.split_first() else {
        return;
    };
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else {
        return;
    };
    let revision = Revision::ALL[usize::from(*choice) % Revision::ALL.len()];
    let profile = revision.profile();
    let form = match form(schema.clone(), profile) {
        Ok(form) => form,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let read: FormSchema = serde_json::from_value(form.clone())
        .unwrap_or_else(|error| panic!("{form} is no form: {error}"));
    for (name, field) in read.properties.iter() {
        assert!(!matches!(field, Field::Unknown(_)), "{name} in {form}");
        let multiple = matches!(field, Field::MultiSelect(_));
        assert!(profile.titled_choices || !multiple, "{name} in {form}");
        if let Field::Select(select) = field {
            assert!(profile.titled_choices || select.titled.is_none());
        }
    }
    for name in read.required.iter().flatten() {
        assert!(form["properties"].get(name).is_some(), "{name} in {form}");
    }
    Validator::new(&form).unwrap_or_else(|error| panic!("{form} checks nothing: {error}"));
    let again = polyport::ask::form(form.clone(), profile);
    assert_eq!(again.expect("a form is a schema"), form, "of {schema}");
}
