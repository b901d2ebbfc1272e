//! Typed structs for the kernel events that are frequent or that describe the system.
//!
//! A kernel event is identified by its *hook*, `group << 8 | type`, and the layout of its payload by hook, version and
//! pointer size; the header type does not matter. Each struct reads every known version of its hooks. Newer systems
//! append fields without raising the version, so bytes after the known fields are ignored. Only a payload that is too
//! short for its known fields is rejected (`None`).
//!
//! There is one file per group. Events without a struct are decoded into named fields by
//! [`Schemas::decode`](crate::Schemas::decode), with the table of all kernel layouts.
//!
//! ```
//! use onoff_etw::kernel::{ContextSwitch, KernelPayload};
//!
//! let bytes = [
//!     8, 0, 0, 0, 0, 0, 0, 0, // new thread 8, old thread 0 (idle)
//!     9, 0, 2, 0, 0, 0, 2, 1, // priorities 9 and 0, C-state 2, old thread running
//!     5, 0, 0, 0, 0, 0, 0, 0, // waited 5 timer ticks
//! ];
//! let payload = KernelPayload::new(ContextSwitch::HOOK, 4, &bytes, 8);
//! let switch = ContextSwitch::read(payload).unwrap();
//! assert_eq!((switch.new_thread_id, switch.new_thread_priority), (8, 9));
//! ```

mod disk;
mod file;
mod image;
mod memory;
mod network;
mod perf_info;
mod power;
mod process;
mod recorder;
mod registry;
mod stack_walk;
mod system_config;
mod thread;
mod thread_switch;

pub use disk::*;
pub use file::*;
pub use image::*;
pub use memory::*;
pub use network::*;
pub use perf_info::*;
pub use power::*;
pub use process::*;
pub use recorder::*;
pub use registry::*;
pub use stack_walk::*;
pub use system_config::*;
pub use thread::*;
pub use thread_switch::*;

use onoff_etl::{Guid, Record};

use crate::reader::Reader;
use crate::text::{Ansi, Utf16};

/// A kernel payload with the hook, version and pointer size that determine its layout.
#[derive(Clone, Copy, Debug)]
pub struct KernelPayload<'b> {
    /// `group << 8 | type`.
    pub hook: u16,
    /// Version of the payload's layout.
    pub version: u16,
    /// The payload, positioned at its first field.
    pub fields: Reader<'b>,
}

impl<'b> KernelPayload<'b> {
    /// Wraps a payload; `pointer_size` is 4 or 8 bytes.
    #[inline]
    #[must_use]
    pub fn new(hook: u16, version: u16, payload: &'b [u8], pointer_size: usize) -> Self {
        Self { hook, version, fields: Reader::new(payload, pointer_size) }
    }

    /// Wraps the payload of a record with a SYSTEM, COMPACT or PERFINFO header; `None` for other headers.
    #[inline]
    #[must_use]
    pub fn from_record(record: &Record<'b>) -> Option<Self> {
        Some(Self::new(record.hook()?, record.version(), record.payload(), record.pointer_size()))
    }
}

/// The default encoding of a field type.
trait Field<'b>: Sized {
    /// Reads a field; `None` if the payload is too short.
    fn read(fields: &mut Reader<'b>) -> Option<Self>;
}

macro_rules! impl_field {
    ($($type:ty: |$fields:ident| $read:expr;)*) => {$(
        impl<'b> Field<'b> for $type {
            #[inline]
            fn read($fields: &mut Reader<'b>) -> Option<Self> { $read }
        }
    )*};
}

impl_field! {
    u8: |fields| fields.u8();
    u16: |fields| fields.u16();
    u32: |fields| fields.u32();
    i32: |fields| fields.i32();
    u64: |fields| fields.u64();
    i64: |fields| fields.i64();
    bool: |fields| Some(fields.u8()? != 0);
    [u32; 4]: |fields| Some([fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?]);
    Guid: |fields| fields.guid();
    Utf16<'b>: |fields| Some(fields.utf16_z());
    Ansi<'b>: |fields| Some(fields.ansi_z());
    IrpFlags: |fields| fields.u32().map(IrpFlags);
    Frames<'b>: |fields| Some(Frames::new(fields.unread(), fields.pointer_size()));
}

/// A field that only some versions have.
impl<'b, T: Field<'b>> Field<'b> for Option<T> {
    #[inline]
    fn read(fields: &mut Reader<'b>) -> Option<Self> {
        T::read(fields).map(Some)
    }
}

