//! Writes event logs as XML, with names and addresses replaced.

use std::cell::RefCell;
use std::io::{self, Write};

use onoff_event_log::{Error, Record, Summary, XML_END, XML_START, read, write_losses, write_xml};
use onoff_windows::logged_event_filter;

use super::account_names;
use crate::redaction::Redaction;

/// Size at which the text is written, bytes.
const BLOCK_BYTES: usize = 1 << 18;

/// An event log in memory.
#[derive(Clone, Copy, Debug)]
pub struct EventLog<'b> {
    /// Path or name of the file.
    pub name: &'b str,
    pub bytes: &'b [u8],
}

/// Learns the names in all records before any is written: a name can occur before the record that identifies it.
/// Damaged logs are read as far as possible.
pub fn learn_names(logs: &[EventLog<'_>], redaction: &mut Redaction) {
    let mut last_computer = String::new();
    for log in logs {
        let mut learn = |record: Record| {
            account_names::learn_from_fields(&record, redaction);
            // Nearly all records have the same computer.
            if record.computer != last_computer {
                account_names::learn_computer(&record, redaction);
                last_computer = record.computer;
            }
        };
        // Writing the log reports why it cannot be read.
        let _ = read(log.bytes, &mut |_| true, &mut learn);
    }
}

/// Writes the records from `since_unix_ns` on. Without a redaction, they are complete. With one, records that onoff
/// does not read have no data, and all texts of the others are redacted. Returns the summary of the log.
///
/// # Errors
/// `out` cannot be written, or the log cannot be read at all: [`io::ErrorKind::InvalidData`].
pub fn write_log(
    log: EventLog<'_>,
    since_unix_ns: Option<i64>,
    redaction: Option<&mut Redaction>,
    out: &mut dyn Write,
) -> io::Result<Summary> {
    let is_read = logged_event_filter();
    let is_redacted = redaction.is_some();
    let export = RefCell::new(Export {
        text: XML_START.to_owned(),
        redaction,
        last_computer: Default::default(),
        out,
        result: Ok(()),
    });
    let mut wanted = |record: &Record| {
        if since_unix_ns.is_some_and(|since_ns| record.time_ns < since_ns) {
            return false;
        }
        if is_redacted && !is_read(record) {
            // It shows which time the log covers.
            export.borrow_mut().add(Record { fields: Vec::new(), ..record.clone() });
            return false;
        }
        true
    };
    let invalid = |error: Error| io::Error::new(io::ErrorKind::InvalidData, error);
    let summary = read(log.bytes, &mut wanted, &mut |record| export.borrow_mut().add(record)).map_err(invalid)?;
    export.into_inner().finish(&summary)?;
    Ok(summary)
}

struct Export<'o> {
    text: String,
    redaction: Option<&'o mut Redaction>,
    /// The computer of the previous record, and its substitute.
    last_computer: (String, String),
    out: &'o mut dyn Write,
    result: io::Result<()>,
}

impl Export<'_> {
    fn add(&mut self, mut record: Record) {
        if let Some(redaction) = &mut self.redaction {
            if record.computer != self.last_computer.0 {
                let substitute = redaction.redact(&record.computer);
                self.last_computer = (record.computer.clone(), substitute);
            }
            record.computer.clone_from(&self.last_computer.1);
            redact(&mut record, redaction);
        }
        write_xml(&record, &mut self.text);
        if self.text.len() >= BLOCK_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(self.text.as_bytes());
        }
        self.text.clear();
    }

    fn finish(mut self, summary: &Summary) -> io::Result<()> {
        write_losses(summary, &mut self.text);
        self.text.push_str(XML_END);
        self.flush();
        self.result
    }
}

/// Replaces names and addresses in the user and the fields of a record. What identifies the event stays: provider,
/// channel, names of fields.
fn redact(record: &mut Record, redaction: &mut Redaction) {
    record.user = redaction.redact_names(&record.user);
    for field in &mut record.fields {
        let value = match field.name.as_str() {
            // Bytes of unknown meaning can contain text.
            "Binary" => String::new(),
            // A version with four parts looks like an address. Installers put it into data without a name.
            name if name.to_ascii_lowercase().contains("version") || record.provider == "MsiInstaller" => {
                redaction.redact_names(&field.value)
            }
            _ => redaction.redact(&field.value),
        };
        field.value = value;
    }
}
