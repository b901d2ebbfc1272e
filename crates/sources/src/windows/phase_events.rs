//! The manifest events that say what a transition is doing, by provider and id, and how their fields are read.
//!
//! They are few and are looked at when the whole recording has been read: its last records may hold their schemas, and
//! what a service, a device or a processor is called.

use onoff_etl::{Guid, Record};
use onoff_etw::Fields;
use onoff_trace::{StringId, TableName, Tables};

use super::texts::Texts;

/// A provider of such events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) guid: Guid,
    pub(super) name: &'static str,
}

macro_rules! providers {
    ($($constant:ident = $guid:literal, $name:literal;)*) => {$(
        pub(super) const $constant: Provider =
            Provider { guid: Guid::from_u128($guid), name: $name };
    )*};
}

providers! {
    KERNEL_PROCESS = 0x22fb2cd6_0e7b_422b_a0c7_2fad1fd0e716, "Microsoft-Windows-Kernel-Process";
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
    CSR = 0xe8316a2d_0d94_4f52_85dd_1e15b66c5891, "Microsoft-Windows-Subsys-Csr";
    WININIT = 0x206f6dea_d3c5_4d10_bc72_989f03c8b84b, "Microsoft-Windows-Wininit";
    WINSRV = 0x9d55b53d_449b_4824_a637_24f9d69aa02f, "Microsoft-Windows-Winsrv";
    GROUP_POLICY = 0xaea1b4fa_97d1_45f2_a64c_4d69fffd92c9, "Microsoft-Windows-GroupPolicy";
    USER_PROFILES = 0x89b1e9f0_5aff_44a6_9b44_0a07a7ce5845, "Microsoft-Windows-User Profiles Service";
}

const USED: &[(Provider, &[u16], &[TableName])] = &[
    (KERNEL_PROCESS, &[1, 2, 15], &[TableName::Processes]),
    (KERNEL_PROCESS, &[3, 4], &[TableName::Threads]),
    (KERNEL_PROCESS, &[5, 6], &[TableName::Images]),
    (KERNEL_PNP, &[200, 201, 202, 203], &[TableName::Milestones, TableName::DeviceOperations]),
    (KERNEL_PNP, &[204], &[TableName::Milestones]),
    (KERNEL_PNP, &[210, 211, 212, 213, 216, 217, 218, 220, 221, 222, 226, 227], &[TableName::DeviceOperations]),
    (KERNEL_BOOT, &[7, 11, 27, 30, 32], &[TableName::Milestones]),
    (KERNEL_GENERAL, &[1, 12, 13], &[TableName::Milestones]),
    (KERNEL_PREFETCH, &[1, 2], &[TableName::Activities]),
    (READY_BOOST, &[1024], &[TableName::Milestones]),
    (SMSS, &[1, 2, 23, 24], &[TableName::Activities]),
    (WINLOGON, &[9, 301, 5001, 5002, 5005, 5007], &[TableName::Milestones]),
    (WINLOGON, &[1, 2, 201, 202, 203, 204, 401, 402, 403, 404, 801, 802, 805, 806, 811, 812], &[TableName::Activities]),
    (SERVICES, &[101, 102], &[TableName::Milestones, TableName::ServiceTransitions]),
    (SERVICES, &[103, 104], &[TableName::Activities, TableName::ServiceTransitions]),
    (SERVICES, &[105, 205], &[TableName::ServiceTransitions]),
    (SVCHOST, &[101, 102], &[TableName::ServiceTransitions]),
    (SHELL_CORE, &[9601, 9602, 27230, 27231], &[TableName::Milestones]),
    (SHELL_CORE, &[9701, 9702, 9703, 9704, 9705, 9706, 9707, 9708, 9709, 9710, 9711, 9712], &[TableName::Activities]),
    (PERF_TRACK, &[1000, 1001, 1002, 1003, 1100, 1101, 1102, 1103, 1111, 1112, 1500], &[TableName::Milestones]),
    (
        GROUP_POLICY,
        &[
            4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007, 4016, 4018, 4326, 5016, 5018, 5326, 6000, 6001, 6002, 6003,
            6004, 6005, 6006, 6007, 6016, 6018, 6326, 7000, 7001, 7002, 7003, 7004, 7005, 7006, 7007, 7016, 7018, 7326,
            8000, 8001, 8002, 8003, 8004, 8005, 8006, 8007,
        ],
        &[TableName::Activities],
    ),
    (USER_PROFILES, &[1, 2], &[TableName::Activities]),
    (KERNEL_POWER, &[1, 2], &[TableName::Activities, TableName::Milestones]),
    (
        KERNEL_POWER,
        &[
            3, 4, 5, 6, 22, 23, 24, 25, 26, 27, 35, 36, 37, 38, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
            57, 58, 64, 65, 66, 67, 68, 69, 70, 71, 100, 101, 102, 103, 133, 134, 188, 189, 518, 519,
        ],
        &[TableName::Activities],
    ),
    (KERNEL_POWER, &[34, 39, 42, 107, 108, 109, 117, 120, 121, 123, 130, 131, 506, 507], &[TableName::Milestones]),
    (KERNEL_POWER, &[12, 13, 14, 15, 16, 17, 18, 19, 28, 29], &[TableName::Notifications]),
    (KERNEL_POWER, &[7, 8, 11, 20, 21, 523], &[TableName::PowerRequests]),
    (CSR, &[1, 2], &[TableName::Activities]),
    (CSR, &[3, 4], &[TableName::Notifications]),
    (WININIT, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[TableName::Activities]),
    (WININIT, &[51, 53, 55], &[TableName::Milestones]),
    (WINSRV, &[12001, 12002, 12005, 12006, 12007, 12008, 12009, 12010, 12011, 12012], &[TableName::Notifications]),
];

