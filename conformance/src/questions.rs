//! Tools and a prompt that ask the client in the middle of a call.

use polyport::model::{CreateMessageParams, ElicitAction, SamplingMessage};
use polyport::serde_json::{Map, Value, json};
use polyport::{
    Answer, Content, Cx, Fault, NeedInput, PromptReply, Question, Raw, Server, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// What to ask the model.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What to ask the user.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// Your name.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Shall it be done?
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Context {
    /// What it is about.
    context: String,
}

/// Adds them.
pub fn add(server: Server) -> Server {
    many(rounds(legacy(server))).prompt(
        "test_input_required_result_prompt",
        "Asks for what it is about.",
        |cx: Cx, (): ()| async move {
            let about: Context = cx.elicit("user_context", "What is it about?").await?;
            Ok::<_, Fault>(PromptReply::from(format!("Say more of {}.", about.context)))
        },
    )
}

fn legacy(server: Server) -> Server {
    server
        .tool(
            "test_sampling",
            "Asks the client's model.",
            |cx: Cx, asked: Prompt| async move {
                let text = cx.sample_text("answer", asked.prompt, 100).await?;
                Ok(format!("LLM response: {text}"))
            },
        )
        .tool(
            "test_elicitation",
            "Asks the user.",
            |cx: Cx, asked: Message| async move {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "username": {"type": "string", "description": "User's response"},
                        "email": {"type": "string", "description": "User's email address"},
                    },
                    "required": ["username", "email"],
                });
                let answer = cx.elicit_schema("user", asked.message, schema).answer().await?;
                Ok(told("User response", answer))
            },
        )
        .tool(
            "test_elicitation_sep1034_defaults",
            "Asks the user with every field filled in.",
            |cx: Cx, (): ()| async move {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "default": "John Doe"},
                        "age": {"type": "integer", "default": 30},
                        "score": {"type": "number", "default": 95.5},
                        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                        "verified": {"type": "boolean", "default": true},
                    },
                });
                let answer = cx.elicit_schema("defaults", "Check these.", schema).answer().await?;
                Ok(told("Elicitation completed", answer))
            },
        )
        .tool(
            "test_elicitation_sep1330_enums",
            "Asks the user to choose, in each way there is.",
            |cx: Cx, (): ()| async move {
                let answer = cx.elicit_schema("choices", "Choose.", choices()).answer().await?;
                Ok(told("Elicitation completed", answer))
            },
        )
        .tool(
            "test_missing_capability",
            "Needs a client with a model.",
            |cx: Cx, (): ()| async move {
                let text = cx.sample_text("model", "Say hello.", 10).await?;
                Ok(text)
            },
        )
}

fn choices() -> Value {
    let titled = |n: u8| json!({"const": format!("value{n}"), "title": format!("Option {n}")});
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": [titled(1), titled(2), titled(3)]},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": [titled(1), titled(2), titled(3)]}},
        },
    })
}

fn told(before: &str, answer: Answer<Map<String, Value>>) -> String {
    let (action, content) = match answer {
        Answer::Given(content) => (ElicitAction::Accept, Value::Object(content)),
        Answer::Declined => (ElicitAction::Decline, Value::Null),
        Answer::Cancelled => (ElicitAction::Cancel, Value::Null),
        Answer::Unsupported => return "The client cannot ask its user.".to_owned(),
    };
    format!("{before}: action={}, content={content}", action.as_str())
}

fn rounds(server: Server) -> Server {
    server
        .tool(
            "test_input_required_result_elicitation",
            "Asks for a name.",
            |cx: Cx, (): ()| async move {
                let who: Name = cx.elicit("user_name", "What is your name?").await?;
                Ok(format!("Hello, {}!", who.name))
            },
        )
        .tool(
            "test_input_required_result_sampling",
            "Asks the client's model.",
            |cx: Cx, (): ()| async move {
                let question = "What is the capital of France?";
                cx.sample_text("capital_question", question, 100)
                    .await
                    .map_err(ToolError::from)
            },
        )
        .tool(
            "test_input_required_result_list_roots",
            "Asks for the client's roots.",
            |cx: Cx, (): ()| async move {
                let roots = cx.roots("client_roots").await?;
                let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
                Ok(format!("Roots: {}", uris.join(", ")))
            },
        )
        .tool(
            "test_input_required_result_request_state",
            "Gives back its question with a state of its own.",
            |cx: Cx, (): ()| async move {
                if cx.answered("confirm").is_some() && cx.state().as_deref() == Some("mine") {
                    return Ok("state-ok");
                }
                Err(Fault::need_input(NeedInput {
                    questions: vec![confirm()],
                    state: Some("mine".to_owned()),
                    ..NeedInput::default()
                })
                .into())
            },
        )
}

fn many(server: Server) -> Server {
    server
        .tool(
            "test_input_required_result_multiple_inputs",
            "Asks three things at once.",
            |cx: Cx, (): ()| async move {
                let prompt = SamplingMessage::new(
                    polyport::model::Role::User,
                    Content::text("Make a greeting."),
                );
                let params = CreateMessageParams::new(vec![prompt], 100);
                let asked = (
                    cx.elicit::<Name>("user_name", "What is your name?"),
                    cx.sample("greeting", &params),
                    cx.roots("client_roots"),
                );
                let (who, _greeting, roots) = cx.ask_all(asked).await?;
                Ok(format!("{} works in {} folders.", who.name, roots.len()))
            },
        )
        .tool(
            "test_input_required_result_multi_round",
            "Asks twice, one after the other.",
            |cx: Cx, (): ()| async move {
                let first: Name = cx.elicit("step1", "What is your name?").await?;
                let second: Name = cx.elicit("step2", "And your dog's?").await?;
                Ok(format!("{} and {}.", first.name, second.name))
            },
        )
        .tool(
            "test_input_required_result_tampered_state",
            "Asks to confirm; a state that was changed is refused.",
            |cx: Cx, (): ()| async move {
                let confirm: Confirm = cx.elicit("confirm", "Shall it be done?").await?;
                Ok(if confirm.ok { "Done." } else { "Left alone." })
            },
        )
        .tool(
            "test_input_required_result_capabilities",
            "Asks the user or, where that cannot be, the model.",
            |cx: Cx, (): ()| async move {
                let asked = cx.elicit::<Name>("user_name", "What is your name?");
                Ok(match asked.answer().await? {
                    Answer::Given(who) => who.name,
                    Answer::Unsupported => cx.sample_text("name", "Make up a name.", 10).await?,
                    Answer::Declined | Answer::Cancelled => "nobody".to_owned(),
                })
            },
        )
}

fn confirm() -> Question {
    let params = json!({
        "mode": "form",
        "message": "Shall it be done?",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    });
    Question {
        key: "confirm".to_owned(),
        method: polyport::model::method::ELICITATION_CREATE,
        params: Raw::encode(&params).ok(),
        is_passed_on: false,
    }
}
