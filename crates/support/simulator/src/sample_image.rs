//! A sample offline installation: a point-of-sale terminal behind a write filter, before and after an update. Names and
//! values are invented; [`files`] lists the problems.

use onoff_testkit::hive::KeyFile;
use onoff_testkit::prefetch::PlanFile;

const CS: &str = "ControlSet001";
const SVCHOST: &str = r"%SystemRoot%\system32\svchost.exe -k netsvcs";

/// Path below the volume's root, with `/`, and contents.
pub type SampleFile = (String, Vec<u8>);

/// The files of the volume, before or after the update.
///
/// Problems: the write filter is on with a 512 MiB overlay in memory and no exclusions, and the paging file is on the
/// protected volume; the boot plan has seen one boot; the NFS client starts automatically; the third-party service
/// `TillAgent` starts in an early group. The update adds `TillUpdate`, an automatic service that depends on a missing
/// service; a startup program; and a scheduled task at logon. It also enables a boot-time recording.
#[must_use]
pub fn files(is_updated: bool) -> Vec<SampleFile> {
    let mut files = vec![
        ("Windows/System32/config/SYSTEM".to_owned(), system(is_updated).hive()),
        ("Windows/System32/config/SOFTWARE".to_owned(), software(is_updated).hive()),
        ("Users/till/NTUSER.DAT".to_owned(), user().hive()),
        ("Boot/BCD".to_owned(), boot_menu().hive()),
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

fn system(is_updated: bool) -> KeyFile {
    let mut root = KeyFile::root();
    root.key("Select").set("Current", 1_u32);
    let control = root.key(&format!(r"{CS}\Control"));
    control.set("WaitToKillServiceTimeout", "5000");
    control.key(r"ComputerName\ComputerName").set("ComputerName", "TILL-07");
    control
        .key("ServiceGroupOrder")
        .set("List", ["System Bus Extender", "Base", "Network", "COM Infrastructure"].as_slice());
    let manager = control.key("Session Manager");
    manager.set("BootExecute", ["autocheck autochk *"].as_slice());
    let memory = manager.key("Memory Management");
    memory.set("PagingFiles", [r"C:\pagefile.sys 0 0"].as_slice());
    memory.key("PrefetchParameters").set("EnablePrefetcher", 3_u32).set("EnableSuperfetch", 3_u32).set("BootId", 1_u32);
    manager.key("Power").set("HiberbootEnabled", 0_u32).set("FwPOSTTime", 4_200_u32);
    control.key("Power").set("HibernateEnabled", 0_u32);
    control.key(r"WMI\Autologger\EventLog-System").set("Start", 1_u32);
    if is_updated {
        control.key(r"WMI\Autologger\TillTrace").set("Start", 1_u32).set("FileName", r"C:\Till\boot.etl");
    }
    let mut service = |name: &str, kind: u32, start: u32, path: &str| {
        root.key(&format!(r"{CS}\Services\{name}")).set("Type", kind).set("Start", start).set("ImagePath", path);
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
    let mut more = |name: &str, value: &str, data: &[&str]| {
        root.key(&format!(r"{CS}\Services\{name}")).set(value, data);
    };
    more("Spooler", "DependOnService", &["RPCSS"]);
    more("SysMain", "DependOnService", &["rpcss"]);
    more("TillAgent", "DependOnService", &["Dhcp", "RpcSs"]);
    if is_updated {
        more("TillUpdate", "DependOnService", &["TillLicence"]);
    }
    root.key(&format!(r"{CS}\Services\TillAgent")).set("Group", "Network");
    for name in ["disk", "volmgr", "uwfvol"] {
        root.key(&format!(r"{CS}\Services\{name}")).set("ErrorControl", 3_u32);
    }
    let filter = root.key(&format!(r"{CS}\Services\uwfvol\Parameters\Static"));
    filter.set("CurrentSettings", 0_u32).set("UpdatedSettings", 0_u32);
    let copy = filter.key("Copy0");
    copy.set("UwfEnabled", 1_u32).set("OverlayType", 0_u32).set("OverlayMaximumSize", 512_u32);
    copy.key("0").set("VolumeName", "C").set("VolumeEnabled", 1_u32);
    root
}

fn software(is_updated: bool) -> KeyFile {
    let mut root = KeyFile::root();
    root.key(r"Microsoft\Windows NT\CurrentVersion")
        .set("ProductName", "Windows 10 Enterprise LTSC 2019")
        .set("CurrentBuild", "17763");
    let run = root.key(r"Microsoft\Windows\CurrentVersion\Run");
    run.set("Till", r"C:\Till\till.exe");
    if is_updated {
        run.set("TillNews", r"C:\Till\news.exe /quiet");
    }
    root
}

fn user() -> KeyFile {
    let mut root = KeyFile::root();
    root.key(r"Control Panel\Desktop").set("HungAppTimeout", "5000");
    root
}

fn boot_menu() -> KeyFile {
    let mut root = KeyFile::root();
    let manager = root.key(r"Objects\{9dea862c-5cdd-4e70-acc1-f32b344d4795}");
    manager.key(r"Elements\25000004").set("Element", 0_u64.to_le_bytes().to_vec());
    manager.key(r"Elements\24000001").set("Element", ["{b7a1c3d0-0000-0000-0000-000000000001}"].as_slice());
    let entry = root.key(r"Objects\{b7a1c3d0-0000-0000-0000-000000000001}");
    entry.key("Description").set("Type", 0x1020_0003_u32);
    entry.key(r"Elements\12000004").set("Element", "Windows 10");
    root.key("Description");
    root
}

fn plan(executable: &str, is_boot: bool, run_count: u32) -> Vec<u8> {
    PlanFile {
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
