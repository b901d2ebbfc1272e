//! Traces that no machine produces. Every analysis must handle them without a panic and without unbounded work.

use onoff_trace::{
    Activity, ActivityKind, ContextSwitch, ContextSwitches, DeviceOperation, DeviceOperationKind, DevicePhase, DiskIo,
    DiskOperation, Image, IoPriority, Milestone, Notification, NotificationKind, PowerRequest, PowerRequestKind,
    PowerRequestScope, PowerStateKind, Process, Sample, Samples, ServiceChange, ServiceOutcome, ServiceTransition,
    StringId, Thread, Trace, milestone, power_phase, shutdown_step,
};

const TEXTS: [&str; 36] = [
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
    milestone::SHELL_INITIALIZATION_END,
    milestone::SHUTDOWN_REQUEST,
    milestone::LOGOFF_REQUEST,
    milestone::SHUTDOWN_ACTION,
    milestone::KERNEL_SHUTDOWN,
    milestone::SYSTEM_STOP,
    milestone::SLEEP,
    milestone::WAKE,
    milestone::HIBERNATE,
    milestone::STANDBY_ENTER,
    milestone::STANDBY_EXIT,
    milestone::POWER_HIBERNATE_WRITE_TIME,
    shutdown_step::PRE_SHUTDOWN_NOTIFICATION,
    shutdown_step::WAIT_FOR_SYSTEM_PROCESSES,
    shutdown_step::GRACEFUL_SHUTDOWN,
    shutdown_step::REGISTRY,
    power_phase::SUSPEND_SERVICES,
    power_phase::RESUME_DEVICES,
    "services.exe",
];

/// A deterministic generator of mostly extreme values.
pub struct ExtremeValues(pub u64);

impl ExtremeValues {
    pub fn value(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.value() % limit as u64).unwrap_or_default()
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn time(&mut self) -> i64 {
        let unbounded = i64::from_ne_bytes(self.value().to_ne_bytes());
        let small = i64::try_from(self.value() % 40_000_000_000).unwrap_or_default();
        self.pick(&[small, small, small, small, 0, 1, -1, i64::MAX, i64::MIN, unbounded])
    }

    pub(super) fn id(&mut self) -> u32 {
        let unbounded = u32::try_from(self.value() >> 32).unwrap_or_default();
        self.pick(&[0, 4, 8, 100, 104, unbounded, u32::MAX])
    }

    pub fn optional<T>(&mut self, value: T) -> Option<T> {
        self.value().is_multiple_of(2).then_some(value)
    }

    pub fn optional_time(&mut self) -> Option<i64> {
        let time = self.time();
        self.optional(time)
    }

    pub fn optional_id(&mut self) -> Option<u32> {
        let id = self.id();
        self.optional(id)
    }
}

