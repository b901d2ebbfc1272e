//! `onoff shutdown` as meant.

use onoff_analysis::transition::TransitionKind;
use onoff_analysis::transition::shutdown::ShutdownOptions;
use onoff_report::text::shutdown::ShutdownTextOptions;

use super::{Invocation, Recording, Task};
use crate::arguments::TransitionFormat;
use crate::arguments::shutdown::ShutdownArguments;

/// How to show where the time of a shutdown went.
#[derive(Clone, Copy, Debug)]
pub enum ShutdownFormat {
    /// For a person.
    Text(ShutdownTextOptions),
    /// For a person, as a page.
    Html(ShutdownTextOptions),
    /// For a program.
    Json,
    /// xperf's shutdown summary.
    Xml,
    /// One row per phase, application, service and step.
    Csv,
}

impl Invocation {
    pub(super) fn shutdown(arguments: ShutdownArguments) -> Self {
        let is_picture = arguments.format == TransitionFormat::Svg;
        let format = match arguments.format {
            TransitionFormat::Text => ShutdownFormat::Text(ShutdownTextOptions { top: arguments.top }),
            TransitionFormat::Html => ShutdownFormat::Html(ShutdownTextOptions { top: arguments.top }),
            TransitionFormat::Json => ShutdownFormat::Json,
            TransitionFormat::Xml => ShutdownFormat::Xml,
            TransitionFormat::Csv | TransitionFormat::Svg => ShutdownFormat::Csv,
        };
        let options = ShutdownOptions { service_time_out_ns: arguments.service_timeout };
        let mut recording = Recording::from(arguments.recording);
        if recording.this_computer.is_some() {
            // The boot that runs has no shutdown yet.
            recording.options.boot.get_or_insert_with(|| "-1".to_owned());
        }
        if is_picture {
            return Self::picture(TransitionKind::Shutdown, recording, arguments.output.into());
        }
        Self { task: Task::Shutdown(options, format), recording, destination: arguments.output.into() }
    }
}
