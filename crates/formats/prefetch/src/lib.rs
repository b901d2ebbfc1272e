//! Reads the prefetch files of Windows, which list what it reads ahead when a program starts or the computer boots.
//!
//! `\Windows\Prefetch` contains one plan (`.pf`) per program and path. `Layout.ini` lists the files of all plans in the
//! order in which the defragmenter arranges them. ReadyBoot stores the reads of past boots (`Trace*.fx`) and the files
//! for the next one (`rblayout.xin`). Only the headers of the SuperFetch databases are read.
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
//! * No I/O: the caller passes slices. The crate reads no file, no clock, and prints nothing.
//! * Input is untrusted: every count and offset is checked, memory is bounded by the input, and unreadable entries are
//!   counted.
//!
//! Source of the `.pf` layout: the documentation of libscca, verified with plans of seven Windows versions.

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
pub use plan::{PAGE_SIZE, Plan, PlannedFile, Volume, read_plan};
pub use ready_boot::{ReadyBoot, ReadyBootRead, is_ready_boot, read_ready_boot};
pub use superfetch::{SuperfetchCompression, SuperfetchHeader, read_superfetch};
