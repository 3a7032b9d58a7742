//! JSON texts for property tests, with odd spellings and white space. Not the properties themselves.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// White space that may stand between tokens.
pub(crate) fn space() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " ", "\n", "\t", "\r\n", "  \n "])
}

/// The text of a string, quotes included. No lone surrogates.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[ -!#-\\[\\]-~]{0,12}",
        2 => select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r", "\\t", "\\u0000", "\\u00e9", "\\uD83D\\uDE00",
            "\u{7f}", "é", "\u{2028}", "\u{2029}", "😀", "\u{feff}", "\u{10ffff}",
        ])
        .prop_map(str::to_owned),
    ];
    vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?",
    ]
}

/// Any JSON value as text, without white space around it.
pub(crate) fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec!["null", "true", "false", "{}", "[]", "{ }", "[\n]"]).prop_map(str::to_owned),
        number(),
        string(),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            array(inner.clone()),
            object(string().boxed(), inner.boxed())
        ]
    })
}

fn array(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (vec(inner, 0..6), space()).prop_map(|(elements, space)| {
        let elements = elements.join(&format!("{space},{space}"));
        format!("[{space}{elements}{space}]")
    })
}

/// An object with these keys and values; keys may repeat.
pub(crate) fn object(
    key: BoxedStrategy<String>,
    inner: BoxedStrategy<String>,
) -> impl Strategy<Value = String> {
    (vec((key, inner), 0..6), space()).prop_map(|(members, space)| {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, value)| format!("{key}{space}:{space}{value}"))
            .collect();
        format!(
            "{{{space}{}{space}}}",
            members.join(&format!("{space},{space}"))
        )
    })
}

/// Something like a message: the known keys, often wrong.
pub(crate) fn envelope() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        4 => Just(r#""jsonrpc":"2.0""#.to_owned()),
        2 => select(vec![r#""id":1"#, r#""id":"a""#, r#""id":null"#, r#""id":1.0"#, r#""\u0069d":-7"#])
            .prop_map(str::to_owned),
        2 => select(vec![r#""method":"tools/call""#, r#""method":"tools\/call""#, r#""method":7"#])
            .prop_map(str::to_owned),
        3 => params().prop_map(|params| format!(r#""params":{params}"#)),
        1 => value().prop_map(|value| format!(r#""result":{value}"#)),
        1 => value().prop_map(|value| format!(r#""error":{value}"#)),
        1 => (string(), value()).prop_map(|(key, value)| format!("{key}:{value}")),
    ];
    (vec(member, 0..6), space()).prop_map(|(members, space)| {
        format!(
            "{space}{{{space}{}{space}}}{space}",
            members.join(&format!("{space},{space}"))
        )
    })
}

/// Params with the members that are noted.
pub(crate) fn params() -> impl Strategy<Value = String> {
    let meta_key = select(vec![
        r#""progressToken""#,
        r#""io.modelcontextprotocol/protocolVersion""#,
        r#""io.modelcontextprotocol/clientInfo""#,
        r#""io.modelcontextprotocol\/clientCapabilities""#,
        r#""io.modelcontextprotocol/logLevel""#,
        r#""other""#,
    ]);
    let meta = prop_oneof![
        value(),
        object(meta_key.prop_map(str::to_owned).boxed(), value().boxed())
    ];
    let key = select(vec![
        r#""name""#,
        r#""uri""#,
        r#""cursor""#,
        r#""arguments""#,
        r#""inputResponses""#,
        r#""requestState""#,
        r#""n\u0061me""#,
        r#""x""#,
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        1 => value(),
        4 => (object(key.boxed(), value().boxed()), meta).prop_map(|(object, meta)| {
            let mut out = Vec::new();
            polyport_wire::splice::stamp(&object, &format!(r#""_meta":{meta}"#), &mut out);
            String::from_utf8(out).unwrap()
        }),
    ]
}
