//! `copy_file`: the same contents at another path, never over something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        FilesError, Folders,
        carry::{self, Goal},
        pace::Pace,
        show,
        slot::Slot,
        tree::Job,
    },
    ToText, move_file,
};

/// Copies a file, or a directory with what it holds. Nothing is overwritten: the destination must not exist.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CopyFile {
    /// The file or directory.
    pub source: String,
    /// The path of the copy.
    pub destination: String,
}

/// What was copied.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopyFileResult {
    /// The original.
    pub source: String,
    /// The copy.
    pub destination: String,
    /// Files and directories.
    pub entries: usize,
    /// Bytes in them.
    pub size: u64,
    /// Links in a directory, which are left out.
    #[serde(default, skip_serializing_if = "is_none")]
    pub links_left_out: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_none(number: &usize) -> bool {
    *number == 0
}

/// Copies.
pub fn copy_file(
    folders: &Folders,
    args: &CopyFile,
    cancelled: &dyn Fn() -> bool,
) -> Result<CopyFileResult, FilesError> {
    let limits = folders.limits();
    let pace = Pace::new(limits, cancelled);
    pace.must_go_on(|| args.source.clone())?;
    let from = Slot::to_copy(folders, "source", &args.source)?;
    let to = Slot::to_make(folders, "destination", &args.destination)?;
    let keys = vec![from.key(), to.key()];
    let _turn = folders.turns().take(keys, &pace, || from.shown())?;
    move_file::expect_movable(&from, &to)?;
    let goal = Goal {
        dir: to.dir(),
        name: to.name(),
        fault: &|error| to.fault(error),
    };
    let mut job = Job::new(&from, limits, &pace);
    carry::copy(&mut job, &goal)?;
    Ok(CopyFileResult {
        source: from.shown(),
        destination: to.shown(),
        entries: job.extent.entries,
        size: job.extent.bytes,
        links_left_out: job.extent.links,
    })
}

impl ToText for CopyFileResult {
    fn to_text(&self) -> String {
        let (from, to) = (
            show::one_line(&self.source),
            show::one_line(&self.destination),
        );
        let size = show::size(self.size);
        let mut text = match self.entries {
            1 => format!("Copied {from} to {to}: {size}."),
            many => format!("Copied {from} to {to}: {size} in {many} entries."),
        };
        if self.links_left_out > 0 {
            let links = show::count(self.links_left_out, "link was", "links were");
            text += &format!(" {links} left out.");
        }
        text
    }
}
