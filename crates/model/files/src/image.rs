//! A Windows installation from a mounted or extracted volume, or from single hives.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use onoff_sources::{Error, Limits};
use onoff_trace::DriverFile;

use crate::standard_input::{self, is_standard_input};
use crate::volume::Volume;
use crate::walk::{Found, walk};
use crate::{drivers, failed};

/// Most bytes of a hive or a log; Windows stops hives at 2 GiB, and the largest that are common, SOFTWARE, have some
/// hundred MiB.
const MAX_BYTES: u64 = 512 << 20;
/// Most hives of users.
const MAX_USERS: usize = 64;
/// Endings of packed files.
const PACKINGS: [&str; 3] = [".xz", ".gz", ".zst"];
/// What a hive begins with.
const MAGIC: &[u8] = b"regf";

/// A hive's bytes and those of its logs.
#[derive(Clone, Debug, Default)]
pub struct HiveBytes {
    /// Path, as it was given or found.
    pub name: String,
    /// The hive.
    pub bytes: Vec<u8>,
    /// Its transaction logs.
    pub logs: Vec<Vec<u8>>,
}

/// A file that starts something: of a startup folder, or a scheduled task.
#[derive(Clone, Debug, Default)]
pub struct StartFile {
    /// The startup folder below the volume; empty for a task.
    pub folder: String,
    /// Its name; of a task its path below `\Windows\System32\Tasks`.
    pub name: String,
    /// A task's bytes; empty for a file of a startup folder.
    pub bytes: Vec<u8>,
    /// When it was last written, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// What was found of an installation.
#[derive(Debug, Default)]
pub struct FoundImage {
    /// Hives.
    pub hives: Vec<HiveBytes>,
    /// How the drivers' files are signed.
    pub drivers: Vec<DriverFile>,
    /// Files of startup folders.
    pub startup_entries: Vec<StartFile>,
    /// Scheduled tasks.
    pub tasks: Vec<StartFile>,
    /// The volume, where a whole one was given.
    pub volume: Option<Volume>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads what `paths` show of an installation: volumes of Windows; folders, of which the hives are taken; and hives,
/// with the logs that lie by them.
///
/// # Errors
/// A path given that cannot be read.
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

/// The startup folder below a user's or all users' data, since Vista; and below a user's folder before.
const STARTUP: &str = r"Microsoft\Windows\Start Menu\Programs\Startup";
const STARTUP_OF_XP: &str = r"Start Menu\Programs\Startup";
/// Most files of a startup folder.
const MAX_STARTUP_FILES: usize = 1000;
/// Most bytes of a task; those of Windows have some thousand.
const MAX_TASK_BYTES: u64 = 1 << 20;

fn add_startup_folder(volume: &Volume, folder: &str, found: &mut FoundImage) {
    let Some(path) = volume.find(folder) else { return };
    let Ok(entries) = fs::read_dir(&path) else {
        found.unreadable.push((path.display().to_string(), "the folder cannot be read".to_owned()));
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

/// Whether a file begins as a hive and is not the log of one.
fn is_hive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if [".log", ".log1", ".log2", ".sav"].iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let mut first = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *MAGIC
}

/// What a WIM image begins with: as a file, and as a stream.
const WIM_MAGICS: [&[u8; 8]; 2] = [b"MSWIM\0\0\0", b"WLPWM\0\0\0"];

/// Refuses a WIM image with what to type instead.
fn refuse_wim(path: &Path) -> io::Result<()> {
    let mut first = [0; 8];
    let is_wim = |first: [u8; 8]| WIM_MAGICS.contains(&&first);
    if File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && is_wim(first) {
        let file = path.display();
        let why = format!(
            "a WIM image, which onoff does not read; extract what it needs first: 'wimlib-imagex extract {file} 1 \
             /Windows/System32/config /Windows/System32/Tasks /Windows/Prefetch --dest-dir=FOLDER --preserve-dir-structure', or on \
             Windows 'dism /Mount-Image /ImageFile:{file} /Index:1 /MountDir:FOLDER /ReadOnly'; then 'onoff image FOLDER'"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(())
}

fn hive(path: &Path) -> io::Result<HiveBytes> {
    if !is_standard_input(path) {
        refuse_wim(path)?;
    }
    let mut hive = HiveBytes { name: standard_input::name_of(path), bytes: read(path)?, logs: Vec::new() };
    if is_standard_input(path) {
        return Ok(hive);
    }
    // `SYSTEM.xz` has its logs in `SYSTEM.LOG1.xz` and `SYSTEM.LOG2.xz`.
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packing = PACKINGS.into_iter().find(|packing| name.ends_with(packing)).unwrap_or_default();
    let stem = name.strip_suffix(packing).unwrap_or(&name);
    for ending in ["LOG", "LOG1", "LOG2", "log", "log1", "log2"] {
        let name = format!("{stem}.{ending}{packing}");
        // A log that is not there, or cannot be read, is one that is missing: the hive says that it is behind.
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
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {} MiB", MAX_BYTES >> 20)));
    }
    let limits = Limits { unpacked_bytes: MAX_BYTES, ..Limits::default() };
    onoff_sources::unpacked_file(&path.display().to_string(), bytes, &limits).map_err(io::Error::other)
}
