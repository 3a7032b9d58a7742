//! Compiles the part of JSON Schema that Rust types and most hand-written tools use into a program for `fast`. Reads
//! schemas, never arguments. What it does not know becomes a node that refuses, which hands the arguments to `slow`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::fast::{ArrayRule, Node, NodeId, ObjectRule, Program, Types};
use super::keywords::{
    bounds, count, is_annotation, is_null_schema, is_referable, options, scalar_branches, types,
};

/// What came of a schema.
pub(super) struct Compiled {
    /// Absent where nothing could ever be accepted for want of knowing the root.
    pub(super) program: Option<Program>,
    /// Whether every part of the schema is known, which implies that it is a valid schema. Each value of a keyword is
    /// held to the rules of the dialect for that reason, annotations too.
    pub(super) covers: bool,
}

pub(super) fn compile(schema: &Value) -> Compiled {
    let Some(dialect) = Dialect::of(schema) else {
        return Compiled {
            program: None,
            covers: false,
        };
    };
    let mut compiler = Compiler {
        schema,
        dialect,
        nodes: vec![Node::of(Types::ALL), Node::of(Types::NONE)],
        aliases: Vec::new(),
        definitions: HashMap::new(),
        pending: Vec::new(),
        covers: parser_is_plain(),
    };
    let root = compiler.define(ROOT, schema);
    while let Some((id, schema)) = compiler.pending.pop() {
        compiler.compile_into(id, schema);
    }
    compiler.resolve_aliases();
    let rootless = compiler.nodes[root.0].types == Types::NONE;
    let covers = compiler.covers;
    let program = Program {
        nodes: compiler.nodes,
        root,
    };
    Compiled {
        program: (covers || (parser_is_plain() && !rootless)).then_some(program),
        covers,
    }
}

/// Another crate in the build may turn on arbitrary precision in the JSON parser. Numbers then arrive as objects, which
/// the subset would misread.
fn parser_is_plain() -> bool {
    serde_json::from_str::<Value>("1e400").is_err()
}

/// Dialects in which the keywords of the subset mean the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Draft7,
    Draft2019,
    Draft2020,
}

impl Dialect {
    fn of(schema: &Value) -> Option<Self> {
        let Some(uri) = schema.get("$schema") else {
            return Some(Self::Draft2020);
        };
        let uri = uri.as_str()?;
        match uri.strip_suffix('#').unwrap_or(uri) {
            "https://json-schema.org/draft/2020-12/schema" => Some(Self::Draft2020),
            "https://json-schema.org/draft/2019-09/schema" => Some(Self::Draft2019),
            "http://json-schema.org/draft-07/schema" => Some(Self::Draft7),
            _ => None,
        }
    }
}

struct Compiler<'s> {
    schema: &'s Value,
    dialect: Dialect,
    nodes: Vec<Node>,
    /// Nodes that are another node under another name; settled when all nodes are known.
    aliases: Vec<Alias>,
    /// By keyword and name.
    definitions: HashMap<(&'s str, &'s str), NodeId>,
    /// Definitions met, not yet compiled. A list instead of a call, so that a chain of references takes no stack.
    pending: Vec<(NodeId, &'s Value)>,
    covers: bool,
}

struct Alias {
    node: NodeId,
    target: NodeId,
    null: Null,
}

/// What an alias does to `null`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    AsTarget,
    /// `anyOf: [target, null]`.
    Also,
    /// `oneOf: [target, null]`: only where the target does not take it.
    Either,
}

