//! The revision square: a client pinned to each revision against a server pinned to each, over every transport. What comes of it
//! stands in `docs/revisions.md`; `UPDATE_GOLDEN=1` writes it anew.

pub(crate) mod features;

use std::fmt::Write as _;

use polyport::{Revision, Revisions};

use features::{FEATURES, TRANSPORTS, answering, hold, serve, server, works};

/// Connects over a transport, and says what works or why not.
async fn cell(
    transport: &str,
    ours: Revision,
    theirs: Revision,
) -> Result<Vec<&'static str>, String> {
    let speaks = |revision| Revisions::NONE.with(revision);
    let service = server().into_service().speaks(speaks(theirs));
    let (connect, serving) = serve(service, transport).await;
    let connected = answering(connect, speaks(ours)).connect().await;
    let cell = match connected {
        Ok(client) => {
            assert_eq!(client.opened().revision, ours);
            let seen = works(&client).await;
            client.close().await;
            Ok(seen)
        }
        Err(error) => Err(error.to_string()),
    };
    serving.end().await;
    cell
}

/// The page as it should be.
async fn page() -> String {
    let mut page = String::from(PREFACE);
    let mut errors: Vec<String> = Vec::new();
    for transport in TRANSPORTS {
        let names = Revision::ALL.map(Revision::name);
        write!(
            page,
            "\n## {transport}\n\n| client \\\\ server | {} |\n",
            names.join(" | ")
        )
        .unwrap();
        page.push_str("|---|---|---|---|---|---|\n");
        for ours in Revision::ALL {
            write!(page, "| {} |", ours.name()).unwrap();
            for theirs in Revision::ALL {
                let shown = match cell(transport, ours, theirs).await {
                    Ok(seen) => {
                        let missing: Vec<_> =
                            FEATURES.into_iter().filter(|f| !seen.contains(f)).collect();
                        match missing[..] {
                            [] => "everything".to_owned(),
                            _ => format!("all but {}", missing.join(", ")),
                        }
                    }
                    Err(error) => {
                        let at = errors.iter().position(|known| *known == error);
                        let at = at.unwrap_or_else(|| {
                            errors.push(error);
                            errors.len() - 1
                        });
                        format!("({})", at + 1)
                    }
                };
                write!(page, " {shown} |").unwrap();
            }
            page.push('\n');
        }
    }
    page.push_str("\n## What the client is told\n\n");
    for (at, error) in errors.iter().enumerate() {
        writeln!(page, "{}. {error}", at + 1).unwrap();
    }
    page
}

const PREFACE: &str = "# The revision square

What works between our client that speaks one revision only and our server that speaks one revision only. Neither is like that unless told:
both speak all five, and meet in the newest that both have. A test writes this page and holds it.

\"Everything\" are lists, calls, structured results, resources, prompts, progress, and questions in the middle of a call: forms, pages,
sampling, roots. What is missing, the revision does not have.
";

// req: S-SQUARE
#[tokio::test]
async fn the_page_says_what_is_so() {
    hold("revisions.md", &page().await);
}
