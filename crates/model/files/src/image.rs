//! Reads a Windows installation from a mounted or extracted volume, or from single hives.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::{Error, Limits};

use crate::read_error;
use crate::standard_input::{self, is_standard_input};
use crate::volume::Volume;
use crate::walk::{WalkEntry, walk};

/// Maximum size of a hive or log, in bytes. Windows limits hives to 2 GiB. SOFTWARE, usually the largest, has a few
/// hundred MiB.
const MAX_HIVE_BYTES: u64 = 512 << 20;
/// Maximum number of user hives.
const MAX_USER_HIVES: usize = 64;
/// File extensions of packed files.
const PACKED_EXTENSIONS: [&str; 3] = [".xz", ".gz", ".zst"];
/// Magic number of a hive.
const HIVE_MAGIC: &[u8] = b"regf";

/// A hive and its transaction logs.
#[derive(Clone, Debug, Default)]
pub struct HiveBytes {
    /// Path of the hive, or a name for standard input.
    pub name: String,
    pub bytes: Vec<u8>,
    pub logs: Vec<Vec<u8>>,
}

/// A file in a startup folder, or a scheduled task.
#[derive(Clone, Debug, Default)]
pub struct StartupEntry {
    /// Startup folder, relative to the volume; empty for a task.
    pub folder: String,
    /// File name; for a task, its path below `\Windows\System32\Tasks`.
    pub name: String,
    /// Content of a task; empty for a file in a startup folder.
    pub bytes: Vec<u8>,
    /// Last modification, in ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// The files of an installation.
#[derive(Debug, Default)]
pub struct ImageFiles {
    pub hives: Vec<HiveBytes>,
    /// Files in startup folders.
    pub startup_entries: Vec<StartupEntry>,
    pub tasks: Vec<StartupEntry>,
    /// The volume, if a path is the root of one.
    pub volume: Option<Volume>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads the installation at `paths`: Windows volumes, folders with hives, or hives with their logs next to them.
///
/// # Errors
/// A path in `paths` cannot be read.
pub fn open_image(paths: &[PathBuf]) -> Result<ImageFiles, Error> {
    let mut image = ImageFiles::default();
    for path in paths {
        if is_standard_input(path) || !fs::metadata(path).map_err(read_error(path))?.is_dir() {
            image.hives.push(read_hive(path).map_err(read_error(path))?);
            continue;
        }
        match Volume::open(path) {
            Some(volume) => add_volume(volume, &mut image)?,
            None => walk(path, |entry| match entry {
                WalkEntry::File(path, _) if is_hive(path) => add_hive(path, &mut image),
                WalkEntry::File(..) => {}
                WalkEntry::Unreadable(path, error) => {
                    image.unreadable.push((path.display().to_string(), error.to_string()))
                }
            })?,
        }
    }
    Ok(image)
}

fn add_hive(path: &Path, image: &mut ImageFiles) {
    match read_hive(path) {
        Ok(hive) => image.hives.push(hive),
        Err(error) => image.unreadable.push((path.display().to_string(), error.to_string())),
    }
}

fn add_volume(volume: Volume, image: &mut ImageFiles) -> Result<(), Error> {
    let system_hives = [
        r"Windows\System32\config\SYSTEM",
        r"Windows\System32\config\SOFTWARE",
        r"Boot\BCD",
        r"EFI\Microsoft\Boot\BCD",
    ];
    for path in system_hives.iter().filter_map(|path| volume.find(path)) {
        add_hive(&path, image);
    }
    let users_folder = volume.find("Users").or_else(|| volume.find("Documents and Settings"));
    let mut user_names: Vec<String> = users_folder
        .and_then(|folder| fs::read_dir(folder).ok())
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    user_names.sort();
    let user_names = user_names
        .iter()
        .filter(|name| !matches!(name.to_lowercase().as_str(), "default" | "default user" | "public" | "all users"));
    for name in user_names.take(MAX_USER_HIVES) {
        let hive = ["Users", "Documents and Settings"]
            .iter()
            .find_map(|folder| volume.find(&format!(r"{folder}\{name}\NTUSER.DAT")));
        if let Some(path) = hive {
            add_hive(&path, image);
        }
        add_startup_folder(&volume, &format!(r"Users\{name}\AppData\Roaming\{STARTUP}"), image);
        add_startup_folder(&volume, &format!(r"Documents and Settings\{name}\{XP_STARTUP}"), image);
    }
    add_startup_folder(&volume, &format!(r"ProgramData\{STARTUP}"), image);
    add_startup_folder(&volume, &format!(r"Documents and Settings\All Users\{XP_STARTUP}"), image);
    add_tasks(&volume, image)?;
    image.volume = image.volume.take().or(Some(volume));
    Ok(())
}

/// Startup folder since Vista, relative to the data folder of a user or of all users.
const STARTUP: &str = r"Microsoft\Windows\Start Menu\Programs\Startup";
/// Startup folder on Windows XP, relative to the user's folder.
const XP_STARTUP: &str = r"Start Menu\Programs\Startup";
/// Maximum number of files in a startup folder.
const MAX_STARTUP_FILES: usize = 1000;
/// Maximum size of a task, in bytes. The tasks of Windows have a few thousand.
const MAX_TASK_BYTES: u64 = 1 << 20;

fn add_startup_folder(volume: &Volume, folder: &str, image: &mut ImageFiles) {
    let Some(path) = volume.find(folder) else { return };
    let Ok(entries) = fs::read_dir(&path) else {
        image.unreadable.push((path.display().to_string(), "cannot read folder".to_owned()));
        return;
    };
    let mut names: Vec<String> = entries
        .flatten()
        .take(MAX_STARTUP_FILES)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        if let Some(file) = volume.file(&format!(r"{folder}\{name}")) {
            let folder = format!(r"\{folder}");
            let modified_unix_ns = file.modified_unix_ns;
            image.startup_entries.push(StartupEntry { folder, name, bytes: Vec::new(), modified_unix_ns });
        }
    }
}

fn add_tasks(volume: &Volume, image: &mut ImageFiles) -> Result<(), Error> {
    let Some(folder) = volume.find(r"Windows\System32\Tasks") else { return Ok(()) };
    let with_reason = |path: &Path, reason: String| (path.display().to_string(), reason);
    let ImageFiles { tasks, unreadable, .. } = image;
    walk(&folder, |entry| match entry {
        WalkEntry::File(path, bytes) if bytes > MAX_TASK_BYTES => {
            unreadable.push(with_reason(path, "too large for a scheduled task".to_owned()));
        }
        WalkEntry::File(path, _) => match fs::read(path) {
            Ok(bytes) => {
                let task_path = path.strip_prefix(&folder).unwrap_or(path).display().to_string().replace('/', r"\");
                let modified_unix_ns =
                    fs::symlink_metadata(path).ok().as_ref().and_then(crate::volume::modified_unix_ns);
                tasks.push(StartupEntry { folder: String::new(), name: task_path, bytes, modified_unix_ns });
            }
            Err(error) => unreadable.push(with_reason(path, error.to_string())),
        },
        WalkEntry::Unreadable(path, error) => unreadable.push(with_reason(path, error.to_string())),
    })
}

/// Returns true if a file starts like a hive but is not the log of a hive.
fn is_hive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if [".log", ".log1", ".log2", ".sav"].iter().any(|extension| name.ends_with(extension)) {
        return false;
    }
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *HIVE_MAGIC
}

/// Magic numbers of a WIM image: as a file, and as a stream.
const WIM_MAGICS: [&[u8; 8]; 2] = [b"MSWIM\0\0\0", b"WLPWM\0\0\0"];

/// Rejects a WIM image, with instructions for extracting it.
fn reject_wim(path: &Path) -> io::Result<()> {
    let mut magic = [0; 8];
    let is_readable = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    if is_readable && WIM_MAGICS.contains(&&magic) {
        let file = path.display();
        let message = format!(
            "a WIM image, which onoff cannot read; extract the needed folders first: 'wimlib-imagex extract {file} 1 \
             /Windows/System32/config /Windows/System32/Tasks /Windows/Prefetch --dest-dir=FOLDER --preserve-dir-structure', or on \
             Windows 'dism /Mount-Image /ImageFile:{file} /Index:1 /MountDir:FOLDER /ReadOnly'; then 'onoff image FOLDER'"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(())
}

fn read_hive(path: &Path) -> io::Result<HiveBytes> {
    if !is_standard_input(path) {
        reject_wim(path)?;
    }
    let mut hive =
        HiveBytes { name: standard_input::display_name(path), bytes: read_unpacked(path)?, logs: Vec::new() };
    if is_standard_input(path) {
        return Ok(hive);
    }
    // `SYSTEM.xz` has its logs in `SYSTEM.LOG1.xz` and `SYSTEM.LOG2.xz`.
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed_extension =
        PACKED_EXTENSIONS.into_iter().find(|extension| name.ends_with(extension)).unwrap_or_default();
    let stem = name.strip_suffix(packed_extension).unwrap_or(&name);
    for log_extension in ["LOG", "LOG1", "LOG2", "log", "log1", "log2"] {
        let name = format!("{stem}.{log_extension}{packed_extension}");
        // Ignore a log that is missing or unreadable: the hive itself records that it is not up to date.
        if let Ok(log) = read_unpacked(&path.with_file_name(name))
            && !log.is_empty()
            && !hive.logs.contains(&log)
        {
            hive.logs.push(log);
        }
    }
    Ok(hive)
}

fn read_unpacked(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if is_standard_input(path) {
        bytes = standard_input::read(MAX_HIVE_BYTES)?;
    } else {
        crate::open_file(path)?.take(MAX_HIVE_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_HIVE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {} MiB", MAX_HIVE_BYTES >> 20)));
    }
    let limits = Limits { unpacked_bytes: MAX_HIVE_BYTES, ..Limits::default() };
    onoff_sources::unpacked_file(&path.display().to_string(), bytes, &limits).map_err(io::Error::other)
}
