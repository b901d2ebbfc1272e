//! The files that are read, which no answer may replace.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::identity::Identity;

/// An answer would have replaced what is read.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The answer's file is one that is read.
    #[error("{}: this is {}; write the answer to another file", output.display(), read(input, output))]
    IsInput {
        /// Where the answer was to go.
        output: PathBuf,
        /// What is read, under its own name.
        input: PathBuf,
    },
    /// Standard output leads into a file that is read.
    #[error("standard output is {}, which is read; send the answer to another file", input.display())]
    StdoutIsInput {
        /// What is read.
        input: PathBuf,
    },
}

fn read(input: &Path, output: &Path) -> String {
    match input == output {
        true => "one of the files to read".to_owned(),
        false => format!("the same file as {}, which is read", input.display()),
    }
}

/// The files and folders that are read.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    paths: Vec<PathBuf>,
}

impl Inputs {
    /// These files and folders.
    #[must_use]
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { paths: paths.into_iter().collect() }
    }

    /// Refuses an answer's file that is one of the inputs or lies in one of the folders and would be read from there.
    ///
    /// # Errors
    /// The output is one of them.
    pub fn refuse(&self, output: &Path) -> Result<(), Refusal> {
        // What is not there yet is no input; what cannot be looked at cannot be replaced either.
        let Ok(Some(identity)) = Identity::of(output) else { return Ok(()) };
        match self.find(&identity) {
            Some(input) => Err(Refusal::IsInput { output: output.to_owned(), input }),
            None => Ok(()),
        }
    }

    /// The same for standard output, which a shell may have led into a file (`>> boot.etl`).
    ///
    /// # Errors
    /// It is one of them.
    pub fn refuse_stdout(&self) -> Result<(), Refusal> {
        let Ok(Some(identity)) = stdout().and_then(|file| Identity::of_file(&file)) else { return Ok(()) };
        match self.find(&identity) {
            Some(input) => Err(Refusal::StdoutIsInput { input }),
            None => Ok(()),
        }
    }

    /// The input that is the file.
    fn find(&self, identity: &Identity) -> Option<PathBuf> {
        let is_it = |path: &Path| {
            // What is called so is what a shell led in: 'onoff boot - < boot.etl'.
            let input = if path.as_os_str() == "-" { stdin_identity() } else { Identity::of(path) };
            input.ok().flatten().as_ref() == Some(identity)
        };
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in &self.paths {
            if path.is_dir() {
                folders.push(path.clone());
            } else if is_it(path) {
                let is_stdin = path.as_os_str() == "-";
                return Some(if is_stdin { PathBuf::from("standard input") } else { path.clone() });
            }
        }
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
                // Links in a folder are not followed by who reads it, but what they lead to was given all the same.
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
                if is_folder {
                    folders.push(path);
                } else if is_it(&path) {
                    return Some(path);
                }
            }
        }
        None
    }
}

/// Which file standard input is.
#[cfg(unix)]
fn stdin_identity() -> io::Result<Option<Identity>> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().and_then(|file| Identity::of_file(&file.into()))
}

#[cfg(windows)]
fn stdin_identity() -> io::Result<Option<Identity>> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().and_then(|file| Identity::of_file(&file.into()))
}

/// Standard output as a file of its own.
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
    fn an_input_is_refused_under_every_name_and_another_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in.etl"), b"recording").unwrap();
        fs::write(at("other.txt"), b"recording").unwrap();
        fs::hard_link(at("in.etl"), at("hard.etl")).unwrap();
        let inputs = Inputs::new([at("in.etl")]);
        let message = inputs.refuse(&at("in.etl")).unwrap_err().to_string();
        assert!(message.ends_with("in.etl: this is one of the files to read; write the answer to another file"));
        let message = inputs.refuse(&at("hard.etl")).unwrap_err().to_string();
        assert!(message.contains("hard.etl: this is the same file as ") && message.contains("in.etl"), "{message}");
        inputs.refuse(&folder.path().join(".").join("in.etl")).unwrap_err();
        inputs.refuse(&at("other.txt")).unwrap();
        inputs.refuse(&at("absent.txt")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("hard.etl"), at("soft.etl")).unwrap();
            inputs.refuse(&at("soft.etl")).unwrap_err();
            inputs.refuse(Path::new("/dev/null")).unwrap();
        }
    }

    #[test]
    fn a_part_of_a_folder_that_is_read_is_an_input_and_a_new_file_in_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("runs/first")).unwrap();
        let part = folder.path().join("runs/first/dmesg.txt");
        fs::write(&part, b"log").unwrap();
        fs::write(folder.path().join("answer.txt"), b"answer").unwrap();
        let inputs = Inputs::new([folder.path().join("runs")]);
        inputs.refuse(&part).unwrap_err();
        inputs.refuse(&folder.path().join("answer.txt")).unwrap();
        inputs.refuse(&folder.path().join("runs/first/answer.txt")).unwrap();
        // However deep it lies.
        let deep = folder.path().join("runs").join("d/".repeat(12));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("dmesg.txt"), b"log").unwrap();
        inputs.refuse(&deep.join("dmesg.txt")).unwrap_err();
    }
}
