//! The boot configuration data store.

use onoff_hive::Key;
use serde::Serialize;

use super::{HiveKind, Image, Setting};

/// Id of the boot manager object.
const BOOT_MANAGER: &str = "{9dea862c-5cdd-4e70-acc1-f32b344d4795}";
/// Id of the object with the emergency-management settings that all entries inherit.
const EMS: &str = "{0ce4991b-e6b3-4b16-b23c-5e0d9250e5d9}";
/// Element numbers (source: published BCD element numbers).
const DESCRIPTION: &str = "12000004";
const PATH: &str = "12000002";
const TIMEOUT: &str = "25000004";
const DISPLAY_ORDER: &str = "24000001";
const DEFAULT: &str = "23000003";
const DEBUG: &str = "260000a0";
const BOOT_DEBUG: &str = "16000010";
const EMERGENCY: &str = "260000b0";
const EMERGENCY_LIBRARY: &str = "16000020";
const TEST_SIGNING: &str = "16000049";
const NO_INTEGRITY_CHECKS: &str = "16000048";
const BOOT_STATUS_POLICY: &str = "250000e0";
const PROCESSORS: &str = "25000061";
const ONE_PROCESSOR: &str = "26000060";
const TRUNCATE_MEMORY: &str = "15000007";
const REMOVE_MEMORY: &str = "25000031";
const SAFE_BOOT: &str = "25000080";
const BOOT_LOG: &str = "26000090";
const TFTP_WINDOW_SIZE: &str = "35000008";

/// A boot menu entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootEntry {
    /// Object id.
    pub id: String,
    /// Menu text.
    pub description: String,
    /// File that the entry loads.
    pub path: String,
    /// True if shown in the menu.
    pub is_shown: bool,
    /// True for the default entry.
    pub is_default: bool,
    /// Settings that cost time or weaken security (debugging, emergency console, test signing, no integrity checks,
    /// limits of processors and memory, safe mode, boot log), and the boot status policy.
    pub settings: Vec<Setting>,
}

/// The boot menu.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootMenu {
    /// Menu timeout, s; `None` if not set (30 s).
    pub timeout_s: Option<u64>,
    /// The timeout setting.
    pub timeout: Option<Setting>,
    /// Entries that load or resume Windows, in menu order.
    pub entries: Vec<BootEntry>,
    /// TFTP window size for network boot, if set.
    pub network_window: Option<Setting>,
}

impl BootMenu {
    /// Returns the number of entries shown to the user.
    #[must_use]
    pub fn shown_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_shown).count()
    }
}

/// Reads an element of an object, with a name for evidence. Integers and booleans are stored as bytes.
fn element(object: &Key<'_>, id: &str, element: &str, name: &str) -> Option<Setting> {
    let key = object.subkey("Elements")?.subkey(element)?;
    let path = format!(r"BCD\Objects\{id}\Elements\{element}");
    let mut setting = Setting::from_key(&key, &path, "Element")?;
    name.clone_into(&mut setting.name);
    let value = key.value("Element")?;
    if !value.data.is_empty() && value.data.len() <= 8 && value.string().is_none() && value.strings().is_none() {
        let number = value.data.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        setting.value = super::SettingValue::Number(number);
    }
    Some(setting)
}

pub(super) fn read(image: &Image) -> Option<BootMenu> {
    let hive = image.hives_of_kind(HiveKind::Bcd).next()?;
    let objects = hive.hive.key("Objects")?;
    let keys = objects.subkeys();
    let object = |id: &str| keys.iter().find(|key| key.name().eq_ignore_ascii_case(id));
    let manager = object(BOOT_MANAGER);
    let manager_element = |number: &str, name: &str| element(manager?, BOOT_MANAGER, number, name);
    let timeout = manager_element(TIMEOUT, "timeout");
    let menu_order = manager_element(DISPLAY_ORDER, "displayorder").and_then(|order| order.texts()).unwrap_or_default();
    let default_id = manager_element(DEFAULT, "default").and_then(|setting| setting.text()).unwrap_or_default();
    let mut menu = BootMenu { timeout_s: timeout.as_ref().and_then(Setting::number), timeout, ..BootMenu::default() };
    let emergency = object(EMS).and_then(|key| element(key, EMS, EMERGENCY_LIBRARY, "bootems"));
    for key in &keys {
        let id = key.name();
        let kind = key.subkey("Description").and_then(|key| key.value("Type")?.number());
        if menu.network_window.is_none() {
            menu.network_window = element(key, &id, TFTP_WINDOW_SIZE, "ramdisktftpwindowsize");
        }
        // Windows loaders, resume loaders, and legacy loaders.
        if !matches!(kind, Some(0x1020_0003 | 0x1020_0004 | 0x1030_0006)) {
            continue;
        }
        let text = |number: &str| element(key, &id, number, "").and_then(|setting| setting.text()).unwrap_or_default();
        let mut settings: Vec<Setting> = [
            (DEBUG, "debug"),
            (BOOT_DEBUG, "bootdebug"),
            (EMERGENCY, "ems"),
            (TEST_SIGNING, "testsigning"),
            (NO_INTEGRITY_CHECKS, "nointegritychecks"),
            (BOOT_STATUS_POLICY, "bootstatuspolicy"),
            (PROCESSORS, "numproc"),
            (ONE_PROCESSOR, "onecpu"),
            (TRUNCATE_MEMORY, "truncatememory"),
            (REMOVE_MEMORY, "removememory"),
            (SAFE_BOOT, "safeboot"),
            (BOOT_LOG, "bootlog"),
        ]
        .into_iter()
        .filter_map(|(number, name)| element(key, &id, number, name))
        .collect();
        settings.extend(emergency.clone());
        menu.entries.push(BootEntry {
            description: text(DESCRIPTION),
            path: text(PATH),
            is_shown: menu_order.iter().any(|entry_id| entry_id.eq_ignore_ascii_case(&id)),
            is_default: default_id.eq_ignore_ascii_case(&id),
            settings,
            id,
        });
    }
    let position = |entry: &BootEntry| {
        menu_order.iter().position(|entry_id| entry_id.eq_ignore_ascii_case(&entry.id)).unwrap_or(usize::MAX)
    };
    menu.entries.sort_by_key(|entry| (position(entry), entry.id.clone()));
    Some(menu)
}
