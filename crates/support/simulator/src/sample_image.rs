//! A sample offline installation: a point-of-sale terminal behind a write filter, before and after an update. Names and
//! values are invented; [`files`] lists the problems.

use onoff_testkit::hive::HiveKey;
use onoff_testkit::prefetch::PrefetchPlan;

const CS: &str = "ControlSet001";
const SVCHOST: &str = r"%SystemRoot%\system32\svchost.exe -k netsvcs";

/// Path below the volume's root, with `/`, and contents.
pub type SampleFile = (String, Vec<u8>);

/// Returns the files of the volume, before or after the update.
///
/// Problems: the write filter is on with a 512 MiB overlay in memory and no exclusions, and the paging file is on the
/// protected volume; the boot plan has seen one boot; the NFS client starts automatically; the third-party service
/// `TillAgent` starts in an early group. The update adds `TillUpdate`, an automatic service that depends on a missing
/// service; a startup program; and a scheduled task at logon. It also enables a boot-time recording.
#[must_use]
pub fn files(is_updated: bool) -> Vec<SampleFile> {
    let mut files = vec![
        ("Windows/System32/config/SYSTEM".to_owned(), system(is_updated).to_hive()),
        ("Windows/System32/config/SOFTWARE".to_owned(), software(is_updated).to_hive()),
        ("Users/till/NTUSER.DAT".to_owned(), user().to_hive()),
        ("Boot/BCD".to_owned(), boot_menu().to_hive()),
        ("Windows/Prefetch/NTOSBOOT-B00DFAAD.pf".to_owned(), plan("NTOSBOOT", true, 1)),
        ("Windows/Prefetch/TILL.EXE-0A1B2C3D.pf".to_owned(), plan("TILL.EXE", false, 4)),
    ];
    let startup = "ProgramData/Microsoft/Windows/Start Menu/Programs/StartUp";
    files.push((format!("{startup}/Till.lnk"), b"made for the tests: no shortcut".to_vec()));
    if is_updated {
        files.push(("Windows/System32/Tasks/TillUpdate".to_owned(), task()));
    }
    files
}

fn system(is_updated: bool) -> HiveKey {
    let mut root = HiveKey::root();
    root.subkey("Select").set_value("Current", 1_u32);
    let control = root.subkey(&format!(r"{CS}\Control"));
    control.set_value("WaitToKillServiceTimeout", "5000");
    control.subkey(r"ComputerName\ComputerName").set_value("ComputerName", "TILL-07");
    control
        .subkey("ServiceGroupOrder")
        .set_value("List", ["System Bus Extender", "Base", "Network", "COM Infrastructure"].as_slice());
    let manager = control.subkey("Session Manager");
    manager.set_value("BootExecute", ["autocheck autochk *"].as_slice());
    let memory = manager.subkey("Memory Management");
    memory.set_value("PagingFiles", [r"C:\pagefile.sys 0 0"].as_slice());
    memory
        .subkey("PrefetchParameters")
        .set_value("EnablePrefetcher", 3_u32)
        .set_value("EnableSuperfetch", 3_u32)
        .set_value("BootId", 1_u32);
    manager.subkey("Power").set_value("HiberbootEnabled", 0_u32).set_value("FwPOSTTime", 4_200_u32);
    control.subkey("Power").set_value("HibernateEnabled", 0_u32);
    control.subkey(r"WMI\Autologger\EventLog-System").set_value("Start", 1_u32);
    if is_updated {
        control
            .subkey(r"WMI\Autologger\TillTrace")
            .set_value("Start", 1_u32)
            .set_value("FileName", r"C:\Till\boot.etl");
    }
    let mut service = |name: &str, kind: u32, start: u32, path: &str| {
        root.subkey(&format!(r"{CS}\Services\{name}"))
            .set_value("Type", kind)
            .set_value("Start", start)
            .set_value("ImagePath", path);
    };
    service("disk", 1, 0, r"System32\drivers\disk.sys");
    service("volmgr", 1, 0, r"System32\drivers\volmgr.sys");
    service("uwfvol", 1, 0, r"System32\drivers\uwfvol.sys");
    service("RpcSs", 32, 2, SVCHOST);
    service("SysMain", 32, 2, SVCHOST);
    service("Dhcp", 32, 2, SVCHOST);
    service("Spooler", 16, 2, r"%SystemRoot%\System32\spoolsv.exe");
    service("NfsClnt", 16, if is_updated { 4 } else { 2 }, r"%SystemRoot%\system32\nfsclnt.exe");
    service("TillAgent", 16, 2, r"C:\Till\agent.exe");
    if is_updated {
        service("TillUpdate", 16, 2, r"C:\Till\update.exe");
    }
    let mut set_values = |name: &str, value: &str, data: &[&str]| {
        root.subkey(&format!(r"{CS}\Services\{name}")).set_value(value, data);
    };
    set_values("Spooler", "DependOnService", &["RPCSS"]);
    set_values("SysMain", "DependOnService", &["rpcss"]);
    set_values("TillAgent", "DependOnService", &["Dhcp", "RpcSs"]);
    if is_updated {
        set_values("TillUpdate", "DependOnService", &["TillLicence"]);
    }
    root.subkey(&format!(r"{CS}\Services\TillAgent")).set_value("Group", "Network");
    for name in ["disk", "volmgr", "uwfvol"] {
        root.subkey(&format!(r"{CS}\Services\{name}")).set_value("ErrorControl", 3_u32);
    }
    let filter = root.subkey(&format!(r"{CS}\Services\uwfvol\Parameters\Static"));
    filter.set_value("CurrentSettings", 0_u32).set_value("UpdatedSettings", 0_u32);
    let copy = filter.subkey("Copy0");
    copy.set_value("UwfEnabled", 1_u32).set_value("OverlayType", 0_u32).set_value("OverlayMaximumSize", 512_u32);
    copy.subkey("0").set_value("VolumeName", "C").set_value("VolumeEnabled", 1_u32);
    root
}

