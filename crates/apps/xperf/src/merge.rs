//! `-merge A B OUT`, and what comes to the same: files of one boot as one file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use onoff_etl::{MergeError, write_merged};
use onoff_report::text::printable::printable;
use onoff_sink::OutputFile;

use crate::command_words::{Words, usage};
use crate::failure::Failure;

const BUFFER_BYTES: usize = 1 << 20;

/// Files, and the one that they become.
#[derive(Debug, PartialEq, Eq)]
pub struct Merging {
    /// The recordings.
    pub inputs: Vec<PathBuf>,
    /// The file to write.
    pub output: PathBuf,
    /// Whether to keep remarks to itself.
    pub quiet: bool,
    /// What the line asks for and is not done.
    pub not_done: Vec<&'static str>,
}

/// Understands the words after `-merge`: files, the last of which is written, and options anywhere among them.
pub(crate) fn parse(words: &mut Words, quiet: bool) -> Result<Merging, Failure> {
    let mut files = Vec::new();
    let mut merging = Merging { inputs: Vec::new(), output: PathBuf::new(), quiet, not_done: Vec::new() };
    while let Some(word) = words.path_or_option() {
        match word {
            Ok(path) => files.push(path),
            Err(option) => match option.as_str() {
                // Pages of Microsoft's have it both with and without.
                "d" | "mergeonly" => {}
                "quiet" => merging.quiet = true,
                "compress" => merging.not_done.push("-compress: the file is written without compression"),
                "suppresspii" => {}
                _ => return Err(usage(format!("-merge has no option '-{option}'; write '-merge FILE… OUT'"))),
            },
        }
    }
    let output = files.pop().filter(|_| !files.is_empty());
    merging.output = output
        .ok_or_else(|| usage("-merge: one file to read at least and the file to write; write '-merge FILE… OUT'"))?;
    merging.inputs = files;
    Ok(merging)
}

/// Merges the files. The new one takes its place when all of it is written.
///
/// # Errors
/// A file cannot be read, the new one not be written, or they are not of one boot.
pub fn run(merging: &Merging) -> Result<(), Failure> {
    let options = onoff_files::Options::default().read()?;
    let files = onoff_files::open_as_one(&merging.inputs, &options.limits)?;
    let output = OutputFile::create(&merging.output).map_err(|error| named(merging, &error))?;
    let file = output.writer().map_err(|error| named(merging, &error))?;
    let merged = write_merged(&files.inputs(), BufWriter::with_capacity(BUFFER_BYTES, file)).map_err(refused)?;
    files.check_complete()?;
    output.commit().map_err(|error| named(merging, &error))?;
    if !merging.quiet {
        merging.not_done.iter().for_each(|text| remark(text));
        let (records, bytes) = (merged.records, merged.bytes);
        remark(&format!("{}: {records} events, {bytes} bytes", printable(&merging.output.to_string_lossy())));
        for (loss, count, _) in merged.losses.iter() {
            remark(&format!("{}: {count}: {}", loss.name(), loss.help()));
        }
    }
    Ok(())
}

fn named(merging: &Merging, error: &io::Error) -> Failure {
    Failure::Unreadable(format!("{}: {error}", merging.output.display()))
}

fn refused(error: MergeError) -> Failure {
    match error {
        MergeError::Apart { .. } | MergeError::ClockRestarted => Failure::NothingToAnswer(error.to_string()),
        error => Failure::Unreadable(error.to_string()),
    }
}

fn remark(text: &str) {
    // Where stderr is gone, nobody is there to be told.
    let _ = writeln!(io::stderr(), "onoff: {text}");
}
