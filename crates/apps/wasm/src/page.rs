//! Opens the files that a person chose or dropped, which may be several recordings, as a page.

use onoff::answers::firmware_times::{FirmwareOptions, FirmwareReport, analyze};
use onoff::answers::transitions::boot::BootOptions;
use onoff::report::text::firmware::no_times;
use onoff::sources::{
    FileCollector, FileRole, FirmwareCollector, Groups, Limits, Options, RecordingKind, SourceFile, file_role,
    group_files,
};
use onoff::{Error, QueryError, Session};
use onoff_page::build::{FIRST_TABLES, LoadedRecording};
use onoff_page::page::Page;
use serde::Serialize;

use crate::folders::{Named, machine_folders};

/// Names and bytes of files. Names contain the folders.
pub(crate) type NamedFiles = Vec<(String, Vec<u8>)>;

/// The page of the opened files.
#[derive(Debug, Serialize)]
pub(crate) struct OpenedPage {
    page: Page,
    /// Files that are not shown, with the reason.
    not_shown: Vec<String>,
}

/// Recordings that are opened and still have to be loaded.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Name and session of each.
    sessions: Vec<(String, Session)>,
    not_shown: Vec<String>,
}

impl Opening {
    /// Opens each recording among the files.
    pub(crate) fn new(files: NamedFiles) -> Self {
        let mut opening = Self::default();
        for recording in recordings(files) {
            match session(recording) {
                Ok(session) => opening.sessions.push(session),
                Err(error) => opening.not_shown.push(error.to_string()),
            }
        }
        opening
    }

    /// Returns the page with the phases only, which is read several times as fast as everything.
    pub(crate) fn first_page(&self) -> Page {
        let is_system = |session: &Session| {
            !matches!(session.kind(), RecordingKind::NetworkCapture | RecordingKind::FileOperations)
        };
        let systems = self.sessions.iter().filter(|(_, session)| is_system(session));
        let pictures = systems.filter_map(|(name, session)| {
            let trace = session.tables(FIRST_TABLES).ok()?;
            let picture = LoadedRecording::first_picture(name.clone(), &trace, BootOptions::default());
            // Recordings without a transition have nothing to show yet.
            (!picture.content.transitions.is_empty()).then_some(picture.content)
        });
        let names: Vec<&str> = self.sessions.iter().map(|(name, _)| name.as_str()).collect();
        Page { recordings: pictures.collect(), reading: names.join(", "), ..empty_page() }
    }

    /// Loads each recording. If none can be read, the error says why.
    pub(crate) fn finish(self) -> Result<(Vec<LoadedRecording>, OpenedPage), String> {
        let mut not_shown = self.not_shown;
        let mut loaded: Vec<LoadedRecording> = Vec::new();
        for (name, session) in self.sessions {
            match load(name, session) {
                Ok(recording) => loaded.push(recording),
                Err(error) => not_shown.push(error.to_string()),
            }
        }
        if loaded.iter().all(|recording| recording.tracks.is_empty()) {
            not_shown.push(
                "Nothing to show: no boot, shutdown or sleep, and no process, service or device events.".to_owned(),
            );
            return Err(not_shown.swap_remove(0));
        }
        let recordings = loaded.iter().map(|recording| recording.content.clone()).collect();
        Ok((loaded, OpenedPage { page: Page { recordings, ..empty_page() }, not_shown }))
    }
}

fn empty_page() -> Page {
    Page { version: env!("CARGO_PKG_VERSION").to_owned(), served: true, ..Page::default() }
}

/// The files of one recording.
enum RecordingFiles {
    /// A folder of one machine, displayed under this name. Files in it that are not part of a recording are skipped.
    Folder(String, NamedFiles),
    Files(NamedFiles),
}

/// Groups the files into recordings. A folder of one machine is one recording; event logs accompany the traces that
/// are nearest in the folder tree.
fn recordings(mut files: NamedFiles) -> Vec<RecordingFiles> {
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut roles: Vec<FileRole> = files.iter().map(|(name, bytes)| file_role(name, bytes)).collect();
    let mut found = Vec::new();
    for folder in machine_folders(Named { names: &names, roles: &roles }) {
        let mut members = NamedFiles::new();
        for index in folder.files {
            members.extend(files.get_mut(index).map(|(name, bytes)| (name.clone(), std::mem::take(bytes))));
            roles.iter_mut().skip(index).take(1).for_each(|role| *role = FileRole::Empty);
        }
        let name = folder.path.rsplit('/').next().unwrap_or_default().to_owned();
        found.push(RecordingFiles::Folder(name, members));
    }
    let Groups { recordings, unattributed } = group_files(&names, &roles);
    let groups = recordings.into_iter().chain(unattributed.into_iter().map(|index| vec![index]));
    let first = |group: &[usize]| group.first().copied().unwrap_or_default();
    let (logs, mut groups): (Vec<Vec<usize>>, Vec<Vec<usize>>) =
        groups.partition(|group| matches!(roles.get(first(group)), Some(FileRole::EventLog)));
    let is_trace = |group: &[usize]| matches!(roles.get(first(group)), Some(FileRole::Log(_)));
    for log in logs {
        let nearness =
            |group: &[usize]| is_trace(group).then(|| shared_folders(names.get(first(group)), names.get(first(&log))));
        match groups.iter().filter_map(|group| nearness(group)).max() {
            Some(nearest) => {
                for group in groups.iter_mut().filter(|group| nearness(group) == Some(nearest)) {
                    group.extend_from_slice(&log);
                }
            }
            None => groups.push(log),
        }
    }
    // The reader says what is wrong with files that are not recordings.
    if groups.is_empty() && found.is_empty() {
        groups.push((0..files.len()).collect());
    }
    let mut take = |index: usize| {
        let (name, bytes) = files.get_mut(index)?;
        // A log may accompany several traces.
        let is_log = matches!(roles.get(index), Some(FileRole::EventLog));
        Some((name.clone(), if is_log { bytes.clone() } else { std::mem::take(bytes) }))
    };
    let mut files_of = |group: Vec<usize>| RecordingFiles::Files(group.into_iter().filter_map(&mut take).collect());
    found.extend(groups.into_iter().map(&mut files_of));
    found
}

