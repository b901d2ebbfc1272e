//! What the arguments of `onoff prefetch` mean.

use std::path::PathBuf;

use onoff_report::text::prefetch::{PrefetchRows, PrefetchTextOptions};

use super::{Invocation, Recording, Task};
use crate::arguments::prefetch::{PrefetchArguments, PrefetchBy};
use crate::arguments::table::TableFormat;
use crate::failure::Failure;

/// About what, and how.
#[derive(Debug)]
pub struct PrefetchQuestion {
    /// Files, folders, volumes.
    pub paths: Vec<PathBuf>,
    /// Programs whose files are looked at together; all when empty.
    pub programs: Vec<String>,
    /// How much text.
    pub text: PrefetchTextOptions,
    /// Rows of CSV.
    pub rows: PrefetchRows,
    /// How.
    pub format: TableFormat,
}

/// Settles what the arguments mean. The recording is that of `--trace`.
pub fn resolve(arguments: PrefetchArguments) -> Result<Invocation, Failure> {
    Ok(Invocation {
        recording: Recording::of(arguments.trace),
        destination: arguments.output.into(),
        task: Task::Prefetch(PrefetchQuestion {
            paths: arguments.paths,
            programs: arguments.programs,
            text: PrefetchTextOptions { top: arguments.top },
            rows: match arguments.by {
                PrefetchBy::Plan => PrefetchRows::Plans,
                PrefetchBy::File => PrefetchRows::Files,
                PrefetchBy::Volume => PrefetchRows::Volumes,
                PrefetchBy::Boot => PrefetchRows::Boots,
            },
            format: super::table::without_page(arguments.format)?,
        }),
    })
}
