//! Back-ends: systems that Polyport serves as MCP. One module each; no protocol here.

pub mod files;
