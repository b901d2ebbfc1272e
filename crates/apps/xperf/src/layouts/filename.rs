//! `xperf -a filename`: file names in the recording, with the keys that events use for them.
//!
//! No public source shows xperf's layout; this layout is onoff's.

use std::collections::BTreeSet;
use std::io::{self, Write};

use onoff_trace::{DescribedEvent, DrivePaths, EventOrigin};

use onoff_report::text::printable::printable;

/// Hooks of the needed events: file name, creation, deletion and rundown.
pub const HOOKS: [u16; 4] = [0x0400, 0x0420, 0x0423, 0x0424];

/// The event that maps volumes to drives.
pub const VOLUME_EVENT: &str = "VolumeMapping";

/// Collects file names from events.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    names: BTreeSet<(Box<str>, u64)>,
    paths: DrivePaths,
}

impl FileNames {
    /// Adds a file name or volume event; ignores others.
    pub fn event(&mut self, event: &DescribedEvent<'_>) {
        self.volume(event);
        if let (EventOrigin::Kernel { hook }, Some(name)) = (event.origin, text(event, "FileName"))
            && HOOKS.contains(&hook)
        {
            let key = event.number("FileObject").unwrap_or_default();
            self.names.insert((name.into(), key));
        }
    }

    /// Adds a volume event; ignores others.
    pub fn volume(&mut self, event: &DescribedEvent<'_>) {
        if event.name == VOLUME_EVENT
            && let (Some(device), Some(drive)) = (text(event, "NtPath"), text(event, "DosPath"))
        {
            self.paths.add(device, drive);
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Writes each pair of name and key once, by name.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "        FileObject, FileName")?;
        for (name, key) in &self.names {
            writeln!(out, "0x{key:016x}, \"{}\"", printable(&self.paths.readable(name)))?;
        }
        Ok(())
    }
}

fn text<'e>(event: &'e DescribedEvent<'_>, name: &str) -> Option<&'e str> {
    event.field(name).and_then(|field| field.as_text())
}
