//! URIs and functions that do not fit each other.
#![allow(unused_variables)]

use polyport_macros::resource;

#[resource]
fn no_uri() {}

#[resource(uri = "a://b")]
fn no_key() {}

#[resource("db://{table}/{row.id}")]
fn unused(tabel: String) {}

#[resource("db://tables")]
fn no_variables(table: String) {}

#[resource("db://{table}")]
fn has_a_value(table: Option<String>) {}

#[resource("db://{table}", size = 3)]
fn has_no_size(#[serde(default)] #[arg(default)] table: String) {}

#[resource("db://{table}")]
fn whole(#[args] all: Table) {}

#[resource("db://{a}{b}")]
fn adjacent(a: String, b: String) {}

#[resource("db://{a}/{a}")]
fn same(a: String) {}

#[resource("db://{a*}")]
fn exploded(a: String) {}

#[resource("db://{a")]
fn open(a: String) {}

#[resource("db://a}")]
fn closed() {}

struct Table;

fn main() {}
