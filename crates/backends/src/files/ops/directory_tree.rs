//! `directory_tree`: a directory and what lies below it, level by level until there is no more room.

use std::{cell::Cell, collections::VecDeque, ops::Bound, path::Path, rc::Rc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Count, FilesError, Folders, Kind, args, glob::Patterns, ignored::Ignores, listing,
        pace::Pace, place::Place, show, spot::Spot, walk::Filter,
    },
    ToText, with_notes,
};

/// Shows a directory as a tree. Upper levels come first when not everything fits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DirectoryTree {
    /// The directory; everything if left out.
    #[serde(default = "args::everything")]
    pub path: String,
    /// Globs of what to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_patterns: Vec<String>,
    /// Most levels to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Count")]
    pub max_depth: Option<Count>,
    /// Also names that begin with a dot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_hidden: bool,
    /// Also what `.gitignore` leaves out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_ignored: bool,
}

/// The tree.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryTreeResult {
    /// The directory.
    pub path: String,
    /// What it holds.
    pub children: Vec<TreeNode>,
    /// Entries directly in it that are not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_shown: usize,
    /// What is not in the answer, and how to get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An entry of the tree.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// Its name; a `file://` URI, to be used as a path, if the name is no plain text.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What a directory holds; left out if it was not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<Self>>,
    /// Entries directly in it that are not shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_shown: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Shows a tree.
pub fn directory_tree(
    folders: &Folders,
    args: &DirectoryTree,
    cancelled: &dyn Fn() -> bool,
) -> Result<DirectoryTreeResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    let filter = Filter {
        hidden: args.include_hidden,
        ignored: args.include_ignored,
        exclude: Patterns::new("excludePatterns", &args.exclude_patterns)?,
    };
    let mut growth = Growth {
        filter: &filter,
        pace: &pace,
        most: (limits.tree_entries / 4).max(1),
        room: limits.tree_entries,
        room_bytes: limits.listed_bytes,
        depth: args.max_depth.map_or(limits.tree_depth, |depth| {
            depth.as_usize().min(limits.tree_depth)
        }),
        nodes: Vec::new(),
        waiting: VecDeque::new(),
        skipped: Cell::new(0),
        unread: 0,
        unopened: 0,
        time_up: false,
    };
    let path = growth.plant(Spot::of_path(folders, &args.path)?)?;
    growth.grow()?;
    let notes = growth.notes(folders);
    let mut nodes: Vec<Option<Node>> = growth.nodes.into_iter().map(Some).collect();
    let root = build(0, &mut nodes).ok_or_else(|| folders.missing(&args.path))?;
    Ok(DirectoryTreeResult {
        path,
        children: root.children.unwrap_or_default(),
        not_shown: root.not_shown,
        notes,
    })
}

/// A tree in the making: nodes by number, since their children come later.
struct Growth<'a> {
    filter: &'a Filter,
    pace: &'a Pace<'a>,
    /// Entries of one directory, so that a large one leaves room for others.
    most: usize,
    room: usize,
    /// The same in bytes of names.
    room_bytes: usize,
    depth: usize,
    nodes: Vec<Node>,
    waiting: VecDeque<Branch<'a>>,
    skipped: Cell<usize>,
    unread: usize,
    unopened: usize,
    time_up: bool,
}

struct Node {
    name: String,
    kind: Kind,
    children: Option<Vec<usize>>,
    not_shown: usize,
}

/// A directory whose turn to be looked into will come.
struct Branch<'a> {
    node: usize,
    place: Place<'a>,
    /// Where patterns start.
    start: Rc<Path>,
    ignores: Ignores,
    depth: usize,
}

impl<'a> Growth<'a> {
    /// The root: a directory, or all folders.
    fn plant(&mut self, spot: Spot<'a>) -> Result<String, FilesError> {
        self.nodes.push(Node {
            name: String::new(),
            kind: Kind::Directory,
            children: None,
            not_shown: 0,
        });
        match spot {
            Spot::At(place) => {
                let path = place.shown();
                let (start, ignores) = (place.below().into(), self.filter.above(&place));
                let root = Branch {
                    node: 0,
                    place,
                    start,
                    ignores,
                    depth: 0,
                };
                self.open(&root)?;
                Ok(path)
            }
            Spot::Top(folders) => {
                let (start, ignores) = (Rc::from(Path::new("")), Ignores::default());
                let roots = Place::roots(folders).into_iter();
                let numbers = roots
                    .map(|place| self.add(place, Kind::Directory, &start, &ignores, 1))
                    .collect();
                self.nodes[0].children = Some(numbers);
                Ok(".".into())
            }
        }
    }

    /// Looks into one directory after another, level by level.
    fn grow(&mut self) -> Result<(), FilesError> {
        while let Some(branch) = self.waiting.pop_front() {
            if self.time_up || self.room == 0 || branch.depth >= self.depth {
                self.unopened += 1;
                continue;
            }
            match self.open(&branch) {
                Ok(()) => {}
                Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
                Err(error) if error.is_missing() => {}
                Err(_) => self.unread += 1,
            }
        }
        Ok(())
    }

