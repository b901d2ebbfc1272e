//! The input files, which no output may replace.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::identity::Identity;

/// An output that would replace an input.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{}: this is {}; write the output to another file", output.display(), describe(input, output))]
    IsInput { output: PathBuf, input: PathBuf },
    /// Standard output is redirected to an input file.
    #[error("standard output is the input {}; redirect it to another file", input.display())]
    StdoutIsInput { input: PathBuf },
}

fn describe(input: &Path, output: &Path) -> String {
    match input == output {
        true => "an input file".to_owned(),
        false => format!("the same file as the input {}", input.display()),
    }
}

/// The input files and folders.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    paths: Vec<PathBuf>,
}

impl Inputs {
    #[must_use]
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { paths: paths.into_iter().collect() }
    }

    /// Rejects an output that is one of the input files or an existing file in one of the input folders.
    ///
    /// # Errors
    /// The output is an input.
    pub fn check(&self, output: &Path) -> Result<(), OutputError> {
        // A file that does not exist is not an input, and an inaccessible file cannot be replaced.
        let Ok(Some(identity)) = Identity::from_path(output) else { return Ok(()) };
        match self.find(&identity) {
            Some(input) => Err(OutputError::IsInput { output: output.to_owned(), input }),
            None => Ok(()),
        }
    }

    /// Rejects standard output if a shell redirected it to an input (`>> boot.etl`).
    ///
    /// # Errors
    /// Standard output is an input.
    pub fn check_stdout(&self) -> Result<(), OutputError> {
        let Ok(Some(identity)) = stdout().and_then(|file| Identity::from_file(&file)) else { return Ok(()) };
        match self.find(&identity) {
            Some(input) => Err(OutputError::StdoutIsInput { input }),
            None => Ok(()),
        }
    }

    /// Finds the input with the given identity.
    fn find(&self, identity: &Identity) -> Option<PathBuf> {
        let is_match = |path: &Path| {
            // `-` is standard input: 'onoff boot - < boot.etl'.
            let input = if path.as_os_str() == "-" { stdin_identity() } else { Identity::from_path(path) };
            input.ok().flatten().as_ref() == Some(identity)
        };
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in &self.paths {
            if path.is_dir() {
                folders.push(path.clone());
            } else if is_match(path) {
                let is_stdin = path.as_os_str() == "-";
                return Some(if is_stdin { PathBuf::from("standard input") } else { path.clone() });
            }
        }
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                // Readers do not follow links to folders, but files behind links are inputs.
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
                if is_folder {
                    folders.push(path);
                } else if is_match(&path) {
                    return Some(path);
                }
            }
        }
        None
    }
}

/// Returns the identity of standard input.
#[cfg(unix)]
fn stdin_identity() -> io::Result<Option<Identity>> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().and_then(|file| Identity::from_file(&file.into()))
}

#[cfg(windows)]
fn stdin_identity() -> io::Result<Option<Identity>> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().and_then(|file| Identity::from_file(&file.into()))
}

/// Returns a separate handle to standard output.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rejects_inputs_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("in.etl"), b"recording").unwrap();
        fs::write(path("other.txt"), b"recording").unwrap();
        fs::hard_link(path("in.etl"), path("hard.etl")).unwrap();
        let inputs = Inputs::new([path("in.etl")]);
        let message = inputs.check(&path("in.etl")).unwrap_err().to_string();
        assert!(message.ends_with("in.etl: this is an input file; write the output to another file"));
        let message = inputs.check(&path("hard.etl")).unwrap_err().to_string();
        assert!(
            message.contains("hard.etl: this is the same file as the input ") && message.contains("in.etl"),
            "{message}"
        );
        inputs.check(&folder.path().join(".").join("in.etl")).unwrap_err();
        inputs.check(&path("other.txt")).unwrap();
        inputs.check(&path("absent.txt")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("hard.etl"), path("soft.etl")).unwrap();
            inputs.check(&path("soft.etl")).unwrap_err();
            inputs.check(Path::new("/dev/null")).unwrap();
        }
    }

    #[test]
    fn rejects_existing_files_in_input_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("runs/first")).unwrap();
        let part = folder.path().join("runs/first/dmesg.txt");
        fs::write(&part, b"log").unwrap();
        fs::write(folder.path().join("answer.txt"), b"answer").unwrap();
        let inputs = Inputs::new([folder.path().join("runs")]);
        inputs.check(&part).unwrap_err();
        inputs.check(&folder.path().join("answer.txt")).unwrap();
        inputs.check(&folder.path().join("runs/first/answer.txt")).unwrap();
        // At any depth.
        let deep = folder.path().join("runs").join("d/".repeat(12));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("dmesg.txt"), b"log").unwrap();
        inputs.check(&deep.join("dmesg.txt")).unwrap_err();
    }
}
