//! Owns making an example of a schema, with every member it names. Knows as much of JSON Schema as
//! the specification uses.

use serde_json::{Map, Value, json};

/// The definitions of one schema.
pub(crate) struct Samples<'a>(pub(crate) &'a Value);

impl<'a> Samples<'a> {
    /// A schema with its references followed.
    pub(crate) fn resolve(&self, mut schema: &'a Value) -> &'a Value {
        while let Some(target) = schema.get("$ref") {
            let name = target.as_str().unwrap().rsplit('/').next().unwrap();
            schema = self
                .0
                .get(name)
                .unwrap_or_else(|| panic!("no definition {name}"));
        }
        schema
    }

    /// An example with every member down to a certain depth.
    pub(crate) fn full(&self, schema: &'a Value) -> Value {
        self.make(schema, 0)
    }

    /// Examples of every alternative that a member's schema names.
    pub(crate) fn alternatives(&self, schema: &'a Value) -> Vec<Value> {
        let schema = self.resolve(schema);
        match (schema.get("anyOf"), schema.get("enum"), schema.get("type")) {
            (Some(schemas), _, _) => schemas
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|schema| self.alternatives(schema))
                .collect(),
            (_, Some(values), _) => values.as_array().unwrap().clone(),
            (_, _, Some(Value::Array(types))) => types
                .iter()
                .map(|one| self.make_type(schema, one.as_str().unwrap(), 0))
                .collect(),
            _ => vec![self.full(schema)],
        }
    }

    /// A value of none of the types that the schema allows; `None` when it allows all.
    pub(crate) fn wrong(&self, schema: &'a Value) -> Option<Value> {
        let types = self.types(schema)?;
        let candidates = [
            ("boolean", json!(true)),
            ("number", json!(7)),
            ("string", json!("wrong")),
        ];
        let fits = |kind: &str| {
            types
                .iter()
                .any(|one| *one == kind || (*one == "integer" && kind == "number"))
        };
        candidates
            .into_iter()
            .find(|(kind, _)| !fits(kind))
            .map(|(_, value)| value)
    }

    fn types(&self, schema: &'a Value) -> Option<Vec<&'a str>> {
        let schema = self.resolve(schema);
        if let Some(schemas) = schema.get("anyOf") {
            let types: Option<Vec<_>> = schemas
                .as_array()
                .unwrap()
                .iter()
                .map(|schema| self.types(schema))
                .collect();
            return types.map(|types| types.concat());
        }
        match schema.get("type")? {
            Value::Array(types) => types.iter().map(Value::as_str).collect(),
            one => one.as_str().map(|one| vec![one]),
        }
    }

    fn make(&self, schema: &'a Value, depth: usize) -> Value {
        let schema = self.resolve(schema);
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum") {
            return values[0].clone();
        }
        if let Some(schemas) = schema.get("anyOf") {
            return self.make(&schemas[0], depth);
        }
        match schema.get("type") {
            Some(Value::Array(types)) => self.make_type(schema, types[0].as_str().unwrap(), depth),
            Some(one) => self.make_type(schema, one.as_str().unwrap(), depth),
            None => json!({ "any": [1.5, null] }),
        }
    }

    fn make_type(&self, schema: &'a Value, kind: &str, depth: usize) -> Value {
        match kind {
            "string" => json!("text"),
            "integer" => json!(
                schema
                    .get("minimum")
                    .and_then(Value::as_i64)
                    .unwrap_or(0)
                    .max(0)
                    + 3
            ),
            "number" => json!(0.5),
            "boolean" => json!(true),
            "null" => Value::Null,
            "array" => match schema.get("items") {
                Some(items) if depth < DEEPEST => json!([self.make(items, depth + 1)]),
                _ => json!([]),
            },
            "object" => Value::Object(self.make_object(schema, depth)),
            other => panic!("unknown type {other}"),
        }
    }

    fn make_object(&self, schema: &'a Value, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        for (name, member) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if depth < DEEPEST || is_required(schema, name) {
                object.insert(name.clone(), self.make(member, depth + 1));
            }
        }
        if let Some(other @ Value::Object(_)) = schema.get("additionalProperties")
            && depth < DEEPEST
        {
            object.insert("a/name".to_owned(), self.make(other, depth + 1));
        }
        object
    }
}

/// Whether an object schema requires this member.
pub(crate) fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|one| one == name))
}

/// Deep enough for every member that is checked; the definitions refer to themselves further down.
const DEEPEST: usize = 7;
