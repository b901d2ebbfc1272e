//! Opens the files that a person chose or dropped, which may be several recordings, as a page.

use onoff::answers::firmware_times::{FirmwareOptions, FirmwareReport, analyze};
use onoff::answers::transitions::boot::BootOptions;
use onoff::report::text::firmware::no_times;
use onoff::sources::{FileRole, FirmwareCollector, Groups, Limits, SourceFile, file_role, group_files};
use onoff::{QueryError, Session};
use onoff_page::build::LoadedRecording;
use onoff_page::page::Page;
use serde::Serialize;

/// Names and bytes of files. Names contain the folders.
pub(crate) type NamedFiles = Vec<(String, Vec<u8>)>;

/// The page of the opened files.
#[derive(Debug, Serialize)]
pub(crate) struct OpenedPage {
    page: Page,
    /// Files that are not shown, with the reason.
    not_shown: Vec<String>,
}

/// Loads each recording among the files. If none can be read, the error says why.
pub(crate) fn open(files: NamedFiles) -> Result<(Vec<LoadedRecording>, OpenedPage), String> {
    let mut not_shown = Vec::new();
    let mut loaded: Vec<LoadedRecording> = Vec::new();
    for recording in recordings(files) {
        match load(recording) {
            Ok(recording) => loaded.push(recording),
            Err(error) => not_shown.push(error.to_string()),
        }
    }
    if loaded.iter().all(|recording| recording.tracks.is_empty()) {
        not_shown
            .push("Nothing to show: no boot, shutdown or sleep, and no process, service or device events.".to_owned());
        return Err(not_shown.swap_remove(0));
    }
    let page = Page {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        served: true,
        recordings: loaded.iter().map(|recording| recording.content.clone()).collect(),
        ..Page::default()
    };
    Ok((loaded, OpenedPage { page, not_shown }))
}

/// Groups the files into recordings. Event logs accompany the traces that are nearest in the folder tree.
fn recordings(mut files: NamedFiles) -> Vec<NamedFiles> {
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles: Vec<FileRole> = files.iter().map(|(name, bytes)| file_role(name, bytes)).collect();
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
    if groups.is_empty() {
        groups.push((0..files.len()).collect());
    }
    let mut take = |index: usize| {
        let (name, bytes) = files.get_mut(index)?;
        // A log may accompany several traces.
        let is_log = matches!(roles.get(index), Some(FileRole::EventLog));
        Some((name.clone(), if is_log { bytes.clone() } else { std::mem::take(bytes) }))
    };
    groups.into_iter().map(|group| group.into_iter().filter_map(&mut take).collect()).collect()
}

fn shared_folders(a: Option<&&str>, b: Option<&&str>) -> usize {
    let folders =
        |name: Option<&&str>| name.and_then(|name| name.rsplit_once('/')).map_or("", |(folders, _)| folders).to_owned();
    folders(a).split('/').zip(folders(b).split('/')).take_while(|(a, b)| a == b).count()
}

fn load(files: NamedFiles) -> Result<LoadedRecording, QueryError<String>> {
    let file_name = |(name, _): &(String, Vec<u8>)| name.rsplit('/').next().unwrap_or_default().to_owned();
    let name = files.iter().map(file_name).collect::<Vec<String>>().join("+");
    let session = Session::from_bytes(files)?;
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