pub fn hostile_trace(seed: u64) -> Trace {
    let mut values = ExtremeValues(seed);
    let mut trace = Trace { duration_ns: values.time(), ..Trace::default() };
    trace.system.processors = values.pick(&[0, 1, 8, u32::MAX]);
    let texts: Vec<StringId> = TEXTS.iter().map(|text| trace.strings.intern(text)).collect();
    for _ in 0..values.below(12) {
        trace.processes.push(Process {
            pid: values.id(),
            parent_pid: values.optional_id(),
            creator_tid: None,
            start_ns: values.optional_time(),
            end_ns: values.optional_time(),
            image: values.pick(&texts),
            command_line: values.pick(&texts),
            session: values.optional_id(),
            exit_status: None,
            user: StringId::EMPTY,
            unique_key: 0,
            page_directory: 0,
            package: StringId::EMPTY,
        });
        trace.threads.push(Thread {
            start_ns: values.optional_time(),
            end_ns: values.optional_time(),
            base_priority: Some(u8::try_from(values.below(256)).unwrap_or_default()),
            ..Thread::unknown(values.id(), values.id())
        });
        trace.disk_ios.push(DiskIo {
            issue_ns: values.optional_time(),
            complete_ns: values.time(),
            disk: values.id(),
            operation: values.pick(DiskOperation::ALL),
            offset: values.value(),
            size: values.value(),
            priority: values.pick(IoPriority::ALL),
            service_ns: values.time(),
            pid: values.optional_id(),
            tid: values.optional_id(),
            file: values.pick(&texts),
            file_object: values.value() % 2,
            irp: 0,
            irp_flags: 0,
        });
        trace.service_transitions.push(ServiceTransition {
            service: values.pick(&texts),
            group: values.pick(&texts),
            kind: values.pick(ServiceChange::ALL),
            start_ns: values.time(),
            checkpoint_ns: values.optional_time(),
            load_ns: values.optional_time(),
            end_ns: values.optional_time(),
            container: values.pick(&texts),
            container_pid: values.optional_id(),
            outcome: values.pick(ServiceOutcome::ALL),
            automatic: values.below(2) == 0,
            start_type: None,
            result: values.pick(&texts),
            timeout_ns: values.optional_time(),
            main_tid: None,
            tid: None,
            end_tid: None,
            cpu_ns: values.optional_time(),
            cpu_max_ns: values.optional_time(),
            event: StringId::EMPTY,
        });
        trace.device_operations.push(DeviceOperation {
            kind: values.pick(DeviceOperationKind::ALL),
            start_ns: values.time(),
            pend_ns: values.optional_time(),
            end_ns: values.optional_time(),
            device: values.pick(&texts),
            driver: values.pick(&texts),
            description: values.pick(&texts),
            friendly_name: values.pick(&texts),
            phase: values.pick(DevicePhase::ALL),
            status: None,
            tid: None,
            end_tid: None,
            event: StringId::EMPTY,
        });
        let value = values.time();
        trace.milestones.push(Milestone {
            time_ns: values.time(),
            name: values.pick(&texts),
            detail: values.pick(&texts),
            value: values.optional(value),
            pid: values.optional_id(),
            tid: None,
            event: StringId::EMPTY,
        });
        trace.activities.push(Activity {
            kind: values.pick(ActivityKind::ALL),
            name: values.pick(&texts),
            detail: values.pick(&texts),
            start_ns: values.time(),
            end_ns: values.optional_time(),
            pid: values.optional_id(),
            tid: None,
            end_tid: None,
            session: values.optional_id(),
            status: values.optional_id(),
            event: StringId::EMPTY,
        });
    }
    // Readers sort these by start; here they are unsorted.
    for _ in 0..values.below(12) {
        trace.notifications.push(Notification {
            kind: values.pick(NotificationKind::ALL),
            start_ns: values.time(),
            end_ns: values.optional_time(),
            name: values.pick(&texts),
            pid: values.optional_id(),
            tid: values.optional_id(),
            session: values.optional_id(),
            level: values.optional_id(),
            flags: values.optional_id(),
            status: values.optional_id(),
            sender_pid: values.optional_id(),
            sender_tid: values.optional_id(),
            event: values.pick(&texts),
        });
        trace.power_requests.push(PowerRequest {
            kind: values.pick(PowerRequestKind::ALL),
            scope: values.pick(PowerRequestScope::ALL),
            start_ns: values.time(),
            end_ns: values.optional_time(),
            device: values.pick(&texts),
            driver: values.pick(&texts),
            description: values.pick(&texts),
            friendly_name: values.pick(&texts),
            state_kind: values.pick(PowerStateKind::ALL),
            state: Some(u8::try_from(values.below(256)).unwrap_or_default()),
            status: values.optional_id(),
            failed_driver: values.pick(&texts),
            irp: values.value() % 3,
            waiting_ns: values.optional_time(),
            parent: values.pick(&texts),
            message: values.pick(&texts),
            tid: values.optional_id(),
            event: values.pick(&texts),
        });
        trace.images.push(Image {
            pid: values.id(),
            base: values.value(),
            size: values.value(),
            load_ns: values.optional_time(),
            unload_ns: values.optional_time(),
            path: values.pick(&texts),
            time_stamp: 0,
            checksum: 0,
            default_base: 0,
            pdb_name: StringId::EMPTY,
            pdb_id: StringId::EMPTY,
            version: StringId::EMPTY,
        });
    }
    let switches: ContextSwitches = (0..values.below(40))
        .map(|_| ContextSwitch {
            time_ns: values.time(),
            cpu: values.pick(&[0, 1, 63, u16::MAX]),
            new_tid: values.id(),
            old_tid: values.id(),
            new_priority: values.pick(&[0, 8, 31, -1, i8::MIN, i8::MAX]),
            old_priority: values.pick(&[0, 8, 31, -1, i8::MIN, i8::MAX]),
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: 0,
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        })
        .collect();
    trace.context_switches.push(switches);
    let samples: Samples = (0..values.below(20))
        .map(|_| Sample {
            time_ns: values.time(),
            cpu: values.pick(&[0, 1, u16::MAX]),
            tid: values.id(),
            address: 0,
            count: values.pick(&[0, 1, u16::MAX]),
            source: values.pick(&[0, 0, 0, 7]),
        })
        .collect();
    trace.samples.push(samples);
    trace
}
