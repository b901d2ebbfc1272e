//! Analyzes an offline Windows installation.

use std::path::PathBuf;

use onoff_files::{open_image, read_drivers};
use onoff_findings::image::{ImageAudit, ImageFacts, UnreadableHive, audit};
use onoff_image::{
    HiveKind, Image, ImageHive, ImageReport, OVERLAY_TABLES, OverlayGrowth, OverlayLimits, StartupEntry, TaskFile,
    analyze, boot_driver_paths, overlay_growth,
};
use onoff_trace::TableSet;

use crate::error::Error;
use crate::session::Session;

/// An opened Windows installation.
#[derive(Debug)]
pub struct OpenedImage {
    pub image: Image,
    pub report: ImageReport,
    /// Files that could not be read.
    pub unreadable: Vec<UnreadableHive>,
}

/// Facts about the computer that are not in the files of the installation.
#[derive(Clone, Debug, Default)]
pub struct ImageContext {
    /// Services that the computer needs; empty if unknown.
    pub needed: Vec<String>,
    /// The computer is switched off without a shutdown.
    pub is_power_cut: bool,
}

impl OpenedImage {
    /// The tables that [`OpenedImage::overlay`] needs.
    pub const OVERLAY_TABLES: TableSet = OVERLAY_TABLES;

    /// Opens an installation: the root of a volume, folders with hives, or hives.
    ///
    /// # Errors
    /// A path is unreadable.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let files = open_image(paths)?;
        let mut unreadable: Vec<UnreadableHive> =
            files.unreadable.into_iter().map(|(name, reason)| UnreadableHive { name, reason }).collect();
        let startup = files.startup_entries.into_iter().map(|entry| StartupEntry {
            folder: entry.folder,
            name: entry.name,
            modified_unix_ns: entry.modified_unix_ns,
        });
        let tasks = files.tasks.into_iter().map(|file| TaskFile {
            path: file.name,
            bytes: file.bytes,
            modified_unix_ns: file.modified_unix_ns,
        });
        let mut image = Image { startup_entries: startup.collect(), tasks: tasks.collect(), ..Image::default() };
        for file in files.hives {
            let logs: Vec<&[u8]> = file.logs.iter().map(Vec::as_slice).collect();
            let hive = onoff_hive::Hive::read(file.bytes, &logs).map_err(|error| error.to_string());
            let kind_and_hive = hive.and_then(|hive| match HiveKind::from_hive(&hive) {
                Some(kind) => Ok((kind, hive)),
                None => Err("a registry hive, but not SYSTEM, SOFTWARE, NTUSER.DAT or BCD".to_owned()),
            });
            match kind_and_hive {
                Ok((kind, hive)) => image.hives.push(ImageHive { name: file.name, kind, hive }),
                Err(reason) => unreadable.push(UnreadableHive { name: file.name, reason }),
            }
        }
        if let Some(volume) = &files.volume {
            let driver_files = read_drivers(volume, &boot_driver_paths(&image));
            image.drivers = driver_files.drivers;
            let driver_files = driver_files.unreadable.into_iter();
            unreadable.extend(driver_files.map(|(name, reason)| UnreadableHive { name, reason }));
            image.has_hibernation_file = Some(volume.file(r"\hiberfil.sys").is_some());
            if volume.find(r"\Windows\Prefetch").is_some() {
                image.prefetch = crate::prefetch(&[volume.root().to_owned()], Vec::new()).ok();
            }
        }
        let report = analyze(&image);
        let tasks = report.unreadable_tasks.iter();
        unreadable
            .extend(tasks.map(|name| UnreadableHive { name: name.clone(), reason: "not a scheduled task".to_owned() }));
        Ok(Self { image, report, unreadable })
    }

    /// Checks the installation against the image rules.
    #[must_use]
    pub fn audit(&self, context: &ImageContext, overlay: Option<&OverlayGrowth>) -> ImageAudit {
        audit(&ImageFacts {
            image: &self.image,
            report: &self.report,
            needed: &context.needed,
            overlay,
            is_power_cut: context.is_power_cut,
        })
    }

    /// Estimates how the write filter overlay would fill with the writes of a recording; `None` if the recording has no
    /// disk writes. Limits that are not set come from the filter's settings.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn overlay(&self, session: &Session, mut limits: OverlayLimits) -> Result<Option<OverlayGrowth>, Error> {
        if let Some(filter) = self.report.write_filters.first() {
            limits.max_bytes = limits.max_bytes.or(filter.max_bytes);
            limits.warning_bytes = limits.warning_bytes.or(filter.warning_bytes);
            limits.exclusions.extend(filter.volumes.iter().flat_map(|volume| volume.exclusions.clone()));
        }
        Ok(overlay_growth(&*session.tables(OVERLAY_TABLES)?, &limits))
    }
}
