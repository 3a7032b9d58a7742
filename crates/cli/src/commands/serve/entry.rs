//! What is pasted into the configuration of an AI host so that it finds us. Not where a host keeps its configuration.

use serde_json::{Value, json};

use crate::program::{plain, program};

/// A server as hosts are told of it.
#[derive(Debug)]
pub(super) struct Entry {
    name: String,
    arguments: Vec<String>,
}

impl Entry {
    /// Of a server with this name, started with these arguments.
    pub(super) fn new(name: &str, arguments: Vec<String>) -> Self {
        Self {
            name: plain(name),
            arguments,
        }
    }

    /// For hosts that start it themselves.
    pub(super) fn command(&self) -> Value {
        let program = program().display().to_string();
        self.named(&json!({"command": program, "args": self.arguments}))
    }

    /// For hosts that connect to it while it runs.
    pub(super) fn url(&self, url: &str) -> Value {
        self.named(&json!({"type": "http", "url": url}))
    }

    fn named(&self, server: &Value) -> Value {
        json!({"mcpServers": {self.name.as_str(): server}})
    }
}

/// A program by a path that is the same wherever it is called; by a bare name, it is searched anyway.
pub(super) fn absolute(program: &str) -> String {
    if !program.contains('/') {
        return program.to_owned();
    }
    let path = std::path::absolute(program);
    path.map_or_else(|_| program.to_owned(), |path| path.display().to_string())
}
