//! The columns of what the members of a group share.

use onoff_usage::storage::{Key, Shared};

use crate::table::{Column, Kind, Value};

/// A row that is a group.
pub(super) trait Grouped: 'static {
    /// What its members share.
    fn shared(&self) -> &Shared;
}

/// The columns of what is shared. In text stand those that were asked for, and with processes also the path, which often
/// tells what a process was about.
pub(super) fn columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let asked = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    let path = if by.contains(&Key::Path) || (by == [Key::Process]) { "path" } else { "" };
    vec![
        new("image", asked(Key::Process, "process"), Kind::Name, |row| name(row.shared().image.as_deref())).wide(28),
        new("pid", asked(Key::Process, "pid"), Kind::Id, |row| {
            Value::of(row.shared().pid, |pid| Value::Id(pid.into()))
        }),
        new("path", path, Kind::Name, |row| name(row.shared().path.as_deref())).wide(56),
        new("file", asked(Key::File, "file"), Kind::Name, |row| name(row.shared().file.as_deref())),
        new("extension", asked(Key::Extension, "extension"), Kind::Name, |row| {
            match row.shared().extension.as_deref() {
                Some("") => Value::text("(none)"),
                extension => Value::of(extension, Value::text),
            }
        })
        .wide(16),
        new("operation", asked(Key::Operation, "operation"), Kind::Name, |row| {
            Value::of(row.shared().operation, Value::text)
        }),
    ]
}

/// The columns of what only requests to disks have.
pub(super) fn disk_columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let asked = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    vec![
        new("disk", asked(Key::Disk, "disk"), Kind::Id, |row| {
            Value::of(row.shared().disk, |disk| Value::Id(disk.into()))
        }),
        new("priority", asked(Key::Priority, "priority"), Kind::Name, |row| {
            Value::of(row.shared().priority, |priority| Value::text(priority.as_str()))
        }),
    ]
}

/// A name that all members share, unknown when the recording does not tell it; nothing when they differ.
fn name(name: Option<&str>) -> Value<'_> {
    Value::of(name, Value::text_or_unknown)
}
