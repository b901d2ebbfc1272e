//! Reads the XML document that EDK II's Python tools write of these tables (`FpdtParserData`).

use onoff_firmware::{BasicBoot, Event, EventFormat, MAX_RECORDS, S3Resume, S3Suspend, Uuid};
use onoff_trace::Severity;
use onoff_trace::firmware::{
    FirmwareFormat, FirmwareProblemKind, FirmwareRecordCount, FirmwareResume, FirmwareSuspend, FirmwareTable,
};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event as Node};

use super::collector::{Boot, FirmwareTableCollector};
use super::{tables, text};

/// True if the text is an XML document of these tools.
pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('<') && (text.contains("<FpdtParserData") || text.contains("<Fbpt"))
}

/// A record whose element is open.
#[derive(Debug)]
struct OpenRecord {
    /// Name of the element; its end tag ends the record.
    name: String,
    number: u16,
    bytes: u64,
    /// Names and values of the child elements.
    fields: Vec<(String, String)>,
}

/// Maximum number of fields per record; known records have at most six.
const MAX_FIELDS: usize = 16;

/// Adds the data in `document`.
pub(super) fn add(name: &str, document: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::Edk2Xml);
    let mut record_collector = RecordCollector {
        name,
        boot: Boot { from: name.to_owned(), ..Boot::default() },
        counts: Vec::new(),
        records: 0,
        collector,
    };
    let mut reader = Reader::from_str(document);
    let mut open_record: Option<OpenRecord> = None;
    loop {
        let place = reader.buffer_position();
        match reader.read_event() {
            Ok(Node::Start(element)) if open_record.is_none() => open_record = start_record(&element, false),
            Ok(Node::Empty(element)) if open_record.is_none() => {
                if let Some(record) = start_record(&element, true) {
                    record_collector.add_record(record, place);
                }
            }
            Ok(Node::Start(element) | Node::Empty(element)) => {
                if let Some(record) = &mut open_record
                    && record.fields.len() < MAX_FIELDS
                {
                    let field = attribute(&element, "RawValue").or_else(|| attribute(&element, "Value"));
                    let field_name = element.name().as_ref().to_owned();
                    record.fields.push((field_name, field.unwrap_or_default()));
                }
            }
            Ok(Node::End(element)) => {
                let is_end_of = |record: &mut OpenRecord| record.name == element.name().as_ref();
                if let Some(record) = open_record.take_if(is_end_of) {
                    record_collector.add_record(record, place);
                }
            }
            Ok(Node::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                let skipped_bytes = (document.len() as u64).saturating_sub(place);
                record_collector.collector.add_problem(
                    FirmwareProblemKind::UnreadableText,
                    Severity::Error,
                    tables::format_place(name, place),
                    format!("{error}; {skipped_bytes} bytes were skipped"),
                    skipped_bytes,
                );
                break;
            }
        }
        if record_collector.records >= MAX_RECORDS {
            let skipped_bytes = (document.len() as u64).saturating_sub(place);
            record_collector.collector.add_problem(
                FirmwareProblemKind::TooManyRecords,
                Severity::Error,
                tables::format_place(name, place),
                format!("more than {MAX_RECORDS} records; {skipped_bytes} bytes were skipped"),
                skipped_bytes,
            );
            break;
        }
    }
    record_collector.finish();
}

/// Starts the record of an element; `None` for other elements. An empty element has its fields as attributes.
fn start_record(element: &BytesStart<'_>, empty: bool) -> Option<OpenRecord> {
    let number = text::parse_number(&attribute(element, "PerformanceRecordType")?)?;
    let bytes = attribute(element, "RecordLength").and_then(|length| text::parse_number(&length));
    let name = element.name().as_ref().to_owned();
    let mut fields = Vec::new();
    if empty {
        fields.push(("Element".to_owned(), name.clone()));
    }
    Some(OpenRecord { name, number: u16::try_from(number).ok()?, bytes: bytes.unwrap_or(0), fields })
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).ok()??;
    let raw = found.value.into_owned();
    Some(quick_xml::escape::unescape(&raw).map(std::borrow::Cow::into_owned).unwrap_or(raw))
}

struct RecordCollector<'a> {
    name: &'a str,
    boot: Boot,
    counts: Vec<(u16, FirmwareRecordCount)>,
    records: usize,
    collector: &'a mut FirmwareTableCollector,
}

