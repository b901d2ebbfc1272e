//! The columns for the common properties of a group.

use onoff_usage::storage::{Key, SharedValues};

use crate::table::{Column, Kind, Value};

/// A row that is a group.
pub(super) trait Grouped: 'static {
    /// The common properties of the members.
    fn shared(&self) -> &SharedValues;
}

/// The columns of the common properties. Text has the requested ones, and the path together with processes.
pub(super) fn columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let requested = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    let path = if by.contains(&Key::Path) || (by == [Key::Process]) { "path" } else { "" };
    vec![
        new("image", requested(Key::Process, "process"), Kind::Name, |row| name(row.shared().image.as_deref()))
            .wide(28),
        new("pid", requested(Key::Process, "pid"), Kind::Id, |row| {
            Value::of(row.shared().pid, |pid| Value::Id(pid.into()))
        }),
        new("path", path, Kind::Name, |row| name(row.shared().path.as_deref())).wide(56),
        new("file", requested(Key::File, "file"), Kind::Name, |row| name(row.shared().file.as_deref())),
        new("extension", requested(Key::Extension, "extension"), Kind::Name, |row| {
            match row.shared().extension.as_deref() {
                Some("") => Value::text("(none)"),
                extension => Value::of(extension, Value::text),
            }
        })
        .wide(16),
        new("operation", requested(Key::Operation, "operation"), Kind::Name, |row| {
            Value::of(row.shared().operation, Value::text)
        }),
    ]
}

/// The columns that only disk requests have.
pub(super) fn disk_columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let requested = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    vec![
        new("disk", requested(Key::Disk, "disk"), Kind::Id, |row| {
            Value::of(row.shared().disk, |disk| Value::Id(disk.into()))
        }),
        new("priority", requested(Key::Priority, "priority"), Kind::Name, |row| {
            Value::of(row.shared().priority, |priority| Value::text(priority.as_str()))
        }),
    ]
}

/// A name common to all members: unknown if not recorded, nothing if they differ.
fn name(name: Option<&str>) -> Value<'_> {
    Value::of(name, Value::text_or_unknown)
}
