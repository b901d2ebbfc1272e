//! `-merge A B OUT` and equivalent lines: merges the recordings of one boot into one file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use onoff_etl::{MergeError, write_merged};
use onoff_report::text::printable::printable;
use onoff_sink::OutputFile;

use crate::command_words::{Words, usage};
use crate::failure::Failure;

const BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub struct MergeRequest {
    pub inputs: Vec<PathBuf>,
    pub output: PathBuf,
    pub quiet: bool,
    /// Notes about options that have no effect.
    pub ignored_options: Vec<&'static str>,
}

/// Parses the words after `-merge`: files, the last of which is the output, with options anywhere among them.
pub(crate) fn parse(words: &mut Words, quiet: bool) -> Result<MergeRequest, Failure> {
    let mut files = Vec::new();
    let mut merging = MergeRequest { inputs: Vec::new(), output: PathBuf::new(), quiet, ignored_options: Vec::new() };
    while let Some(word) = words.path_or_option() {
        match word {
            Ok(path) => files.push(path),
            Err(option) => match option.as_str() {
                // Microsoft's documentation writes -merge both with and without -d.
                "d" | "mergeonly" => {}
                "quiet" => merging.quiet = true,
                "compress" => merging.ignored_options.push("-compress is ignored: the file is not compressed"),
                "suppresspii" => {}
                _ => return Err(usage(format!("-merge has no option '-{option}'; write '-merge FILE… OUT'"))),
            },
        }
    }
    let output = files.pop().filter(|_| !files.is_empty());
    merging.output = output
        .ok_or_else(|| usage("-merge needs at least one input file and an output file; write '-merge FILE… OUT'"))?;
    merging.inputs = files;
    Ok(merging)
}

/// Merges the files. The output gets its final name after all of it is written.
///
/// # Errors
/// A file cannot be read or written, or the files are not from one boot.
pub fn run(merging: &MergeRequest) -> Result<(), Failure> {
    let options = onoff_files::Options::default().read()?;
    let files = onoff_files::open_unchecked(&merging.inputs, &options.limits)?;
    let output = OutputFile::create(&merging.output).map_err(|error| with_path(merging, &error))?;
    let file = output.writer().map_err(|error| with_path(merging, &error))?;
    let merged = write_merged(&files.inputs(), BufWriter::with_capacity(BUFFER_BYTES, file)).map_err(merge_failure)?;
    files.check_complete()?;
    output.commit().map_err(|error| with_path(merging, &error))?;
    if !merging.quiet {
        merging.ignored_options.iter().for_each(|text| note(text));
        let (records, bytes) = (merged.records, merged.bytes);
        note(&format!("{}: {records} events, {bytes} bytes", printable(&merging.output.to_string_lossy())));
        for (loss, count, _) in merged.losses.iter() {
            note(&format!("{}: {count}: {}", loss.name(), loss.help()));
        }
    }
    Ok(())
}

fn with_path(merging: &MergeRequest, error: &io::Error) -> Failure {
    Failure::Unreadable(format!("{}: {error}", merging.output.display()))
}

fn merge_failure(error: MergeError) -> Failure {
    match error {
        MergeError::Incompatible { .. } | MergeError::ClockRestarted => Failure::Unanswerable(error.to_string()),
        error => Failure::Unreadable(error.to_string()),
    }
}

fn note(text: &str) {
    // Nothing to do if stderr is closed.
    let _ = writeln!(io::stderr(), "onoff: {text}");
}
