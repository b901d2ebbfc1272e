//! Reports as JSON documents: a header with the versions of onoff and of the schema and with the recordings, followed
//! by the fields of the report.

use std::io::{self, Write};

use onoff_blame::why::WhyReport;
use onoff_compare::Comparison;
use onoff_compare::boot_history::BootHistory;
use onoff_compare::gate::GateReport;
use onoff_compare::sleep_history::SleepHistory;
use onoff_compare::summary::Summary;
use onoff_evidence::recording::{Provenance, RecordingSummary};
use onoff_findings::diagnosis::Diagnosis;
use onoff_findings::image::ImageDiagnosis;
use onoff_findings::{RuleDescription, RuleList};
use onoff_firmware_times::{FirmwareComparison, FirmwareReport};
use onoff_image::ImageComparison;
use onoff_image::prefetch::PrefetchReport;
use onoff_lists::cpu::CpuList;
use onoff_lists::devices::DeviceList;
use onoff_lists::functions::FunctionList;
use onoff_lists::interrupts::InterruptList;
use onoff_lists::policy::PolicyList;
use onoff_lists::processes::ProcessList;
use onoff_lists::services::ServiceList;
use onoff_network::report::NetbootReport;
use onoff_requests::{IoComparison, IoReport};
use onoff_transitions::boot::BootReport;
use onoff_transitions::boot_axis::BootAxis;
use onoff_transitions::linux::boot::{BootList, LinuxBootReport};
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSuspendReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::SuspendReport;
use onoff_usage::storage::disk::DiskReport;
use onoff_usage::storage::files::FileReport;
use onoff_usage::storage::hard_faults::HardFaultReport;
use onoff_what_if::limit::Limit;
use onoff_what_if::plan::Plan;
use onoff_what_if::prediction::Prediction;
use serde::Serialize;

use super::escape::write_indented;

/// The version of the schema. It increases when a field is removed, renamed or changes its meaning, not when a field is
/// added.
pub const SCHEMA_VERSION: u32 = 2;

/// A report that can be written as a document.
pub trait Document: Serialize {
    /// The value of `document` in the header.
    const NAME: &'static str;
}

macro_rules! documents {
    ($($of:ty => $name:literal,)*) => {
        $(impl Document for $of {
            const NAME: &'static str = $name;
        })*

        /// The names of all documents.
        pub const DOCUMENTS: &[&str] = &[$($name),*];

        /// Returns the schema of each document by name; common definitions stay in `generator`.
        #[cfg(feature = "schema")]
        pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($name, generator.subschema_for::<$of>())),*]
        }
    };
}

documents! {
    RecordingSummary => "info",
    BootReport => "boot",
    LinuxBootReport => "linux_boot",
    BootList => "boots",
    BootAxis => "boot_axis",
    BootHistory => "boot_history",
    SleepHistory => "sleep_history",
    Diagnosis => "diagnosis",
    RuleDescription => "rule",
    RuleList => "rules",
    FirmwareReport => "firmware",
    FirmwareComparison => "firmware_comparison",
    SuspendReport => "suspend",
    ShutdownReport => "shutdown",
    LinuxSuspendReport => "linux_suspend",
    LinuxShutdownReport => "linux_shutdown",
    ProcessList => "processes",
    CpuList => "cpu",
    FunctionList => "functions",
    InterruptList => "interrupts",
    DiskReport => "disk",
    FileReport => "files",
    HardFaultReport => "hardfaults",
    ServiceList => "services",
    DeviceList => "devices",
    PolicyList => "policy",
    Comparison => "comparison",
    GateReport => "gate",
    WhyReport => "why",
    Prediction => "what_if",
    Plan => "what_if_plan",
    Limit => "what_if_limit",
    IoReport => "io",
    IoComparison => "io_comparison",
    PrefetchReport => "prefetch",
    ImageDiagnosis => "image",
    ImageComparison => "image_comparison",
    NetbootReport => "netboot",
    Summary => "summary",
}

/// The header of every document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentHeader<'r> {
    /// Version of onoff that wrote the document.
    pub version: &'static str,
    /// Version of the schema. It increases when a field is removed, renamed or changes its meaning, not when a field is
    /// added.
    pub schema: u32,
    /// Kind of document, e.g. `boot`.
    pub document: &'static str,
    /// Recordings the report is based on, without the recordings of a saved baseline.
    pub recordings: &'r [Provenance],
}

/// The header, followed by the fields of the report.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DocumentWithHeader<'r, D> {
    onoff: DocumentHeader<'r>,
    #[serde(flatten)]
    document: &'r D,
}

/// Writes the document about `recordings`, indented, with a line end.
///
/// # Errors
/// Returns errors from `out`.
pub fn write<D: Document>(recordings: &[Provenance], document: &D, out: &mut dyn Write) -> io::Result<()> {
    let onoff =
        DocumentHeader { version: env!("CARGO_PKG_VERSION"), schema: SCHEMA_VERSION, document: D::NAME, recordings };
    write_indented(&DocumentWithHeader { onoff, document }, out)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn document_names_are_unique() {
        let names: BTreeSet<&str> = DOCUMENTS.iter().copied().collect();
        assert_eq!(names.len(), DOCUMENTS.len());
    }
}
