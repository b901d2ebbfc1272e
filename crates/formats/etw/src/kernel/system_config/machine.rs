//! Processors, memory, firmware and operating system.

use onoff_etl::{Guid, Record};

use crate::kernel::{KernelPayload, events, parse_from_record};
use crate::text::Utf16;

/// Processors and memory of the machine. Hook 0x0B0A.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorConfiguration<'b> {
    /// Nominal clock rate.
    pub mhz: u32,
    /// Number of logical processors.
    pub processors: u32,
    /// Installed memory.
    pub memory_mib: u32,
    /// Size of a page in bytes.
    pub page_size: u32,
    /// Allocation granularity in bytes.
    pub allocation_granularity: u32,
    pub computer_name: Utf16<'b>,
    /// Domain or workgroup.
    pub domain_name: Utf16<'b>,
    /// Bit mask of logical processors that share a core.
    pub hyper_threading: u64,
    /// Memory clock in MHz; `None` before version 3.
    pub memory_speed: Option<u32>,
    /// `PROCESSOR_ARCHITECTURE_*`: 0 x86, 5 ARM, 9 x64, 12 ARM64; `None` before version 3.
    pub architecture: Option<u16>,
}

impl<'b> ProcessorConfiguration<'b> {
    pub const HOOK: u16 = 0x0b0a;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let version = payload.version;
        let mut fields = payload.fields;
        let mut configuration = Self {
            mhz: fields.u32()?,
            processors: fields.u32()?,
            memory_mib: fields.u32()?,
            page_size: fields.u32()?,
            allocation_granularity: fields.u32()?,
            computer_name: fields.utf16_array(256)?,
            domain_name: fields.utf16_array(if version < 2 { 132 } else { 134 })?,
            hyper_threading: fields.pointer()?,
            memory_speed: None,
            architecture: None,
        };
        if version >= 3 {
            fields.pointer()?;
            configuration.architecture = Some(fields.u16()?);
            fields.skip(6)?;
            configuration.memory_speed = Some(fields.u32()?);
        }
        Some(configuration)
    }
}
parse_from_record!(ProcessorConfiguration<'b>);

events! {
    /// Name and features of a processor. Hook 0x0B23.
    0x0b23 => ProcessorDescription<'b> {
        index: u32,
        /// `PF_*` features.
        feature_set: u32,
        /// Clock in MHz.
        mhz: u32,
        /// Marketing name.
        name: Utf16<'b> as utf16_array(64),
        /// Vendor, such as `GenuineIntel`.
        vendor: Utf16<'b> as utf16_array(16),
        /// Family, model and stepping.
        identifier: Utf16<'b> as utf16_array(128),
    }

    /// Manufacturer and firmware of the machine. Hook 0x0B19.
    0x0b19 => Platform<'b> {
        manufacturer: Utf16<'b>,
        product_name: Utf16<'b>,
        /// Date of the firmware, in the format of the vendor.
        bios_date: Utf16<'b>,
        bios_version: Utf16<'b>,
    }
}

/// Sleep states the machine supports. Hook 0x0B10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerConfiguration {
    pub s1: bool,
    pub s2: bool,
    /// Suspend to memory.
    pub s3: bool,
    /// Hibernate.
    pub s4: bool,
    /// Off.
    pub s5: bool,
    /// Modern standby (always on, always connected); false before version 2.
    pub modern_standby: bool,
}

impl PowerConfiguration {
    pub const HOOK: u16 = 0x0b10;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let states: &[u8; 8] = payload.fields.array()?;
        Some(Self {
            s1: states[0] != 0,
            s2: states[1] != 0,
            s3: states[2] != 0,
            s4: states[3] != 0,
            s5: states[4] != 0,
            modern_standby: payload.version >= 2 && states[5] != 0,
        })
    }
}
parse_from_record!(PowerConfiguration);

events! {
    /// Limits of the TCP/IP stack. Hook 0x0B11.
    0x0b11 => NetworkConfiguration {
        /// Number of partitions of the connection table.
        tcb_table_partitions: u32,
        max_hash_table_size: u32,
        /// Highest dynamic port.
        max_user_port: u32,
        /// How long a closed connection stays in TIME_WAIT, in seconds.
        tcp_timed_wait_delay: u32,
    }
}

/// Class of the configuration records added by merging.
pub const SYSTEM_CONFIG_EX_CLASS: Guid = Guid::from_u128(0x9b79ee91_b5fd_41c0_a243_4248e266e9d0);

/// A configuration record added by merging. FULL header, class [`SYSTEM_CONFIG_EX_CLASS`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SystemConfigEx<'b> {
    /// Build and product (type 32).
    BuildInfo {
        /// Installation time as FILETIME.
        install_date: u64,
        /// Build, such as `18362.1.amd64fre.19h1_release.190318-1202`.
        build_lab: Utf16<'b>,
        /// Edition, such as `Windows 10 Pro`.
        product_name: Utf16<'b>,
    },
    /// System directories (type 33).
    SystemPaths {
        /// Such as `C:\Windows\system32\`.
        system_directory: Utf16<'b>,
        /// Such as `C:\Windows\`.
        windows_directory: Utf16<'b>,
    },
    /// A volume without a drive letter (type 34).
    UnknownVolume { name: Utf16<'b> },
    /// Mapping from a device path to a drive letter (type 35).
    VolumeMapping {
        /// Such as `\Device\HarddiskVolume3\`.
        nt_path: Utf16<'b>,
        /// Such as `C:\`.
        dos_path: Utf16<'b>,
    },
}

impl<'b> SystemConfigEx<'b> {
    /// Reads the event from a record; `None` for another event or a payload that is too short.
    #[must_use]
    pub fn parse(record: &Record<'b>) -> Option<Self> {
        (record.class_guid()? == SYSTEM_CONFIG_EX_CLASS).then_some(())?;
        let mut fields = crate::reader::Reader::new(record.payload(), record.pointer_size());
        Some(match record.opcode() {
            32 => Self::BuildInfo {
                install_date: fields.u64()?,
                build_lab: fields.utf16_z(),
                product_name: fields.utf16_z(),
            },
            33 => Self::SystemPaths { system_directory: fields.utf16_z(), windows_directory: fields.utf16_z() },
            34 => Self::UnknownVolume { name: fields.utf16_z() },
            35 => Self::VolumeMapping { nt_path: fields.utf16_z(), dos_path: fields.utf16_z() },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_processor_configuration_versions() {
        let mut bytes: Vec<u8> = [2400u32, 4, 8192, 4096, 65536].iter().flat_map(|v| v.to_le_bytes()).collect();
        let head = bytes.len();
        bytes.resize(head + 512, 0);
        bytes[head..head + 4].copy_from_slice(&[b'p', 0, b'c', 0]);
        bytes.resize(head + 512 + 268, 0);
        bytes.extend(5u64.to_le_bytes());
        let v2 = ProcessorConfiguration::read(KernelPayload::new(0x0b0a, 2, &bytes, 8)).unwrap();
        assert_eq!((v2.mhz, v2.memory_mib, v2.hyper_threading), (2400, 8192, 5));
        assert_eq!(v2.computer_name, "pc");
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend([9, 0, 6, 0, 1, 0, 1, 1]);
        bytes.extend(2667u32.to_le_bytes());
        assert_eq!(bytes.len(), 828);
        let v3 = ProcessorConfiguration::read(KernelPayload::new(0x0b0a, 3, &bytes, 8)).unwrap();
        assert_eq!((v3.architecture, v3.memory_speed), (Some(9), Some(2667)));
    }
}
