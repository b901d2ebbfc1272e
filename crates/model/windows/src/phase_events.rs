//! The manifest events of transitions, and access to their fields.
//!
//! These events are few. They are processed after the whole recording has been read, because its last records may
//! contain their schemas and the names of services, devices and processors.

use onoff_etl::{Guid, Record};
use onoff_etw::Fields;
use onoff_event_log::Record as LogRecord;
use onoff_trace::StringId;

use super::texts::Texts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) guid: Guid,
    pub(super) name: &'static str,
}

/// A provider and an event id.
pub(super) type Event = (Provider, u16);

macro_rules! providers {
    ($($constant:ident = $guid:literal, $name:literal;)*) => {
        $(pub(super) const $constant: Provider = Provider { guid: Guid::from_u128($guid), name: $name };)*

        const PROVIDERS: &[Provider] = &[$($constant),*];
    };
}

providers! {
    KERNEL_PROCESS = 0x22fb2cd6_0e7b_422b_a0c7_2fad1fd0e716, "Microsoft-Windows-Kernel-Process";
    KERNEL_FILE = 0xedd08927_9cc4_4e65_b970_c2560fb5c289, "Microsoft-Windows-Kernel-File";
    KERNEL_PNP = 0x9c205a39_1250_487d_abd7_e831c6290539, "Microsoft-Windows-Kernel-PnP";
    KERNEL_BOOT = 0x15ca44ff_4d7a_4baa_bba5_0998955e531e, "Microsoft-Windows-Kernel-Boot";
    KERNEL_GENERAL = 0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d, "Microsoft-Windows-Kernel-General";
    KERNEL_PREFETCH = 0x5322d61a_9efa_4bc3_a3f9_14be95c144f8, "Microsoft-Windows-Kernel-Prefetch";
    READY_BOOST = 0xe6307a09_292c_497e_aad6_498f68e2b619, "Microsoft-Windows-ReadyBoost";
    SMSS = 0x43e63da5_41d1_4fbf_aded_1bbed98fdd1d, "Microsoft-Windows-Subsys-SMSS";
    WINLOGON = 0xdbe9b383_7cf3_4331_91cc_a3cb16a3b538, "Microsoft-Windows-Winlogon";
    SERVICES = 0x0063715b_eeda_4007_9429_ad526f62696e, "Microsoft-Windows-Services";
    SVCHOST = 0x06184c97_5201_480e_92af_3a3626c5b140, "Microsoft-Windows-Services-Svchost";
    SHELL_CORE = 0x30336ed4_e327_447c_9de0_51b652c86108, "Microsoft-Windows-Shell-Core";
    PERF_TRACK = 0x030f2f57_abd0_4427_bcf1_3a3587d7dc7d, "Microsoft-Windows-Diagnostics-PerfTrack";
    KERNEL_POWER = 0x331c3b3a_2005_44c2_ac5e_77220c37d6b4, "Microsoft-Windows-Kernel-Power";
    KERNEL_PROCESSOR_POWER = 0x0f67e49f_fe51_4e9f_b490_6f2948cc6027, "Microsoft-Windows-Kernel-Processor-Power";
    CSR = 0xe8316a2d_0d94_4f52_85dd_1e15b66c5891, "Microsoft-Windows-Subsys-Csr";
    WININIT = 0x206f6dea_d3c5_4d10_bc72_989f03c8b84b, "Microsoft-Windows-Wininit";
    WINSRV = 0x9d55b53d_449b_4824_a637_24f9d69aa02f, "Microsoft-Windows-Winsrv";
    DOTNET_RUNTIME = 0xe13c0d23_ccbc_4e12_931b_d9cc2eee27e4, "Microsoft-Windows-DotNETRuntime";
    DOTNET_RUNDOWN = 0xa669021c_c450_4609_a035_5af59af4df18, "Microsoft-Windows-DotNETRuntimeRundown";
    GROUP_POLICY = 0xaea1b4fa_97d1_45f2_a64c_4d69fffd92c9, "Microsoft-Windows-GroupPolicy";
    POWER_TROUBLESHOOTER = 0xcdc05e28_c449_49c6_b9d2_88cf761644df, "Microsoft-Windows-Power-Troubleshooter";
    USER_PROFILES = 0x89b1e9f0_5aff_44a6_9b44_0a07a7ce5845, "Microsoft-Windows-User Profiles Service";
}

/// A transition event with its fields by name, from a trace or from an event log.
pub(super) struct PhaseEvent<'a> {
    pub(super) provider: Provider,
    pub(super) id: u16,
    source: Source<'a>,
}

/// Where an event was recorded.
#[derive(Clone, Copy)]
enum Source<'a> {
    Trace { record: &'a Record<'a>, fields: &'a Fields<'a> },
    Log { record: &'a LogRecord, time_ns: i64 },
}

