//! Arguments of prompts that are no texts.
#![allow(unused_variables)]

use polyport_macros::prompt;

#[prompt]
fn numbers(a: u32, b: Option<bool>, c: Vec<String>, #[arg(range(min = 1))] d: String) -> String {
    String::new()
}

fn main() {}
