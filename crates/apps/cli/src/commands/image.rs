//! `onoff image`.

use std::path::{Path, PathBuf};

use onoff::{ImageContext, OpenedImage};
use onoff_findings::image::ImageDiagnosis;
use onoff_image::{OverlayLimits, compare};
use onoff_report::text;
use onoff_sections::json;
use onoff_sections::section;

use super::{io, table};
use crate::arguments::image::ImageArguments;
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Size limit of the `--needed` file.
const MAX_LIST_BYTES: usize = 1 << 20;

/// The recording of the invocation is `--trace`.
pub fn resolve(arguments: ImageArguments) -> Result<Invocation, Failure> {
    let limits = OverlayLimits {
        cluster_bytes: io::bytes("--cluster", &arguments.cluster)?,
        max_bytes: arguments.overlay_size.as_deref().map(|text| io::bytes("--overlay-size", text)).transpose()?,
        warning_bytes: None,
        exclusions: arguments.exclusions.clone(),
    };
    let is_text = table::without_page(arguments.format)? == TableFormat::Text;
    let recording = Recording::from_files(arguments.trace.clone());
    let other_inputs = [&arguments.compare, &arguments.needed].into_iter().flatten().cloned().collect::<Vec<_>>();
    let paths = arguments.paths.clone();
    let invocation = Invocation::new(recording, arguments.output.clone(), move |recording, destination| {
        run(recording, &arguments, limits, destination)
    });
    Ok(invocation.text_if(is_text).with_inputs(paths).with_inputs(other_inputs))
}

fn run(
    recording: Recording,
    arguments: &ImageArguments,
    limits: OverlayLimits,
    destination: &Destination,
) -> Result<(), Failure> {
    let top = table::all_if_zero(arguments.top);
    let image = open(&arguments.paths)?;
    if let Some(other) = &arguments.compare {
        let comparison = compare(&open(std::slice::from_ref(other))?.report, &image.report);
        return destination.write(|out| {
            match arguments.format {
                TableFormat::Text => text::image::write_comparison(&comparison, top, out)?,
                TableFormat::Json => json::document::write(&[], &comparison, out)?,
                // Other formats were rejected earlier.
                _ => section::csv::write(&[text::image::changes(&comparison, usize::MAX)], out)?,
            }
            Ok(())
        });
    }
    let needed = match &arguments.needed {
        Some(path) => read_service_names(path)?,
        None => Vec::new(),
    };
    let mut recordings = Vec::new();
    let overlay = if recording.files.is_empty() {
        None
    } else {
        let (session, _) = super::open(recording, OpenedImage::OVERLAY_TABLES)?;
        recordings.push(session.provenance()?);
        let growth = image.overlay(&session, limits)?;
        let no_writes = "--trace: no disk writes in this recording; record the kernel flags DISK_IO and FILENAME";
        Some(growth.ok_or_else(|| Failure::no_data(no_writes))?)
    };
    let context = ImageContext { needed, is_power_cut: arguments.power_cut };
    let audit = image.audit(&context, overlay.as_ref());
    let diagnosis = ImageDiagnosis { image: image.report, audit, overlay, unreadable: image.unreadable };
    destination.write(|out| {
        match arguments.format {
            TableFormat::Text => text::image::write(&diagnosis, top, out)?,
            TableFormat::Json => json::document::write(&recordings, &diagnosis, out)?,
            // Other formats were rejected earlier.
            _ => {
                let rows = text::image::rows(&diagnosis.image, &diagnosis.audit, arguments.rows);
                section::csv::write(&[rows], out)?
            }
        }
        Ok(())
    })
}

/// Opens an installation, which must have at least one hive.
pub(super) fn open(paths: &[PathBuf]) -> Result<OpenedImage, Failure> {
    let image = OpenedImage::open(paths)?;
    if image.report.hives.is_empty() {
        return Err(Failure::NoData(text::image::no_hives(&image.unreadable)));
    }
    Ok(image)
}

/// Reads service names, one per line.
fn read_service_names(path: &Path) -> Result<Vec<String>, Failure> {
    let cannot_read = |reason: &str| Failure::Unreadable(format!("{}: {reason}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| cannot_read(&error.to_string()))?;
    if bytes.len() > MAX_LIST_BYTES {
        return Err(cannot_read("larger than 1 MiB, the limit for a list of services"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let names: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Failure::no_data(format!("{}: the list of services is empty", path.display())));
    }
    Ok(names)
}
