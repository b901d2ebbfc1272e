//! Kernel events: typed structs for the hot and the structural ones.
//!
//! A kernel event is identified by its *hook*, `group << 8 | type`, and its payload by hook, version and
//! pointer size; the header type says nothing about it. Each struct here reads every known version of its
//! hooks. Newer systems append fields without raising the version, so bytes after the known fields are
//! left alone, and only a payload too short for its known fields is refused (`None`).
//!
//! One file per group. What has no struct here is still decoded into named fields, by
//! [`Schemas::decode`](crate::Schemas::decode), from the table of all kernel layouts.
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

/// A kernel payload and the three facts that say how to read it.
#[derive(Clone, Copy, Debug)]
pub struct KernelPayload<'b> {
    /// `group << 8 | type`.
    pub hook: u16,
    /// Version of the payload's layout.
    pub version: u16,
    /// The payload, at its first field.
    pub fields: Reader<'b>,
}

impl<'b> KernelPayload<'b> {
    /// Puts a payload together; `pointer_size` is 4 or 8.
    #[inline]
    #[must_use]
    pub fn new(hook: u16, version: u16, payload: &'b [u8], pointer_size: usize) -> Self {
        Self { hook, version, fields: Reader::new(payload, pointer_size) }
    }

    /// The payload of a record with a SYSTEM, COMPACT or PERFINFO header; `None` for any other.
    #[inline]
    #[must_use]
    pub fn of(record: &Record<'b>) -> Option<Self> {
        Some(Self::new(record.hook()?, record.version(), record.payload(), record.pointer_size()))
    }
}

/// What an event's field is read as where its declaration says no more than its type.
trait Field<'b>: Sized {
    /// Reads it; `None` past the end.
    fn read(fields: &mut Reader<'b>) -> Option<Self>;
}

macro_rules! fields_are_read_by {
    ($($type:ty: |$fields:ident| $read:expr;)*) => {$(
        impl<'b> Field<'b> for $type {
            #[inline]
            fn read($fields: &mut Reader<'b>) -> Option<Self> { $read }
        }
    )*};
}

fields_are_read_by! {
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
    Frames<'b>: |fields| Some(Frames::new(fields.rest(), fields.pointer_size()));
}

/// A field that only some versions have, where they have it.
impl<'b, T: Field<'b>> Field<'b> for Option<T> {
    #[inline]
    fn read(fields: &mut Reader<'b>) -> Option<Self> {
        T::read(fields).map(Some)
    }
}

/// Declares events whose fields lie behind each other: the struct, its `HOOK` where it has only one, `read` and `parse`.
///
/// A field is read by its type, or by the method of [`Reader`] that `as` names. `[since 3]` says from which version on the payload
/// has it (before it is `None`, zero or empty), `[after 4]` how many bytes before it say nothing. What the hook tells is `= hook` for
/// one of the [`kinds`], and `= (0x0320, 0x0321)` for whether it is the second of two.
macro_rules! events {
    ($($(#[doc = $documentation:literal])* $($hook:literal =>)? $name:ident $(<$lifetime:lifetime>)? { $($body:tt)* })*) => {$(
        $crate::kernel::event! {
            [$(#[doc = $documentation])*] [$($hook)?] $name $(<$lifetime>)? { $($body)* }
        }
    )*};
}

/// Declares one of the [`events`].
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
        @structure [$($documentation:tt)*] [$($derive:tt)*] [$($hook:literal)?] [$($name:tt)*] [$($implemented:tt)*] [$lifetime:lifetime] {
            $(
                $(#[doc = $about:literal])* $field:ident: $type:ty
                $(= $of_hook:tt)? $(as $how:ident $(($units:literal))?)? $([$word:ident $number:literal])?
            ),* $(,)?
        }
    ) => {
        $($documentation)*
        $($derive)*
        pub struct $($name)* { $($(#[doc = $about])* pub $field: $type),* }

        impl $($implemented)* {
            $(
                /// Its hook.
                pub const HOOK: u16 = $hook;
            )?

            /// Reads the payload; `None` when it is another event's or too short.
            #[inline]
            #[must_use]
            pub fn read(payload: $crate::kernel::KernelPayload<$lifetime>) -> Option<Self> {
                $((payload.hook == $hook).then_some(())?;)?
                let mut fields = payload.fields;
                Some(Self {
                    $($field: $crate::kernel::field!(
                        payload fields $type $(= $of_hook)? $(, $word $number)? $(, as $how $(($units))?)?
                    )),*
                })
            }
        }
    };
}

/// Reads a field as the [`events`] declare it.
macro_rules! field {
    ($payload:ident $fields:ident $type:ty = hook) => { <$type>::of($payload.hook)? };
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

/// Declares what events of several hooks are, each with its hook.
macro_rules! kinds {
    ($(#[doc = $documentation:literal])* $name:ident {
        $($(#[doc = $about:literal])* $kind:ident = $hook:literal),* $(,)?
    }) => {
        $(#[doc = $documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $about])* $kind),* }

        impl $name {
            /// The kind of a hook; `None` for those of other events.
            #[inline]
            const fn of(hook: u16) -> Option<Self> {
                match hook {
                    $($hook => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

/// Gives a kernel struct its `parse`, beside the `read` it is written with.
macro_rules! parse_from_record {
    ($name:ident) => {
        impl $name {
            /// Reads the event out of a record; `None` when the record is another event or too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'_>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::of(record)?)
            }
        }
    };
    ($name:ident<'b>) => {
        impl<'b> $name<'b> {
            /// Reads the event out of a record; `None` when the record is another event or too short.
            #[inline]
            #[must_use]
            pub fn parse(record: &onoff_etl::Record<'b>) -> Option<Self> {
                Self::read($crate::kernel::KernelPayload::of(record)?)
            }
        }
    };
}
use {event, events, field, kinds, parse_from_record};