/// The events that the wanted tables are made of.
pub(super) fn wanted(wanted: Tables) -> impl Iterator<Item = (Guid, u16)> {
    USED.iter()
        .filter(move |(_, _, tables)| tables.iter().any(|&table| wanted.contains(table)))
        .flat_map(|(provider, ids, _)| ids.iter().map(|&id| (provider.guid, id)))
}

/// One such event, its fields by name.
pub(super) struct PhaseEvent<'a> {
    pub(super) record: &'a Record<'a>,
    pub(super) provider: Provider,
    pub(super) id: u16,
    fields: &'a Fields<'a>,
}

impl<'a> PhaseEvent<'a> {
    /// `None` for an event of another provider.
    pub(super) fn new(record: &'a Record<'a>, fields: &'a Fields<'a>) -> Option<Self> {
        let guid = record.class_guid()?;
        let (provider, ..) = USED.iter().find(|(provider, ..)| provider.guid == guid)?;
        Some(Self { record, provider: *provider, id: record.descriptor()?.id, fields })
    }

    pub(super) fn is(&self, provider: Provider, id: u16) -> bool {
        self.id == id && self.provider == provider
    }

    pub(super) fn time_ns(&self) -> i64 {
        self.record.time_ns()
    }

    /// The number of a field; `None` when the event has no such field.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name)?.as_u64()
    }

    /// The number of a field that fits 32 bits.
    pub(super) fn number32(&self, name: &str) -> Option<u32> {
        self.fields.get(name)?.as_u32()
    }

    /// The number of a field that may be negative.
    pub(super) fn signed(&self, name: &str) -> Option<i64> {
        self.fields.get(name)?.as_i64()
    }

    /// The text of a field, as people read it; `None` when the event has no such field.
    pub(super) fn text(&self, name: &str, texts: &mut Texts) -> Option<StringId> {
        self.fields.get(name).map(|value| texts.display(value))
    }

    /// What names the record in the tables, e.g. `Microsoft-Windows-Kernel-PnP/216`.
    pub(super) fn label(&self, texts: &mut Texts) -> StringId {
        texts.display(format_args!("{}/{}", self.provider.name, self.id))
    }
}
