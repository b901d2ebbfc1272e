//! ELF files in folders: most are assembled here byte by byte; two are compiled if there is a C compiler.

use std::path::Path;
use std::process::Command;

use onoff_symbols::{Executable, SymbolError, SymbolPath};

/// Returns a 64-bit ELF file whose code is at 0x401000 in memory and at 0x200 in the file, with the given symbols
/// (start, length, name) and build id.
fn elf(symbols: &[(u64, u64, &str)], build_id: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    let mut names = vec![0];
    let mut table = vec![0; 24];
    for (start, length, name) in symbols {
        table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
        // A global function in section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend(start.to_le_bytes());
        table.extend(length.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    let mut note = vec![4, 0, 0, 0];
    note.extend(u32::try_from(build_id.len()).unwrap().to_le_bytes());
    note.extend([3, 0, 0, 0]);
    note.extend(b"GNU\0");
    note.extend(build_id);
    note.resize(note.len().next_multiple_of(4), 0);

    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let (symbols_offset, names_offset) = (0x400, 0x400 + table.len() as u64);
    let sections_offset = (names_offset + names.len() as u64).next_multiple_of(8);
    file.extend(2_u16.to_le_bytes());
    file.extend(62_u16.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for number in [BASE + 0x1000, 64, sections_offset] {
        file.extend(number.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for number in [64_u16, 56, 3, 64, 4, 0] {
        file.extend(number.to_le_bytes());
    }
    // Headers at the base, code one page later, and the note.
    for (kind, offset, address, length) in
        [(1_u32, 0, BASE, 0x200_u64), (1, 0x200, BASE + 0x1000, 0x100), (4, 0x300, BASE + 0x300, note.len() as u64)]
    {
        file.extend(kind.to_le_bytes());
        file.extend(5_u32.to_le_bytes());
        for number in [offset, address, address, length, length, if kind == 4 { 4 } else { 0x1000 }] {
            file.extend(number.to_le_bytes());
        }
    }
    file.resize(0x300, 0x90);
    file.extend(note);
    file.resize(0x400, 0);
    file.extend(&table);
    file.extend(&names);
    file.resize(usize::try_from(sections_offset).unwrap(), 0);
    let section = |kind: u32, offset: u64, length: u64, link: u32, width: u64| {
        let mut header = vec![0; 4];
        header.extend(kind.to_le_bytes());
        header.extend([0; 16]);
        header.extend(offset.to_le_bytes());
        header.extend(length.to_le_bytes());
        header.extend(link.to_le_bytes());
        header.extend([0; 12]);
        header.extend(width.to_le_bytes());
        header
    };
    file.extend(section(0, 0, 0, 0, 0));
    file.extend(section(1, 0x200, 0x100, 0, 0));
    file.extend(section(2, symbols_offset, table.len() as u64, 3, 24));
    file.extend(section(3, names_offset, names.len() as u64, 0, 0));
    file
}

const CODE: [(u64, u64, &str); 3] =
    [(0x40_1010, 0x20, "read_configuration"), (0x40_1040, 0x10, "wait_for_device"), (0x40_1050, 0, "a_label")];

fn write_file(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn find(folder: &Path, path: &str) -> Result<Executable, SymbolError> {
    Executable::find(&SymbolPath::parse(&folder.display().to_string()), path)
}

fn names(executable: &Executable, offsets: &[u64]) -> Vec<String> {
    executable.functions(offsets.iter().copied()).into_iter().map(Option::unwrap_or_default).collect()
}

#[test]
fn names_functions_but_not_gaps() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "usr/bin/daemon", &elf(&CODE, b"12345678"));
    let daemon = find(folder.path(), "/usr/bin/daemon").unwrap();
    // Before the first function, its first and last byte, a gap, the second function, and the start and end of a symbol
    // of length 0.
    assert_eq!(
        names(&daemon, &[0x100f, 0x1010, 0x102f, 0x1030, 0x1045, 0x1050, 0x1051]),
        ["", "read_configuration", "read_configuration", "", "wait_for_device", "", ""]
    );
    write_file(folder.path(), "flat/daemon", &elf(&CODE, b"12345678"));
    assert!(find(&folder.path().join("flat"), "/opt/else/daemon").is_ok());
}

#[test]
fn uses_debug_file_of_same_build_only() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "usr/bin/daemon", &elf(&[], &[0xab, 0xcd, 0xef]));
    assert!(
        matches!(find(folder.path(), "/usr/bin/daemon"), Err(SymbolError::NotExecutable(_, reason)) if reason.contains("stripped"))
    );
    // A file from another build under the name of this build.
    write_file(folder.path(), ".build-id/ab/cdef.debug", &elf(&CODE, b"12345678"));
    let error = find(folder.path(), "/usr/bin/daemon").err().unwrap().to_string();
    assert!(error.contains("cdef.debug: from another build"), "{error}");
    write_file(folder.path(), "usr/lib/debug/.build-id/ab/cdef.debug", &elf(&CODE, &[0xab, 0xcd, 0xef]));
    let daemon = find(folder.path(), "/usr/bin/daemon").unwrap();
    assert_eq!(names(&daemon, &[0x1010, 0x1000]), ["read_configuration", ""]);
    assert_eq!(daemon.missing_names(), None);
}

#[test]
fn innermost_symbol_wins() {
    let folder = tempfile::tempdir().unwrap();
    let code =
        [(0x40_1000, 0x80, "outer"), (0x40_1010, 0x10, "_alias"), (0x40_1010, 0x10, "inner"), (0x40_1010, 1, "entry")];
    write_file(folder.path(), "x", &elf(&code, b"12345678"));
    let file = find(folder.path(), "/x").unwrap();
    assert_eq!(
        names(&file, &[0x1000, 0x1010, 0x101f, 0x1020, 0x107f, 0x1080]),
        ["outer", "inner", "inner", "outer", "outer", ""]
    );
}

/// A link that leads out of the folder would name functions from files of this computer.
#[cfg(unix)]
#[test]
fn links_cannot_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "here/lib", &elf(&CODE, b"12345678"));
    write_file(folder.path(), "root/usr/lib/real", &elf(&CODE, b"12345678"));
    let root = folder.path().join("root");
    std::os::unix::fs::symlink("real", root.join("usr/lib/near")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("here/lib"), root.join("usr/lib/far")).unwrap();
    assert!(find(&root, "/usr/lib/near").is_ok());
    assert!(matches!(find(&root, "/usr/lib/far"), Err(SymbolError::NotFound)));
}

