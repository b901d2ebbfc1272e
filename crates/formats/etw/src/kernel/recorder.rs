//! Group 0x00: information about the recorder and its machine.

use onoff_etl::Guid;

use super::{KernelPayload, events, parse_from_record};
use crate::text::{Ansi, Utf16};

/// The enabled kernel groups. Hooks 0x0005 at the start of the recording, 0x0020 at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMasks {
    /// True for the state at the end of the recording.
    pub at_end: bool,
    /// Bit `b` of dword `i` enables group `i << 29 | 1 << b`; dword 0 is the public `EnableFlags`.
    pub masks: [u32; 8],
    /// Version of the kernel's events; `None` before version 2.
    pub kernel_event_version: Option<u32>,
}

impl GroupMasks {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let at_end = match payload.hook {
            0x0005 => false,
            0x0020 => true,
            _ => return None,
        };
        let mut fields = payload.fields;
        let mut masks = [0; 8];
        for mask in &mut masks {
            *mask = fields.u32()?;
        }
        Some(Self { at_end, masks, kernel_event_version: fields.u32() })
    }
}
parse_from_record!(GroupMasks);

events! {
    /// The PDB of a program that logs software tracing (WPP) messages. Hook 0x0040, before the other events.
    0x0040 => KernelDebugId<'b> {
        /// GUID of the PDB.
        guid: Guid,
        /// Age of the PDB.
        age: u32,
        /// File name of the PDB.
        pdb_name: Ansi<'b>,
    }

    /// Build string of the system, such as `19041.1.amd64fre.vb_release.191206-1406`. Hook 0x0042.
    0x0042 => BuildLab<'b> {
        build: Ansi<'b>,
    }

    /// The hypervisor partition or container of the recorder. Hook 0x0050.
    0x0050 => PartitionInfo {
        /// Kind of partition (undocumented number).
        partition_type: u32 [after 4],
        /// Offset from this machine's clock to the host's, in ticks.
        ticks_offset_from_root: i64,
        partition_id: Guid,
        /// The enclosing partition.
        parent_id: Guid,
    }
}

/// Path of the binary of some providers. Hook 0x0043.
#[derive(Clone, Copy, Debug)]
pub struct ProviderBinaryPath<'b> {
    guids: &'b [u8],
    /// NT path of the binary.
    pub path: Utf16<'b>,
}

impl<'b> ProviderBinaryPath<'b> {
    pub const HOOK: u16 = 0x0043;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let count = usize::try_from(payload.fields.u32()?).ok()?;
        Some(Self { guids: payload.fields.take(count.checked_mul(16)?)?, path: payload.fields.utf16_z() })
    }

    /// GUIDs of the providers.
    pub fn providers(&self) -> impl Iterator<Item = Guid> + 'b {
        self.guids.as_chunks::<16>().0.iter().map(|guid| Guid::from_bytes_le(*guid))
    }
}
parse_from_record!(ProviderBinaryPath<'b>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_group_masks_with_and_without_event_version() {
        let bytes: Vec<u8> = (1..=9u32).flat_map(u32::to_le_bytes).collect();
        let old = GroupMasks::read(KernelPayload::new(0x0005, 0, &bytes[..32], 8)).unwrap();
        assert_eq!((old.masks[7], old.kernel_event_version), (8, None));
        let new = GroupMasks::read(KernelPayload::new(0x0020, 2, &bytes, 8)).unwrap();
        assert_eq!((new.at_end, new.kernel_event_version), (true, Some(9)));
    }

    #[test]
    fn provider_binary_path_rejects_excessive_count() {
        let mut bytes = u32::MAX.to_le_bytes().to_vec();
        bytes.extend([0; 40]);
        assert!(ProviderBinaryPath::read(KernelPayload::new(0x0043, 2, &bytes, 8)).is_none());
        bytes[..4].copy_from_slice(&2u32.to_le_bytes());
        let path = ProviderBinaryPath::read(KernelPayload::new(0x0043, 2, &bytes, 8)).unwrap();
        assert_eq!(path.providers().count(), 2);
        assert!(path.path.is_empty());
    }
}
