//! Prefetch plans of Windows: what it reads ahead when a program starts or the computer boots.
//!
//! `\Windows\Prefetch` holds one `.pf` file for each program and path it was started from; `Layout.ini` lists the files of all
//! plans in the order in which the defragmenter lays them out. ReadyBoot keeps what boots read (`Trace*.fx`) and what the next one
//! will (`rblayout.xin`); SuperFetch has databases, of which the headers are read.
//!
//! ```
//! let text = "[OptimalLayoutFile]\r\nVersion=1\r\nC:\\WINDOWS\\SYSTEM32\\NTDLL.DLL\r\n";
//! let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
//! let layout = onoff_prefetch::read_layout(&bytes).unwrap();
//! assert_eq!(layout.files, ["C:\\WINDOWS\\SYSTEM32\\NTDLL.DLL"]);
//! ```
//!
//! # Design constraints
//!
//! * Pure: the caller gives a slice; nothing here reads a file, prints or looks at the clock.
//! * Input is hostile: every count and offset is checked, memory is bounded by the input, and what could not be read is counted.
//!
//! The layout of `.pf` follows the description published with libscca; it was checked on the plans of seven Windows versions.

#![forbid(unsafe_code)]

mod compressed;
mod error;
mod field;
mod layout;
mod plan;
mod ready_boot;
mod superfetch;

pub use error::Error;
pub use layout::{Layout, read_layout};
pub use plan::{PAGE_BYTES, Plan, PlannedFile, Volume, read_plan};
pub use ready_boot::{ReadyBoot, ReadyBootRead, is_ready_boot, read_ready_boot};
pub use superfetch::{SuperfetchHeader, SuperfetchPacking, read_superfetch};
