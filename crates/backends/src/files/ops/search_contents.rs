//! `search_contents`: lines that match a pattern, in one file or below a directory. The searching of one file is in `grep`.

mod grep;
mod pattern;

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    grep::{End, Grep, Mark},
    pattern::Matcher,
};
use super::{
    super::{
        Count, FilesError, Folders, Kind, args,
        glob::{Pattern, Patterns},
        pace::Pace,
        place::Place,
        show,
        spot::Spot,
        walk::{Filter, Walk},
    },
    ToText, position_after, with_notes,
};

/// Matching lines in one answer unless the caller says otherwise.
const USUAL: usize = 100;

/// Most lines of context on each side.
const CONTEXT: usize = 20;

/// Searches text files line by line for a regular expression (no look-around or back-references) or literal text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SearchContents {
    /// File or directory to search; everything if left out.
    #[serde(default = "args::everything")]
    pub path: String,
    /// What to look for.
    pub pattern: String,
    /// The pattern is text and not a regular expression.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// Capitals and small letters are the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_case: bool,
    /// Only files that match this glob, such as `*.py`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub glob: Option<String>,
    /// Globs of what to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_patterns: Vec<String>,
    /// Lines to show before and after each match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub context_lines: Option<Count>,
    /// Most matching lines to show (100).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub max_matches: Option<Count>,
    /// Also names that begin with a dot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_hidden: bool,
    /// Also what `.gitignore` leaves out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_ignored: bool,
    /// Go on after this `path:line`, when an answer was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub after: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchContentsResult {
    /// Files with matches, in the order of a walk.
    pub files: Vec<FileMatches>,
    /// Matching lines in the answer.
    pub matches: usize,
    /// Text files that were searched.
    pub files_searched: usize,
    /// What is not in the answer, and how to get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The matches in one file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMatches {
    /// The file.
    pub path: String,
    /// Matching lines and those around them.
    pub lines: Vec<MatchLine>,
}

/// A line.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its text; a long one is cut around the match, marked with `…`.
    pub text: String,
    /// False for a line that is only shown because it is next to a match.
    pub matched: bool,
}

/// Searches contents.
pub fn search_contents(
    folders: &Folders,
    args: &SearchContents,
    cancelled: &dyn Fn() -> bool,
) -> Result<SearchContentsResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    let matcher = Matcher::new(args)?;
    let glob = args
        .glob
        .as_deref()
        .map(|glob| Pattern::new("glob", glob))
        .transpose()?;
    let filter = Filter {
        hidden: args.include_hidden || glob.as_ref().is_some_and(Pattern::asks_hidden),
        ignored: args.include_ignored,
        exclude: Patterns::new("excludePatterns", &args.exclude_patterns)?,
    };
    let most = args
        .max_matches
        .map_or(USUAL, Count::as_usize)
        .min(limits.matches);
    let mut grep = Grep::new(matcher, args.context()?, most, limits, &pace);
    let spot = Spot::of_path(folders, &args.path)?;
    let resumed = args
        .after
        .as_deref()
        .map(|after| resume(folders, &spot, after))
        .transpose()?;
    let mut end = End::Open;
    let mut position = None;
    if let Some((place, mark)) = resumed {
        position = Some((place.index(), place.below().to_owned()));
        end = grep.search(&place, mark)?;
    }
    let mut walk = Walk::new(folders, spot, &filter, position, &pace);
    while end == End::Open {
        let Some(found) = walk.next()? else {
            break;
        };
        let is_wanted = found.kind == Kind::File
            && glob
                .as_ref()
                .is_none_or(|glob| glob.matches(&found.from_start, Kind::File));
        if is_wanted {
            end = grep.search(&found.place, Mark::default())?;
        }
    }
    let tally = walk.tally();
    let sent = args.after.as_deref();
    let to_go_on = grep.to_go_on(sent);
    let mut result = grep.finish(end, sent);
    if result.files.is_empty() && end == End::Open {
        result.notes.insert(
            0,
            nothing_matched(args, result.files_searched, tally.skipped),
        );
    }
    result.notes.extend(tally.notes(limits));
    if let Some(after) = to_go_on.filter(|_| end == End::Open && tally.stopped.is_some()) {
        result.notes.push(format!("Or go on with after={after}."));
    }
    Ok(result)
}

impl SearchContents {
    fn context(&self) -> Result<usize, FilesError> {
        let lines = self.context_lines.map_or(0, Count::as_usize);
        if lines > CONTEXT {
            return Err(FilesError::invalid(
                "contextLines",
                format!("at most {CONTEXT}. read_text_file shows more."),
            ));
        }
        Ok(lines)
    }
}

/// The file and line that a cut answer named.
fn resume<'a>(
    folders: &'a Folders,
    spot: &Spot<'a>,
    after: &str,
) -> Result<(Place<'a>, Mark), FilesError> {
    let refused =
        || FilesError::invalid("after", "send the `path:line` that the cut answer named.");
    let (path, line) = after.rsplit_once(':').ok_or_else(refused)?;
    let mark = Mark::parse(line).ok_or_else(refused)?;
    position_after(folders, spot, Some(path))?;
    let place = Spot::of_path(folders, path)?.place()?;
    // A file that is gone is no fault: the search goes on behind its place.
    if place.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(refused());
    }
    Ok((place, mark))
}

fn nothing_matched(args: &SearchContents, searched: usize, skipped: usize) -> String {
    let files = show::count(searched, "text file", "text files");
    let mut note = format!(
        "No line matches {} in {files}.",
        show::quoted(&args.pattern)
    );
    if skipped > 0 {
        let entries = show::count(skipped, "entry was", "entries were");
        let _ = write!(
            note,
            " {entries} left out as hidden, ignored or excluded (includeHidden, includeIgnored)."
        );
    }
    note
}

impl ToText for SearchContentsResult {
    fn to_text(&self) -> String {
        let mut text = String::new();
        for FileMatches { path, lines } in &self.files {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{path}");
            let mut before = None;
            let has_context = lines.iter().any(|line| !line.matched);
            for MatchLine {
                line,
                text: content,
                matched,
            } in lines
            {
                if has_context && before.is_some_and(|before| before + 1 < *line) {
                    text.push_str("  --\n");
                }
                before = Some(*line);
                let _ = writeln!(
                    text,
                    "  {line}{} {content}",
                    if *matched { ':' } else { '-' }
                );
            }
        }
        with_notes(&text, &self.notes)
    }
}