    fn open(&mut self, branch: &Branch<'a>) -> Result<(), FilesError> {
        let ignores = self.filter.enter(&branch.ignores, &branch.place);
        let (filter, skipped) = (self.filter, &self.skipped);
        let keep = |entry: &listing::Entry| {
            let skips = filter.skips(
                &branch.start,
                &branch.place.join(&entry.name),
                entry.kind,
                &ignores,
            );
            skipped.set(skipped.get() + usize::from(skips));
            !skips
        };
        let most = self.most.min(self.room);
        let mut listing = listing::list(&branch.place, Bound::Unbounded, most, &keep, self.pace)?;
        self.time_up |= !listing.whole;
        let fitting = self.fitting(&branch.place, &listing.entries);
        listing.left += listing.entries.len() - fitting;
        listing.entries.truncate(fitting);
        self.room -= listing.entries.len();
        let depth = branch.depth + 1;
        let places = listing
            .entries
            .iter()
            .map(|entry| (branch.place.join(&entry.name), entry.kind));
        let numbers = places
            .map(|(place, kind)| self.add(place, kind, &branch.start, &ignores, depth))
            .collect();
        let node = &mut self.nodes[branch.node];
        node.children = Some(numbers);
        node.not_shown = listing.left;
        Ok(())
    }

    /// How many of the entries there is room for by the length of their names.
    fn fitting(&mut self, place: &Place<'_>, entries: &[listing::Entry]) -> usize {
        for (number, entry) in entries.iter().enumerate() {
            let length = place.join(&entry.name).shown_name().len();
            if length > self.room_bytes {
                self.room = number;
                return number;
            }
            self.room_bytes -= length;
        }
        entries.len()
    }

    fn add(
        &mut self,
        place: Place<'a>,
        kind: Kind,
        start: &Rc<Path>,
        ignores: &Ignores,
        depth: usize,
    ) -> usize {
        let number = self.nodes.len();
        let name = place.shown_name();
        if kind == Kind::Directory {
            let (start, ignores) = (start.clone(), ignores.clone());
            self.waiting.push_back(Branch {
                node: number,
                place,
                start,
                ignores,
                depth,
            });
        }
        self.nodes.push(Node {
            name,
            kind,
            children: None,
            not_shown: 0,
        });
        number
    }

    fn notes(&self, folders: &Folders) -> Vec<String> {
        let mut notes = Vec::new();
        if self.time_up {
            notes.push(format!(
                "Stopped after {} s: give a narrower `path`.",
                folders.limits().time.as_secs()
            ));
        }
        if self.unopened > 0 {
            let directories = show::count(self.unopened, "directory was", "directories were");
            notes.push(format!(
                "{directories} not looked into (marked …): ask for each by its `path`."
            ));
        }
        if self.unread > 0 {
            notes.push(format!(
                "{} could not be read.",
                show::count(self.unread, "directory", "directories")
            ));
        }
        if self.skipped.get() > 0 {
            let entries = show::count(self.skipped.get(), "entry was", "entries were");
            notes.push(format!(
                "{entries} left out as hidden, ignored or excluded (includeHidden, includeIgnored)."
            ));
        }
        if self.nodes.iter().any(|node| node.not_shown > 0) {
            notes.push("list_directory shows all entries of one directory.".into());
        }
        notes
    }
}

/// The finished node; each is taken once.
fn build(number: usize, nodes: &mut [Option<Node>]) -> Option<TreeNode> {
    let Node {
        name,
        kind,
        children,
        not_shown,
        ..
    } = nodes.get_mut(number)?.take()?;
    let children = children.map(|numbers| {
        numbers
            .into_iter()
            .filter_map(|number| build(number, nodes))
            .collect()
    });
    Some(TreeNode {
        name,
        kind,
        children,
        not_shown,
    })
}

impl ToText for DirectoryTreeResult {
    fn to_text(&self) -> String {
        let mut text = format!("{}/\n", self.path.trim_end_matches('/'));
        append(&self.children, self.not_shown, 1, &mut text);
        with_notes(&text, &self.notes)
    }
}

fn append(nodes: &[TreeNode], not_shown: usize, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for TreeNode {
        name,
        kind,
        children,
        not_shown,
    } in nodes
    {
        let mark = match (kind, children) {
            (Kind::Directory, Some(_)) => "/",
            (Kind::Directory, None) => "/ …",
            (Kind::Link, _) => " (link)",
            (Kind::Other, _) => " (not a file)",
            (Kind::File, _) => "",
        };
        text.extend([&indent, name, mark, "\n"]);
        append(
            children.as_deref().unwrap_or_default(),
            *not_shown,
            depth + 1,
            text,
        );
    }
    if not_shown > 0 {
        text.push_str(&format!("{indent}… {not_shown} more\n"));
    }
}
