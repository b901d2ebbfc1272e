//! The functions of one ELF file (Executable and Linkable Format: programs and libraries of Linux), and of the separate file with
//! its debug information.
//!
//! A recording says which file was mapped, and not of which build it was. So a file is taken by its path, and a separate debug file
//! only by the build id of the file that it belongs to.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use goblin::elf::{Elf, header::EM_ARM, program_header::PT_LOAD, section_header::SHN_UNDEF, sym};

use crate::{Refusal, SymbolPath, SymbolPlace};

/// The largest file that is read, bytes; debug information of browsers is below it.
const LARGEST_FILE: u64 = 1 << 30;
/// Functions of one file that are kept: a browser has some 500,000.
const MOST_FUNCTIONS: usize = 4_000_000;
/// Characters of a name.
const LONGEST_NAME: usize = 1024;
/// What memory is mapped in, bytes; the smallest that Linux has.
const PAGE: u64 = 4096;

/// The functions of one program or library.
pub struct Executable {
    /// First address and length as the file counts them, and name; in order.
    functions: Vec<(u64, u64, String)>,
    /// Where the file's first byte that is mapped lands, as the file counts addresses.
    first_address: u64,
}

impl Executable {
    /// Finds the file that was mapped as `path`, and its debug information, in the folders of `places`: below a folder that holds
    /// the file system of the recorded computer, or in the folder itself.
    ///
    /// # Errors
    /// There is none, or it cannot be read; of several faults, the one that says most.
    pub fn find(places: &SymbolPath, path: &str) -> Result<Self, Refusal> {
        let mut refusal = Refusal::NotFound;
        for folder in folders(places) {
            for candidate in candidates(folder, path) {
                match Self::open(&candidate, folder) {
                    Ok(executable) => return Ok(executable),
                    Err(Refusal::NotFound) => {}
                    Err(other) => refusal = other,
                }
            }
        }
        Err(refusal)
    }

    fn open(path: &Path, folder: &Path) -> Result<Self, Refusal> {
        let bytes = read(path)?;
        let elf = Elf::parse(&bytes).map_err(|error| Refusal::NotExecutable(path.to_owned(), error.to_string()))?;
        let loaded = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let first = loaded.map(|header| header.p_vaddr & !(PAGE - 1)).min();
        let no_code = || Refusal::NotExecutable(path.to_owned(), "nothing of it is loaded".to_owned());
        let mut found = Self { functions: Vec::new(), first_address: first.ok_or_else(no_code)? };
        found.add(&elf);
        let build = build_id(&elf, &bytes);
        for candidate in build.iter().flat_map(|id| debug_candidates(folder, id)) {
            let Ok(bytes) = read(&candidate) else { continue };
            if let Ok(debug) = Elf::parse(&bytes)
                && build_id(&debug, &bytes) == build
            {
                found.add(&debug);
                break;
            }
        }
        if found.functions.is_empty() {
            return Err(Refusal::NotExecutable(path.to_owned(), "stripped: it names no function".to_owned()));
        }
        found.functions.sort_unstable();
        // Both lists of symbols name what is exported, and a function may have several names: the first stands.
        found.functions.dedup_by_key(|&mut (address, ..)| address);
        Ok(found)
    }

    fn add(&mut self, elf: &Elf<'_>) {
        // The lowest bit of an address of ARM says which set of instructions is there.
        let code_bits = if elf.header.e_machine == EM_ARM { !1 } else { !0 };
        for (symbols, names) in [(&elf.syms, &elf.strtab), (&elf.dynsyms, &elf.dynstrtab)] {
            for symbol in symbols.iter().take(MOST_FUNCTIONS) {
                let is_code = matches!(symbol.st_type(), sym::STT_FUNC | sym::STT_GNU_IFUNC);
                // A symbol of no length says where something starts and not what it holds.
                if !is_code || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF as usize {
                    continue;
                }
                let Some(name) = names.get_at(symbol.st_name).filter(|name| !name.is_empty()) else { continue };
                if self.functions.len() < MOST_FUNCTIONS {
                    let name = name.chars().take(LONGEST_NAME).collect();
                    self.functions.push((symbol.st_value & code_bits, symbol.st_size, name));
                }
            }
        }
    }

    /// The functions at `offsets`, each the distance from where the file's first mapped byte is; none in a hole between functions.
    pub fn functions(&self, offsets: impl IntoIterator<Item = u64>) -> Vec<Option<String>> {
        let at = |offset: u64| {
            let address = self.first_address.checked_add(offset)?;
            let after = self.functions.partition_point(|&(start, ..)| start <= address);
            let (start, size, name) = self.functions.get(after.checked_sub(1)?)?;
            (address - start < *size).then(|| name.clone())
        };
        offsets.into_iter().map(at).collect()
    }
}

fn folders(places: &SymbolPath) -> impl Iterator<Item = &Path> {
    places.places().iter().filter_map(|place| match place {
        SymbolPlace::Folder(folder) => Some(folder.as_path()),
        SymbolPlace::Store(_) => None,
    })
}

/// Where the file that was mapped as `path` may be, best first. What a recording says cannot leave the folder.
fn candidates(folder: &Path, path: &str) -> Vec<PathBuf> {
    let below: PathBuf = Path::new(path)
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .collect();
    let is_plain = !path.contains('\0') && !Path::new(path).components().any(|part| part == Component::ParentDir);
    match below.file_name().filter(|_| is_plain) {
        Some(name) => vec![folder.join(&below), folder.join(name)],
        None => Vec::new(),
    }
}

/// Where the debug information of the build `id` may be.
fn debug_candidates(folder: &Path, id: &[u8]) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_first() else {
        return Vec::new();
    };
    let hexadecimal: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let below = Path::new(".build-id").join(format!("{first:02x}")).join(format!("{hexadecimal}.debug"));
    [folder.join(&below), folder.join("usr/lib/debug").join(&below)].into()
}

/// The build id of a file: the linker's mark, which its debug information has too.
fn build_id(elf: &Elf<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let in_segments = elf.iter_note_headers(bytes).into_iter().flatten();
    let in_sections = elf.iter_note_sections(bytes, None).into_iter().flatten();
    let mut notes = in_segments.chain(in_sections).filter_map(Result::ok);
    let note = notes.find(|note| note.n_type == NT_GNU_BUILD_ID && note.name == "GNU")?;
    (2..=64).contains(&note.desc.len()).then(|| note.desc.to_vec())
}

fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    let unreadable = |error| Refusal::Unreadable(path.to_owned(), error);
    // A name of the recording may be that of a folder here, or lead through a file.
    let about = std::fs::metadata(path).map_err(|_| Refusal::NotFound)?;
    if !about.is_file() {
        return Err(Refusal::NotFound);
    }
    if about.len() > LARGEST_FILE {
        return Err(Refusal::NotExecutable(path.to_owned(), format!("larger than {LARGEST_FILE} bytes")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST_FILE).read_to_end(&mut bytes)).map_err(unreadable)?;
    Ok(bytes)
}