#[test]
fn rejects_outside_paths_and_other_files() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "secret", &elf(&CODE, b"12345678"));
    write_file(folder.path(), "in/usr/bin/text", b"#!/bin/sh\n");
    let inner = folder.path().join("in");
    for path in ["/../secret", "../secret", "/usr/../../secret", "/", "", "/usr/bin", "/usr/bin/text/x", "/a\0b"] {
        assert!(matches!(find(&inner, path), Err(SymbolError::NotFound)), "{path:?}");
    }
    assert!(matches!(find(&inner, "/usr/bin/text"), Err(SymbolError::NotExecutable(..))));
}

#[test]
fn handles_truncated_and_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let valid = elf(&CODE, b"12345678");
    for index in (0..valid.len()).filter(|index| *index < 0x130 || *index > 0x2f0) {
        let mut damaged = valid.clone();
        damaged[index] ^= 0xff;
        for bytes in [&damaged[..], &valid[..index]] {
            write_file(folder.path(), "x", bytes);
            if let Ok(executable) = find(folder.path(), "/x") {
                let _ = executable.functions([0, 0x1010, u64::MAX]);
            }
        }
    }
}

/// Names of a compiled program match the output of `nm`.
#[test]
fn names_of_compiled_program_match_nm() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "a.c", b"int first(int x) { return x * 3; }\nint second(int x) { return first(x) + 1; }\nint main(void) { return second(2); }\n");
    let program = folder.path().join("usr/bin/a.out");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let compiled = Command::new("cc").arg("-O0").arg("-o").arg(&program).arg(folder.path().join("a.c")).status();
    let nm = Command::new("nm").arg(&program).output();
    let (Ok(compiled), Ok(nm)) = (compiled, nm) else {
        eprintln!("skipped: no C compiler or no nm on this computer");
        return;
    };
    assert!(compiled.success() && nm.status.success());
    let listing = String::from_utf8(nm.stdout).unwrap();
    let symbols: Vec<(u64, &str)> = listing
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((u64::from_str_radix(words.next()?, 16).ok()?, words.nth(1)?))
        })
        .collect();
    // Addresses start at 0 in a position-independent program, otherwise at its first page.
    let start = symbols.iter().find(|(_, name)| *name == "__executable_start").map_or(0, |&(address, _)| address);
    let base = if symbols.iter().any(|&(address, _)| address > 0x40_0000) { start.max(0x40_0000) } else { start };
    let executable = find(folder.path(), "/usr/bin/a.out").unwrap();
    for name in ["first", "second", "main"] {
        let &(address, _) = symbols.iter().find(|&&(_, symbol)| symbol == name).unwrap();
        assert_eq!(names(&executable, &[address - base, address - base + 4]), [name, name]);
    }
}

/// A stripped library has the names of its exports, and reports the debug file that has the other names.
#[test]
fn reports_missing_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    write_file(
        folder.path(),
        "a.c",
        b"static int inner(int x) { return x * 3; }\nint (*kept)(int) = inner;\nint outer(int x) { return kept(x); }\n",
    );
    let library = folder.path().join("liba.so");
    let compiled = Command::new("cc")
        .args(["-O0", "-shared", "-fPIC", "-s", "-Wl,--build-id=0xabcdef0123456789", "-o"])
        .arg(&library)
        .arg(folder.path().join("a.c"))
        .status();
    let Ok(compiled) = compiled else {
        eprintln!("skipped: no C compiler on this computer");
        return;
    };
    assert!(compiled.success());
    let executable = find(folder.path(), "/usr/lib/liba.so").unwrap();
    let reason = executable.missing_names().unwrap();
    assert!(reason.contains("stripped") && reason.contains("ab/cdef0123456789.debug"), "{reason}");
    let offsets: Vec<u64> = (0..0x3000).collect();
    let names = names(&executable, &offsets);
    assert!(names.iter().any(|name| name == "outer") && names.iter().all(|name| name != "inner"));
}
