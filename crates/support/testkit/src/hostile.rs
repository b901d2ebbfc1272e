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

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn time(&mut self) -> i64 {
        let any = i64::from_ne_bytes(self.value().to_ne_bytes());
        let small = i64::try_from(self.value() % 40_000_000_000).unwrap_or_default();
        self.pick(&[small, small, small, small, 0, 1, -1, i64::MAX, i64::MIN, any])
    }

    pub(super) fn id(&mut self) -> u32 {
        let any = u32::try_from(self.value() >> 32).unwrap_or_default();
        self.pick(&[0, 4, 8, 100, 104, any, u32::MAX])
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
    let mut any = ExtremeValues(seed);
    let mut trace = Trace { duration_ns: any.time(), ..Trace::default() };
    trace.system.processors = any.pick(&[0, 1, 8, u32::MAX]);
    let texts: Vec<StringId> = TEXTS.iter().map(|text| trace.strings.intern(text)).collect();
    for _ in 0..any.below(12) {
        trace.processes.push(Process {
            pid: any.id(),
            parent_pid: any.optional_id(),
            creator_tid: None,
            start_ns: any.optional_time(),
            end_ns: any.optional_time(),
            image: any.pick(&texts),
            command_line: any.pick(&texts),
            session: any.optional_id(),
            exit_status: None,
            user: StringId::EMPTY,
            unique_key: 0,
            page_directory: 0,
            package: StringId::EMPTY,
        });
        trace.threads.push(Thread {
            start_ns: any.optional_time(),
            end_ns: any.optional_time(),
            base_priority: Some(u8::try_from(any.below(256)).unwrap_or_default()),
            ..Thread::unknown(any.id(), any.id())
        });
        trace.disk_ios.push(DiskIo {
            issue_ns: any.optional_time(),
            complete_ns: any.time(),
            disk: any.id(),
            operation: any.pick(DiskOperation::ALL),
            offset: any.value(),
            size: any.value(),
            priority: any.pick(IoPriority::ALL),
            service_ns: any.time(),
            pid: any.optional_id(),
            tid: any.optional_id(),
            file: any.pick(&texts),
            file_object: any.value() % 2,
            irp: 0,
            irp_flags: 0,
        });
        trace.service_transitions.push(ServiceTransition {
            service: any.pick(&texts),
            group: any.pick(&texts),
            kind: any.pick(ServiceChange::ALL),
            start_ns: any.time(),
            checkpoint_ns: any.optional_time(),
            load_ns: any.optional_time(),
            end_ns: any.optional_time(),
            container: any.pick(&texts),
            container_pid: any.optional_id(),
            outcome: any.pick(ServiceOutcome::ALL),
            automatic: any.below(2) == 0,
            start_type: None,
            result: any.pick(&texts),
            timeout_ns: any.optional_time(),
            main_tid: None,
            tid: None,
            end_tid: None,
            event: StringId::EMPTY,
        });
        trace.device_operations.push(DeviceOperation {
            kind: any.pick(DeviceOperationKind::ALL),
            start_ns: any.time(),
            pend_ns: any.optional_time(),
            end_ns: any.optional_time(),
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
            value: any.optional(value),
            pid: any.optional_id(),
            tid: None,
            event: StringId::EMPTY,
        });
        trace.activities.push(Activity {
            kind: any.pick(ActivityKind::ALL),
            name: any.pick(&texts),
            detail: any.pick(&texts),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            pid: any.optional_id(),
            tid: None,
            end_tid: None,
            session: any.optional_id(),
            status: any.optional_id(),
            event: StringId::EMPTY,
        });
    }
    // Readers sort these by start; here they are unsorted.
    for _ in 0..any.below(12) {
        trace.notifications.push(Notification {
            kind: any.pick(NotificationKind::ALL),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            name: any.pick(&texts),
            pid: any.optional_id(),
            tid: any.optional_id(),
            session: any.optional_id(),
            level: any.optional_id(),
            flags: any.optional_id(),
            status: any.optional_id(),
            sender_pid: any.optional_id(),
            sender_tid: any.optional_id(),
            event: any.pick(&texts),
        });
        trace.power_requests.push(PowerRequest {
            kind: any.pick(PowerRequestKind::ALL),
            scope: any.pick(PowerRequestScope::ALL),
            start_ns: any.time(),
            end_ns: any.optional_time(),
            device: any.pick(&texts),
            driver: any.pick(&texts),
            description: any.pick(&texts),
            friendly_name: any.pick(&texts),
            state_kind: any.pick(PowerStateKind::ALL),
            state: Some(u8::try_from(any.below(256)).unwrap_or_default()),
            status: any.optional_id(),
            failed_driver: any.pick(&texts),
            irp: any.value() % 3,
            waiting_ns: any.optional_time(),
            parent: any.pick(&texts),
            message: any.pick(&texts),
            tid: any.optional_id(),
            event: any.pick(&texts),
        });
        trace.images.push(Image {
            pid: any.id(),
            base: any.value(),
            size: any.value(),
            load_ns: any.optional_time(),
            unload_ns: any.optional_time(),
            path: any.pick(&texts),
            time_stamp: 0,
            checksum: 0,
            default_base: 0,
            pdb_name: StringId::EMPTY,
            pdb_id: StringId::EMPTY,
            version: StringId::EMPTY,
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
