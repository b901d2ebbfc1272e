//! Recognizes what firmware and loaders write to a serial console: their first lines, the hand-over to the kernel, and
//! why they stopped.
//!
//! Sources: U-Boot (`display_options`, `announce_and_cleanup`, `bootstage_report`, `hang`), Trusted Firmware-A (`BL1` to
//! `BL32`), OP-TEE, OpenSBI, coreboot (`console_init`, `bs_report_time`), barebox, GRUB, SeaBIOS, Xilinx FSBL.

/// Part of the firmware or a loader, by its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StageName {
    /// Name with its version.
    pub(super) name: String,
    /// True for a loader of an operating system, false for firmware.
    pub(super) is_loader: bool,
}

/// Beginnings of first lines of parts whose version follows, with the name, and whether it is a loader.
const BANNERS: [(&str, &str, bool); 12] = [
    ("U-Boot TPL ", "U-Boot TPL", false),
    ("U-Boot VPL ", "U-Boot VPL", false),
    ("U-Boot SPL ", "U-Boot SPL", false),
    ("U-Boot ", "U-Boot", true),
    ("OpenSBI v", "OpenSBI", false),
    ("I/TC: OP-TEE version: ", "OP-TEE", false),
    ("barebox ", "barebox", true),
    ("SeaBIOS (version ", "SeaBIOS", false),
    ("GNU GRUB  version ", "GRUB", true),
    ("SYSLINUX ", "SYSLINUX", true),
    ("ISOLINUX ", "ISOLINUX", true),
    ("UEFI firmware (version ", "UEFI firmware", false),
];

/// Beginnings of first lines of parts without a version.
const FIXED_BANNERS: [(&str, &str, bool); 5] = [
    ("Xilinx First Stage Boot Loader", "Xilinx FSBL", false),
    ("Xilinx Zynq MP First Stage Boot Loader", "Xilinx FSBL", false),
    ("Zynq MP First Stage Boot Loader", "Xilinx FSBL", false),
    ("Welcome to GRUB!", "GRUB", true),
    ("NOTICE:  Booting Trusted Firmware", "TF-A BL1", false),
];

/// Months in dates of builds.
const MONTHS: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";

/// Returns the part of firmware or loader that starts with this line.
pub(super) fn stage_of(line: &str) -> Option<StageName> {
    let line = line.trim();
    // coreboot's console has the level in front: `[NOTE ]  coreboot-4.19 … bootblock starting (log level: 7)...`.
    let (level, text) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((level, text)) if level.len() <= 6 && level.trim().bytes().all(|byte| byte.is_ascii_uppercase()) => {
            (true, text.trim_start())
        }
        _ => (false, line),
    };
    if let Some(rest) = text.strip_prefix("coreboot-") {
        let (_, stage) =
            rest.split_once(" starting").map(|(before, _)| before).and_then(|before| before.rsplit_once(' '))?;
        let version: String = rest.split(' ').next().unwrap_or_default().chars().take(24).collect();
        return Some(StageName { name: format!("coreboot {version} {stage}"), is_loader: false });
    }
    if level {
        return None;
    }
    if let Some(rest) = text.strip_prefix("NOTICE:") {
        let (stage, _) = rest.trim_start().split_once(':')?;
        // The first versions wrote `BL3-1`.
        let stage = stage.replacen("BL3-", "BL3", 1);
        if ["BL1", "BL2", "BL2U", "BL31", "BL32"].contains(&stage.as_str()) {
            return Some(StageName { name: format!("TF-A {stage}"), is_loader: false });
        }
    }
    if let Some((_, name, is_loader)) = FIXED_BANNERS.iter().find(|(banner, ..)| text.starts_with(banner)) {
        return Some(StageName { name: (*name).to_owned(), is_loader: *is_loader });
    }
    BANNERS.iter().find_map(|(banner, name, is_loader)| {
        let rest = text.strip_prefix(banner)?;
        let version = rest.split([' ', ')', ',']).next().unwrap_or_default();
        // Manufacturers write other versions, but the date stays: `U-Boot unifi-home-.g345bbabc (Aug 16 2019 - 16:21:51)`.
        let has_date = rest.split_once(" (").is_some_and(|(_, date)| {
            let is_month = date.get(..4).is_some_and(|month| MONTHS.split(' ').any(|name| month.trim_end() == name));
            is_month && date.contains(" - ")
        });
        let is_version = has_date
            || version.trim_start_matches(['v', 'V']).starts_with(|first: char| first.is_ascii_digit())
            || *name == "SeaBIOS" && !version.is_empty();
        let version: String = version.chars().take(32).collect();
        is_version.then(|| StageName { name: format!("{name} {version}"), is_loader: *is_loader })
    })
}

/// Beginnings or parts of lines with which a loader gives up.
const FAILURES: [&str; 18] = [
    "### ERROR ### Please RESET the board ###",
    "SPL: failed to boot from all boot devices",
    "SPL: Unsupported Boot Device!",
    "ERROR: can't get kernel image!",
    "Wrong Image Format for bootm command",
    "Bad Linux ARM64 Image magic!",
    "Bad Linux RISCV Image magic!",
    "Bad Linux ARM zImage magic!",
    "ERROR: Did not find a cmdline Flattened Device Tree",
    "Could not find a valid device tree",
    "\"Synchronous Abort\" handler",
    "Unhandled exception: ",
    "PANIC in EL3",
    "Unhandled Exception in EL3",
    "PANIC at PC :",
    "ERROR:   BL2: Failed to load image",
    "Payload not loaded",
    "grub rescue>",
];

