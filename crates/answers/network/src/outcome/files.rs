//! The outcome of boots that requested a file: how its transfer or download ended.

use onoff_netboot::tftp::ProgramMachine;
use onoff_netboot::transfer::Outcome;

use super::super::dhcp::Stack;
use super::super::report::{FileRole, FileTransfer, StageKind};
use super::attempts::Successor;
use super::loads::{Loaded, capture_ends, is_load, is_received, last_loaded, stage};
use super::{Conclusion, Evidence, MIN_LOOP_LOADS, Reason, Verdict, http, time, transfer};

/// Handles boots where the boot program is for another architecture, and nothing was loaded after it.
pub(super) fn wrong_architecture(evidence: &Evidence<'_>, loaded: Option<&Loaded>) -> Option<Conclusion> {
    let loaded = loaded.filter(|loaded| loaded.role == FileRole::BootProgram)?;
    let file = evidence.files.iter().find(|file| file.end_ns == loaded.end_ns && file.file == loaded.name);
    let download =
        evidence.downloads.iter().find(|download| download.end_ns == loaded.end_ns && download.url == loaded.name);
    let program = file.map(|file| file.program).or_else(|| download.map(|download| download.program))?;
    let code = evidence.client.architecture?;
    let client = evidence.client.architecture_name;
    let advice = "serve a separate boot program to each architecture: match option 93 (DHCPv6: 61) in the DHCP or ProxyDHCP configuration";
    let fail = |description: String| {
        Conclusion::failed(Reason::WrongArchitecture, StageKind::BootProgram, loaded.end_ns, description, advice)
    };
    match program {
        Some(machine) if code == 0 => {
            let description = format!(
                "{} is a UEFI program ({}), but the client boots in BIOS mode (architecture 0)",
                loaded.name,
                machine.as_str()
            );
            Some(fail(description))
        }
        Some(machine) if !fits(code, machine)? => {
            let description = format!(
                "{} is a program for {}, but the client is {client} (architecture {code})",
                loaded.name,
                machine.as_str()
            );
            Some(fail(description))
        }
        Some(_) => None,
        None => {
            // The first block was truncated, or it is not a UEFI program: judge by its name.
            let name = loaded.name.to_ascii_lowercase();
            let is_bios_name =
                [".0", ".kpxe", ".kkpxe", ".pxe", ".n12", ".com"].iter().any(|ending| name.ends_with(ending));
            let is_silent = evidence.is_over(loaded.end_ns);
            (is_bios_name && code != 0 && is_silent).then(|| {
                let description = format!(
                    "{} looks like a BIOS program by its name, the client is {client} (architecture {code}), and nothing was requested after it",
                    loaded.name
                );
                fail(description).likely()
            })
        }
    }
}

/// True if a program runs on an architecture (RFC 4578 and its registry); `None` if the architecture is unknown.
fn fits(code: u16, machine: ProgramMachine) -> Option<bool> {
    use ProgramMachine as M;
    let native = match code {
        2 => M::Itanium,
        6 | 15 => M::X86,
        // RFC 4578 swaps 7 and 9: both are used for x64.
        7 | 9 | 16 | 17 => M::X64,
        10 | 18 => M::Arm32,
        11 | 19 => M::Arm64,
        27 | 28 => M::Riscv64,
        39 | 40 => M::LoongArch64,
        _ => return None,
    };
    Some(machine == native || machine == M::ByteCode)
}

/// Returns what failed after the last complete file; `None` if nothing did.
pub(super) fn failure_after(evidence: &Evidence<'_>, loaded: Option<&Loaded>, after_ns: i64) -> Option<Conclusion> {
    let attempts = evidence
        .files
        .iter()
        .zip(evidence.transfers)
        .filter(|(file, _)| is_load(file) && file.request_ns >= after_ns && file.outcome != Outcome::Complete);
    let last = attempts.clone().next_back();
    let is_probe_only = last.is_some_and(|(file, _)| file.outcome == Outcome::SizeProbe);
    let download = evidence.downloads.iter().rfind(|download| download.end_ns > after_ns && !is_received(download));
    if let Some(download) = download
        && last.is_none_or(|(file, _)| file.request_ns < download.start_ns)
        && let Some(conclusion) = http::download(evidence, download)
    {
        return Some(conclusion);
    }
    if let Some(conclusion) =
        http::connection(evidence, loaded, after_ns).or_else(|| http::name_lookup(evidence, after_ns))
        && last.is_none_or(|(file, _)| file.request_ns < conclusion.time_ns)
    {
        return Some(conclusion);
    }
    let (file, transfer) = if is_probe_only {
        // A size request is not an attempt, but an earlier request may be one.
        let failed = attempts.clone().rfind(|(file, _)| file.outcome != Outcome::SizeProbe);
        match failed {
            Some(failed) => failed,
            None => return size_only(evidence, last?.0),
        }
    } else {
        last?
    };
    let refused = attempts.clone().filter(|(file, _)| file.outcome == Outcome::Refused).count();
    if file.outcome == Outcome::Refused
        && let Some(loaded) = loaded
    {
        return refused_after(evidence, loaded, file, refused);
    }
    Some(transfer::failed(evidence, file, transfer))
}

