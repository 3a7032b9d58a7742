//! Every bound of the files back-end in one place. What is done at a bound stands with each.

use std::time::Duration;

/// How much one answer may hold and how much work one call may do.
///
/// A cut answer is never an error: it says that it was cut and how to get the rest. What is written is never cut: it is
/// written whole or not at all. A knob set to zero gives answers that are always cut; no knob has an "unlimited" value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of file text in one answer of `read_text_file`, and in all files of `read_multiple_files` together.
    /// Default 64 KiB, about 16,000 tokens. At the bound the text ends with a whole line where one fits.
    pub text_bytes: usize,
    /// Bytes of a file that `read_media_file` or a resource read may return. Default 8 MiB, which is 11 MiB in base64
    /// and so fits the 16 MiB line of stdio. A larger file is refused with its size.
    pub media_bytes: u64,
    /// Size up to which the lines of a text are counted, to say "of N lines". Default 16 MiB; a larger file is read
    /// without a total.
    pub count_bytes: u64,
    /// Bytes that are skipped to reach the line asked for. Default 256 MiB; a line farther in is refused, naming `tail`
    /// and `search_contents`.
    pub scan_bytes: u64,
    /// Paths in one call of `read_multiple_files`. Default 50; more are refused.
    pub paths: usize,
    /// Entries in one answer of `list_directory`. Default 1,000; the answer names the entry to go on after.
    pub listed: usize,
    /// Bytes of names and paths in one answer of `list_directory`, `directory_tree` and `search_files`, and on one page of
    /// resources. Default 256 KiB, which only very long names reach; the answer is cut there as at the number of entries.
    pub listed_bytes: usize,
    /// Entries in one `directory_tree`. Default 1,000; folders that no longer fit say how many entries they hold.
    pub tree_entries: usize,
    /// Levels of one `directory_tree`, whatever the caller asks. Default 16, as results nest that deep.
    pub tree_depth: usize,
    /// Paths in one answer of `search_files`. Default 500; the answer names the path to go on after.
    pub found: usize,
    /// Matching lines in one answer of `search_contents`, whatever the caller asks. Default 1,000; 100 unless asked.
    pub matches: usize,
    /// Bytes of lines in one answer of `search_contents`. Default 32 KiB; the answer names the line to go on after.
    pub match_bytes: usize,
    /// Bytes shown of one line in `search_contents`. Default 400, taken around the match and marked where cut.
    pub match_line: usize,
    /// Entries that one walk through folders looks at. Default 200,000; the answer says that the walk ended there.
    pub visited: usize,
    /// Levels that a walk goes down. Default 128; deeper folders are counted as not looked into.
    pub depth: usize,
    /// Time one call may take. Default 20 s; the answer has what was found by then and says so.
    pub time: Duration,
    /// Bytes of a file that `write_file` or `edit_file` may make, and of one that `edit_file` may change. Default 8 MiB; more
    /// is refused.
    pub write_bytes: usize,
    /// Edits in one call of `edit_file`. Default 100; more are refused.
    pub edits: usize,
    /// Bytes of the diff that `edit_file` shows. Default 16 KiB; at the bound it ends with a whole line and says so.
    pub diff_bytes: usize,
    /// Bytes that one `copy_file` may copy, or one `move_file` where the disk cannot move. Default 256 MiB; what has more is
    /// refused, and nothing is left of the copy.
    pub copy_bytes: u64,
    /// Files and directories in one such copy, and in what `delete_file` deletes. Default 10,000; what has more is refused.
    pub copy_entries: usize,
    /// Bytes in the trash of a folder, each file and directory counted as 4 KiB more than it holds. Default 256 MiB. Beyond
    /// it the oldest deletions are emptied; what is larger by itself is not deleted.
    pub trash_bytes: u64,
    /// Deletions in the trash of a folder. Default 1,000; beyond it the oldest are emptied.
    pub trash_entries: usize,
    /// Directories that are watched for the sake of subscriptions: those of files and all above them in their folder. Default 1,000; a subscription that needs one more is refused.
    /// As many again, the upper ones first, are watched while somebody wants to hear of changes of the list of files. What our own
    /// tools add or remove beyond them is told all the same; what other programs do there is not, and the log says so.
    pub watched_directories: usize,
    /// Resources on one page of a list, and entries looked at before a page may end early is [`Limits::visited`].
    /// Default 500.
    pub page: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes: 64 * 1024,
            media_bytes: 8 * 1024 * 1024,
            count_bytes: 16 * 1024 * 1024,
            scan_bytes: 256 * 1024 * 1024,
            paths: 50,
            listed: 1_000,
            listed_bytes: 256 * 1024,
            tree_entries: 1_000,
            tree_depth: 16,
            found: 500,
            matches: 1_000,
            match_bytes: 32 * 1024,
            match_line: 400,
            visited: 200_000,
            depth: 128,
            time: Duration::from_secs(20),
            write_bytes: 8 * 1024 * 1024,
            edits: 100,
            diff_bytes: 16 * 1024,
            copy_bytes: 256 * 1024 * 1024,
            copy_entries: 10_000,
            trash_bytes: 256 * 1024 * 1024,
            trash_entries: 1_000,
            watched_directories: 1_000,
            page: 500,
        }
    }
}
