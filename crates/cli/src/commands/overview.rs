//! `onoff FILE`.

use std::io::Write;
use std::path::PathBuf;

use anstream::adapter::strip_str;
use onoff::Session;
use onoff_files::volume::Volume;
use onoff_findings::image::ImageAnswer;
use onoff_report::text;
use onoff_report::text::overview::{Overview, OverviewLine};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;

pub fn run(recording: Recording, destination: &Destination) -> Result<(), Failure> {
    let paths = recording.files.clone();
    if let [path] = paths.as_slice()
        && Volume::open(path).is_some()
        && let Some(overview) = of_image(&paths)
    {
        return write(&overview, destination);
    }
    let overview = match super::ask(recording, Session::overview) {
        // Of firmware's tables alone a recording has nothing to say.
        Ok((session, _)) if session.files().are_firmware_tables() => {
            of_others(&paths).ok_or_else(|| nothing(&paths))?
        }
        Ok((_, overview)) => overview?,
        Err(failure) => of_others(&paths).ok_or(failure)?,
    };
    write(&overview, destination)
}

fn write(overview: &Overview, destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| Ok(text::overview::write(overview, out)?))
}

fn nothing(paths: &[PathBuf]) -> Failure {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Failure::NothingToAnswer(format!("{}: no verb has an answer about it", names.join(", ")))
}

/// What is no recording of a system, but of use to a verb.
fn of_others(paths: &[PathBuf]) -> Option<Overview> {
    of_firmware(paths).or_else(|| of_image(paths)).or_else(|| of_prefetch(paths))
}

fn of_firmware(paths: &[PathBuf]) -> Option<Overview> {
    let report = super::firmware::read(paths, &onoff_files::Options::default(), &[]);
    let line = match &report {
        Ok(report) => {
            first_line(|out| text::firmware::write(report, &text::firmware::FirmwareTextOptions { top: 1 }, out))
        }
        // Tables without times are told from other files by this.
        Err(Failure::NothingToAnswer(message)) => Some(message.clone()),
        Err(_) => None,
    }?;
    Some(overview(paths, "firmware's tables", "firmware", line))
}

fn of_image(paths: &[PathBuf]) -> Option<Overview> {
    let image = super::image::open(paths).ok()?;
    let audit = image.audit(&onoff::ImageKnowledge::default(), None);
    let answer = ImageAnswer { image: image.report, audit, overlay: None, unreadable: image.unreadable };
    let line = first_line(|out| text::image::write(&answer, &text::image::ImageTextOptions { top: 1 }, out))?;
    Some(overview(paths, "an installation of Windows that is not running", "image", line))
}

fn of_prefetch(paths: &[PathBuf]) -> Option<Overview> {
    let report = onoff::prefetch(paths, Vec::new()).ok().filter(|report| !report.is_empty())?;
    let line = first_line(|out| text::prefetch::write(&report, &text::prefetch::PrefetchTextOptions { top: 1 }, out))?;
    Some(overview(paths, "what Windows reads ahead", "prefetch", line))
}

fn overview(paths: &[PathBuf], is: &str, verb: &'static str, line: String) -> Overview {
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    Overview { name, is: is.to_owned(), lines: vec![OverviewLine { verb, line }], ..Overview::default() }
}

fn first_line(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Option<String> {
    let mut out = Vec::new();
    write(&mut out).ok()?;
    let text = String::from_utf8_lossy(&out).into_owned();
    strip_str(&text).to_string().lines().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}
