//! Startup programs from files: startup folders and scheduled tasks.

use roxmltree::{Document, Node, ParsingOptions};

use super::startup_programs::{StartupOrigin, StartupProgram};

/// A file in a startup folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupEntry {
    /// Folder, relative to the volume.
    pub folder: String,
    /// File name.
    pub name: String,
    /// Time of the last write, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// The definition of a scheduled task in `\Windows\System32\Tasks`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFile {
    /// Path relative to that folder.
    pub path: String,
    /// Content: XML in UTF-16 or UTF-8.
    pub bytes: Vec<u8>,
    /// Time of the last write, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// Maximum number of XML nodes of a task; the tasks of Windows have about a hundred.
const MAX_NODES: u32 = 20_000;
/// Folder of the tasks that are part of Windows.
const WINDOWS_TASK_FOLDER: &str = r"Microsoft\";

/// Returns the programs that files in startup folders start.
pub(super) fn folder_programs(entries: &[StartupEntry]) -> impl Iterator<Item = StartupProgram> + '_ {
    entries.iter().filter(|entry| !entry.name.eq_ignore_ascii_case("desktop.ini")).map(|entry| StartupProgram {
        name: entry.name.clone(),
        command: String::new(),
        key: entry.folder.clone(),
        hive: String::new(),
        origin: StartupOrigin::StartupFolder,
        delay: String::new(),
        last_written_unix_ns: entry.modified_unix_ns,
    })
}

/// Programs started by tasks at boot or logon.
#[derive(Clone, Debug, Default)]
pub(super) struct StartupTasks {
    /// Tasks that are not part of Windows.
    pub(super) programs: Vec<StartupProgram>,
    /// Number of tasks that are part of Windows.
    pub(super) windows_tasks: u64,
    /// Paths of unreadable tasks.
    pub(super) unreadable: Vec<String>,
}

pub(super) fn task_programs(tasks: &[TaskFile]) -> StartupTasks {
    let mut startup_tasks = StartupTasks::default();
    for task in tasks {
        let Some(text) = decode_text(&task.bytes) else {
            startup_tasks.unreadable.push(task.path.clone());
            continue;
        };
        let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let Ok(document) = Document::parse_with_options(&text, options) else {
            startup_tasks.unreadable.push(task.path.clone());
            continue;
        };
        let Some((origin, delay)) = startup_trigger(document.root_element()) else { continue };
        if task.path.starts_with(WINDOWS_TASK_FOLDER) {
            startup_tasks.windows_tasks += 1;
            continue;
        }
        startup_tasks.programs.push(StartupProgram {
            name: task.path.rsplit('\\').next().unwrap_or(&task.path).to_owned(),
            command: command(document.root_element()),
            key: format!(r"\Windows\System32\Tasks\{}", task.path),
            hive: String::new(),
            origin,
            delay,
            last_written_unix_ns: task.modified_unix_ns,
        });
    }
    startup_tasks
}

/// Decodes UTF-16 if there is a byte order mark, otherwise UTF-8.
fn decode_text(bytes: &[u8]) -> Option<String> {
    let decode_utf16 = |bytes: &[u8], from_bytes: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|unit| from_bytes(*unit));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn child_text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim)
}

fn is_enabled(node: Node<'_, '_>) -> bool {
    child_text(node, "Enabled").is_none_or(|text| !text.eq_ignore_ascii_case("false") && text != "0")
}

/// Returns the origin and the delay of the first boot or logon trigger of an enabled task.
fn startup_trigger(task: Node<'_, '_>) -> Option<(StartupOrigin, String)> {
    if child(task, "Settings").is_some_and(|settings| !is_enabled(settings)) {
        return None;
    }
    child(task, "Triggers")?.children().find_map(|trigger| {
        let origin = match trigger.tag_name().name() {
            "BootTrigger" => StartupOrigin::TaskAtBoot,
            "LogonTrigger" => StartupOrigin::TaskAtLogon,
            _ => return None,
        };
        is_enabled(trigger).then(|| (origin, child_text(trigger, "Delay").unwrap_or_default().to_owned()))
    })
}

fn command(task: Node<'_, '_>) -> String {
    let Some(actions) = child(task, "Actions") else { return String::new() };
    let commands = actions.children().filter_map(|action| match action.tag_name().name() {
        "Exec" => {
            let arguments = child_text(action, "Arguments").unwrap_or_default();
            Some(format!("{} {arguments}", child_text(action, "Command")?).trim_end().to_owned())
        }
        "ComHandler" => Some(format!("COM class {}", child_text(action, "ClassId")?)),
        _ => None,
    });
    commands.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(path: &str, triggers: &str, settings: &str) -> TaskFile {
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\r\n<Task version=\"1.2\" \
             xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\"><Triggers>{triggers}</Triggers>\
             <Settings>{settings}</Settings><Actions><Exec><Command>\"C:\\a b\\u.exe\"</Command><Arguments>/s</Arguments>\
             </Exec></Actions></Task>"
        );
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        TaskFile {
            path: path.to_owned(),
            bytes: [0xff, 0xfe].into_iter().chain(units).collect(),
            modified_unix_ns: Some(1),
        }
    }

    #[test]
    fn finds_tasks_with_boot_or_logon_trigger() {
        let tasks = [
            task("Updater", "<LogonTrigger><Delay>PT30S</Delay></LogonTrigger>", ""),
            task(r"Maker\Agent", "<BootTrigger><Enabled>true</Enabled></BootTrigger>", "<Enabled>true</Enabled>"),
            task(r"Microsoft\Windows\Time", "<BootTrigger/>", ""),
            // Scheduled by time, disabled, or with a disabled trigger.
            task("Weekly", "<CalendarTrigger/>", ""),
            task("Off", "<LogonTrigger/>", "<Enabled>false</Enabled>"),
            task("Quiet", "<LogonTrigger><Enabled>false</Enabled></LogonTrigger>", ""),
        ];
        let startup_tasks = task_programs(&tasks);
        let programs: Vec<_> = startup_tasks
            .programs
            .iter()
            .map(|program| (program.name.as_str(), program.origin, program.delay.as_str(), program.command.as_str()))
            .collect();
        let command = "\"C:\\a b\\u.exe\" /s";
        assert_eq!(
            programs,
            [
                ("Updater", StartupOrigin::TaskAtLogon, "PT30S", command),
                ("Agent", StartupOrigin::TaskAtBoot, "", command)
            ]
        );
        assert_eq!((startup_tasks.windows_tasks, startup_tasks.unreadable.len()), (1, 0));
    }

    #[test]
    fn lists_unreadable_tasks() {
        let broken = |bytes: &[u8]| TaskFile { path: "x".to_owned(), bytes: bytes.to_vec(), modified_unix_ns: None };
        // A lone surrogate, truncated XML, expanding entities, and an empty file.
        let entities = b"<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><Task>&c;</Task>";
        let tasks = [broken(b"\xff\xfe\x00\xd8"), broken(b"<Task>"), broken(entities), broken(b"")];
        assert_eq!(task_programs(&tasks).unreadable.len(), 4);
        assert_eq!(task_programs(&[broken(b"<Task><Triggers/></Task>")]).unreadable.len(), 0);
    }
}