impl<'a> PhaseEvent<'a> {
    /// Returns `None` for an event of any other provider.
    pub(super) fn new(record: &'a Record<'a>, fields: &'a Fields<'a>) -> Option<Self> {
        let guid = record.class_guid()?;
        let provider = PROVIDERS.iter().find(|provider| provider.guid == guid)?;
        Some(Self { provider: *provider, id: record.descriptor()?.id, source: Source::Trace { record, fields } })
    }

    /// An event of a log, at `time_ns` on the axis; `None` for an event of another provider.
    pub(super) fn from_log(record: &'a LogRecord, time_ns: i64) -> Option<Self> {
        let provider = PROVIDERS.iter().find(|provider| provider.name == record.provider)?;
        let id = record.id.try_into().ok()?;
        Some(Self { provider: *provider, id, source: Source::Log { record, time_ns } })
    }

    pub(super) fn is(&self, event: Event) -> bool {
        (self.provider, self.id) == event
    }

    /// The record in the trace; `None` for an event of a log.
    pub(super) fn trace_record(&self) -> Option<&'a Record<'a>> {
        match self.source {
            Source::Trace { record, .. } => Some(record),
            Source::Log { .. } => None,
        }
    }

    pub(super) fn time_ns(&self) -> i64 {
        match self.source {
            Source::Trace { record, .. } => record.time_ns(),
            Source::Log { time_ns, .. } => time_ns,
        }
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        match self.source {
            Source::Trace { record, .. } => record.process_id(),
            Source::Log { record, .. } => Some(record.process_id).filter(|&pid| pid != 0),
        }
    }

    pub(super) fn thread_id(&self) -> Option<u32> {
        match self.source {
            Source::Trace { record, .. } => record.thread_id(),
            Source::Log { record, .. } => Some(record.thread_id).filter(|&tid| tid != 0),
        }
    }

    pub(super) fn activity_id(&self) -> Option<Guid> {
        match self.source {
            Source::Trace { record, .. } => record.activity_id(),
            Source::Log { record, .. } => record.activity_id.trim_matches(['{', '}']).parse().ok(),
        }
    }

    /// Returns the value of a numeric field; `None` if the event does not have the field.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.source {
            Source::Trace { fields, .. } => fields.get(name)?.as_u64(),
            Source::Log { record, .. } => record.number(name),
        }
    }

    /// Returns the value of a numeric field that fits in 32 bits.
    pub(super) fn number32(&self, name: &str) -> Option<u32> {
        match self.source {
            Source::Trace { fields, .. } => fields.get(name)?.as_u32(),
            Source::Log { record, .. } => record.number(name)?.try_into().ok(),
        }
    }

    /// Returns the value of a signed numeric field.
    pub(super) fn signed(&self, name: &str) -> Option<i64> {
        match self.source {
            Source::Trace { fields, .. } => fields.get(name)?.as_i64(),
            Source::Log { record, .. } => record.signed(name),
        }
    }

    /// Returns the text form of a field; `None` if the event does not have the field.
    pub(super) fn text(&self, name: &str, texts: &mut Texts) -> Option<StringId> {
        match self.source {
            Source::Trace { fields, .. } => fields.get(name).map(|value| texts.display(value)),
            Source::Log { record, .. } => record.text(name).map(|text| texts.str(text)),
        }
    }

    /// Returns the name of the record in the tables, e.g. `Microsoft-Windows-Kernel-PnP/216`.
    pub(super) fn label(&self, texts: &mut Texts) -> StringId {
        texts.display(format_args!("{}/{}", self.provider.name, self.id))
    }
}

