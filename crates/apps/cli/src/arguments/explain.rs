//! The arguments of `onoff explain`.

use clap::Args;

use super::OutputArguments;

/// Explain a word of a report: a phase, a column, a loss, the code of a finding
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff explain PreSMSS
  onoff explain 'never pended'
  onoff explain boot/driver-start-not-pended
  onoff explain                          every word there is

Exit codes:
  0   explained
  2   the word is not in the glossary
  64  the arguments make no sense")]
pub struct ExplainArguments {
    /// The word, however it is spelled; without one, the list of words
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    #[command(flatten)]
    pub output: OutputArguments,
}
