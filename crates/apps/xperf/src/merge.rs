//! `-merge A B OUT` and equivalent command lines: merges the recordings of one boot into one file.

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

/// Parses the words after `-merge`: files, of which the last is the output, and options in any position.
pub(crate) fn parse(words: &mut Words, quiet: bool) -> Result<MergeRequest, Failure> {
    let mut files = Vec::new();
    let mut request = MergeRequest { inputs: Vec::new(), output: PathBuf::new(), quiet, ignored_options: Vec::new() };
    while let Some(word) = words.path_or_option() {
        match word {
            Ok(path) => files.push(path),
            Err(option) => match option.as_str() {
                // Microsoft's documentation writes -merge both with and without -d.
                "d" | "mergeonly" => {}
                "quiet" => request.quiet = true,
                "compress" => request.ignored_options.push("-compress is ignored: the file is not compressed"),
                "suppresspii" => {}
                _ => return Err(usage(format!("-merge has no option '-{option}'; write '-merge FILE… OUT'"))),
            },
        }
    }
    let output = files.pop().filter(|_| !files.is_empty());
    request.output = output
        .ok_or_else(|| usage("-merge needs at least one input file and an output file; write '-merge FILE… OUT'"))?;
    request.inputs = files;
    Ok(request)
}

/// Merges the files. The output gets its final name when it is complete.
///
/// # Errors
/// A file cannot be read or written, or the files are not from one boot.
pub fn run(request: &MergeRequest) -> Result<(), Failure> {
    let options = onoff_files::Options::default().read()?;
    let files = onoff_files::open_unchecked(&request.inputs, &options.limits)?;
    let output = OutputFile::create(&request.output).map_err(|error| with_path(request, &error))?;
    let file = output.writer().map_err(|error| with_path(request, &error))?;
    let summary = write_merged(&files.inputs(), BufWriter::with_capacity(BUFFER_BYTES, file)).map_err(merge_failure)?;
    files.check_complete()?;
    output.commit().map_err(|error| with_path(request, &error))?;
    if !request.quiet {
        request.ignored_options.iter().for_each(|text| note(text));
        let (records, bytes) = (summary.records, summary.bytes);
        note(&format!("{}: {records} events, {bytes} bytes", printable(&request.output.to_string_lossy())));
        for (loss, count, _) in summary.losses.iter() {
            note(&format!("{}: {count}: {}", loss.name(), loss.help()));
        }
    }
    Ok(())
}

fn with_path(request: &MergeRequest, error: &io::Error) -> Failure {
    Failure::Unreadable(format!("{}: {error}", request.output.display()))
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
