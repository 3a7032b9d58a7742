//! Where a result goes and in what form: standard output or a file; for people, as the document of the protocol, or what a filter makes
//! of that. A reader that is gone ends the program quietly.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use polyport::Raw;
use polyport_backends::files::mime;

use crate::failure::Failure;
use crate::render::Part;
use crate::{jq, outfile, paint, ui};

/// The document of a result, or what a filter makes of it.
#[derive(Debug, Args)]
pub(crate) struct Document {
    /// Print one JSON document: what the server sent, untouched
    #[arg(long)]
    json: bool,
    /// Print what a filter of jq makes of it, texts without quotes
    #[arg(long, value_name = "FILTER")]
    jq: Option<String>,
}

/// The same, and into which file.
#[derive(Debug, Args)]
pub(crate) struct Printing {
    #[command(flatten)]
    document: Document,
    /// Write the result to this file, in place of what is there: text, or a picture; more of them beside it, as FILE-2
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Document {
    /// Is it what is wanted? Looks at the filter first, before anything is asked of anybody.
    ///
    /// # Errors
    /// The filter is none.
    pub(crate) fn is_wanted(&self) -> Result<bool, Failure> {
        if let Some(filter) = &self.jq {
            jq::check(filter)?;
        }
        Ok(self.json || self.jq.is_some())
    }

    /// Prints it.
    ///
    /// # Errors
    /// It cannot be written; the filter fails.
    pub(crate) async fn print(&self, result: &Raw) -> Result<(), Failure> {
        self.print_to(result, Out::Stdout).await
    }

    async fn print_to(&self, result: &Raw, mut out: Out) -> Result<(), Failure> {
        let Some(filter) = self.jq.clone() else {
            let mut text = result.as_bytes().to_vec();
            text.push(b'\n');
            return out.write(&text);
        };
        let result = result.clone();
        // A filter may run for ever.
        let ran = tokio::task::spawn_blocking(move || {
            jq::run(&filter, result.as_str(), |line| out.write(line))
        });
        ran.await
            .map_err(|error| Failure::unexpected(format!("--jq: {error}")))?
    }
}

impl Printing {
    /// [`Document::is_wanted`]
    ///
    /// # Errors
    /// The filter is none.
    pub(crate) fn is_document(&self) -> Result<bool, Failure> {
        self.document.is_wanted()
    }

    /// Is it to be a file?
    pub(crate) fn is_file(&self) -> bool {
        self.file().is_some()
    }

    /// From now on nothing is written to the file: what failed is not what it is for.
    pub(crate) fn no_file(&mut self) {
        self.output = None;
    }

    /// The document.
    ///
    /// # Errors
    /// [`Document::print`]
    pub(crate) async fn document(&self, result: &Raw) -> Result<(), Failure> {
        self.document.print_to(result, self.out()?).await
    }

    /// Bytes, all there are.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.out()?.write(bytes)
    }

    /// Parts of a result: texts, a line each at least, and what is no text. That goes to the file where there is one, the second to a
    /// file beside it; the texts go there where nothing else does.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn parts(&self, parts: &[Part]) -> Result<(), Failure> {
        let mut text = String::new();
        let mut first = None;
        let mut blobs = 0;
        for part in parts {
            match (part, self.file()) {
                (Part::Text(block), _) => {
                    text.push_str(block);
                    if !block.ends_with('\n') {
                        text.push('\n');
                    }
                }
                (Part::Bytes { kind, bytes }, None) => ui::note(&format!(
                    "note: {}, {}, is not shown; -o FILE writes it, --json has all of it\n",
                    ui::one_line(kind),
                    ui::count(bytes.len(), "byte")
                )),
                (Part::Bytes { kind, bytes }, Some(file)) => {
                    blobs += 1;
                    let is_alike = essence(first.get_or_insert(kind)) == essence(kind);
                    let extension = (!is_alike).then(|| mime::extension(kind).unwrap_or("bin"));
                    let file = beside(file, blobs, extension);
                    let was_there = file.exists();
                    Out::create(&file)?.write(bytes)?;
                    ui::note(&format!(
                        "note: {}, {}, is in {}{}\n",
                        ui::one_line(kind),
                        ui::count(bytes.len(), "byte"),
                        ui::path(&file),
                        if was_there {
                            ", in place of what was there"
                        } else {
                            ""
                        }
                    ));
                }
            }
        }
        let mut out = if blobs == 0 { self.out()? } else { Out::Stdout };
        out.write(text.as_bytes())
    }

    fn file(&self) -> Option<&Path> {
        self.output
            .as_deref()
            .filter(|file| *file != Path::new("-"))
    }

    fn out(&self) -> Result<Out, Failure> {
        self.file().map_or(Ok(Out::Stdout), Out::create)
    }
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written, or nobody reads any more (exit 0).
pub(crate) fn out(text: &[u8]) -> Result<(), Failure> {
    Out::Stdout.write(text)
}

/// The same for lines of ours that begin with a verdict, in colours where there are any.
///
/// # Errors
/// As [`out`].
pub(crate) fn verdicts(text: &str) -> Result<(), Failure> {
    let text = ui::harmless(text);
    let text = paint::verdicts(&text);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    written
        .and_then(|()| stdout.flush())
        .map_err(|error| unwritten(&error, "the result"))
}

enum Out {
    Stdout,
    File(File, PathBuf),
}

impl Out {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = outfile::create(path, 0o666);
        let file = file
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", ui::path(path))))?;
        Ok(Self::File(file, path.to_owned()))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let (written, name) = match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = if stdout.is_terminal() {
                    // A program gets what the server sent, a terminal what it can only show (V-508).
                    let text = String::from_utf8_lossy(bytes);
                    let text = ui::harmless(&text);
                    // Else the shell's next line would begin behind it.
                    let end = if text.is_empty() || text.ends_with('\n') {
                        ""
                    } else {
                        "\n"
                    };
                    stdout
                        .write_all(text.as_bytes())
                        .and_then(|()| stdout.write_all(end.as_bytes()))
                } else {
                    stdout.write_all(bytes)
                };
                let written = written.and_then(|()| stdout.flush());
                (written, "the result".to_owned())
            }
            Self::File(file, path) => (file.write_all(bytes), ui::path(path)),
        };
        written.map_err(|error| unwritten(&error, &name))
    }
}

/// Why something was not written; nothing, where nobody reads it.
pub(crate) fn unwritten(error: &io::Error, name: &str) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::nobody_reads(),
        _ => Failure::unexpected(format!("cannot write {name}: {error}")),
    }
}

/// A media type without its parameters.
fn essence(kind: &str) -> String {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// `a.png`, `a-2.png`, and `a-3.wav` for what is of another kind than the first.
fn beside(file: &Path, n: usize, extension: Option<&str>) -> PathBuf {
    if n == 1 {
        return file.to_owned();
    }
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{n}"));
    if let Some(extension) = extension.map(OsStr::new).or_else(|| file.extension()) {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_the_first() {
        for (file, n, extension, want) in [
            ("a/b.png", 1, None, "a/b.png"),
            ("a/b.png", 2, None, "a/b-2.png"),
            ("b", 3, None, "b-3"),
            ("b.tar.gz", 2, None, "b.tar-2.gz"),
            ("a/b.png", 2, Some("wav"), "a/b-2.wav"),
            ("b", 2, Some("wav"), "b-2.wav"),
        ] {
            assert_eq!(beside(Path::new(file), n, extension), Path::new(want));
        }
    }
}
