//! Functions that no client can call.
#![allow(unused_variables)]

use polyport_macros::tool;

struct Cx;
struct Raw;
struct Point(u32);

#[tool]
async fn generic<T: Clone, const N: usize>(a: T) {}

#[tool]
async fn hidden(a: impl Clone) {}

#[tool]
async fn borrowed(a: &str, b: &[u8], c: &mut Cx) {}

#[tool]
async fn two_contexts(first: Cx, a: u32, second: &Cx) {}

#[tool]
async fn same_names(a: u32, #[arg(name = "a")] b: u32, #[arg(name = "c")] d: u32, c: u32) {}

#[tool]
async fn no_name(Point(a): Point) {}

#[tool]
async fn not_always(#[cfg(unix)] a: u32) {}

#[tool]
unsafe fn reckless() {}

#[tool]
extern "C" fn foreign() {}

#[tool]
async fn with_self(&self, a: u32) {}

#[tool]
async fn all_and_more(#[args] all: Point, b: u32, #[args] _: Point) {}

#[tool]
async fn misplaced(#[arg(default)] cx: &Cx, #[args] #[arg(name = "b")] all: Point) {}

#[tool]
struct NoFunction;

#[tool(input_schema = schema())]
fn waits(arguments: Raw) {}

#[tool(input_schema = schema())]
async fn not_whole(#[arg(default)] a: u32, b: u32) {}

#[tool(input_schema = schema())]
async fn nothing() {}

#[tool(input_schema = schema())]
async fn said_twice(#[arg(name = "b")] a: Raw) {}

fn main() {}