impl RecordCollector<'_> {
    fn add_record(&mut self, record: OpenRecord, offset: u64) {
        self.records += 1;
        let place = tables::format_place(self.name, offset);
        let element = record.name.as_str();
        let parsed = match element {
            "FirmwareBasicBootPerformanceEvent" => self.add_basic_boot(&record, &place),
            "S3ResumeEvent" | "S3ResumePerformanceEvent" => self.add_resume(&record, &place),
            "S3SuspendEvent" | "S3SuspendPerformanceEvent" => self.add_suspend(&record, &place),
            // The document contains the tables that pointers refer to.
            _ => match EventFormat::from_record_type(record.number) {
                Some(format) => self.add_event(format, &record, &place),
                None => Some(()),
            },
        };
        if parsed.is_none() {
            self.collector.add_problem(
                FirmwareProblemKind::UnreadableText,
                Severity::Error,
                place,
                format!("{element} was skipped: a field is missing or not a number"),
                0,
            );
        }
        let (Ok(index) | Err(index)) = self.counts.binary_search_by_key(&record.number, |(number, _)| *number);
        if self.counts.get(index).is_none_or(|(number, _)| *number != record.number) {
            let count = FirmwareRecordCount {
                number: format!("{:#06x}", record.number),
                name: record.name,
                count: 0,
                bytes: 0,
            };
            self.counts.insert(index, (record.number, count));
        }
        let (_, count) = &mut self.counts[index];
        count.count += 1;
        count.bytes = count.bytes.saturating_add(record.bytes);
    }

    fn add_basic_boot(&mut self, record: &OpenRecord, place: &str) -> Option<()> {
        let times = BasicBoot {
            reset_end_ns: record.field_number("ResetEnd")?,
            loader_load_ns: record.field_number("OSLoaderLoadImageStart")?,
            loader_start_ns: record.field_number("OSLoaderStartImageStart")?,
            exit_start_ns: record.field_number("ExitBootServicesEntry")?,
            exit_end_ns: record.field_number("ExitBootServicesExit")?,
        };
        self.boot.checkpoints = Some(tables::convert_checkpoints(times, place, self.collector));
        Some(())
    }

    fn add_resume(&mut self, record: &OpenRecord, place: &str) -> Option<()> {
        let resume = S3Resume {
            count: u32::try_from(record.field_number("ResumeCount")?).ok()?,
            full_resume_ns: record.field_number("FullResume")?,
            average_ns: record.field_number("AverageResume")?,
        };
        let last_ns = self.collector.time_ns(resume.full_resume_ns, "the last resume", place);
        let average_ns = self.collector.time_ns(resume.average_ns, "the mean resume", place);
        self.collector.add_resume(FirmwareResume { count: resume.count.into(), last_ns, average_ns });
        Some(())
    }

    fn add_suspend(&mut self, record: &OpenRecord, place: &str) -> Option<()> {
        let suspend =
            S3Suspend { start_ns: record.field_number("SuspendStart")?, end_ns: record.field_number("SuspendEnd")? };
        let start_ns = self.collector.time_ns(suspend.start_ns, "the suspend start", place)?;
        let end_ns = self.collector.time_ns(suspend.end_ns, "the suspend end", place)?;
        self.collector.add_suspend(FirmwareSuspend { start_ns, end_ns });
        Some(())
    }

    fn add_event(&mut self, format: EventFormat, record: &OpenRecord, place: &str) -> Option<()> {
        let guid = |name: &str| Uuid::parse_str(record.field_text(name)?).ok();
        let has_handle = matches!(format, EventFormat::GuidQword | EventFormat::GuidQwordString);
        let event = Event {
            format,
            progress_id: u16::try_from(record.field_number("ProgressID")?).ok()?,
            apic_id: u32::try_from(record.field_number("ApicID")?).ok()?,
            time_ns: record.field_number("Timestamp")?,
            guid: guid("GUID").or_else(|| guid("GUID1"))?,
            second_guid: guid("GUID2"),
            handle: if has_handle { Some(record.field_number("Qword")?) } else { None },
            text: record.field_text("String").unwrap_or_default().to_owned(),
        };
        self.boot.events.extend(tables::model_event(event, place, self.collector));
        Some(())
    }

    fn finish(self) {
        self.collector.add_table(FirmwareTable {
            signature: "FBPT".to_owned(),
            input: self.name.to_owned(),
            offset: 0,
            length_bytes: self.counts.iter().map(|(_, count)| count.bytes).sum(),
            oem: String::new(),
            oem_table: String::new(),
            records: self.counts.into_iter().map(|(_, count)| count).collect(),
            pointers: Vec::new(),
        });
        self.collector.add_boot(self.boot);
    }
}

impl OpenRecord {
    fn field_text(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name))?;
        Some(&field.1)
    }

    fn field_number(&self, name: &str) -> Option<u64> {
        text::parse_number(self.field_text(name)?)
    }
}
