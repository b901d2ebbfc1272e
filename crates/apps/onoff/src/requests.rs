//! File and disk requests of programs, by layer.

use onoff_blame::waits::{self, phases};
use onoff_report::text;
use onoff_report::text::time_point::TimePoint;
use onoff_requests::{GroupKey, IoOptions, IoReport, TABLES};
use onoff_sources::Pattern;
use onoff_trace::TableName;
use onoff_transitions::PHASE_TABLES;

use crate::error::QueryError;
use crate::range::{RangeError, resolve_scope};
use crate::session::Session;

/// A request query that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    #[error(transparent)]
    Range(RangeError),
    /// Grouping by phase was requested, but there are no phases.
    #[error("no boot, shutdown or sleep with known phases in this recording")]
    NoPhase,
    /// Only other processes have requests.
    #[error("no reads or writes of these processes, only of others")]
    NoProcess,
    /// No request matches.
    #[error("{0}")]
    NoRequests(String),
}

impl Session {
    /// Analyzes the file and disk requests of `processes` (empty means all) within `range` (`None` means the whole
    /// recording).
    ///
    /// # Errors
    /// The recording is unreadable, or no request matches.
    pub fn requests(
        &self,
        range: Option<(TimePoint, TimePoint)>,
        processes: &[Pattern],
        options: &IoOptions,
    ) -> Result<IoReport, QueryError<RequestsError>> {
        let by_phase = options.group_by.contains(&GroupKey::Phase);
        let trace = self.tables(if by_phase { TABLES.union(PHASE_TABLES) } else { TABLES })?;
        let scope =
            resolve_scope(&trace, range).map_err(|error| QueryError::Unanswerable(RequestsError::Range(error)))?;
        let mut options = options.clone();
        if by_phase {
            options.phases = phases(&trace);
            if options.phases.is_empty() {
                return Err(QueryError::Unanswerable(RequestsError::NoPhase));
            }
        }
        let scope = scope.with_processes(processes.to_vec());
        let mut report = onoff_requests::analyze(&trace, &scope, &options);
        if report.views.is_empty() {
            let all_processes = scope.clone().with_processes(Vec::new());
            if !processes.is_empty() && !onoff_requests::analyze(&trace, &all_processes, &options).views.is_empty() {
                return Err(QueryError::Unanswerable(RequestsError::NoProcess));
            }
            return Err(QueryError::Unanswerable(RequestsError::NoRequests(text::io::no_requests(
                &report,
                &trace.recorder,
            ))));
        }
        // Only recordings with context switches show whether the critical path waited for a finding's requests.
        if !report.findings.is_empty()
            && onoff_sources::recording_tables(self.kind()).contains(TableName::ContextSwitches)
        {
            let trace = self.tables(TABLES.union(PHASE_TABLES).union(waits::TABLES))?;
            onoff_requests::add_path_time(&trace, &scope, &phases(&trace), &mut report.findings);
        }
        Ok(report)
    }
}
