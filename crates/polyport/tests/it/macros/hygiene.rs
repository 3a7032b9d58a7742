//! Marked functions in odd surroundings: what they are called, and what else has the names that generated code might use.

use polyport::testing::TestPeer;
use polyport::{Revision, Server};
use serde_json::{Value, json};

use crate::peer;

/// Everything here has the name of something else.
#[allow(dead_code, non_camel_case_types)]
mod hostile {
    mod polyport {}
    mod serde {}
    mod schemars {}
    mod std {}
    mod core {}
    struct Result;
    struct Option;
    struct String;
    struct Ok;
    struct Cx;
    struct Server;
    struct Tool;
    trait Into {}
    trait Parts {}

    type Text = ::std::string::String;

    #[::polyport::tool]
    pub(super) async fn echo(echo: Text, #[arg(default = "!")] args: Text) -> Text {
        echo + &args
    }

    #[::polyport::tool]
    pub(super) fn r#move(r#type: Text) -> Text {
        r#type
    }

    #[::polyport::prompt]
    pub(super) fn prompt(prompt: Text, cx: ::polyport::Cx) -> Text {
        drop(cx);
        prompt
    }

    #[::polyport::resource("h://{resource}/{cx}/{this}")]
    pub(super) async fn resource(resource: Text, cx: Text, this: u8) -> Text {
        resource + &cx + &this.to_string()
    }

    #[derive(Clone)]
    pub(super) struct Holder<S>(pub(super) S);

    #[::polyport::parts]
    impl<S> Holder<S>
    where
        S: ::std::fmt::Display + ::std::marker::Send + ::std::marker::Sync + 'static,
    {
        #[tool]
        async fn holds(&self, server: Text) -> Text {
            server + &self.0.to_string()
        }

        #[tool]
        async fn add_to(&self) -> Text {
            Text::from("not the trait's")
        }
    }
}

mod renamed {
    use polyport as elsewhere;
    use polyport::{parts, tool};

    #[tool(crate = elsewhere)]
    pub(super) async fn of_elsewhere(n: u8) -> String {
        n.to_string()
    }

    pub(super) struct One;

    #[parts(crate = self::elsewhere)]
    impl One {
        #[tool]
        fn one(&self, n: u8) -> String {
            n.to_string()
        }
    }
}

macro_rules! doubled {
    ($name:ident, $text:literal, $argument:ident: $ty:ty) => {
        #[doc = $text]
        #[polyport::tool(name = $text, read_only)]
        async fn $name($argument: $ty) -> String {
            ($argument * 2).to_string()
        }
    };
}

doubled!(double, "twice", number: u32);

async fn said(peer: &TestPeer, tool: &str, arguments: Value) -> String {
    let result = peer.call(tool, &arguments).await.unwrap();
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

// req: S-MACRO
#[tokio::test]
async fn whatever_stands_around_them() {
    /// Known in this function only.
    #[derive(polyport::serde::Deserialize, polyport::schemars::JsonSchema)]
    #[serde(crate = "polyport::serde")]
    #[schemars(crate = "polyport::schemars")]
    struct Local {
        n: u32,
    }

    #[doc = concat!("Adds ", "up.")]
    /// All of them.
    ///
    /// # Panics
    /// Never.
    #[polyport::tool]
    async fn local(local: Local, mut more: Vec<Local>) -> String {
        more.push(local);
        more.iter().map(|local| local.n).sum::<u32>().to_string()
    }

    let server = Server::new("s", "1")
        .add_tool(hostile::echo::tool())
        .add_tool(hostile::r#move::tool())
        .add_prompt(hostile::prompt::prompt())
        .add_template(hostile::resource::template())
        .with(hostile::Holder(7))
        .add_tool(renamed::of_elsewhere::tool())
        .with(renamed::One)
        .add_tool(double::tool())
        .add_tool(local::tool());
    let peer = peer(server, Revision::V2026_07_28).await;
    for (tool, arguments, want) in [
        ("echo", json!({"echo": "a"}), "a!"),
        ("move", json!({"type": "b"}), "b"),
        ("holds", json!({"server": "c"}), "c7"),
        ("add_to", json!({}), "not the trait's"),
        ("of_elsewhere", json!({"n": 1}), "1"),
        ("one", json!({"n": 2}), "2"),
        ("twice", json!({"number": 4}), "8"),
        ("local", json!({"local": {"n": 1}, "more": [{"n": 2}]}), "3"),
    ] {
        assert_eq!(said(&peer, tool, arguments).await, want, "{tool}");
    }
    let listed = peer.request("tools/list", &json!({})).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let descriptions: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["description"].as_str())
        .collect();
    assert_eq!(descriptions, ["twice", "Adds up.\nAll of them."]);
    let read = peer
        .request("resources/read", &json!({"uri": "h://a/b/3"}))
        .await
        .unwrap();
    assert_eq!(read["contents"][0]["text"], "ab3");
    let prompt = peer
        .request(
            "prompts/get",
            &json!({"name": "prompt", "arguments": {"prompt": "p"}}),
        )
        .await
        .unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "p");
}
