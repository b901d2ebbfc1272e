//! What the arguments of `onoff image` mean.

use std::path::PathBuf;

use onoff_analysis::image::OverlayLimits;
use onoff_report::text::image::{ImageRows, ImageTextOptions};

use super::{Invocation, Recording, Task, io};
use crate::arguments::image::{ImageArguments, ImageBy};
use crate::arguments::table::TableFormat;
use crate::failure::Failure;

/// About what, and how.
#[derive(Debug)]
pub struct ImageQuestion {
    /// Volumes, folders, hives.
    pub paths: Vec<PathBuf>,
    /// The image to compare with.
    pub compare: Option<PathBuf>,
    /// The list of services that the computer needs.
    pub needed: Option<PathBuf>,
    /// Whether it loses power without a shutdown.
    pub is_power_cut: bool,
    /// What a write filter's overlay may hold.
    pub limits: OverlayLimits,
    /// How much text.
    pub text: ImageTextOptions,
    /// Rows of CSV.
    pub rows: ImageRows,
    /// How.
    pub format: TableFormat,
}

/// Settles what the arguments mean. The recording is that of `--trace`.
pub fn resolve(arguments: ImageArguments) -> Result<Invocation, Failure> {
    let limits = OverlayLimits {
        cluster_bytes: io::bytes("--cluster", &arguments.cluster)?,
        most_bytes: arguments.overlay_size.as_deref().map(|text| io::bytes("--overlay-size", text)).transpose()?,
        warning_bytes: None,
        exclusions: arguments.exclusions,
    };
    Ok(Invocation {
        recording: Recording::of(arguments.trace),
        destination: arguments.output.into(),
        task: Task::Image(Box::new(ImageQuestion {
            paths: arguments.paths,
            compare: arguments.compare,
            needed: arguments.needed,
            is_power_cut: arguments.power_cut,
            limits,
            text: ImageTextOptions { top: arguments.top },
            rows: match arguments.by {
                ImageBy::Service => ImageRows::Services,
                ImageBy::Finding => ImageRows::Findings,
            },
            format: super::table::without_page(arguments.format)?,
        })),
    })
}
