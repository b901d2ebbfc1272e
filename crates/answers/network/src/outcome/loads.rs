//! What an attempt loaded, and the parts that conclusions about its files share.

use onoff_netboot::transfer::Outcome;

use super::super::report::{Download, FileRole, FileTransfer, StageKind};
use super::{Conclusion, Evidence, Reason, time};

const CAPTURE_LONGER: &str = "capture until the client gives up or has booted";

/// The last file that was received completely.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) end_ns: i64,
    pub(super) role: FileRole,
    pub(super) files: u64,
    pub(super) certain: bool,
}

pub(super) fn last_loaded(evidence: &Evidence<'_>) -> Option<Loaded> {
    let is_complete = |file: &&FileTransfer| is_load(file) && file.outcome == Outcome::Complete;
    let files = evidence.files.iter().filter(is_complete).map(|file| (file.end_ns, file.file.clone(), file.role, true));
    let downloads = evidence.downloads.iter().filter(|download| is_received(download)).map(|download| {
        // The size inside TLS is unknown.
        let role = match evidence.names_boot_file(&download.url) {
            true => FileRole::BootProgram,
            false => super::super::http::role(download),
        };
        (download.end_ns, download.url.clone(), role, download.status.is_some())
    });
    let mut loads: Vec<_> = files.chain(downloads).collect();
    loads.sort_by_key(|(end_ns, ..)| *end_ns);
    let count = loads.len() as u64;
    loads.pop().map(|(end_ns, name, role, certain)| Loaded { name, end_ns, role, files: count, certain })
}

pub(super) fn is_load(file: &FileTransfer) -> bool {
    !file.write && !file.started_before_capture
}

pub(super) fn is_received(download: &Download) -> bool {
    let is_encrypted = download.method.is_empty();
    let is_refused = download.status.is_some_and(|status| status >= 400);
    !is_refused && download.method != "HEAD" && download.bytes > 0 && (download.complete || is_encrypted)
}

pub(super) fn capture_ends(evidence: &Evidence<'_>, stage: StageKind, last_ns: i64, description: &str) -> Conclusion {
    let end = match evidence.remaining_ns(last_ns) {
        ..1_000_000 => "the capture ends there".to_owned(),
        remaining_ns => format!("the capture ends {} later", time(remaining_ns)),
    };
    let description = format!("{description}; {end}");
    Conclusion::unknown(Reason::CaptureEnds, Some(stage), last_ns, description, CAPTURE_LONGER)
}

pub(super) fn stage(evidence: &Evidence<'_>, file: &FileTransfer) -> StageKind {
    // The first file the firmware requests is the boot program, whatever its name.
    let is_first = evidence
        .files
        .iter()
        .all(|other_file| other_file.request_ns >= file.request_ns || other_file.file == file.file);
    match file.role {
        FileRole::Other if is_first && evidence.firmware_dialogues().next().is_some() => StageKind::BootProgram,
        FileRole::BootProgram => StageKind::BootProgram,
        FileRole::Loader => StageKind::Loader,
        FileRole::Configuration => StageKind::Configuration,
        FileRole::Kernel => StageKind::Kernel,
        FileRole::Ramdisk => StageKind::Ramdisk,
        FileRole::Other => StageKind::OtherFile,
    }
}

pub(super) fn name(file: &FileTransfer) -> &str {
    if file.file.is_empty() { "an unnamed file" } else { &file.file }
}
