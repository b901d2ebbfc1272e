//! Builds installations for tests of the image rules. The test kit writes the hives.
#![allow(clippy::unwrap_used)]

use onoff_findings::RuleFinding;
use onoff_findings::image::{ImageAudit, ImageFacts, audit};
use onoff_hive::Hive;
use onoff_image::prefetch::{self, PrefetchFile, PrefetchOptions, PrefetchReport};
use onoff_image::{HiveKind, Image, ImageHive, OverlayGrowth, StartupEntry, TaskFile, analyze};
use onoff_testkit::hive::HiveKey;
use onoff_testkit::prefetch::PrefetchPlan;
use onoff_trace::DriverFile;

pub const CS: &str = r"ControlSet001";

/// Builds an installation, with the facts from the user.
pub struct ImageBuilder {
    pub system: HiveKey,
    pub software: HiveKey,
    pub user: HiveKey,
    pub bcd: HiveKey,
    pub drivers: Vec<DriverFile>,
    pub has_hibernation_file: bool,
    pub prefetch: Option<PrefetchReport>,
    pub startup_entries: Vec<StartupEntry>,
    pub tasks: Vec<TaskFile>,
    pub needed: Vec<String>,
    pub overlay: Option<OverlayGrowth>,
    pub is_power_cut: bool,
}

pub fn plan(name: &str, is_boot: bool, run_count: u32) -> PrefetchFile {
    let plan = PrefetchPlan {
        version: 23,
        executable: name.to_owned(),
        is_boot,
        run_count,
        last_run: 130_000_000_000_000_000,
        volume: r"\DEVICE\HARDDISKVOLUME1".to_owned(),
        files: vec![(r"\WINDOWS\A.DLL".to_owned(), 1)],
    };
    PrefetchFile { name: format!("{name}.pf"), bytes: plan.bytes(), modified_unix_ns: Some(1) }
}

pub fn plans(boots: u32, programs: usize) -> PrefetchReport {
    let mut files: Vec<PrefetchFile> = (0..programs).map(|index| plan(&format!("P{index}.EXE"), false, 1)).collect();
    files.push(plan("NTOSBOOT", true, boots));
    prefetch::analyze(&files, &PrefetchOptions::default())
}

impl ImageBuilder {
    /// An installation without problems.
    pub fn healthy() -> Self {
        let mut image = Self {
            system: HiveKey::root(),
            software: HiveKey::root(),
            user: HiveKey::root(),
            bcd: HiveKey::root(),
            drivers: vec![driver("disk.sys", true, false)],
            has_hibernation_file: true,
            prefetch: Some(plans(5, 3)),
            startup_entries: Vec::new(),
            tasks: Vec::new(),
            needed: vec!["RpcSs".to_owned(), "Maker".to_owned()],
            overlay: Some(OverlayGrowth {
                bytes_per_hour: Some(1.0),
                full_in_ns: Some(i64::MAX),
                ..OverlayGrowth::default()
            }),
            is_power_cut: false,
        };
        image.system.subkey("Select").set_value("Current", 1_u32);
        image.control(r"ServiceGroupOrder").set_value("List", ["Base", "Network"].as_slice());
        image.control(r"Session Manager").set_value("BootExecute", ["autocheck autochk *"].as_slice());
        let memory = image.control(r"Session Manager\Memory Management");
        memory.set_value("PagingFiles", [r"?:\pagefile.sys"].as_slice());
        let reading = memory.subkey("PrefetchParameters");
        reading
            .set_value("EnablePrefetcher", 3_u32)
            .set_value("EnableSuperfetch", 3_u32)
            .set_value("EnableBootTrace", 0_u32);
        let power = image.control(r"Session Manager\Power");
        power
            .set_value("HiberbootEnabled", 1_u32)
            .set_value("FwPOSTTime", 2_000_u32)
            .set_value("TotalResumeTime", 12_400_u32);
        power
            .set_value("ResumeReadRate", 443_u32)
            .set_value("ResumeHiberFileTime", 427_u32)
            .set_value("NoMultiStageResumeReason", 0_u32);
        image.control("Power").set_value("HibernateEnabled", 1_u32);
        let control = image.system.subkey(&format!(r"{CS}\Control"));
        control
            .set_value("WaitToKillServiceTimeout", "5000")
            .set_value("PreshutdownOrder", ["gpsvc", "trustedinstaller"].as_slice());
        control.set_value("SystemStartOptions", " NOEXECUTE=OPTIN");
        image.control(r"WMI\Autologger\EventLog-System").set_value("Start", 1_u32);
        image.system.subkey(&format!(r"{CS}\Enum\USB\VID_0001&PID_0001"));
        image.service("disk", 1, 0, r"System32\drivers\disk.sys").set_value("ErrorControl", 3_u32);
        image.service("RpcSs", 32, 2, r"%SystemRoot%\system32\svchost.exe").set_value("Group", "COM Infrastructure");
        image
            .service("SysMain", 32, 2, r"%SystemRoot%\system32\svchost.exe")
            .set_value("DependOnService", ["rpcss"].as_slice());
        // A third-party trigger-start service.
        image.service("Maker", 16, 2, r"C:\Maker\maker.exe").subkey(r"TriggerInfo\0").set_value("Type", 1_u32);
        image
            .software
            .subkey(r"Microsoft\Windows NT\CurrentVersion")
            .set_value("ProductName", "Windows 10 Pro")
            .set_value("CurrentBuild", "19044");
        image.software.subkey(r"Microsoft\Windows\CurrentVersion\Run").set_value("One", r"C:\one.exe");
        image.user.subkey("Control Panel");
        let manager = image.bcd.subkey(r"Objects\{9dea862c-5cdd-4e70-acc1-f32b344d4795}");
        manager.subkey(r"Elements\25000004").set_value("Element", 30_u64.to_le_bytes().to_vec());
        manager.subkey(r"Elements\24000001").set_value("Element", ["{1}"].as_slice());
        manager.subkey(r"Elements\23000003").set_value("Element", "{1}");
        image.entry("{1}");
        image.bcd.subkey(r"Objects\{1}\Elements\35000008").set_value("Element", 32_u64.to_le_bytes().to_vec());
        image
    }

