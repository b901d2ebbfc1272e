//! The columns for the common properties of a group.

use onoff_usage::storage::{Key, SharedValues};

use crate::table::{Column, Kind, Value};

/// A row that is a group.
pub(super) trait Grouped: 'static {
    /// Returns the common properties of the members.
    fn shared(&self) -> &SharedValues;
}

/// Returns the columns of the common properties. Text has the requested columns, and the path if grouped by process
/// only.
pub(super) fn columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let title_if_requested = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    let path = if by.contains(&Key::Path) || (by == [Key::Process]) { "path" } else { "" };
    vec![
        new("image", title_if_requested(Key::Process, "process"), Kind::Name, |row| {
            name(row.shared().image.as_deref())
        })
        .with_width(28),
        new("pid", title_if_requested(Key::Process, "pid"), Kind::Id, |row| {
            Value::from_option(row.shared().pid, |pid| Value::Id(pid.into()))
        }),
        new("path", path, Kind::Name, |row| name(row.shared().path.as_deref())).with_width(56),
        new("file", title_if_requested(Key::File, "file"), Kind::Name, |row| name(row.shared().file.as_deref())),
        new("extension", title_if_requested(Key::Extension, "extension"), Kind::Name, |row| {
            match row.shared().extension.as_deref() {
                Some("") => Value::text("(none)"),
                extension => Value::from_option(extension, Value::text),
            }
        })
        .with_width(16),
        new("operation", title_if_requested(Key::Operation, "operation"), Kind::Name, |row| {
            Value::from_option(row.shared().operation, Value::text)
        }),
    ]
}

/// Returns the columns that only disk requests have.
pub(super) fn disk_columns<R: Grouped>(by: &[Key]) -> Vec<Column<R>> {
    let new = Column::<R>::new;
    let title_if_requested = |key: Key, title: &'static str| if by.contains(&key) { title } else { "" };
    vec![
        new("disk", title_if_requested(Key::Disk, "disk"), Kind::Id, |row| {
            Value::from_option(row.shared().disk, |disk| Value::Id(disk.into()))
        }),
        new("priority", title_if_requested(Key::Priority, "priority"), Kind::Name, |row| {
            Value::from_option(row.shared().priority, |priority| Value::text(priority.as_str()))
        }),
    ]
}

/// Returns a name common to all members: unknown if not recorded, nothing if the members differ.
fn name(name: Option<&str>) -> Value<'_> {
    Value::from_option(name, Value::text_or_unknown)
}
