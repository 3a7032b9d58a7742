//! What the tools of the built-in server make of numbers at the edge.

use serde_json::json;

use crate::support::Place;

#[test]
fn numbers_at_the_edge_are_answered_to_the_model() {
    let place = Place::new();
    let mut program = place.host(&["demo"]);
    for (tool, arguments, fails, text) in [
        (
            "add",
            json!({"a": 1e308, "b": 1e308}),
            true,
            "The sum is too large for a number: add smaller ones",
        ),
        (
            "add",
            json!({"a": -1e308, "b": -1e308}),
            true,
            "The sum is too large for a number: add smaller ones",
        ),
        (
            "add",
            json!({"a": 1e308, "b": -1e308}),
            false,
            "{\"sum\":0.0}",
        ),
        (
            "count",
            json!({"to": 2.0, "delay_ms": 1e0}),
            false,
            "counted to 2",
        ),
    ] {
        let result = program.call(tool, arguments.clone());
        assert_eq!(
            result["isError"] == true,
            fails,
            "{tool} {arguments}: {result}"
        );
        assert_eq!(result["content"][0]["text"], text, "{tool} {arguments}");
    }
    program.close_input();
    program.end();
}
