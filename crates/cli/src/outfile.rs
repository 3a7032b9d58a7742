//! Files that a verb writes because it was told to. Opening one never waits: a pipe that nobody reads is refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};

/// Opens a file to be written anew; one that is made gets this mode.
///
/// # Errors
/// Those of the system.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            io::Error::other("it is a pipe that nobody reads")
        } else {
            error
        }
    })?;
    // Writing may wait for whoever reads.
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}