fn shared_folders(a: Option<&&str>, b: Option<&&str>) -> usize {
    let folders =
        |name: Option<&&str>| name.and_then(|name| name.rsplit_once('/')).map_or("", |(folders, _)| folders).to_owned();
    folders(a).split('/').zip(folders(b).split('/')).take_while(|(a, b)| a == b).count()
}

/// Opens the files of a recording. Returns its name and session.
fn session(files: RecordingFiles) -> Result<(String, Session), Error> {
    Ok(match files {
        RecordingFiles::Files(files) => {
            let file_name = |(name, _): &(String, Vec<u8>)| name.rsplit('/').next().unwrap_or_default().to_owned();
            let name = files.iter().map(file_name).collect::<Vec<String>>().join("+");
            (name, Session::from_bytes(files)?)
        }
        RecordingFiles::Folder(name, files) => {
            let mut collector = FileCollector::new(&Limits::default());
            for (name, bytes) in files {
                match bytes.is_empty() {
                    true => collector.skip_empty(name),
                    false => collector.add_from_folder(SourceFile::new(name, bytes.len() as u64, bytes)),
                }
            }
            (name, Session::new(collector.finish()?, Options::default()))
        }
    })
}

fn load(name: String, session: Session) -> Result<LoadedRecording, QueryError<String>> {
    let mut loaded = session.page(name.clone(), BootOptions::default(), || firmware(&session, &name))?;
    loaded.events = Some(session.into_event_reader());
    Ok(loaded)
}

fn firmware(session: &Session, name: &str) -> Result<FirmwareReport, QueryError<String>> {
    let mut collector = FirmwareCollector::new(&Limits::default());
    let files: Vec<&SourceFile> = session.files().with_accompanying().collect();
    match files.as_slice() {
        [file] => collector.add(file.name(), file.bytes())?,
        files => files.iter().for_each(|file| collector.add_from_folder(file.name(), file.bytes())),
    }
    collector.finish_folder();
    let recording = collector.finish();
    analyze(&recording, &FirmwareOptions::default()).map_err(|found| QueryError::Unanswerable(no_times(name, &found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel_log(host: &str) -> String {
        let lines: String = (1..40).map(|second| format!("[{second:5}.{:06}] line\n", second * 7_919)).collect();
        format!(
            "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n{lines}[   50.000000] systemd[1]: Hostname set to <{host}>.\n"
        )
    }

    fn syslog(host: &str) -> String {
        format!("Nov 22 09:00:00 {host} kernel: Linux version 6.1\nNov 22 09:00:05 {host} a: x\n")
    }

    fn shown(files: &[(&str, String)]) -> Vec<String> {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.clone().into_bytes())).collect();
        let (loaded, opened) = Opening::new(files).finish().unwrap();
        assert_eq!(opened.not_shown, Vec::<String>::new());
        loaded.into_iter().map(|recording| recording.content.name).collect()
    }

    #[test]
    fn folder_of_one_machine_is_one_recording() {
        let auth = "Nov 22 09:00:00 web sshd[1]: x\n".to_owned();
        // The old log is from before the computer had its name.
        let logs = [
            ("log/syslog", syslog("web")),
            ("log/syslog.1", syslog("installer7")),
            ("log/auth.log", auth),
            ("log/wtmp", "\u{1}\u{2}".to_owned()),
            ("log/dmesg", kernel_log("web")),
            ("log/apt/history.log", "Start-Date: 2025-11-02\n".to_owned()),
        ];
        assert_eq!(shown(&logs), ["log"]);
        let report = [
            ("sosreport-web1/version.txt", "sosreport: 4.5\n".to_owned()),
            ("sosreport-web1/sos_commands/kernel/dmesg", kernel_log("web1")),
            ("sosreport-web1/var/log/messages", syslog("web2")),
            ("sosreport-web1/proc/cmdline", "root=/dev/vda\n".to_owned()),
        ];
        assert_eq!(shown(&report), ["sosreport-web1"]);
    }

    #[test]
    fn logs_of_several_machines_are_several_recordings() {
        let files = [("all/a.txt", kernel_log("web1")), ("all/b.txt", kernel_log("web2").replace(" line", " other"))];
        assert_eq!(shown(&files), ["a.txt", "b.txt"]);
    }
}