impl<'s> Compiler<'s> {
    fn define(&mut self, key: (&'s str, &'s str), schema: &'s Value) -> NodeId {
        if let Some(id) = self.definitions.get(&key) {
            return *id;
        }
        let id = self.push(Node::of(Types::NONE));
        self.definitions.insert(key, id);
        self.pending.push((id, schema));
        id
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    fn compile_into(&mut self, id: NodeId, schema: &'s Value) {
        match self.compile(schema) {
            NodeId::NEVER => {}
            target => self.aliases.push(Alias {
                node: id,
                target,
                null: Null::AsTarget,
            }),
        }
    }

    fn compile(&mut self, schema: &'s Value) -> NodeId {
        let known = match schema {
            Value::Bool(true) => Some(NodeId::ANY),
            Value::Bool(false) => Some(NodeId::NEVER),
            Value::Object(keywords) => self.compile_object(keywords),
            _ => None,
        };
        self.covers &= known.is_some();
        known.unwrap_or(NodeId::NEVER)
    }

    fn compile_object(&mut self, keywords: &'s Map<String, Value>) -> Option<NodeId> {
        let mut applicator = None;
        let mut assertions = false;
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "$defs" | "definitions" => self.compile_definitions(keywords, keyword, value)?,
                "$schema" if std::ptr::eq(self.schema.as_object()?, keywords) => {}
                "$ref" | "anyOf" | "oneOf" if applicator.is_none() => {
                    applicator = Some((keyword.as_str(), value))
                }
                "type"
                | "enum"
                | "const"
                | "minimum"
                | "exclusiveMinimum"
                | "maximum"
                | "exclusiveMaximum"
                | "minLength"
                | "maxLength"
                | "items"
                | "prefixItems"
                | "minItems"
                | "maxItems"
                | "properties"
                | "required"
                | "additionalProperties" => assertions = true,
                _ if is_annotation(keyword, value) => {}
                _ => return None,
            }
        }
        match applicator {
            None if !assertions => Some(NodeId::ANY),
            None => self.compile_assertions(keywords),
            Some(_) if assertions => None,
            Some(("$ref", reference)) => self.target(reference.as_str()?),
            Some((keyword, branches)) => {
                self.compile_branches(branches.as_array()?, keyword == "oneOf")
            }
        }
    }

    /// Definitions of the root can be referred to. Deeper ones cannot (that takes a longer pointer), but have to be known
    /// all the same before the schema counts as covered.
    fn compile_definitions(
        &mut self,
        parent: &'s Map<String, Value>,
        keyword: &'s str,
        value: &'s Value,
    ) -> Option<()> {
        let at_root = std::ptr::eq(self.schema.as_object()?, parent);
        for (name, schema) in value.as_object()? {
            if at_root && is_referable(keyword, name) {
                self.define((keyword, name), schema);
            } else {
                self.compile(schema);
            }
        }
        Some(())
    }

    fn target(&mut self, reference: &'s str) -> Option<NodeId> {
        if reference == "#" {
            return self.definitions.get(&ROOT).copied();
        }
        let (keyword, name) = reference.strip_prefix("#/")?.split_once('/')?;
        if !is_referable(keyword, name) {
            return None;
        }
        let schema = self.schema.get(keyword)?.get(name)?;
        Some(self.define((keyword, name), schema))
    }

    fn compile_branches(&mut self, branches: &'s [Value], exclusive: bool) -> Option<NodeId> {
        if let Some(options) = scalar_branches(branches, exclusive) {
            return Some(self.push(Node {
                options: Some(options),
                ..Node::of(Types::ALL)
            }));
        }
        let [a, b] = branches else { return None };
        let target = if is_null_schema(b) {
            self.compile(a)
        } else if is_null_schema(a) {
            self.compile(b)
        } else {
            return None;
        };
        let node = self.push(Node::of(Types::NONE));
        self.aliases.push(Alias {
            node,
            target,
            null: if exclusive { Null::Either } else { Null::Also },
        });
        Some(node)
    }

    fn compile_assertions(&mut self, keywords: &'s Map<String, Value>) -> Option<NodeId> {
        let mut node = Node::of(keywords.get("type").map_or(Some(Types::ALL), types)?);
        node.options = options(keywords)?;
        node.bounds = bounds(keywords)?;
        node.chars = count(keywords, "minLength", "maxLength")?;
        if keywords.keys().any(|keyword| {
            matches!(
                keyword.as_str(),
                "items" | "prefixItems" | "minItems" | "maxItems"
            )
        }) {
            node.array = Some(Box::new(self.array_rule(keywords)?));
        }
        if keywords.keys().any(|it| {
            matches!(
                it.as_str(),
                "properties" | "required" | "additionalProperties"
            )
        }) {
            node.object = Some(Box::new(self.object_rule(keywords)?));
        }
        Some(self.push(node))
    }

    fn array_rule(&mut self, keywords: &'s Map<String, Value>) -> Option<ArrayRule> {
        let prefix = match keywords.get("prefixItems") {
            None => Vec::new(),
            // Older dialects do not know the keyword and pass it over.
            Some(_) if self.dialect != Dialect::Draft2020 => return None,
            Some(items) => {
                let items = items.as_array().filter(|items| !items.is_empty())?;
                items.iter().map(|item| self.compile(item)).collect()
            }
        };
        let items = match keywords.get("items") {
            Some(Value::Array(_)) => return None,
            Some(items) => self.compile(items),
            None => NodeId::ANY,
        };
        Some(ArrayRule {
            prefix,
            items,
            count: count(keywords, "minItems", "maxItems")?,
        })
    }

    fn object_rule(&mut self, keywords: &'s Map<String, Value>) -> Option<ObjectRule> {
        let additional = keywords
            .get("additionalProperties")
            .map_or(NodeId::ANY, |schema| self.compile(schema));
        let mut properties: Vec<(Box<str>, NodeId)> = Vec::new();
        if let Some(fields) = keywords.get("properties") {
            for (name, schema) in fields.as_object()? {
                properties.push((name.as_str().into(), self.compile(schema)));
            }
        }
        let mut required = 0_u64;
        for name in keywords
            .get("required")
            .map_or(Some(&[][..]), |it| it.as_array().map(Vec::as_slice))?
        {
            let name = name.as_str()?;
            let index = properties
                .iter()
                .position(|(known, _)| **known == *name)
                .unwrap_or_else(|| {
                    properties.push((name.into(), additional));
                    properties.len() - 1
                });
            let bit = 1_u64.checked_shl(u32::try_from(index).ok()?)?;
            if required & bit != 0 {
                return None;
            }
            required |= bit;
        }
        (properties.len() <= 64).then_some(ObjectRule {
            properties,
            required,
            additional,
        })
    }

    /// Copies the rules of the target into each alias, so that checking follows no chain.
    /// Each alias becomes a copy of what it stands for. A chain is walked once, from its beginning to what is settled already.
    fn resolve_aliases(&mut self) {
        let aliases: HashMap<usize, (NodeId, Null)> = self
            .aliases
            .drain(..)
            .map(|alias| (alias.node.0, (alias.target, alias.null)))
            .collect();
        let all_known = self.covers;
        // Those that are settled, and whether each leads into a circle.
        let mut settled: HashMap<usize, bool> = HashMap::new();
        for start in aliases.keys() {
            let mut chain = Vec::new();
            let mut at = *start;
            let circular = loop {
                if let Some(circular) = settled.get(&at) {
                    break *circular;
                }
                let Some((target, null)) = aliases.get(&at) else {
                    break false;
                };
                if chain.len() == aliases.len() {
                    break true;
                }
                chain.push((at, *null));
                at = target.0;
            };
            // References in a circle have no end: they say nothing, and the full validator has its own view of them.
            self.covers &= !circular;
            let mut node = if circular {
                Node::of(Types::NONE)
            } else {
                self.nodes[at].clone()
            };
            for (alias, null) in chain.into_iter().rev() {
                // Without rules a node is either `false` or unknown.
                let known = node.types != Types::NONE || (all_known && !circular);
                node = with_null(node, null, known);
                self.nodes[alias] = node.clone();
                settled.insert(alias, circular);
            }
        }
    }
}

fn with_null(mut node: Node, null: Null, known: bool) -> Node {
    match null {
        Null::AsTarget => {}
        Null::Also => node.or_null = true,
        Null::Either => {
            node.or_null = known && !node.takes_null();
            node.types = node.types.without(Types::NULL);
        }
    }
    node
}

/// The key of the whole schema, which no definition has.
const ROOT: (&str, &str) = ("", "");
