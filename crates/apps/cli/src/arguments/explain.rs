//! The arguments of `onoff explain`.

use clap::Args;

use super::OutputArguments;

/// Explain a term in a report: a phase, a column, a loss, a finding code
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff explain PreSMSS
  onoff explain 'not pended'
  onoff explain boot/driver-start-not-pended
  onoff explain                          list all terms

Exit codes:
  0   success
  2   the term is not in the glossary
  64  usage error")]
pub struct ExplainArguments {
    /// The term, in any spelling; without it, all terms are listed
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    #[command(flatten)]
    pub output: OutputArguments,
}