#[cfg(test)]
mod tests {
    use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};
    use onoff_trace::{TableSet, milestone};
    use uuid::Uuid;

    use crate::phases::wanted_events;
    use onoff_input::options::Options;
    use onoff_input::unpack::Limits;
    use onoff_sources::{files_from_bytes, open_files};

    /// Number of event versions to test; the catalog has up to 14 versions of an event.
    const VERSIONS: u8 = 16;

    fn read(events: impl Iterator<Item = (Uuid, u16, u8, Payload)>) -> onoff_trace::Trace {
        let session = Session::windows_10(1);
        let start = session.start_ticks;
        let mut builder = EtlBuilder::new(session);
        for (number, (provider, id, version, payload)) in (1..).zip(events) {
            let event =
                EventHeader { provider, id, version, thread: 8, process: 4, level: 4, ..EventHeader::default() };
            builder.push(0, &Record::manifest(event, start + number, payload));
        }
        let files = files_from_bytes([("events.etl".to_owned(), builder.finish())], &Limits::default()).unwrap();
        open_files(&files, TableSet::all(), &Options::default()).unwrap()
    }

    /// Windows 7 to 11 record the same events in up to 14 versions, none of which may be counted as unreadable.
    #[test]
    fn all_event_versions_are_readable() {
        // Zeros are long enough for every layout; only the start and end times of a transition must not be zero.
        const TIME: u64 = 133_500_000_000_000_000;
        let payload = |guid: onoff_etl::Guid, id: u16| {
            let fields = match (guid == super::KERNEL_POWER.guid, id) {
                (true, 1) => Payload::wide().u64(0).u64(TIME),
                (true, 2) => Payload::wide().u32(0).u64(TIME),
                _ => Payload::wide(),
            };
            fields.bytes(&[0; 4096])
        };
        let all_versions = |(guid, id): (onoff_etl::Guid, u16)| {
            let provider = guid.to_string().parse::<Uuid>().unwrap();
            (0..VERSIONS).map(move |version| (provider, id, version, payload(guid, id)))
        };
        let trace = read(wanted_events(TableSet::all()).flat_map(all_versions));
        let unreadable = trace.losses.iter().find(|loss| loss.counter == "phase_event_unreadable");
        assert_eq!(unreadable.map(|loss| loss.first.as_deref()), None);
        assert!(trace.milestones.len() > 500, "{}", trace.milestones.len());
    }

    /// Uses values from logs of real machines: a PC whose firmware took 12.6 s, a PC whose firmware stores a counter as
    /// the end of reset, a PC without a table, and a suspend of 3 ms two hours after the reset.
    #[test]
    fn firmware_times_are_milliseconds() {
        const MS: i64 = 1_000_000;
        let boot = Uuid::from_u128(0x15ca44ff_4d7a_4baa_bba5_0998955e531e);
        let power = Uuid::from_u128(0x331c3b3a_2005_44c2_ac5e_77220c37d6b4);
        let times = |values: &[u64]| values.iter().fold(Payload::wide(), |payload, &value| payload.u64(value));
        let table = |values: [u64; 5]| (boot, 30, 0, times(&values));
        let events = [
            table([0, 12_609, 12_621, 12_986, 12_990]),
            table([6_570_000_000_000, 4_166, 4_247, 5_817, 5_818]),
            table([0; 5]),
            (power, 130, 0, times(&[7_855_209, 7_855_212])),
        ];
        let trace = read(events.into_iter());
        let values = |name: &str| -> Vec<i64> {
            let rows = trace.milestones.iter().filter(|row| trace.text(row.name) == name);
            rows.map(|row| row.value.unwrap()).collect()
        };
        assert_eq!(values(milestone::FIRMWARE_RESET_END), [0, 0]);
        assert_eq!(values(milestone::FIRMWARE_LOADER_LOADED), [12_609 * MS, 4_166 * MS, 0]);
        assert_eq!(values(milestone::FIRMWARE_LOADER_STARTED), [12_621 * MS, 4_247 * MS, 0]);
        assert_eq!(values(milestone::FIRMWARE_EXIT_BEGIN), [12_986 * MS, 5_817 * MS, 0]);
        assert_eq!(values(milestone::FIRMWARE_EXIT_END), [12_990 * MS, 5_818 * MS, 0]);
        assert_eq!(values(milestone::FIRMWARE_SUSPEND_BEGIN), [7_855_209 * MS]);
        assert_eq!(values(milestone::FIRMWARE_SUSPEND_END), [7_855_212 * MS]);
        assert_eq!(trace.losses.count("phase_event_unreadable"), 0);
    }

    #[test]
    fn reads_clock_change_in_every_version() {
        let general = Uuid::from_u128(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);
        let (new, old) = (133_500_000_000_000_000_u64, 133_500_036_000_000_000_u64);
        let times = || Payload::wide().u64(new).u64(old);
        let versions = [
            (0, times()),
            (1, times().u32(1)),
            (2, times().u32(1).text("svchost.exe").u32(900)),
            (4, times().i64(-3_600_000).u32(1).text("svchost.exe").u32(900).u64(0).i32(0).u8(0).u8(0)),
        ];
        let trace = read(versions.into_iter().map(|(version, payload)| (general, 1, version, payload)));
        let set = trace.milestones.iter().filter(|row| trace.text(row.name) == milestone::CLOCK_SET);
        let set: Vec<_> = set.map(|row| (row.value, trace.text(row.detail))).collect();
        // A program set the clock back by one hour; the oldest versions do not contain the program.
        let reasons = trace.milestones.iter().filter(|row| trace.text(row.name) == milestone::CLOCK_SET_REASON);
        assert_eq!(reasons.map(|row| row.value).collect::<Vec<_>>(), [Some(1); 3]);
        let one_hour_back = Some(-3_600_000);
        assert_eq!(
            set,
            [(one_hour_back, ""), (one_hour_back, ""), (one_hour_back, "svchost.exe"), (one_hour_back, "svchost.exe")]
        );
        assert_eq!(trace.losses.count("phase_event_unreadable"), 0);
    }
}
