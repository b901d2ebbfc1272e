//! Events of the Service Control Manager, svchost and Group Policy.

use uuid::Uuid;

use super::{EventTemplate, Provider, START, STOP};
use crate::assemble::Payload;

const SERVICES: Provider = Provider::new(0x0063715b_eeda_4007_9429_ad526f62696e);
const SVCHOST: Provider = Provider::new(0x06184c97_5201_480e_92af_3a3626c5b140);
const GROUP_POLICY: Provider = Provider::new(0xaea1b4fa_97d1_45f2_a64c_4d69fffd92c9);

/// `SERVICE_*` states in ServiceStatusChange.
pub mod state {
    pub const STOPPED: u32 = 1;
    pub const START_PENDING: u32 = 2;
    pub const STOP_PENDING: u32 = 3;
    pub const RUNNING: u32 = 4;
}

/// Automatic start phase: start (101) or end (102).
#[must_use]
pub fn auto_start(begin: bool) -> EventTemplate {
    SERVICES.event(if begin { 101 } else { 102 }, 101, if begin { START } else { STOP }, 0x1_0000, Payload::wide())
}

/// Starting the services of a load-order group: start (103) or end (104).
#[must_use]
pub fn starting_group(begin: bool, group: &str) -> EventTemplate {
    SERVICES.event(
        if begin { 103 } else { 104 },
        103,
        if begin { START } else { STOP },
        0x1_0000,
        Payload::wide().text(group),
    )
}

/// A service changed state (105). `execution_phase` is the manager's number: 1 during automatic start, 0 afterwards.
/// `process` is 0 until the host exists.
#[must_use]
pub fn status_change(execution_phase: u32, state: u32, process: u32, service: &str, image: &str) -> EventTemplate {
    let payload = Payload::wide().u32(execution_phase).u32(state).u32(2).u32(process).text(service).text(image);
    SERVICES.event(105, 105, 101, 0x1_0000, payload)
}

/// Turns a state change into one of a demand-start service.
#[must_use]
pub fn on_demand(status: EventTemplate) -> EventTemplate {
    /// Offset of `StartType`.
    const START_TYPE_OFFSET: usize = 8;
    const ON_DEMAND: u32 = 3;
    let payload = status.payload.clone().overwrite(START_TYPE_OFFSET, &ON_DEMAND.to_le_bytes());
    EventTemplate { payload, ..status }
}

/// Performance-critical services: start (106) or end (107).
#[must_use]
pub fn critical_auto_start(begin: bool) -> EventTemplate {
    SERVICES.event(if begin { 106 } else { 107 }, 107, if begin { START } else { STOP }, 0x1_0000, Payload::wide())
}

/// svchost calls a service's main function: start (101) or end (102).
#[must_use]
pub fn service_main(begin: bool, service: &str) -> EventTemplate {
    SVCHOST.event(if begin { 101 } else { 102 }, 1, if begin { START } else { STOP }, 0, Payload::wide().text(service))
}

/// Start of policy processing at boot (4000, computer) or logon (4001, user), version 1.
#[must_use]
pub fn policy_start(computer: bool, principal: &str, activity: Uuid) -> EventTemplate {
    let payload = Payload::wide()
        .guid(&activity)
        .text(principal)
        .u32(u32::from(computer))
        .boolean(true)
        .boolean(false)
        .boolean(false)
        .boolean(false)
        .u32(0);
    GROUP_POLICY
        .event(if computer { 4000 } else { 4001 }, 0, START, 0, Payload::wide())
        .version(1, payload)
        .in_activity(activity)
}

/// Successful end of policy processing (8000 or 8001, version 1).
#[must_use]
pub fn policy_stop(computer: bool, principal: &str, activity: Uuid, elapsed_s: u32) -> EventTemplate {
    let payload = Payload::wide().u32(elapsed_s).u32(0).text(principal).u32(u32::from(computer)).boolean(false);
    GROUP_POLICY
        .event(if computer { 8000 } else { 8001 }, 0, STOP, 0, Payload::wide())
        .version(1, payload)
        .in_activity(activity)
}

/// Start of a client-side extension (4016).
#[must_use]
pub fn policy_extension_start(id: Uuid, name: &str, activity: Uuid) -> EventTemplate {
    let payload = Payload::wide().guid(&id).text(name).boolean(false).boolean(true).text("Changed").text("").text("");
    GROUP_POLICY.event(4016, 0, START, 0, payload).in_activity(activity)
}

/// Successful end of a client-side extension (5016).
#[must_use]
pub fn policy_extension_stop(id: Uuid, name: &str, activity: Uuid, elapsed_ms: u32) -> EventTemplate {
    let payload = Payload::wide().u32(elapsed_ms).u32(0).text(name).guid(&id);
    GROUP_POLICY.event(5016, 0, STOP, 0, payload).in_activity(activity)
}

/// Start of scripts (4018). `script_type`: 1 logon, 2 logoff, 3 startup, 4 shutdown.
#[must_use]
pub fn policy_script_start(principal: &str, script_type: u32, session: u32) -> EventTemplate {
    let payload =
        Payload::wide().text(principal).u32(script_type).boolean(true).boolean(true).boolean(false).u32(session);
    GROUP_POLICY.event(4018, 0, START, 0, payload)
}

/// End of scripts (5018).
#[must_use]
pub fn policy_script_stop(principal: &str, script_type: u32, elapsed_s: u32) -> EventTemplate {
    let payload = Payload::wide().u32(elapsed_s).u32(0).text(principal).u32(script_type);
    GROUP_POLICY.event(5018, 0, STOP, 0, payload)
}
