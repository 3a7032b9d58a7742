//! Runs a compiled schema over raw JSON text. Builds no value, allocates only for strings with escapes, and may only
//! accept: a refusal is not a verdict. Does not know schemas; `compile` makes the program.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// Nodes that refer to one another by position, so that recursive schemas need no pointers.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

impl Program {
    /// Whether the text is JSON that fits. `false` says nothing: the full validator has to look.
    pub(super) fn accepts(&self, text: &str) -> bool {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        self.at(self.root).deserialize(&mut deserializer).is_ok() && deserializer.end().is_ok()
    }

    fn at(&self, id: NodeId) -> Check<'_> {
        Check {
            program: self,
            node: &self.nodes[id.0],
        }
    }
}

/// A position in [`Program::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) usize);

impl NodeId {
    /// The schema `true`, always the first node.
    pub(super) const ANY: Self = Self(0);
    /// The schema `false`, always the second node.
    pub(super) const NEVER: Self = Self(1);
}

/// What one place in the arguments has to be. Each rule speaks only of values of its own type, as in JSON Schema.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) types: Types,
    /// `null` passes whatever the rules say: the other branch of an `Option`.
    pub(super) or_null: bool,
    /// `enum` and `const`.
    pub(super) options: Option<Box<[Scalar]>>,
    pub(super) bounds: Box<[Bound]>,
    pub(super) chars: Count,
    pub(super) array: Option<Box<ArrayRule>>,
    pub(super) object: Option<Box<ObjectRule>>,
}

impl Node {
    pub(super) fn of(types: Types) -> Self {
        Self {
            types,
            or_null: false,
            options: None,
            bounds: Box::default(),
            chars: Count::ANY,
            array: None,
            object: None,
        }
    }

    pub(super) fn takes_null(&self) -> bool {
        self.or_null
            || (self.types.holds(Types::NULL) && self.option(|option| *option == Scalar::Null))
    }

    fn option(&self, is_it: impl Fn(&Scalar) -> bool) -> bool {
        self.options
            .as_ref()
            .is_none_or(|options| options.iter().any(is_it))
    }

    fn number<E: Error>(&self, value: Num, kind: Types) -> Result<(), E> {
        let fits = self.types.holds(kind)
            && self.bounds.iter().all(|bound| bound.admits(value))
            && self.option(|option| matches!(option, Scalar::Number(number) if *number == value));
        verdict(fits)
    }
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(pub(super) u8);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(1 << 1);
    /// A number without a fraction: `1.0` is one since draft 6.
    pub(super) const INTEGER: Self = Self(1 << 2);
    /// Any other number.
    pub(super) const FRACTION: Self = Self(1 << 3);
    pub(super) const STRING: Self = Self(1 << 4);
    pub(super) const ARRAY: Self = Self(1 << 5);
    pub(super) const OBJECT: Self = Self(1 << 6);
    pub(super) const ALL: Self = Self(u8::MAX >> 1);

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn holds(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// A value of `enum` or `const`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Num),
    String(Box<str>),
}

/// A JSON number as the parser gives it, compared exactly: `9007199254740993` is not `9007199254740992.0`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Num {
    Int(i128),
    /// Finite.
    Float(f64),
}

impl Num {
    /// `None` for a number past the range of `f64`, which only an exotic build of the parser yields.
    pub(super) fn of(number: &Number) -> Option<Self> {
        if let Some(value) = number.as_u64() {
            return Some(Self::Int(value.into()));
        }
        if let Some(value) = number.as_i64() {
            return Some(Self::Int(value.into()));
        }
        number
            .as_f64()
            .filter(|value| value.is_finite())
            .map(Self::Float)
    }

    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Self::Int(a), Self::Float(b)) => compare_int(a, b),
            (Self::Float(a), Self::Int(b)) => compare_int(b, a).reverse(),
        }
    }
}

impl PartialEq for Num {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

/// `int` comes from 64 bits, so the saturation of the cast on a huge float cannot meet it.
fn compare_int(int: i128, float: f64) -> Ordering {
    let whole = float.trunc() as i128;
    int.cmp(&whole).then_with(|| {
        0.0_f64
            .partial_cmp(&float.fract())
            .unwrap_or(Ordering::Equal)
    })
}

/// One of `minimum`, `exclusiveMinimum`, `maximum`, `exclusiveMaximum`.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// `Greater` for a lower bound, `Less` for an upper one.
    pub(super) side: Ordering,
    pub(super) inclusive: bool,
    pub(super) limit: Num,
}

