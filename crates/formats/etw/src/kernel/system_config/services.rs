use crate::kernel::{KernelPayload, parse_from_record};
use crate::text::Utf16;

/// A service and its process. Hook 0x0B0F.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceConfiguration<'b> {
    /// Process of the service; 0 means none.
    pub process_id: u32,
    /// `SERVICE_*` state, 1 stopped to 4 running (7 paused); `None` before version 2.
    pub state: Option<u32>,
    /// Tag of the service's threads, which distinguishes services in a shared process; `None` before version 2.
    pub sub_process_tag: Option<u32>,
    pub service_name: Utf16<'b>,
    pub display_name: Utf16<'b>,
    /// File name of the executable, without its directory.
    pub process_name: Utf16<'b>,
    /// Load-order group; empty before version 3.
    pub load_order_group: Utf16<'b>,
    /// Group of services that share a process; empty before version 3.
    pub svchost_group: Utf16<'b>,
}

impl<'b> ServiceConfiguration<'b> {
    pub const HOOK: u16 = 0x0b0f;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        if payload.version < 2 {
            let service_name = fields.utf16_array(34)?;
            let display_name = fields.utf16_array(256)?;
            let process_name = fields.utf16_array(34)?;
            return Some(Self {
                process_id: fields.u32()?,
                service_name,
                display_name,
                process_name,
                ..Self::default()
            });
        }
        let mut service = Self {
            process_id: fields.u32()?,
            state: Some(fields.u32()?),
            sub_process_tag: Some(fields.u32()?),
            service_name: fields.utf16_z(),
            display_name: fields.utf16_z(),
            process_name: fields.utf16_z(),
            ..Self::default()
        };
        if payload.version >= 3 {
            service.load_order_group = fields.utf16_z();
            service.svchost_group = fields.utf16_z();
        }
        Some(service)
    }
}
parse_from_record!(ServiceConfiguration<'b>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_service_groups_of_version_3() {
        let mut bytes: Vec<u8> = [700u32, 4, 9].iter().flat_map(|v| v.to_le_bytes()).collect();
        for text in ["PlugPlay", "Plug and Play", "svchost.exe", "PlugPlay", "DcomLaunch"] {
            bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        }
        let service = ServiceConfiguration::read(KernelPayload::new(0x0b0f, 3, &bytes, 8)).unwrap();
        assert_eq!((service.process_id, service.state), (700, Some(4)));
        assert_eq!(service.sub_process_tag, Some(9));
        assert_eq!(service.display_name, "Plug and Play");
        assert_eq!(service.svchost_group, "DcomLaunch");
        let older = ServiceConfiguration::read(KernelPayload::new(0x0b0f, 2, &bytes, 8)).unwrap();
        assert!(older.load_order_group.is_empty());
    }
}
