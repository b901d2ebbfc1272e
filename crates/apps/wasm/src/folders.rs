//! Finds the folders among the opened files that belong to one machine, as the program does on disk.

use std::collections::BTreeSet;

use onoff::sources::{FileRole, FolderContents, Groups, group_files, is_single_machine};

/// Names of files, with their folders, and their roles.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) names: &'a [&'a str],
    pub(crate) roles: &'a [FileRole],
}

/// A folder of one machine: its path, and the files in it and its subfolders.
pub(crate) struct MachineFolder {
    pub(crate) path: String,
    pub(crate) files: Vec<usize>,
}

/// Returns the folders whose files are one recording: copies of the logs of one machine, and folders with nothing but
/// parts of one Linux recording.
pub(crate) fn machine_folders(files: Named<'_>) -> Vec<MachineFolder> {
    let mut found: Vec<MachineFolder> = Vec::new();
    for path in folders(files.names) {
        // A folder comes before the folders in it.
        if found.iter().any(|machine| is_below(&path, &machine.path)) {
            continue;
        }
        let folder = Folder { path: &path, files };
        if is_single_machine(&folder) || folder.has_parts_of_one_recording() {
            let members = folder.members().map(|(index, _)| index).collect();
            found.push(MachineFolder { path, files: members });
        }
    }
    found
}

/// Returns the paths of all folders, sorted.
fn folders(names: &[&str]) -> BTreeSet<String> {
    names
        .iter()
        .flat_map(|name| name.match_indices('/').filter_map(|(end, _)| name.get(..end)))
        .map(str::to_owned)
        .collect()
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A folder among the opened files.
struct Folder<'a> {
    path: &'a str,
    files: Named<'a>,
}

impl<'a> Folder<'a> {
    /// Iterates over the files in the folder and its subfolders: index, and path relative to the folder.
    fn members(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let inside = |name: &&'a str| name.strip_prefix(self.path)?.strip_prefix('/');
        self.files.names.iter().enumerate().filter_map(move |(index, name)| Some((index, inside(name)?)))
    }

    /// Iterates over the files directly in the folder at `path`: index and name.
    fn files_in(&self, path: &str) -> impl Iterator<Item = (usize, &'a str)> {
        self.members().filter_map(move |(index, member)| {
            let name = match path {
                "" => member,
                path => member.strip_prefix(path)?.strip_prefix('/')?,
            };
            (!name.contains('/')).then_some((index, name))
        })
    }

    fn role(&self, index: usize) -> &'a FileRole {
        self.files.roles.get(index).unwrap_or(&FileRole::Other)
    }

    /// True if all recordings directly in the folder are parts of one Linux recording. Subfolders can have more parts.
    fn has_parts_of_one_recording(&self) -> bool {
        let is_ignored = |role: &FileRole| matches!(role, FileRole::Other | FileRole::Empty);
        let mut recorded =
            self.files_in("").map(|(index, _)| self.role(index)).filter(|role| !is_ignored(role)).peekable();
        if recorded.peek().is_none() || recorded.any(|role| !matches!(role, FileRole::LinuxPart(_))) {
            return false;
        }
        let (names, roles): (Vec<&str>, Vec<FileRole>) =
            self.members().map(|(index, name)| (name, self.role(index).clone())).unzip();
        let Groups { recordings, unattributed } = group_files(&names, &roles);
        recordings.len() <= 1 && unattributed.is_empty()
    }
}

impl FolderContents for Folder<'_> {
    fn is_var_log(&self) -> bool {
        self.path == "var/log" || self.path.ends_with("/var/log")
    }

    fn has_folder(&self, path: &str) -> bool {
        self.members().any(|(_, member)| is_below(member, path))
    }

    fn has_file(&self, path: &str) -> bool {
        self.members().any(|(_, member)| member == path)
    }

    fn folders(&self, path: &str) -> Vec<String> {
        let names =
            self.members().filter_map(|(_, member)| member.strip_prefix(path)?.strip_prefix('/')?.split_once('/'));
        names.map(|(name, _)| name.to_owned()).collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn has_linux_part(&self, path: &str) -> bool {
        self.files_in(path).any(|(index, _)| matches!(self.role(index), FileRole::LinuxPart(_)))
    }
}
