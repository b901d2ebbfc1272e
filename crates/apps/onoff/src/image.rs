//! A Windows installation that is not running.

use std::path::PathBuf;

use onoff_files::open_image;
use onoff_findings::image::{ImageAudit, ImageFacts, UnreadableHive, audit};
use onoff_image::{
    HiveKind, Image, ImageHive, ImageReport, OVERLAY_TABLES, OverlayGrowth, OverlayLimits, StartupEntry, TaskFile,
    analyze, overlay_growth,
};
use onoff_trace::Tables;

use crate::error::Error;
use crate::session::Session;

/// An installation, opened; every question about it is asked here.
#[derive(Debug)]
pub struct OpenedImage {
    /// What is known of it.
    pub image: Image,
    /// What it says about its next boot.
    pub report: ImageReport,
    /// Files that could not be read.
    pub unreadable: Vec<UnreadableHive>,
}

/// What who asks knows about the computer.
#[derive(Clone, Debug, Default)]
pub struct ImageKnowledge {
    /// Services that it needs; empty when nobody said.
    pub needed: Vec<String>,
    /// Whether it loses power without a shutdown.
    pub is_power_cut: bool,
}

impl OpenedImage {
    /// The tables of a recording that say how a write filter's overlay fills.
    pub const OVERLAY_TABLES: Tables = OVERLAY_TABLES;

    /// Opens the installation in `paths`: the root of a volume, folders with hives, or hives.
    ///
    /// # Errors
    /// A path that cannot be read.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let found = open_image(paths)?;
        let mut unreadable: Vec<UnreadableHive> =
            found.unreadable.into_iter().map(|(name, reason)| UnreadableHive { name, reason }).collect();
        let startup = found.startup_entries.into_iter().map(|file| StartupEntry {
            folder: file.folder,
            name: file.name,
            modified_unix_ns: file.modified_unix_ns,
        });
        let tasks = found.tasks.into_iter().map(|file| TaskFile {
            path: file.name,
            bytes: file.bytes,
            modified_unix_ns: file.modified_unix_ns,
        });
        let mut image = Image {
            drivers: found.drivers,
            startup_entries: startup.collect(),
            tasks: tasks.collect(),
            ..Image::default()
        };
        for bytes in found.hives {
            let logs: Vec<&[u8]> = bytes.logs.iter().map(Vec::as_slice).collect();
            let read = onoff_hive::Hive::read(bytes.bytes, &logs).map_err(|error| error.to_string());
            let kind = read.and_then(|hive| match HiveKind::of(&hive) {
                Some(kind) => Ok((kind, hive)),
                None => Err("a hive, but none of SYSTEM, SOFTWARE, NTUSER.DAT and BCD".to_owned()),
            });
            match kind {
                Ok((kind, hive)) => image.hives.push(ImageHive { name: bytes.name, kind, hive }),
                Err(reason) => unreadable.push(UnreadableHive { name: bytes.name, reason }),
            }
        }
        if let Some(volume) = &found.volume {
            image.has_hibernation_file = Some(volume.file(r"\hiberfil.sys").is_some());
            if volume.find(r"\Windows\Prefetch").is_some() {
                image.prefetch = crate::prefetch(&[volume.root().to_owned()], Vec::new()).ok();
            }
        }
        let report = analyze(&image);
        let tasks = report.unreadable_tasks.iter();
        unreadable
            .extend(tasks.map(|name| UnreadableHive { name: name.clone(), reason: "no scheduled task".to_owned() }));
        Ok(Self { image, report, unreadable })
    }

    /// Holds it to the rules.
    #[must_use]
    pub fn audit(&self, knowledge: &ImageKnowledge, overlay: Option<&OverlayGrowth>) -> ImageAudit {
        audit(&ImageFacts {
            image: &self.image,
            report: &self.report,
            needed: &knowledge.needed,
            overlay,
            is_power_cut: knowledge.is_power_cut,
        })
    }

    /// How its write filter's overlay would fill with the writes of a recording; `None` when that holds no disk writes. Limits that
    /// `limits` leaves open are those of the filter.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn overlay(&self, session: &Session, mut limits: OverlayLimits) -> Result<Option<OverlayGrowth>, Error> {
        if let Some(filter) = self.report.write_filters.first() {
            limits.most_bytes = limits.most_bytes.or(filter.most_bytes);
            limits.warning_bytes = limits.warning_bytes.or(filter.warning_bytes);
            limits.exclusions.extend(filter.volumes.iter().flat_map(|volume| volume.exclusions.clone()));
        }
        Ok(overlay_growth(&*session.tables(OVERLAY_TABLES)?, &limits))
    }
}
