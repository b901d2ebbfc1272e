//! Reads the output of `darshan-dxt-parser`: one line per POSIX or MPI-IO request, after comments that name the file.
//!
//! ```text
//! # DXT, file_id: 8618486031533440617, file_name: /scratch/data
//! # DXT, rank: 0, hostname: node1
//! # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
//!  X_POSIX       0  write        0               0      262144      0.0029      0.0041
//! ```

use crate::error::Error;
use crate::losses::LossKind;
use crate::number::{lines, parse_u32, parse_unsigned, seconds_ns};
use crate::operation::{Operation, OperationKind, OperationWriter};

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) -> Result<(), Error> {
    let mut file = String::new();
    let mut has_counters = false;
    let mut has_requests = false;
    for (offset, line) in lines(bytes) {
        if let Some(comment) = line.strip_prefix(b"#") {
            let comment = String::from_utf8_lossy(comment);
            if let Some((_, name)) = comment.split_once("file_name:") {
                file = name.trim().to_owned();
            }
            continue;
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if line.starts_with(b"X_") {
            has_requests = true;
            out.count_record();
            if line.starts_with(b"X_MPIIO") {
                out.count_loss(LossKind::UpperLayer, offset);
            } else if push_request(line, &file, out).is_none() {
                out.count_loss(LossKind::Unreadable, offset);
            }
        } else {
            has_counters |= line.starts_with(b"POSIX\t") || line.starts_with(b"STDIO\t") || line.starts_with(b"POSIX ");
            out.count_record();
            out.count_loss(LossKind::Unreadable, offset);
        }
    }
    if has_counters && !has_requests { Err(Error::CountersOnly) } else { Ok(()) }
}

fn push_request(line: &[u8], file: &str, out: &mut OperationWriter<'_>) -> Option<()> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1);
    let rank = parse_u32(words.next()?)?;
    let kind = match words.next()? {
        b"read" => OperationKind::Read,
        b"write" => OperationKind::Write,
        _ => return None,
    };
    words.next()?;
    let (offset, length) = (parse_unsigned(words.next()?)?, parse_unsigned(words.next()?)?);
    let (start_ns, end_ns) = (seconds_ns(words.next()?)?, seconds_ns(words.next()?)?);
    out.push(&Operation {
        start_ns,
        duration_ns: Some(end_ns.saturating_sub(start_ns).max(0)),
        pid: Some(rank),
        file,
        offset,
        length,
        ..Operation::new(kind)
    });
    Some(())
}
