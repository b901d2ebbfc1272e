//! Parses the mapped files of a process, as stored by trace-cmd (option `PROCMAPS`).
//!
//! ```text
//! 74 13 /bin/busy                              process, number of lines, program; numbers are hexadecimal
//! 55b4e3f73000 55b4e3f74000 /bin/busy          begin, end, file
//! ```
//!
//! Source: trace-cmd.dat(5), and files of trace-cmd 3.1.6.

/// A mapped file or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    /// Start address.
    pub begin: u64,
    /// End address, exclusive.
    pub end: u64,
    /// Path, or a name in brackets for mappings without a file.
    pub path: String,
}

/// The mapped files of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMap {
    /// Process id.
    pub pid: u32,
    /// Path of the executable.
    pub program: String,
    /// Sorted by address.
    pub files: Vec<MappedFile>,
}

/// Maximum number of mappings: the kernel's default limit per process (`vm.max_map_count`).
const MAX_MAPPINGS: usize = 65_530;

impl ProcessMap {
    /// Parses one map. Also returns the number of unreadable lines. Adjacent parts of a file are merged, because its
    /// addresses count from the beginning of the file, which is mapped first.
    pub(super) fn parse(text: &str) -> (Option<Self>, u64) {
        let mut lines = text.trim_end_matches('\0').lines();
        let Some((pid, program)) = lines.next().and_then(parse_header) else { return (None, 1) };
        let mut files: Vec<MappedFile> = Vec::new();
        let mut unreadable = 0;
        for line in lines {
            let Some(mapping) = parse_mapping(line) else {
                unreadable += 1;
                continue;
            };
            let is_full = files.len() >= MAX_MAPPINGS;
            match files.last_mut() {
                Some(last) if last.path == mapping.path && last.end <= mapping.begin => last.end = mapping.end,
                _ if is_full => unreadable += 1,
                _ => files.push(mapping),
            }
        }
        (Some(Self { pid, program: program.to_owned(), files }), unreadable)
    }
}

fn parse_header(line: &str) -> Option<(u32, &str)> {
    let (pid, rest) = line.split_once(' ')?;
    let (_, program) = rest.split_once(' ')?;
    Some((u32::from_str_radix(pid, 16).ok()?, program))
}

fn parse_mapping(line: &str) -> Option<MappedFile> {
    let (begin, rest) = line.split_once(' ')?;
    let (end, path) = rest.split_once(' ')?;
    let (begin, end) = (u64::from_str_radix(begin, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    (begin < end && !path.is_empty()).then(|| MappedFile { begin, end, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_parts_of_a_file() {
        let text = "74 5 /bin/busy\n1000 2000 /bin/busy\n2000 3000 /bin/busy\n4000 5000 [heap]\n6000 7000 /lib/c.so\n\
                    9000 a000 /lib/c.so\n\0";
        let (map, unreadable) = ProcessMap::parse(text);
        let map = map.unwrap();
        let files: Vec<_> = map.files.iter().map(|file| (file.begin, file.end, file.path.as_str())).collect();
        assert_eq!((map.pid, map.program.as_str(), unreadable), (0x74, "/bin/busy", 0));
        assert_eq!(files, [(0x1000, 0x3000, "/bin/busy"), (0x4000, 0x5000, "[heap]"), (0x6000, 0xa000, "/lib/c.so")]);
    }

    #[test]
    fn counts_unreadable_lines() {
        assert_eq!(ProcessMap::parse(""), (None, 1));
        assert_eq!(ProcessMap::parse("xyz 1 a\n"), (None, 1));
        let (map, unreadable) = ProcessMap::parse("1 ffffffff a\n2000 1000 /backwards\n1 2\n1 zz b\n1000 2000 /a b\n");
        assert_eq!((map.unwrap().files[0].path.as_str(), unreadable), ("/a b", 3));
    }
}
