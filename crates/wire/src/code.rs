//! The five error codes that JSON-RPC 2.0 itself defines (section 5.1). Codes of the protocol above are
//! not here.

/// The text is not JSON.
pub const PARSE: i32 = -32700;
/// The JSON is no request.
pub const INVALID_REQUEST: i32 = -32600;
/// Nobody knows the method.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The method is known, its parameters do not fit.
pub const INVALID_PARAMS: i32 = -32602;
/// The receiver failed.
pub const INTERNAL: i32 = -32603;