fn software(is_updated: bool) -> HiveKey {
    let mut root = HiveKey::root();
    root.subkey(r"Microsoft\Windows NT\CurrentVersion")
        .set_value("ProductName", "Windows 10 Enterprise LTSC 2019")
        .set_value("CurrentBuild", "17763");
    let run = root.subkey(r"Microsoft\Windows\CurrentVersion\Run");
    run.set_value("Till", r"C:\Till\till.exe");
    if is_updated {
        run.set_value("TillNews", r"C:\Till\news.exe /quiet");
    }
    root
}

fn user() -> HiveKey {
    let mut root = HiveKey::root();
    root.subkey(r"Control Panel\Desktop").set_value("HungAppTimeout", "5000");
    root
}

fn boot_menu() -> HiveKey {
    let mut root = HiveKey::root();
    let manager = root.subkey(r"Objects\{9dea862c-5cdd-4e70-acc1-f32b344d4795}");
    manager.subkey(r"Elements\25000004").set_value("Element", 0_u64.to_le_bytes().to_vec());
    manager.subkey(r"Elements\24000001").set_value("Element", ["{b7a1c3d0-0000-0000-0000-000000000001}"].as_slice());
    let entry = root.subkey(r"Objects\{b7a1c3d0-0000-0000-0000-000000000001}");
    entry.subkey("Description").set_value("Type", 0x1020_0003_u32);
    entry.subkey(r"Elements\12000004").set_value("Element", "Windows 10");
    root.subkey("Description");
    root
}

fn plan(executable: &str, is_boot: bool, run_count: u32) -> Vec<u8> {
    PrefetchPlan {
        version: 26,
        executable: executable.to_owned(),
        is_boot,
        run_count,
        last_run: 132_000_000_000_000_000,
        volume: r"\DEVICE\HARDDISKVOLUME2".to_owned(),
        files: vec![(r"\WINDOWS\SYSTEM32\NTDLL.DLL".to_owned(), 300), (r"\TILL\TILL.EXE".to_owned(), 900)],
    }
    .bytes()
}

fn task() -> Vec<u8> {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\r\n\
        <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\r\n\
        <Triggers><LogonTrigger><Enabled>true</Enabled><Delay>PT10S</Delay></LogonTrigger></Triggers>\r\n\
        <Actions><Exec><Command>C:\\Till\\update.exe</Command><Arguments>/check</Arguments></Exec></Actions>\r\n</Task>\r\n";
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}