/// Handles boots where the client requested the size of a file but not the file.
fn size_only(evidence: &Evidence<'_>, file: &FileTransfer) -> Option<Conclusion> {
    let bytes = file.granted.as_ref().and_then(|granted| granted.file_bytes);
    let stage = stage(evidence, file);
    if !evidence.is_over(file.end_ns) {
        return Some(capture_ends(
            evidence,
            stage,
            file.end_ns,
            &format!("the client requested the size of {}", file.file),
        ));
    }
    // A server that supports options responds with an OACK, others send the first block.
    if file.granted.is_none() && file.counts.data_packets > 0 {
        let description = format!(
            "the client requested the size of {}; the server does not support options and sent the first block, so the client aborted",
            file.file
        );
        let advice = "use a TFTP server that supports options (RFC 2347): this client requests tsize before it loads a file, and gives up without it";
        return Some(Conclusion::failed(Reason::OptionsIgnored, stage, file.end_ns, description, advice).likely());
    }
    let size = bytes.map_or_else(String::new, |bytes| format!(" ({bytes} bytes)"));
    let description = format!("the client requested the size of {}{size}, but then did not load it", file.file);
    let advice = "check the client's screen; the file may exceed the client's memory or a size limit: serve a smaller boot program that loads the rest";
    Some(Conclusion::failed(Reason::FileTooLarge, stage, file.end_ns, description, advice).likely())
}

/// Handles boots where a boot program was loaded, and the server refused the files it then requested.
fn refused_after(evidence: &Evidence<'_>, loaded: &Loaded, file: &FileTransfer, refused: usize) -> Option<Conclusion> {
    if matches!(loaded.role, FileRole::Kernel | FileRole::Ramdisk | FileRole::Other) {
        // Loaders look for optional files.
        return None;
    }
    if evidence.dhcp.iter().any(|exchange| exchange.stack == Stack::BootProgram && exchange.start_ns > file.end_ns) {
        // The program went on without the file.
        return None;
    }
    let files = if refused == 1 { "1 file".to_owned() } else { format!("{refused} files") };
    let description = format!(
        "{} was loaded and then requested {files}, the last one {}, which the server refused",
        loaded.name, file.file
    );
    if !evidence.is_over(file.end_ns) {
        return Some(capture_ends(evidence, stage(evidence, file), file.end_ns, &description));
    }
    let advice = "put the loader's configuration where it looks for it (its requests are listed under files), or correct its prefix";
    let mut conclusion =
        Conclusion::failed(Reason::FileRefused, stage(evidence, file), file.end_ns, description, advice).likely();
    conclusion.tftp_code = file.error.as_ref().map(|error| error.code);
    Some(conclusion)
}

/// Handles boots where a file was received completely, and no later file failed.
pub(super) fn loaded_conclusion(evidence: &Evidence<'_>, loaded: &Loaded) -> Conclusion {
    if evidence.successor == Successor::Attempt && evidence.system_ns.is_none() {
        let description = format!(
            "{} after {} was loaded, the firmware requested an address again: the program returned to the firmware, or the computer was reset",
            time(evidence.until_ns.saturating_sub(loaded.end_ns)),
            loaded.name
        );
        let advice = "check the client's screen: the program may be for another architecture, be unsigned under Secure Boot, or have exited";
        return Conclusion::failed(Reason::BackToFirmware, StageKind::Client, evidence.until_ns, description, advice)
            .likely();
    }
    if let Some(program) = evidence.dhcp.iter().rfind(|exchange| {
        exchange.stack == Stack::BootProgram && exchange.start_ns > loaded.end_ns && !exchange.complete
    }) {
        let last_ns = program.messages.last().map_or(program.start_ns, |message| message.time_ns);
        if !program.lacks_offer() && (program.attempts > 1 || evidence.is_over(last_ns)) {
            let description = format!("{} was loaded, and its DHCP request was not answered", loaded.name);
            let advice = if program.offer_delay_ns.is_some() {
                "check the DHCP server's log at this time: it offered an address, and did not confirm it"
            } else {
                "have the DHCP server answer it: some servers answer each client only once, and a switch port that blocks after a link reset drops the first requests (portfast)"
            };
            return Conclusion {
                ip_version: program.ip_version,
                ..Conclusion::failed(Reason::NoDhcpAnswer, StageKind::Dhcp, last_ns, description, advice)
            };
        }
    }
    let position = match loaded.files {
        1 => "the only file".to_owned(),
        files => format!("the last of {files} files"),
    };
    let silence = match evidence.remaining_ns(loaded.end_ns) {
        ..1_000_000 => "the capture ends there".to_owned(),
        remaining_ns => format!("no operating system started its network in the following {}", time(remaining_ns)),
    };
    let description = format!("{}, {position}, was loaded; {silence}", loaded.name);
    let conclusion = Conclusion::new(Verdict::Loaded, Reason::FilesLoaded, loaded.end_ns, description);
    // Only a long silence without another attempt shows that the client ran the file.
    if loaded.certain && evidence.is_over(loaded.end_ns) { conclusion } else { conclusion.likely() }
}

/// Handles boots that loaded the same program again and again.
pub(super) fn repeated_loads(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let is_program =
        |file: &&FileTransfer| file.role == FileRole::BootProgram && is_load(file) && file.outcome == Outcome::Complete;
    let programs = evidence.files.iter().filter(is_program).count() as u64;
    let loaded = last_loaded(evidence).filter(|_| programs >= MIN_LOOP_LOADS)?;
    let description =
        format!("the boot program was loaded {programs} times, but no operating system started its network");
    let advice = "check the client's screen: the boot program exits or resets the computer each time";
    Some(Conclusion::failed(Reason::Loop, StageKind::Client, loaded.end_ns, description, advice))
}

/// Handles captures whose only transfers started before the capture.
pub(super) fn started_before_capture(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let file = evidence.files.iter().rfind(|file| file.started_before_capture)?;
    let end = if file.outcome == Outcome::Complete { "was complete" } else { "did not finish within the capture" };
    let description =
        format!("a transfer had started before the capture; {} bytes were captured, and it {end}", file.counts.bytes);
    Some(Conclusion::unknown(
        Reason::CaptureBegins,
        Some(StageKind::OtherFile),
        file.end_ns,
        description,
        "start the capture before the client",
    ))
}
