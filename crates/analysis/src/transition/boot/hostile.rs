//! Recordings that no machine makes: the analysis answers anything without a panic and without unbounded work.

use onoff_trace::{
    Activity, ActivityKind, ContextSwitch, ContextSwitches, DeviceOperation, DeviceOperationKind,
    DevicePhase, DiskIo, DiskOperation, IoPriority, Milestone, Process, Sample, Samples,
    ServiceChange, ServiceOutcome, ServiceTransition, StringId, Thread, Trace, milestone,
};

use super::{BootOptions, analyse};
use crate::idle::IdleMetric;

const TEXTS: [&str; 18] = [
    "",
    "smss.exe",
    "csrss.exe",
    "wininit.exe",
    "winlogon.exe",
    r"\Device\HarddiskVolume3\Windows\explorer.exe",
    "LogonUI.exe",
    r"\Driver\disk",
    "Group",
    "ÄÖ.\u{1F600}",
    milestone::DESKTOP_READY,
    milestone::SYSTEM_START,
    milestone::OS_LOADER,
    milestone::MARK,
    "ExplorerReady",
    milestone::AUTO_START_BEGIN,
    milestone::AUTO_START_END,
    milestone::SHELL_INITIALISATION_END,
];

/// A deterministic source of values that are mostly extreme.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn time(&mut self) -> i64 {
        let any = i64::from_ne_bytes(self.next().to_ne_bytes());
        let small = i64::try_from(self.next() % 40_000_000_000).unwrap();
        self.pick(&[
            small,
            small,
            small,
            small,
            0,
            1,
            -1,
            i64::MAX,
            i64::MIN,
            any,
        ])
    }

    fn id(&mut self) -> u32 {
        let any = u32::try_from(self.next() >> 32).unwrap();
        self.pick(&[0, 4, 8, 100, 104, any, u32::MAX])
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        self.next().is_multiple_of(2).then_some(value)
    }

    fn maybe_time(&mut self) -> Option<i64> {
        let time = self.time();
        self.maybe(time)
    }

    fn maybe_id(&mut self) -> Option<u32> {
        let id = self.id();
        self.maybe(id)
    }
}

fn hostile(seed: u64) -> Trace {
    let mut any = Source(seed);
    let mut trace = Trace {
        duration_ns: any.time(),
        ..Trace::default()
    };
    trace.system.processors = any.pick(&[0, 1, 8, u32::MAX]);
    let texts: Vec<StringId> = TEXTS
        .iter()
        .map(|text| trace.strings.intern(text))
        .collect();
    for _ in 0..any.below(12) {
        trace.processes.push(Process {
            pid: any.id(),
            parent_pid: any.maybe_id(),
            start_ns: any.maybe_time(),
            end_ns: any.maybe_time(),
            image: any.pick(&texts),
            command_line: any.pick(&texts),
            session: any.maybe_id(),
            exit_status: None,
            user: StringId::EMPTY,
            unique_key: 0,
            page_directory: 0,
            package: StringId::EMPTY,
        });
        trace.threads.push(Thread {
            start_ns: any.maybe_time(),
            end_ns: any.maybe_time(),
            base_priority: Some(u8::try_from(any.below(256)).unwrap()),
            ..Thread::unknown(any.id(), any.id())
        });
        trace.disk_ios.push(DiskIo {
            issue_ns: any.maybe_time(),
            complete_ns: any.time(),
            disk: any.id(),
            operation: any.pick(DiskOperation::ALL),
            offset: any.next(),
            size: any.next(),
            priority: any.pick(IoPriority::ALL),
            service_ns: any.time(),
            pid: any.maybe_id(),
            tid: any.maybe_id(),
            file: any.pick(&texts),
            file_object: any.next() % 2,
            irp: 0,
            irp_flags: 0,
        });
        trace.service_transitions.push(ServiceTransition {
            service: any.pick(&texts),
            group: any.pick(&texts),
            kind: any.pick(ServiceChange::ALL),
            start_ns: any.time(),
            checkpoint_ns: any.maybe_time(),
            load_ns: any.maybe_time(),
            end_ns: any.maybe_time(),
            container: any.pick(&texts),
            container_pid: any.maybe_id(),
            outcome: any.pick(ServiceOutcome::ALL),
            automatic: any.below(2) == 0,
            event: StringId::EMPTY,
        });
        trace.device_operations.push(DeviceOperation {
            kind: any.pick(DeviceOperationKind::ALL),
            start_ns: any.time(),
            pend_ns: any.maybe_time(),
            end_ns: any.maybe_time(),
            device: any.pick(&texts),
            driver: any.pick(&texts),
            description: any.pick(&texts),
            friendly_name: any.pick(&texts),
            phase: any.pick(DevicePhase::ALL),
            status: None,
            tid: None,
            event: StringId::EMPTY,
        });
        let value = any.time();
        trace.milestones.push(Milestone {
            time_ns: any.time(),
            name: any.pick(&texts),
            detail: any.pick(&texts),
            value: any.maybe(value),
            pid: any.maybe_id(),
            event: StringId::EMPTY,
        });
        trace.activities.push(Activity {
            kind: any.pick(ActivityKind::ALL),
            name: any.pick(&texts),
            detail: any.pick(&texts),
            start_ns: any.time(),
            end_ns: any.maybe_time(),
            pid: any.maybe_id(),
            session: any.maybe_id(),
            status: any.maybe_id(),
            event: StringId::EMPTY,
        });
    }
    let switches: ContextSwitches = (0..any.below(40))
        .map(|_| ContextSwitch {
            time_ns: any.time(),
            cpu: any.pick(&[0, 1, 63, u16::MAX]),
            new_tid: any.id(),
            old_tid: any.id(),
            new_priority: any.pick(&[0, 8, 31, -1, i8::MIN, i8::MAX]),
            old_priority: any.pick(&[0, 8, 31, -1, i8::MIN, i8::MAX]),
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: 0,
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        })
        .collect();
    trace.context_switches.push(switches);
    let samples: Samples = (0..any.below(20))
        .map(|_| Sample {
            time_ns: any.time(),
            cpu: any.pick(&[0, 1, u16::MAX]),
            tid: any.id(),
            address: 0,
            count: any.pick(&[0, 1, u16::MAX]),
            source: any.pick(&[0, 0, 0, 7]),
        })
        .collect();
    trace.samples.push(samples);
    trace
}

#[test]
fn anything_gets_an_answer() {
    let mut answered = 0;
    for seed in 0..600 {
        let trace = hostile(seed);
        for idle in [IdleMetric::XPERF, IdleMetric::ADK] {
            let options = BootOptions {
                idle,
                ..BootOptions::default()
            };
            if let Ok(report) = analyse(&trace, &options) {
                answered += 1;
                assert_eq!(report.phases.len(), 6, "seed {seed}");
                let known: Vec<i64> = report
                    .phases
                    .iter()
                    .take(5)
                    .flat_map(|phase| [phase.start_ns, phase.end_ns])
                    .flatten()
                    .collect();
                assert!(known.is_sorted(), "seed {seed}: {known:?}");
            }
        }
    }
    assert!(answered > 100, "only {answered} recordings held a boot");
}
