//! What programs did with their files, layer by layer.

use onoff_blame::waits::{self, phases};
use onoff_report::text;
use onoff_report::text::time_point::TimePoint;
use onoff_requests::{GroupKey, IoOptions, IoReport, TABLES};
use onoff_sources::Pattern;
use onoff_trace::TableName;
use onoff_transitions::PHASE_TABLES;

use crate::error::Refusal;
use crate::range::{OutOfRange, scope_of};
use crate::session::Session;

/// Why there is no answer about requests.
#[derive(Debug, thiserror::Error)]
pub enum NoRequests {
    /// The range is not in the recording.
    #[error(transparent)]
    Range(OutOfRange),
    /// The requests of each phase were wanted, and there is none.
    #[error("the recording holds no boot, shutdown or sleep with a phase of known length")]
    NoPhase,
    /// No request matches; what the recording holds instead.
    #[error("{0}")]
    Nothing(String),
}

impl Session {
    /// What `processes` (all when empty) requested of files and disks in the part of the recording between two times; in all of it
    /// without them. Where they are grouped by phase, the phases are the recording's.
    ///
    /// # Errors
    /// A recording that cannot be read, or in which no request is as the question says.
    pub fn requests(
        &self,
        range: Option<(TimePoint, TimePoint)>,
        processes: &[Pattern],
        options: &IoOptions,
    ) -> Result<IoReport, Refusal<NoRequests>> {
        let by_phase = options.by.contains(&GroupKey::Phase);
        let trace = self.tables(if by_phase { TABLES.union(PHASE_TABLES) } else { TABLES })?;
        let scope = scope_of(&trace, range).map_err(|error| Refusal::Nothing(NoRequests::Range(error)))?;
        let mut options = options.clone();
        if by_phase {
            options.phases = phases(&trace, None);
            if options.phases.is_empty() {
                return Err(Refusal::Nothing(NoRequests::NoPhase));
            }
        }
        let scope = scope.of_processes(processes.to_vec());
        let mut report = onoff_requests::analyze(&trace, &scope, &options);
        if report.views.is_empty() {
            return Err(Refusal::Nothing(NoRequests::Nothing(text::io::nothing(&report, &trace.recorder))));
        }
        // Whether somebody waited for what a finding names: only recordings with context switches know.
        if !report.findings.is_empty() && onoff_sources::tables_of(self.kind()).contains(TableName::ContextSwitches) {
            let trace = self.tables(TABLES.union(PHASE_TABLES).union(waits::TABLES))?;
            onoff_requests::add_path_time(&trace, &scope, &phases(&trace, None), &mut report.findings);
        }
        Ok(report)
    }
}
