//! Group 0x09: the registry.

use super::{KernelPayload, events, parse_from_record};
use crate::text::Utf16;

/// Operation on a registry key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "named after the registry functions")]
pub enum RegistryOperation {
    Create = 0x0a,
    Open,
    Delete,
    Query,
    SetValue,
    DeleteValue,
    QueryValue,
    EnumerateKey,
    EnumerateValueKey,
    QueryMultipleValue,
    SetInformation,
    Flush,
    /// A key control block was created; with its full name.
    BlockCreate,
    /// A key control block was deleted.
    BlockDelete,
    /// Rundown at the start of the recording, with the full name of a block.
    BlockRundownBegin,
    /// Rundown at the end of the recording, with the full name of a block.
    BlockRundownEnd,
    Virtualize,
    Close,
    SetSecurity,
    QuerySecurity,
}

impl RegistryOperation {
    const ALL: [Self; 20] = [
        Self::Create,
        Self::Open,
        Self::Delete,
        Self::Query,
        Self::SetValue,
        Self::DeleteValue,
        Self::QueryValue,
        Self::EnumerateKey,
        Self::EnumerateValueKey,
        Self::QueryMultipleValue,
        Self::SetInformation,
        Self::Flush,
        Self::BlockCreate,
        Self::BlockDelete,
        Self::BlockRundownBegin,
        Self::BlockRundownEnd,
        Self::Virtualize,
        Self::Close,
        Self::SetSecurity,
        Self::QuerySecurity,
    ];
}

/// A completed operation on a registry key. Hooks 0x090A to 0x091D.
#[derive(Clone, Copy, Debug)]
pub struct RegistryKeyOperation<'b> {
    pub operation: RegistryOperation,
    /// Start, in ticks of the log's clock; `None` in versions 0 and 1.
    pub start_ticks: Option<u64>,
    /// Duration in ticks of the log's clock; only in versions 0 and 1.
    pub elapsed_ticks: Option<i64>,
    /// NTSTATUS.
    pub status: u32,
    /// Index of the subkey or value, for enumerations.
    pub index: u32,
    /// Address of the key control block to which the name is relative.
    pub key_handle: u64,
    /// Name relative to the block. The four block events have the full name.
    pub key_name: Utf16<'b>,
}

impl<'b> RegistryKeyOperation<'b> {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook >> 8 == 0x09).then_some(())?;
        let index = usize::from(payload.hook & 0xff).checked_sub(0x0a)?;
        let operation = *RegistryOperation::ALL.get(index)?;
        let version = payload.version;
        let mut fields = payload.fields;
        if version >= 2 {
            return Some(Self {
                operation,
                start_ticks: Some(fields.u64()?),
                elapsed_ticks: None,
                status: fields.u32()?,
                index: fields.u32()?,
                key_handle: fields.pointer()?,
                key_name: fields.utf16_z(),
            });
        }
        Some(Self {
            operation,
            start_ticks: None,
            status: fields.pointer()? as u32,
            key_handle: fields.pointer()?,
            elapsed_ticks: Some(fields.i64()?),
            index: if version == 1 { fields.u32()? } else { 0 },
            key_name: fields.utf16_z(),
        })
    }
}
parse_from_record!(RegistryKeyOperation<'b>);

events! {
    /// A hive was loaded. Hook 0x0924.
    0x0924 => RegistryHiveLoad<'b> {
        /// Address of the hive.
        hive: u64 as pointer,
        /// Kind of load (undocumented number).
        operation_type: u32,
        /// Size in bytes.
        size: u32 [after 4],
        file_name: Utf16<'b>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_has_an_operation() {
        let bytes = [0; 32];
        for (index, &operation) in RegistryOperation::ALL.iter().enumerate() {
            assert_eq!(operation as usize, 0x0a + index);
            let hook = 0x0900 | operation as u16;
            let event = RegistryKeyOperation::read(KernelPayload::new(hook, 2, &bytes, 8));
            assert_eq!(event.unwrap().operation, operation);
        }
        for hook in [0x0909, 0x091e, 0x080a] {
            assert!(RegistryKeyOperation::read(KernelPayload::new(hook, 2, &bytes, 8)).is_none());
        }
    }

    #[test]
    fn version_1_has_elapsed_time() {
        let mut bytes: Vec<u8> = [7u32, 0x1000].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend(55i64.to_le_bytes());
        bytes.extend(3u32.to_le_bytes());
        bytes.extend([b'k', 0, 0, 0]);
        let event = RegistryKeyOperation::read(KernelPayload::new(0x0911, 1, &bytes, 4)).unwrap();
        assert_eq!((event.status, event.key_handle, event.index), (7, 0x1000, 3));
        assert_eq!((event.elapsed_ticks, event.start_ticks), (Some(55), None));
        assert_eq!(event.key_name, "k");
    }
}
