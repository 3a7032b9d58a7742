//! A server of the legacy era as a script for `sh`, which behaves as functions of a test say.

/// For a message of each kind its function is called before the usual answer, which is left out if it ends with `return 1`; `started`
/// is called before the first. They have `$line`, `$id`, and `say MEMBERS`, `answer RESULT`, `note DATA` (a log message), `shows NAME`
/// (is the line of that method?).
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$id,\"result\":$1"; }
note() { say "\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":$1}"; }
shows() { case "$line" in *"\"$1\""*) ;; *) return 1 ;; esac; }
for of in started probed opening listed called asked answered; do
  if ! command -v "$of" >/dev/null; then eval "$of() { :; }"; fi
done
started
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  if shows server/discover; then
    probed && say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}"
  elif shows initialize; then
    opening && answer "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":${OFFERS:-{\"tools\":{\},\"logging\":{\}\}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
  elif shows tools/list; then
    listed && answer '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
  elif shows tools/call; then
    called && answer '{"content":[{"type":"text","text":"done"}]}'
  elif shows method; then
    asked && [ -n "$id" ] && answer '{}'
  else
    answered
  fi
done
"#;

/// The program and its arguments: `started`, `probed` (what is its era?), `opening` (the handshake), `listed` and `called` (its tools),
/// `asked` (whatever else) and `answered` (what it has asked) may be among the functions. `OFFERS` holds other capabilities.
pub fn scripted(functions: &str) -> [String; 3] {
    [
        "sh".to_owned(),
        "-c".to_owned(),
        format!("{functions}\n{SERVER}"),
    ]
}