    pub fn control(&mut self, path: &str) -> &mut HiveKey {
        self.system.subkey(&format!(r"{CS}\Control\{path}"))
    }

    pub fn service(&mut self, name: &str, kind: u32, start: u32, path: &str) -> &mut HiveKey {
        self.system
            .subkey(&format!(r"{CS}\Services\{name}"))
            .set_value("Type", kind)
            .set_value("Start", start)
            .set_value("ImagePath", path)
    }

    pub fn entry(&mut self, id: &str) -> &mut HiveKey {
        let entry = self.bcd.subkey(&format!(r"Objects\{id}"));
        entry.subkey("Description").set_value("Type", 0x1020_0003_u32);
        entry.subkey(r"Elements\12000004").set_value("Element", "Windows");
        entry
    }

    /// An installation with the Unified Write Filter on and maintenance off.
    pub fn filtered() -> Self {
        let mut image = Self::healthy();
        let fixed = image.service("uwfvol", 1, 0, r"System32\drivers\uwfvol.sys").subkey(r"Parameters\Static");
        fixed.set_value("CurrentSettings", 0_u32).set_value("UpdatedSettings", 0_u32);
        let copy = fixed.subkey("Copy0");
        copy.set_value("UwfEnabled", 1_u32).set_value("OverlayType", 0_u32).set_value("OverlayMaximumSize", 1024_u32);
        copy.set_value(
            "RegistryExceptionsUserDefined",
            [r"HKLM\SYSTEM\CurrentControlSet\...\PrefetchParameters"].as_slice(),
        );
        copy.subkey("0").set_value("VolumeName", "C").set_value("VolumeEnabled", 1_u32);
        copy.subkey("0").set_value("FileExceptionsUserDefined", [r"C:\Windows\Prefetch"].as_slice());
        image.control(r"Session Manager\Memory Management").set_value("PagingFiles", [].as_slice());
        image.control(r"Session Manager\Power").set_value("HiberbootEnabled", 0_u32);
        image
            .software
            .subkey(r"Microsoft\Windows NT\CurrentVersion\Schedule\Maintenance")
            .set_value("MaintenanceDisabled", 1_u32);
        image.drivers.push(driver("uwfvol.sys", true, false));
        image
    }

    pub fn copy(&mut self) -> &mut HiveKey {
        self.system.subkey(&format!(r"{CS}\Services\uwfvol\Parameters\Static\Copy0"))
    }

    pub fn audit(&self) -> ImageAudit {
        let hives = [
            ("SYSTEM", HiveKind::System, &self.system),
            ("SOFTWARE", HiveKind::Software, &self.software),
            ("NTUSER.DAT", HiveKind::User, &self.user),
            ("BCD", HiveKind::Bcd, &self.bcd),
        ];
        let hives = hives.map(|(name, kind, root)| {
            let hive = Hive::read(root.to_hive(), &[]).unwrap();
            assert_eq!(HiveKind::from_hive(&hive), Some(kind));
            ImageHive { name: name.to_owned(), kind, hive }
        });
        let files = Image {
            hives: hives.into(),
            drivers: self.drivers.clone(),
            has_hibernation_file: Some(self.has_hibernation_file),
            prefetch: self.prefetch.clone(),
            startup_entries: self.startup_entries.clone(),
            tasks: self.tasks.clone(),
        };
        let report = analyze(&files);
        audit(&ImageFacts {
            image: &files,
            report: &report,
            needed: &self.needed,
            overlay: self.overlay.as_ref(),
            is_power_cut: self.is_power_cut,
        })
    }

    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<&str> = self.audit().findings.iter().map(|finding| finding.code).collect();
        codes.dedup();
        codes
    }

    /// Returns the finding of a rule.
    pub fn finding(&self, code: &str) -> Option<RuleFinding> {
        self.audit().findings.into_iter().find(|finding| finding.code == code)
    }

    /// Turns HORM on or off.
    pub fn set_horm(&mut self, is_on: bool) {
        let dynamic = self.system.subkey(&format!(r"{CS}\Services\uwfvol\Parameters\Dynamic"));
        dynamic.set_value("HormEnabled", u32::from(is_on));
    }

    pub fn edition(&mut self, id: &str) -> &mut Self {
        self.software.subkey(r"Microsoft\Windows NT\CurrentVersion").set_value("EditionID", id);
        self
    }
}

pub fn driver(name: &str, has_embedded_signature: bool, is_test_signed: bool) -> DriverFile {
    DriverFile { name: name.to_owned(), has_embedded_signature, is_test_signed, is_part_of_windows: false }
}
