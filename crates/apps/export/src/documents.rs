//! Creates all documents about a recording while reading it only once.

use std::collections::BTreeSet;
use std::io::{self, Write};

use onoff::answers::blame::waits::PathOptions;
use onoff::answers::blame::why::{WhyQuestion, WhyTarget};
use onoff::answers::network::NetbootOptions;
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::shutdown::ShutdownOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::findings::diagnosis::DiagnosisOptions;
use onoff::sections::json::document;
use onoff::sources::{Error, RecordingKind};
use onoff::trace::{TableName, TableSet};
use onoff::{QueryError, Session, run_tables};

/// Returns a JSON object with the available documents of `onoff info`, `boot`, `shutdown`, `suspend`, `netboot`,
/// `diagnose` and `why`, with the transitions under `rows`, which refer to the recording as `name`, and with the file
/// versions of modules.
///
/// # Errors
/// The recording is unreadable.
pub fn all_documents(session: &Session, name: &str) -> Result<Vec<u8>, Error> {
    let mut out = Documents { bytes: vec![b'{'], is_first: true };
    out.add("rows", |bytes| Ok(serde_json::to_writer(bytes, &session.summary_rows(name)?)?))?;
    if session.kind() == RecordingKind::NetworkCapture {
        let answer = session.netboot(&NetbootOptions::default());
        out.add_answer("netboot", answer, |report, bytes| document::write(&[], report, bytes))?;
        return Ok(out.end());
    }
    // Load all tables used below, so that the recording is read only once.
    let inventory = TableSet::from_names(&[TableName::Inventory]);
    session.tables(run_tables(None).union(Session::WAIT_TABLES).union(onoff::findings::TABLES).union(inventory))?;
    out.add("info", |bytes| Ok(document::write(&[session.provenance()?], &session.summary()?, bytes)?))?;
    let boot = session.boot(&BootOptions::default());
    out.add_answer("boot", boot, |answer, bytes| answer.write_json(&[], bytes))?;
    let shutdown = session.shutdown(&ShutdownOptions::default());
    out.add_answer("shutdown", shutdown, |answer, bytes| answer.write_json(&[], bytes))?;
    let sleeps = session.sleeps(&SuspendOptions::default());
    out.add_answer("suspend", sleeps, |answer, bytes| answer.write_json(&[], bytes))?;
    let diagnosis = session.diagnose(&DiagnosisOptions::default())?;
    out.add("diagnosis", |bytes| Ok(document::write(&[], &diagnosis, bytes)?))?;
    let every_phase = WhyQuestion {
        target: WhyTarget::Phase(None, None),
        at_ns: None,
        within: None,
        min_duration_ns: 0,
        max_intervals: None,
        include_work_waits: false,
        path: PathOptions::default(),
    };
    out.add_answer("why", session.why(&every_phase), |report, bytes| document::write(&[], report, bytes))?;
    out.add("versions", |bytes| Ok(serde_json::to_writer(bytes, &versions(session)?)?))?;
    Ok(out.end())
}

/// Returns the file versions of modules: distinct pairs of lower-case file name and version, at most [`MAX_VERSIONS`].
/// Windows file names are case-insensitive.
fn versions(session: &Session) -> Result<BTreeSet<(String, String)>, Error> {
    let trace = session.tables(TableSet::from_names(&[TableName::Images]))?;
    let mut versions = BTreeSet::new();
    for image in trace.images.iter() {
        let version = trace.text(image.version).trim();
        let path = trace.text(image.path);
        let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
        if !version.is_empty() && !name.is_empty() && versions.len() < MAX_VERSIONS {
            versions.insert((name.to_lowercase(), version.to_owned()));
        }
    }
    Ok(versions)
}

/// Maximum number of versions per recording. Windows has about 6,000 modules; a boot loads about 1,500.
const MAX_VERSIONS: usize = 20_000;

/// Builder of a JSON object.
struct Documents {
    bytes: Vec<u8>,
    is_first: bool,
}

/// Error when adding a document. Writing to memory does not fail in practice.
enum DocumentError {
    Unreadable(Error),
    Unwritten,
}

impl From<Error> for DocumentError {
    fn from(error: Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<io::Error> for DocumentError {
    fn from(_: io::Error) -> Self {
        Self::Unwritten
    }
}

impl From<serde_json::Error> for DocumentError {
    fn from(_: serde_json::Error) -> Self {
        Self::Unwritten
    }
}

impl Documents {
    fn add(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>) -> Result<(), DocumentError>) -> Result<(), Error> {
        let mut document = Vec::new();
        match write(&mut document) {
            Ok(()) => {}
            Err(DocumentError::Unreadable(error)) => return Err(error),
            // Cannot happen when writing to memory.
            Err(DocumentError::Unwritten) => return Ok(()),
        }
        if !std::mem::take(&mut self.is_first) {
            self.bytes.push(b',');
        }
        // Writing to memory cannot fail.
        let _ = write!(self.bytes, "\"{name}\":");
        self.bytes.append(&mut document);
        Ok(())
    }

    /// Adds the document of an analysis unless the recording has no data for it.
    fn add_answer<A, N: std::fmt::Debug + std::fmt::Display>(
        &mut self,
        name: &str,
        answer: Result<A, QueryError<N>>,
        write: impl FnOnce(&A, &mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Error> {
        match answer {
            Ok(answer) => self.add(name, |bytes| Ok(write(&answer, bytes)?)),
            Err(QueryError::Unanswerable(_)) => Ok(()),
            Err(QueryError::Unreadable(error)) => Err(error),
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(b'}');
        self.bytes
    }
}
