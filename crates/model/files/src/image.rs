//! Reads a Windows installation from a mounted or extracted volume, or from single hives.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::{Error, Limits};
use onoff_trace::DriverFile;

use crate::standard_input::{self, is_standard_input};
use crate::volume::Volume;
use crate::walk::{Found, walk};
use crate::{drivers, failed};

/// Maximum size of a hive or log, bytes. Windows limits hives to 2 GiB; the largest common one, SOFTWARE, has some
/// hundred MiB.
const MAX_BYTES: u64 = 512 << 20;
/// Maximum number of user hives.
const MAX_USERS: usize = 64;
/// File extensions of packed files.
const PACKED_EXTENSIONS: [&str; 3] = [".xz", ".gz", ".zst"];
/// Magic number of a hive.
const MAGIC: &[u8] = b"regf";

/// A hive and its transaction logs.
#[derive(Clone, Debug, Default)]
pub struct HiveBytes {
    /// Path, as given or found.
    pub name: String,
    pub bytes: Vec<u8>,
    pub logs: Vec<Vec<u8>>,
}

/// A file in a startup folder, or a scheduled task.
#[derive(Clone, Debug, Default)]
pub struct StartFile {
    /// Startup folder, relative to the volume; empty for a task.
    pub folder: String,
    /// File name; for a task, its path below `\Windows\System32\Tasks`.
    pub name: String,
    /// Content of a task; empty for a file in a startup folder.
    pub bytes: Vec<u8>,
    /// Last modification, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// The parts of an installation that were found.
#[derive(Debug, Default)]
pub struct FoundImage {
    pub hives: Vec<HiveBytes>,
    /// Signatures of the driver files.
    pub drivers: Vec<DriverFile>,
    /// Files in startup folders.
    pub startup_entries: Vec<StartFile>,
    pub tasks: Vec<StartFile>,
    /// The volume, if a whole one was given.
    pub volume: Option<Volume>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads the installation at `paths`: Windows volumes, folders with hives, or hives with their logs next to them.
///
/// # Errors
/// A path in `paths` that cannot be read.
pub fn open_image(paths: &[PathBuf]) -> Result<FoundImage, Error> {
    let mut found = FoundImage::default();
    for path in paths {
        if is_standard_input(path) || !fs::metadata(path).map_err(failed(path))?.is_dir() {
            found.hives.push(hive(path).map_err(failed(path))?);
            continue;
        }
        match Volume::open(path) {
            Some(volume) => add_volume(volume, &mut found)?,
            None => walk(path, |one| match one {
                Found::File(path, _) if is_hive(path) => add(path, &mut found),
                Found::File(..) => {}
                Found::Unreadable(path, error) => {
                    found.unreadable.push((path.display().to_string(), error.to_string()))
                }
            })?,
        }
    }
    Ok(found)
}

fn add(path: &Path, found: &mut FoundImage) {
    match hive(path) {
        Ok(hive) => found.hives.push(hive),
        Err(error) => found.unreadable.push((path.display().to_string(), error.to_string())),
    }
}

fn add_volume(volume: Volume, found: &mut FoundImage) -> Result<(), Error> {
    let fixed = [
        r"Windows\System32\config\SYSTEM",
        r"Windows\System32\config\SOFTWARE",
        r"Boot\BCD",
        r"EFI\Microsoft\Boot\BCD",
    ];
    for path in fixed.iter().filter_map(|path| volume.find(path)) {
        add(&path, found);
    }
    let users = volume.find("Users").or_else(|| volume.find("Documents and Settings"));
    let mut names: Vec<String> = users
        .and_then(|users| fs::read_dir(users).ok())
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    let users = names
        .iter()
        .filter(|name| !matches!(name.to_lowercase().as_str(), "default" | "default user" | "public" | "all users"));
    for name in users.take(MAX_USERS) {
        let hive = ["Users", "Documents and Settings"]
            .iter()
            .find_map(|folder| volume.find(&format!(r"{folder}\{name}\NTUSER.DAT")));
        if let Some(path) = hive {
            add(&path, found);
        }
        add_startup_folder(&volume, &format!(r"Users\{name}\AppData\Roaming\{STARTUP}"), found);
        add_startup_folder(&volume, &format!(r"Documents and Settings\{name}\{STARTUP_OF_XP}"), found);
    }
    add_startup_folder(&volume, &format!(r"ProgramData\{STARTUP}"), found);
    add_startup_folder(&volume, &format!(r"Documents and Settings\All Users\{STARTUP_OF_XP}"), found);
    add_tasks(&volume, found)?;
    if let Some(folder) = volume.find(r"Windows\System32\drivers") {
        found.drivers.extend(drivers::read(&[folder])?);
    }
    found.volume = found.volume.take().or(Some(volume));
    Ok(())
}

/// The startup folder below a user's or all users' data since Vista, and below a user's folder before.
const STARTUP: &str = r"Microsoft\Windows\Start Menu\Programs\Startup";
const STARTUP_OF_XP: &str = r"Start Menu\Programs\Startup";
/// Maximum number of files in a startup folder.
const MAX_STARTUP_FILES: usize = 1000;
/// Maximum size of a task, bytes; the tasks of Windows have a few thousand.
const MAX_TASK_BYTES: u64 = 1 << 20;

fn add_startup_folder(volume: &Volume, folder: &str, found: &mut FoundImage) {
    let Some(path) = volume.find(folder) else { return };
    let Ok(entries) = fs::read_dir(&path) else {
        found.unreadable.push((path.display().to_string(), "cannot read folder".to_owned()));
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
            found.startup_entries.push(StartFile { folder, name, bytes: Vec::new(), modified_unix_ns });
        }
    }
}

fn add_tasks(volume: &Volume, found: &mut FoundImage) -> Result<(), Error> {
    let Some(folder) = volume.find(r"Windows\System32\Tasks") else { return Ok(()) };
    let unreadable = |path: &Path, why: String| (path.display().to_string(), why);
    let FoundImage { tasks, unreadable: refused, .. } = found;
    walk(&folder, |one| match one {
        Found::File(path, bytes) if bytes > MAX_TASK_BYTES => {
            refused.push(unreadable(path, "too large for a scheduled task".to_owned()));
        }
        Found::File(path, _) => match fs::read(path) {
            Ok(bytes) => {
                let below = path.strip_prefix(&folder).unwrap_or(path).display().to_string().replace('/', r"\");
                let modified_unix_ns = fs::symlink_metadata(path).ok().as_ref().and_then(crate::volume::modified);
                tasks.push(StartFile { folder: String::new(), name: below, bytes, modified_unix_ns });
            }
            Err(error) => refused.push(unreadable(path, error.to_string())),
        },
        Found::Unreadable(path, error) => refused.push(unreadable(path, error.to_string())),
    })
}

/// True if a file starts like a hive and is not a log of one.
fn is_hive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if [".log", ".log1", ".log2", ".sav"].iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let mut first = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *MAGIC
}

/// Magic numbers of a WIM image: as a file, and as a stream.
const WIM_MAGICS: [&[u8; 8]; 2] = [b"MSWIM\0\0\0", b"WLPWM\0\0\0"];

/// Rejects a WIM image, with instructions for extracting it.
fn reject_wim(path: &Path) -> io::Result<()> {
    let mut first = [0; 8];
    let is_wim = |first: [u8; 8]| WIM_MAGICS.contains(&&first);
    if File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && is_wim(first) {
        let file = path.display();
        let why = format!(
            "a WIM image, which onoff cannot read; extract the needed folders first: 'wimlib-imagex extract {file} 1 \
             /Windows/System32/config /Windows/System32/Tasks /Windows/Prefetch --dest-dir=FOLDER --preserve-dir-structure', or on \
             Windows 'dism /Mount-Image /ImageFile:{file} /Index:1 /MountDir:FOLDER /ReadOnly'; then 'onoff image FOLDER'"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(())
}

fn hive(path: &Path) -> io::Result<HiveBytes> {
    if !is_standard_input(path) {
        reject_wim(path)?;
    }
    let mut hive = HiveBytes { name: standard_input::name_of(path), bytes: read(path)?, logs: Vec::new() };
    if is_standard_input(path) {
        return Ok(hive);
    }
    // `SYSTEM.xz` has its logs in `SYSTEM.LOG1.xz` and `SYSTEM.LOG2.xz`.
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packing = PACKED_EXTENSIONS.into_iter().find(|packing| name.ends_with(packing)).unwrap_or_default();
    let stem = name.strip_suffix(packing).unwrap_or(&name);
    for ending in ["LOG", "LOG1", "LOG2", "log", "log1", "log2"] {
        let name = format!("{stem}.{ending}{packing}");
        // A log that does not exist or cannot be read is ignored: the hive itself shows that it is not up to date.
        if let Ok(log) = read(&path.with_file_name(name))
            && !log.is_empty()
            && !hive.logs.contains(&log)
        {
            hive.logs.push(log);
        }
    }
    Ok(hive)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if is_standard_input(path) {
        bytes = standard_input::read(MAX_BYTES)?;
    } else {
        File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    let limits = Limits { unpacked_bytes: MAX_BYTES, ..Limits::default() };
    onoff_sources::unpacked_file(&path.display().to_string(), bytes, &limits).map_err(io::Error::other)
}
