//! A walk through folders in a fixed order: a directory, then what is in it, by name. Resumable, bounded, never through
//! links. Decides what is left out (hidden, ignored, excluded); not what is looked for.

use std::{
    ffi::{OsStr, OsString},
    ops::Bound,
    path::{Path, PathBuf},
    vec,
};

use super::{
    FilesError, Folders, Kind, Limits,
    glob::Patterns,
    ignored::Ignores,
    listing::{self, Entry},
    pace::Pace,
    place::Place,
    spot::Spot,
};

/// Names of one directory held at a time; a larger directory is read again for the next ones.
const HELD: usize = 16_384;

/// What is left out.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// Hidden entries are in.
    pub(crate) hidden: bool,
    /// What `.gitignore` files name is in, and so is `.git`.
    pub(crate) ignored: bool,
    pub(crate) exclude: Patterns,
}

impl Filter {
    /// `start` is the path below the folder that the patterns are relative to.
    pub(crate) fn skips(
        &self,
        start: &Path,
        place: &Place<'_>,
        kind: Kind,
        ignores: &Ignores,
    ) -> bool {
        let below = place.below();
        let name = below.file_name().unwrap_or_default();
        if !self.hidden && name.as_encoded_bytes().starts_with(b".") {
            return true;
        }
        let is_directory = kind == Kind::Directory;
        if !self.ignored && (name == ".git" || ignores.exclude(below, is_directory)) {
            return true;
        }
        self.exclude
            .any_matches(below.strip_prefix(start).unwrap_or(below), kind)
    }

    /// The rules inside `place`, not read where they do not count.
    pub(crate) fn enter(&self, ignores: &Ignores, place: &Place<'_>) -> Ignores {
        if self.ignored {
            ignores.clone()
        } else {
            ignores.enter(place)
        }
    }

    pub(crate) fn above(&self, place: &Place<'_>) -> Ignores {
        if self.ignored {
            Ignores::default()
        } else {
            Ignores::above(place)
        }
    }
}

/// A position in the walk: the number of the folder and a path below it.
pub(crate) type Position = (usize, PathBuf);

/// Why a walk ended before its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    Time,
    Visited,
}

/// What a walk met besides what it gave.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Entries looked at.
    pub(crate) visited: usize,
    /// Hidden and ignored entries.
    pub(crate) skipped: usize,
    /// Directories that could not be looked into, or lie too deep.
    pub(crate) unread: usize,
    pub(crate) stopped: Option<Stop>,
    /// The last entry looked at, where the next walk can go on.
    pub(crate) last: Option<Position>,
}

impl Tally {
    /// The sentences for the answer: what it does not cover, and why.
    pub(crate) fn notes(&self, limits: &Limits) -> Vec<String> {
        let mut notes = Vec::new();
        match self.stopped {
            Some(Stop::Time) => notes.push(format!(
                "Stopped after {} s, before everything was looked at: give a narrower `path`.",
                limits.time.as_secs()
            )),
            Some(Stop::Visited) => notes.push(format!(
                "Stopped after {} entries, before everything was looked at: give a narrower `path`.",
                self.visited
            )),
            None => {}
        }
        if self.unread > 0 {
            notes.push(format!(
                "{} could not be read (no permission, or too deep).",
                super::show::count(self.unread, "directory", "directories")
            ));
        }
        notes
    }
}

/// Something on the way.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) kind: Kind,
    /// The path from where the walk started, as patterns see it.
    pub(crate) from_start: PathBuf,
}

pub(crate) struct Walk<'a> {
    starts: vec::IntoIter<Place<'a>>,
    /// Whether a start that cannot be read is an error or just one of several.
    only: bool,
    start: PathBuf,
    frames: Vec<Frame<'a>>,
    filter: &'a Filter,
    after: Option<Position>,
    limits: &'a Limits,
    pace: &'a Pace<'a>,
    tally: Tally,
}

