//! The edition of an installation, which decides what advice applies.

use serde::Serialize;

use super::{HiveKind, Image, Setting};

/// Kind of Windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditionKind {
    /// Windows for people at a computer, and for devices.
    Client,
    /// Windows Server.
    Server,
    /// Windows PE, which runs from a RAM disk.
    Pe,
    /// Not in the registry.
    #[default]
    Unknown,
}

/// The edition of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsEdition {
    /// Kind.
    pub kind: EditionKind,
    /// `EditionID`, e.g. `IoTEnterpriseS`; empty if unknown.
    pub id: String,
    /// True for editions of the long-term servicing channel (LTSC, LTSB).
    pub is_long_term: bool,
    /// True for editions made for devices: IoT, Embedded, POSReady.
    pub is_device: bool,
    /// True for a virtual desktop: several sessions on one Windows, or the agent of a broker is installed.
    pub is_virtual_desktop: bool,
    /// Registry values used.
    pub settings: Vec<Setting>,
}

/// Services of the agents that connect a virtual desktop with its broker: Citrix, Omnissa (VMware) Horizon, Azure
/// Virtual Desktop.
const BROKER_AGENTS: [&str; 3] = ["BrokerAgent", "WSNM", "RDAgentBootLoader"];

pub(super) fn read(image: &Image) -> WindowsEdition {
    let version = r"Microsoft\Windows NT\CurrentVersion";
    let mut edition = WindowsEdition::default();
    let mut text = |kind, path: &str, name: &str| {
        let setting = image.setting(kind, path, name)?;
        let text = setting.text();
        edition.settings.push(setting);
        text
    };
    let id = text(HiveKind::Software, version, "EditionID").unwrap_or_default();
    let installation = text(HiveKind::Software, version, "InstallationType").unwrap_or_default().to_lowercase();
    let product_type = text(HiveKind::System, r"CS\Control\ProductOptions", "ProductType").unwrap_or_default();
    let product = image
        .setting(HiveKind::Software, version, "ProductName")
        .and_then(|setting| setting.text())
        .unwrap_or_default()
        .to_lowercase();
    let lower_id = id.to_lowercase();
    // Windows Enterprise multi-session: a client for users, a server in its product type.
    let is_multi_session = lower_id == "serverrdsh";
    // The key MiniNT is also left behind in installed systems by their setup, so it is no evidence.
    let start_options = image
        .setting(HiveKind::System, r"CS\Control", "SystemStartOptions")
        .and_then(|setting| setting.text())
        .unwrap_or_default()
        .to_uppercase();
    let is_pe = start_options.split_whitespace().any(|option| option == "MININT")
        || lower_id == "windowspe"
        || installation == "windowspe";
    let is_server = installation.starts_with("server")
        || installation.starts_with("nano")
        || lower_id.starts_with("server")
        || matches!(product_type.to_lowercase().as_str(), "servernt" | "lanmannt")
        || product.contains("server");
    edition.kind = if is_pe {
        EditionKind::Pe
    } else if is_server && !is_multi_session {
        EditionKind::Server
    } else if !id.is_empty() || !installation.is_empty() || !product_type.is_empty() || !product.is_empty() {
        EditionKind::Client
    } else {
        EditionKind::Unknown
    };
    edition.is_long_term = lower_id.starts_with("enterprises")
        || lower_id.starts_with("iotenterprises")
        || product.contains("ltsc")
        || product.contains("ltsb");
    edition.is_device =
        ["iot", "embedded", "posready"].iter().any(|word| lower_id.contains(word) || product.contains(word));
    edition.is_virtual_desktop = is_multi_session
        || BROKER_AGENTS.iter().any(|name| image.key(HiveKind::System, &format!(r"CS\Services\{name}")).is_some());
    edition.id = id;
    edition
}

impl WindowsEdition {
    /// Returns the evidence for the edition.
    #[must_use]
    pub fn evidence(&self) -> String {
        self.settings.first().map_or_else(String::new, Setting::evidence)
    }

    /// Describes the edition; empty if nothing about it changes advice.
    #[must_use]
    pub fn description(&self) -> String {
        let mut parts = Vec::new();
        match self.kind {
            EditionKind::Server => parts.push("Windows Server"),
            EditionKind::Pe => parts.push("Windows PE"),
            EditionKind::Client | EditionKind::Unknown => {}
        }
        if self.is_device {
            parts.push("a device edition");
        }
        if self.is_long_term {
            parts.push("long-term servicing");
        }
        if self.is_virtual_desktop {
            parts.push("a virtual desktop");
        }
        parts.join(", ")
    }
}
