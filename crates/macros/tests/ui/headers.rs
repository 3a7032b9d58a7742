//! Arguments that no HTTP header can carry.
#![allow(unused_variables)]

use polyport_macros::tool;

#[tool]
async fn headers(
    #[arg(header = "A")] float: f64,
    #[arg(header = "B")] list: Vec<String>,
    #[arg(header = "C")] perhaps: Option<String>,
    #[arg(header = "Not a token")] spaces: String,
    #[arg(header = "")] empty: bool,
    #[arg(header = "Same")] one: u32,
    #[arg(header = "same")] other: std::string::String,
) {
}

fn main() {}