/// A directory on the way down.
struct Frame<'a> {
    place: Place<'a>,
    entries: vec::IntoIter<Entry>,
    /// Where to read on when the entries in memory are used up and there are more.
    resume: Option<OsString>,
    ignores: Ignores,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        folders: &'a Folders,
        spot: Spot<'a>,
        filter: &'a Filter,
        after: Option<Position>,
        pace: &'a Pace<'a>,
    ) -> Self {
        let mut starts = spot.starts();
        let only = starts.len() == 1;
        if let Some((index, _)) = &after {
            starts.retain(|start| start.index() >= *index);
        }
        Self {
            starts: starts.into_iter(),
            only,
            start: PathBuf::new(),
            frames: Vec::new(),
            filter,
            after,
            limits: folders.limits(),
            pace,
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(self) -> Tally {
        self.tally
    }

    /// The next entry; nothing at the end or when the tally says why it stopped.
    pub(crate) fn next(&mut self) -> Result<Option<Found<'a>>, FilesError> {
        loop {
            if self.tally.stopped.is_some() {
                return Ok(None);
            }
            if !self.pace.go_on()? {
                self.tally.stopped = Some(Stop::Time);
                return Ok(None);
            }
            let Some(frame) = self.frames.last_mut() else {
                match self.begin()? {
                    Begun::File(found) => return Ok(Some(found)),
                    Begun::Directory => continue,
                    Begun::Nothing => return Ok(None),
                }
            };
            let Some(entry) = frame.entries.next() else {
                self.refill_or_leave()?;
                continue;
            };
            if self.tally.visited >= self.limits.visited {
                self.tally.stopped = Some(Stop::Visited);
                return Ok(None);
            }
            if let Some(found) = self.visit(&entry)? {
                return Ok(Some(found));
            }
        }
    }

    fn visit(&mut self, entry: &Entry) -> Result<Option<Found<'a>>, FilesError> {
        let Some(frame) = self.frames.last() else {
            return Ok(None);
        };
        let place = frame.place.join(&entry.name);
        let ignores = frame.ignores.clone();
        let given_before = self.is_up_to_after(&place);
        // The way back to where the last walk ended does not count, or short walks would never get beyond it.
        if !given_before {
            self.tally.visited += 1;
            self.tally.last = Some((place.index(), place.below().to_owned()));
        }
        if self.filter.skips(&self.start, &place, entry.kind, &ignores) {
            self.tally.skipped += usize::from(!given_before);
            return Ok(None);
        }
        if entry.kind == Kind::Directory {
            self.descend(&place, &ignores)?;
        }
        let from_start = place
            .below()
            .strip_prefix(&self.start)
            .unwrap_or_else(|_| place.below())
            .to_owned();
        Ok((!given_before).then_some(Found {
            place,
            kind: entry.kind,
            from_start,
        }))
    }

    /// Starts with the next folder or file.
    fn begin(&mut self) -> Result<Begun<'a>, FilesError> {
        let Some(place) = self.starts.next() else {
            return Ok(Begun::Nothing);
        };
        self.start = place.below().to_owned();
        let metadata = match place.metadata() {
            Ok(metadata) => metadata,
            Err(error) if self.only => return Err(error),
            Err(_) => {
                self.tally.unread += 1;
                return Ok(Begun::Directory);
            }
        };
        if metadata.is_file() {
            if self.is_up_to_after(&place) {
                return Ok(Begun::Nothing);
            }
            self.tally.visited += 1;
            let from_start = place
                .below()
                .file_name()
                .map(PathBuf::from)
                .unwrap_or_default();
            return Ok(Begun::File(Found {
                place,
                kind: Kind::File,
                from_start,
            }));
        }
        let ignores = self.filter.above(&place);
        match self.open(&place, &ignores) {
            Ok(frame) => self.frames.push(frame),
            Err(error) if self.only || matches!(error, FilesError::Cancelled) => return Err(error),
            Err(_) => self.tally.unread += 1,
        }
        Ok(Begun::Directory)
    }

    fn descend(&mut self, place: &Place<'a>, ignores: &Ignores) -> Result<(), FilesError> {
        if self.frames.len() >= self.limits.depth {
            self.tally.unread += 1;
            return Ok(());
        }
        match self.open(place, ignores) {
            Ok(frame) => self.frames.push(frame),
            Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
            // Gone since its name was read.
            Err(error) if error.is_missing() => {}
            Err(_) => self.tally.unread += 1,
        }
        Ok(())
    }

    fn refill_or_leave(&mut self) -> Result<(), FilesError> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let Some(resume) = frame.resume else {
            return Ok(());
        };
        match self.read(&frame.place, Bound::Excluded(&resume)) {
            Ok((entries, resume)) => self.frames.push(Frame {
                entries,
                resume,
                ..frame
            }),
            Err(FilesError::Cancelled) => return Err(FilesError::Cancelled),
            Err(_) => self.tally.unread += 1,
        }
        Ok(())
    }

    fn open(&mut self, place: &Place<'a>, above: &Ignores) -> Result<Frame<'a>, FilesError> {
        let next = self.next_towards_after(place);
        let from = next.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let (entries, resume) = self.read(place, from)?;
        Ok(Frame {
            place: place.clone(),
            entries,
            resume,
            ignores: self.filter.enter(above, place),
        })
    }

    fn read(
        &mut self,
        place: &Place<'a>,
        from: Bound<&OsStr>,
    ) -> Result<(vec::IntoIter<Entry>, Option<OsString>), FilesError> {
        let listing = listing::list(place, from, HELD, &|_| true, self.pace)?;
        if !listing.whole {
            self.tally.stopped = Some(Stop::Time);
        }
        let resume = listing
            .entries
            .last()
            .filter(|_| listing.left > 0)
            .map(|entry| entry.name.clone());
        Ok((listing.entries.into_iter(), resume))
    }

    /// The entry of `place` that the position to go on after is, or lies in.
    fn next_towards_after(&self, place: &Place<'_>) -> Option<OsString> {
        let (index, after) = self.after.as_ref()?;
        if place.index() != *index {
            return None;
        }
        let rest = after.strip_prefix(place.below()).ok()?;
        rest.components()
            .next()
            .map(|part| part.as_os_str().to_owned())
    }

    fn is_up_to_after(&self, place: &Place<'_>) -> bool {
        self.after.as_ref().is_some_and(|(index, after)| {
            place.index() == *index && after.starts_with(place.below())
        })
    }
}

/// What the next start turned out to be.
enum Begun<'a> {
    Directory,
    File(Found<'a>),
    Nothing,
}
