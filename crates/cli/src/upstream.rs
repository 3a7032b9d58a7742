//! A server behind the gateway, as its configuration says: the way to it, and what of it clients see.

use polyport::client::Connect;
use polyport_config::{Rules, Sessions, Settings};
use polyport_gateway::{Seen, Upstream};

use crate::failure::Failure;
use crate::reach::{Manner, Reached, Speak};

/// Sessions of a server that is started, where nothing is said: each is a process.
const STARTED: usize = 256;

/// The way to a server.
pub(crate) fn way(reached: Reached, settings: &Settings) -> Result<Connect, Failure> {
    let manner = Manner {
        era: settings.era.map(Speak::from),
        ..Manner::default()
    };
    let usual = match &reached {
        Reached::Command(_) => Some(STARTED),
        Reached::Inside(_) | Reached::Remote(_) => None,
    };
    let mut connect = manner.on(reached.connect()?)?;
    if let Some(most) = settings.max_sessions.or(usual) {
        connect = connect.at_most(most);
    }
    Ok(match settings.timeout {
        Some(timeout) => connect.idle(timeout),
        None => connect,
    })
}

/// A server of which clients see what is to be seen.
pub(crate) fn ruled(upstream: Upstream, settings: &Settings) -> Result<Upstream, Failure> {
    let upstream = upstream
        .tools(seen(&settings.tools)?)
        .prompts(seen(&settings.prompts)?)
        .resources(seen(&settings.resources)?);
    Ok(match settings.sessions {
        Sessions::PerClient => upstream,
        Sessions::Shared => upstream.in_common(),
    })
}

/// Which things of one kind clients see.
pub(crate) fn seen(rules: &Rules) -> Result<Seen, Failure> {
    let wrong = |error| Failure::usage(format!("a pattern is none: {error}"));
    let mut seen = Seen::all().deny(&rules.deny).map_err(wrong)?;
    if let Some(allow) = &rules.allow {
        seen = seen.allow(allow).map_err(wrong)?;
    }
    for (own, new) in &rules.rename {
        seen = seen.rename(own, new);
    }
    for (own, text) in &rules.describe {
        seen = seen.describe(own, text);
    }
    Ok(seen)
}
