//! The keys of a file, with which replicas open what one of them has sealed. Nothing of what is in the file is ever shown.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use polyport::SealKey;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use crate::failure::Failure;
use crate::ui;

/// A file of keys is not longer.
const MAX_BYTES: u64 = 64 << 10;
const FORM: &str =
    "a key is 32 random bytes in base64 or hexadecimal, one a line: openssl rand -base64 32";

/// Reads them: the first seals, all of them open.
///
/// # Errors
/// The file cannot be read, others may read or change it, or a line is no key.
pub(super) fn read(path: &Path) -> Result<Vec<SealKey>, Failure> {
    let shown = ui::path(path);
    let unreadable = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
            io::ErrorKind::InvalidData => "it is not text".to_owned(),
            _ => error.to_string(),
        };
        Failure::usage(format!("cannot read the keys in {shown}: {why}"))
    };
    // A pipe that nobody writes to is not waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let stat = fstat(&file).map_err(|error| unreadable(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Failure::usage(format!("the keys in {shown} are in no file")).hint(FORM));
    }
    let theirs = Mode::from_raw_mode(stat.st_mode) & (Mode::ROTH | Mode::WOTH | Mode::WGRP);
    if !theirs.is_empty() {
        return Err(Failure::usage(format!(
            "others than its owner may read or change the keys in {shown} (mode {:03o})",
            stat.st_mode & 0o777
        ))
        .hint(format!(
            "chmod 600 {shown}; its group may read it, too (640)"
        )));
    }
    let mut text = String::new();
    let read = File::from(file)
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text);
    if read.map_err(unreadable)? as u64 > MAX_BYTES {
        return Err(Failure::usage(format!(
            "the file of keys {shown} is longer than {} KiB",
            MAX_BYTES >> 10
        ))
        .hint(FORM));
    }
    SealKey::read_all(&text).map_err(|line| {
        let what = match line {
            0 => format!("there is no key in {shown}"),
            line => format!("line {line} of {shown} is no key"),
        };
        Failure::usage(what).hint(FORM)
    })
}
