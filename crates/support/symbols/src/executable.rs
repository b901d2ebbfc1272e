//! The functions of one ELF file (Executable and Linkable Format: programs and libraries of Linux), and of the separate file with
//! its debug information.
//!
//! A recording says which file was mapped, and not of which build it was. So a file is taken by its path, and a separate debug file
//! only by the build id of the file that it belongs to.

use std::cmp::Reverse;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use goblin::elf::{Elf, header::EM_ARM, program_header::PT_LOAD, section_header::SHN_UNDEF, sym};

use crate::{Refusal, SymbolPath, SymbolPlace};

/// The largest file that is read, bytes; debug information of browsers is below it.
const MAX_FILE_SIZE: u64 = 1 << 30;
/// Functions of one file that are kept: a browser has some 500,000.
const MAX_FUNCTIONS: usize = 4_000_000;
/// Characters of a name.
const MAX_NAME_LEN: usize = 1024;
/// Functions before an address that are looked at for one that holds it.
const MAX_NESTING: usize = 16;
/// What memory is mapped in, bytes; the smallest that Linux has.
const PAGE: u64 = 4096;

/// The functions of one program or library.
pub struct Executable {
    /// First address and length as the file counts them, and name; in order.
    functions: Vec<(u64, u64, String)>,
    /// Where the file's first byte that is mapped lands, as the file counts addresses.
    first_address: u64,
    /// Why functions that are not exported have no names; `None` where they have.
    lacks: Option<String>,
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
        let refused = |why: String| Refusal::NotExecutable(path.to_owned(), why);
        let bytes = read(path)?;
        let elf = Elf::parse(&bytes).map_err(|error| refused(error.to_string()))?;
        let loaded = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let first = loaded.map(|header| header.p_vaddr & !(PAGE - 1)).min();
        let first_address = first.ok_or_else(|| refused("nothing of it is loaded".to_owned()))?;
        let mut found = Self { functions: Vec::new(), first_address, lacks: None };
        found.add(&elf);
        let is_stripped = elf.syms.iter().all(|symbol| symbol.st_type() != sym::STT_FUNC);
        let build = build_id(&elf, &bytes);
        drop(bytes);
        if is_stripped {
            found.lacks = found.add_debug_file(folder, build.as_deref());
        }
        if found.functions.is_empty() {
            return Err(refused(found.lacks.unwrap_or_else(|| "it names no function".to_owned())));
        }
        // Both lists of symbols name what is exported, and a function may have several names: the one that covers most stands, of
        // equal ones that without underscores.
        found.functions.sort_unstable_by(|a, b| {
            let rank = |one: &(u64, u64, String)| (one.0, Reverse(one.1), one.2.starts_with('_'));
            rank(a).cmp(&rank(b)).then_with(|| a.2.cmp(&b.2))
        });
        found.functions.dedup_by_key(|&mut (address, ..)| address);
        Ok(found)
    }

    /// Adds what the file with debug information names; what is missing where there is none of this build.
    fn add_debug_file(&mut self, folder: &Path, build: Option<&[u8]>) -> Option<String> {
        const STRIPPED: &str = "stripped: only what it exports has names";
        let Some(build) = build else {
            return Some(format!("{STRIPPED}, and it has no build id that a debug file could have"));
        };
        let mut why = format!("{STRIPPED}; the folder has no {}", debug_file(build).display());
        for candidate in [folder.to_owned(), folder.join("usr/lib/debug")].map(|place| place.join(debug_file(build))) {
            let bytes = match read(&candidate) {
                Ok(bytes) => bytes,
                Err(Refusal::NotFound) => continue,
                Err(refusal) => {
                    why = format!("{STRIPPED}; {refusal}");
                    continue;
                }
            };
            match Elf::parse(&bytes) {
                Ok(debug) if build_id(&debug, &bytes).as_deref() == Some(build) => {
                    self.add(&debug);
                    return None;
                }
                Ok(_) => why = format!("{STRIPPED}; {}", Refusal::OtherBuild(candidate)),
                Err(error) => why = format!("{STRIPPED}; {}: {error}", candidate.display()),
            }
        }
        Some(why)
    }

    /// Why functions that the file does not export have no names, for who reads the answer; `None` where all have.
    #[must_use]
    pub fn lacks(&self) -> Option<&str> {
        self.lacks.as_deref()
    }

    fn add(&mut self, elf: &Elf<'_>) {
        // The lowest bit of an address of ARM says which set of instructions is there.
        let code_bits = if elf.header.e_machine == EM_ARM { !1 } else { !0 };
        for (symbols, names) in [(&elf.syms, &elf.strtab), (&elf.dynsyms, &elf.dynstrtab)] {
            for symbol in symbols.iter().take(MAX_FUNCTIONS) {
                let is_code = matches!(symbol.st_type(), sym::STT_FUNC | sym::STT_GNU_IFUNC);
                // A symbol of no length says where something starts and not what it holds.
                if !is_code || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF as usize {
                    continue;
                }
                let Some(name) = names.get_at(symbol.st_name).filter(|name| !name.is_empty()) else { continue };
                if self.functions.len() < MAX_FUNCTIONS {
                    let name = name.chars().take(MAX_NAME_LEN).collect();
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
            // A function may hold smaller ones; the innermost stands.
            let before = self.functions[..after].iter().rev().take(MAX_NESTING);
            let mut holding = before.filter(|(start, size, _)| address - start < *size);
            holding.next().map(|(.., name)| name.clone())
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

/// Where the file that was mapped as `path` may be, best first. What a recording says cannot leave the folder, and no link that is
/// below a file system's root leads out of it: an absolute one would name a file of this computer.
fn candidates(folder: &Path, path: &str) -> Vec<PathBuf> {
    let below: PathBuf = Path::new(path)
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .collect();
    let is_plain = !path.contains('\0') && !Path::new(path).components().any(|part| part == Component::ParentDir);
    let Some(name) = below.file_name().filter(|_| is_plain) else { return Vec::new() };
    let stays = |file: &PathBuf| match (file.canonicalize(), folder.canonicalize()) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    };
    let in_tree = Some(folder.join(&below)).filter(stays);
    in_tree.into_iter().chain([folder.join(name)]).collect()
}

/// The debug information of the build `id`, below a folder of such files.
fn debug_file(id: &[u8]) -> PathBuf {
    let (first, rest) = id.split_at(id.len().min(1));
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Path::new(".build-id").join(hexadecimal(first)).join(format!("{}.debug", hexadecimal(rest)))
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
    if about.len() > MAX_FILE_SIZE {
        return Err(Refusal::NotExecutable(path.to_owned(), format!("larger than {MAX_FILE_SIZE} bytes")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut bytes)).map_err(unreadable)?;
    Ok(bytes)
}
