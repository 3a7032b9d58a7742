//! `impl` blocks whose functions cannot be put on a server.
#![allow(unused_variables)]

use std::sync::Mutex;

use polyport_macros::parts;

struct Shop<T>(T);

#[parts]
impl<T> Shop<T> {
    #[tool]
    fn by_value(self) {}

    #[tool]
    fn mutable(&mut self) {}

    #[tool]
    fn boxed(self: Box<Self>) {}

    #[tool]
    fn depends(&self, a: T, b: Vec<Self>) {}

    #[tool(name = "same")]
    fn one(&self) {}

    #[tool]
    fn same(&self) {}

    #[resource("a://b")]
    fn first(&self) {}

    #[resource("a://b")]
    fn second(&self) {}

    #[tool]
    #[prompt]
    fn both(&self) {}

    #[tool(crate = other)]
    fn elsewhere(&self) {}

    #[tool = "name"]
    fn assigned(&self) {}

    #[tool(readonly)]
    fn misspelt(&self) {}
}

struct Plain;

#[parts]
impl Plain {
    fn no_part(&self) {}
}

#[parts]
impl Clone for Plain {
    #[tool]
    fn clone(&self) -> Self {
        Plain
    }
}

#[parts(name = "x")]
struct NoBlock;

fn main() {
    Mutex::new(());
}