/// Declares events with consecutive fields: the struct, `HOOK` for a single hook, `read` and `parse`.
///
/// A field is read by its type, or with the [`Reader`] method named by `as`. `[since 3]` is the first version that has
/// the field (in earlier versions it is `None`, 0 or empty), `[after 4]` the number of bytes to skip before it. A field
/// with `= hook` is one of the [`kinds`] and depends on the hook; `= (0x0320, 0x0321)` is true for the second of two
/// hooks.
macro_rules! events {
    ($($(#[doc = $documentation:literal])* $($hook:literal =>)? $name:ident $(<$lifetime:lifetime>)? { $($body:tt)* })*) => {$(
        $crate::kernel::event! {
            [$(#[doc = $documentation])*] [$($hook)?] $name $(<$lifetime>)? { $($body)* }
        }
    )*};
}

macro_rules! event {
    ($documentation:tt $hook:tt $name:ident { $($body:tt)* }) => {
        $crate::kernel::event! {
            @structure $documentation [#[derive(Clone, Copy, Debug, PartialEq, Eq)]] $hook [$name] [$name] ['_] { $($body)* }
        }
        $crate::kernel::parse_from_record!($name);
    };
    ($documentation:tt $hook:tt $name:ident <'b> { $($body:tt)* }) => {
        $crate::kernel::event! {
            @structure $documentation [#[derive(Clone, Copy, Debug)]] $hook [$name<'b>] [<'b> $name<'b>] ['b] { $($body)* }
        }
        $crate::kernel::parse_from_record!($name<'b>);
    };
    (
        @structure [$($documentation:tt)*] [$($derive:tt)*] [$($hook:literal)?] [$($name:tt)*] [$($implementation:tt)*] [$lifetime:lifetime] {
            $(
                $(#[doc = $field_doc:literal])* $field:ident: $type:ty
                $(= $from_hook:tt)? $(as $how:ident $(($units:literal))?)? $([$word:ident $number:literal])?
            ),* $(,)?
        }
    ) => {
        $($documentation)*
        $($derive)*
        pub struct $($name)* { $($(#[doc = $field_doc])* pub $field: $type),* }

        impl $($implementation)* {
            $(
                pub const HOOK: u16 = $hook;
            )?

            /// Reads the payload; `None` for another hook or a payload that is too short.
            #[inline]
            #[must_use]
            pub fn read(payload: $crate::kernel::KernelPayload<$lifetime>) -> Option<Self> {
                $((payload.hook == $hook).then_some(())?;)?
                let mut fields = payload.fields;
                Some(Self {
                    $($field: $crate::kernel::field!(
                        payload fields $type $(= $from_hook)? $(, $word $number)? $(, as $how $(($units))?)?
                    )),*
                })
            }
        }
    };
}

/// Reads one field of [`events`].
macro_rules! field {
    ($payload:ident $fields:ident $type:ty = hook) => { <$type>::from_hook($payload.hook)? };
    ($payload:ident $fields:ident $type:ty = ($no:literal, $yes:literal)) => {
        match $payload.hook {
            $no => false,
            $yes => true,
            _ => return None,
        }
    };
    ($payload:ident $fields:ident $type:ty, since $version:literal $($how:tt)*) => {
        if $payload.version >= $version {
            $crate::kernel::field!($payload $fields $type $($how)*)
        } else {
            Default::default()
        }
    };
    ($payload:ident $fields:ident $type:ty, after $gap:literal $($how:tt)*) => {{
        $fields.skip($gap)?;
        $crate::kernel::field!($payload $fields $type $($how)*)
    }};
    ($payload:ident $fields:ident $type:ty, as $how:ident $(($units:literal))?) => { $fields.$how($($units)?)? };
    ($payload:ident $fields:ident $type:ty) => { <$type as $crate::kernel::Field>::read(&mut $fields)? };
}

/// Declares an enum of the hooks of one event.
macro_rules! kinds {
    ($(#[doc = $documentation:literal])* $name:ident {
        $($(#[doc = $field_doc:literal])* $kind:ident = $hook:literal),* $(,)?
    }) => {
        $(#[doc = $documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $field_doc])* $kind),* }

        impl $name {
            /// Returns the kind of a hook; `None` for hooks of other events.
            #[inline]
            const fn from_hook(hook: u16) -> Option<Self> {
                match hook {
                    $($hook => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

/// Adds `parse`, which reads from a record, to a struct that has `read`.
macro_rules! parse_from_record {
    ($name:ident) => {
        impl $name {
            /// Reads the event from a record; `None` for another event or a payload that is too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'_>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::from_record(record)?)
            }
        }
    };
    ($name:ident<'b>) => {
        impl<'b> $name<'b> {
            /// Reads the event from a record; `None` for another event or a payload that is too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'b>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::from_record(record)?)
            }
        }
    };
}
use {event, events, field, kinds, parse_from_record};
