//! Keys that a careless reader takes for another: such readers match keys without regard to case, or end them at a zero byte.

use polyport::RpcError;
use polyport_wire::splice;

/// The parameters hold no key besides `member` that may be read as it: a server could take that one's value, which no rule was held
/// against.
///
/// # Errors
/// They do.
pub(crate) fn is_alone(member: &str, params: Option<&str>) -> Result<(), RpcError> {
    let mut other = None;
    splice::members(params.unwrap_or("{}"), |key, _| {
        if key != member && is_like(key, member) {
            other = Some(key.to_owned());
        }
    });
    match other {
        None => Ok(()),
        Some(other) => Err(RpcError::invalid_params(format!(
            "{other:?} may be read as {member:?}, which is held to rules here. Leave it out."
        ))),
    }
}

fn is_like(key: &str, member: &str) -> bool {
    let folded = |letter: char| match letter {
        // The only letters outside of ASCII that fold into it.
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    };
    let key = key.chars().filter(|letter| *letter != '\0').map(folded);
    key.eq(member.chars())
}