impl Bound {
    fn admits(&self, value: Num) -> bool {
        let order = value.compare(self.limit);
        order == self.side || (self.inclusive && order.is_eq())
    }
}

/// How many characters or items there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Count {
    pub(super) const ANY: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    fn admits(self, count: usize) -> bool {
        (self.min..=self.max).contains(&(count as u64))
    }

    /// Counts code points only where the number of bytes does not settle it.
    fn admits_chars(self, text: &str) -> bool {
        (self.min == 0 && text.len() as u64 <= self.max) || self.admits(text.chars().count())
    }
}

/// Rules for arrays.
#[derive(Clone, Debug)]
pub(super) struct ArrayRule {
    pub(super) prefix: Vec<NodeId>,
    /// Every item past the prefix.
    pub(super) items: NodeId,
    pub(super) count: Count,
}

/// Rules for objects.
#[derive(Clone, Debug)]
pub(super) struct ObjectRule {
    /// At most 64, one bit of `required` each.
    pub(super) properties: Vec<(Box<str>, NodeId)>,
    pub(super) required: u64,
    /// Every property without an entry.
    pub(super) additional: NodeId,
}

static NO_ARRAY_RULE: ArrayRule = ArrayRule {
    prefix: Vec::new(),
    items: NodeId::ANY,
    count: Count::ANY,
};
static NO_OBJECT_RULE: ObjectRule = ObjectRule {
    properties: Vec::new(),
    required: 0,
    additional: NodeId::ANY,
};

/// Reads one value and checks it. Even where anything goes the value is read in full, not skipped: skipping takes
/// numbers past `f64`, lone surrogates and unbounded depth, all of which the full validator's parser refuses.
#[derive(Clone, Copy)]
struct Check<'p> {
    program: &'p Program,
    node: &'p Node,
}

impl<'de> DeserializeSeed<'de> for Check<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that fits the schema")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        verdict(self.node.takes_null())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        let fits = self
            .node
            .option(|option| matches!(option, Scalar::Bool(bool) if *bool == value));
        verdict(self.node.types.holds(Types::BOOLEAN) && fits)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.node.number(Num::Int(value.into()), Types::INTEGER)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.node.number(Num::Int(value.into()), Types::INTEGER)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let kind = if value.fract() == 0.0 {
            Types::INTEGER
        } else {
            Types::FRACTION
        };
        self.node.number(Num::Float(value), kind)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let fits = self.node.types.holds(Types::STRING)
            && self.node.chars.admits_chars(value)
            && self
                .node
                .option(|option| matches!(option, Scalar::String(string) if **string == *value));
        verdict(fits)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        verdict::<A::Error>(self.node.types.holds(Types::ARRAY) && self.node.options.is_none())?;
        let rule = self.node.array.as_deref().unwrap_or(&NO_ARRAY_RULE);
        let mut count = 0;
        loop {
            let item = rule.prefix.get(count).copied().unwrap_or(rule.items);
            if access.next_element_seed(self.program.at(item))?.is_none() {
                return verdict(rule.count.admits(count));
            }
            count += 1;
        }
    }

    /// A key that comes twice is checked each time, so accepting implies that the last one fits.
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        verdict::<A::Error>(self.node.types.holds(Types::OBJECT) && self.node.options.is_none())?;
        let rule = self.node.object.as_deref().unwrap_or(&NO_OBJECT_RULE);
        let mut seen = 0;
        while let Some(key) = access.next_key_seed(Key(&rule.properties))? {
            let value = match key {
                Some(index) => {
                    seen |= 1 << index;
                    rule.properties[index].1
                }
                None => rule.additional,
            };
            access.next_value_seed(self.program.at(value))?;
        }
        verdict(seen & rule.required == rule.required)
    }
}

/// Reads a key and looks it up without keeping it.
struct Key<'p>(&'p [(Box<str>, NodeId)]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|(known, _)| **known == *name))
    }
}

fn verdict<E: Error>(fits: bool) -> Result<(), E> {
    if fits {
        Ok(())
    } else {
        Err(E::custom("does not fit"))
    }
}
