//! Loads a recording for the interactive page.

use onoff_firmware_times::FirmwareReport;
use onoff_network::NetbootOptions;
use onoff_page::build::{LoadedRecording, TABLES};
use onoff_page::events::{EventReader, Visit};
use onoff_requests::IoOptions;
use onoff_sources::{EventFilter, RecordingKind};
use onoff_transitions::boot::BootOptions;

use crate::error::QueryError;
use crate::events::EventQuery;
use crate::requests::RequestsError;
use crate::session::Session;

impl Session {
    /// Builds the page content of the recording: of a system, a network capture, file operations or firmware tables.
    /// `firmware` analyzes a recording without a transition as firmware tables.
    ///
    /// # Errors
    /// The recording is unreadable, or has nothing to show.
    pub fn page(
        &self,
        name: String,
        boot: BootOptions,
        firmware: impl FnOnce() -> Result<FirmwareReport, QueryError<String>>,
    ) -> Result<LoadedRecording, QueryError<String>> {
        match self.kind() {
            RecordingKind::NetworkCapture => {
                let report = self.netboot(&NetbootOptions::default()).map_err(QueryError::into_message)?;
                Ok(LoadedRecording::from_capture(name, &report))
            }
            RecordingKind::FileOperations => {
                let report = self.requests(None, &[], &IoOptions::default()).map_err(|error| {
                    error.map(|reason| match reason {
                        RequestsError::NoRequests(message) => message,
                        reason => reason.to_string(),
                    })
                })?;
                Ok(LoadedRecording::from_requests(name, self.tables(onoff_requests::TABLES)?, &report))
            }
            _ => {
                let system = LoadedRecording::with_boot_options(name.clone(), self.tables(TABLES)?, boot);
                // Firmware tables can be part of a Linux recording; alone, they contain no phase of a system.
                if system.content.transitions.iter().any(|transition| !transition.phases.is_empty()) {
                    return Ok(system);
                }
                match firmware() {
                    Ok(report) => Ok(LoadedRecording::from_firmware(name, &report).unwrap_or(system)),
                    // An FPDT without the tables it points to: the page would be empty.
                    Err(QueryError::Unanswerable(reason)) if system.content.duration_ns == 0 => {
                        Err(QueryError::Unanswerable(reason))
                    }
                    Err(_) => Ok(system),
                }
            }
        }
    }

    /// Returns a reader of the recording's events for its page.
    #[must_use]
    pub fn into_event_reader(self) -> EventReader {
        EventReader::new(move |range, visit| self.visit_events(range, visit))
    }

    fn visit_events(&self, (start_ns, end_ns): (i64, i64), visit: Visit<'_>) -> Result<(), String> {
        let filter = EventFilter { from_ns: Some(start_ns), until_ns: Some(end_ns), ..EventFilter::default() };
        let query = EventQuery { filter, ..EventQuery::default() };
        let events = self.events(&query).map_err(|error| error.to_string())?;
        let end = events.for_each(visit).map_err(|error| error.to_string())?;
        let _stopped_early = end.outcome;
        Ok(())
    }
}