/// True for a line with which a loader or firmware gives up before the kernel starts.
pub(super) fn is_failure(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("[EMERG]").map_or(line, str::trim_start);
    FAILURES.iter().any(|failure| line.starts_with(failure))
        || line.starts_with("error: ") && (line.ends_with(" not found.") || line.contains("no such device"))
}

/// True for the line with which U-Boot hands over to the kernel.
pub(super) fn is_hand_over(line: &str) -> bool {
    line.trim_start().starts_with("Starting kernel ...")
}

/// A mark of U-Boot's `bootstage` report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Time since U-Boot's timer started, ns.
    pub(super) time_ns: i64,
    pub(super) name: String,
}

/// True for the first line of a `bootstage` report.
pub(super) fn is_report_head(line: &str) -> bool {
    line.trim_start().starts_with("Timer summary in microseconds")
}

/// Parses a mark: `  2,348,898  1,765,608  board_init_r`.
pub(super) fn mark(line: &str) -> Option<Mark> {
    let mut words = line.split_ascii_whitespace();
    let number = |word: &str| -> Option<i64> {
        let digits: String = word.chars().filter(|character| *character != ',').collect();
        (digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 12).then(|| digits.parse().ok()).flatten()
    };
    let (time_us, _) = (number(words.next()?)?, number(words.next()?)?);
    let name: String = words.collect::<Vec<_>>().join(" ").chars().take(64).collect();
    Some(Mark { time_ns: time_us * 1_000, name })
}

/// Returns the duration of a state of coreboot's ramstage or of a whole stage, ns, without the time of the console:
/// `BS: BS_DEV_INIT run times (exec / console): 31 / 2 ms`.
pub(super) fn coreboot_state_ns(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("BS: ")?;
    let (_, times) = rest.split_once("times (exec / console): ")?;
    let (exec, rest) = times.split_once(" / ")?;
    let milliseconds: i64 = exec.trim().parse().ok().filter(|&ms| (0..86_400_000).contains(&ms))?;
    rest.trim_end().ends_with("ms").then_some(milliseconds * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_first_lines() {
        for (line, name, is_loader) in [
            (
                "U-Boot SPL 2020.07-rc2-00256-g9c5fef5774 (May 24 2020 - 20:20:43 +0530)",
                "U-Boot SPL 2020.07-rc2-00256-g9c5fef5774",
                false,
            ),
            ("U-Boot 1.1.3 (Jul 25 2014 - 12:00:00)", "U-Boot 1.1.3", true),
            ("NOTICE:  BL31: v2.2(release):v2.2-904-gf9ea3a629", "TF-A BL31", false),
            ("NOTICE:  BL31:Rockchip release version: v1.3", "TF-A BL31", false),
            (
                "[NOTE ]  coreboot-4.19 Thu Jan 01 00:00:00 UTC 1970 x86_32 bootblock starting (log level: 7)...",
                "coreboot 4.19 bootblock",
                false,
            ),
            (
                "coreboot-4.12-2423-g4c44108423 Wed Aug 26 08:52:53 UTC 2020 ramstage starting (log level: 7)...",
                "coreboot 4.12-2423-g4c44108423 ramstage",
                false,
            ),
            ("NOTICE:  BL3-1: Running on A64/H64 (1689)", "TF-A BL31", false),
            ("U-Boot board-.g345bbabc (Aug 16 2019 - 16:21:51)", "U-Boot board-.g345bbabc", true),
            ("OpenSBI v1.2", "OpenSBI 1.2", false),
            ("I/TC: OP-TEE version: 4.8.0 (gcc version 11.3.1)", "OP-TEE 4.8.0", false),
            ("barebox 2023.01.0 #1 Tue", "barebox 2023.01.0", true),
            ("SeaBIOS (version rel-1.14.0-0-g155821a1990b)", "SeaBIOS rel-1.14.0-0-g155821a1990b", false),
            ("Welcome to GRUB!", "GRUB", true),
        ] {
            assert_eq!(stage_of(line), Some(StageName { name: name.to_owned(), is_loader }), "{line}");
        }
        for line in [
            "U-Boot dtb found",
            "U-Boot SPL",
            "[    0.000000] Linux version 6.1",
            "[INFO ]  CBFS: Found 'fallback/romstage'",
            "NOTICE:  PSCI: System suspend is unavailable",
            "INFO:    BL31: Initializing runtime services",
            "[  OK  ] Started U-Boot 2020",
            "",
        ] {
            assert_eq!(stage_of(line), None, "{line}");
        }
    }

    #[test]
    fn reads_marks_and_states() {
        assert_eq!(
            mark("  2,348,898  1,765,608  board_init_r"),
            Some(Mark { time_ns: 2_348_898_000, name: "board_init_r".to_owned() })
        );
        assert_eq!(mark("          0          0").map(|mark| mark.name), Some(String::new()));
        for line in
            ["Accumulated time:", "              1,235  dm_f", "       Mark    Elapsed  Stage", "", "9999999999999 1 x"]
        {
            assert_eq!(mark(line), None, "{line}");
        }
        let state = "[DEBUG]  BS: BS_DEV_INIT run times (exec / console): 31 / 2 ms";
        assert_eq!(coreboot_state_ns(state), Some(31_000_000));
        assert_eq!(coreboot_state_ns("BS: bootblock times (exec / console): total (unknown) / 0 ms"), None);
        assert!(is_failure("### ERROR ### Please RESET the board ###"));
        assert!(is_failure("error: file `/vmlinuz' not found."));
        assert!(!is_failure("*** Warning - bad CRC, using default environment"));
    }
}
