//! Function names from an ELF file (a Linux program or library) and its separate debug file.
//!
//! A recording has the paths of mapped files but not their build ids. Therefore an ELF file is found by its path, and
//! its debug file by the build id in the ELF file.

use std::cmp::Reverse;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use goblin::elf::{Elf, header::EM_ARM, program_header::PT_LOAD, section_header::SHN_UNDEF, sym};

use crate::{SymbolError, SymbolPath, SymbolPlace};

/// Maximum size of a file, in bytes. Debug files of browsers are smaller.
const MAX_FILE_SIZE: u64 = 1 << 30;
/// Maximum number of functions per file. A browser has about 500,000.
const MAX_FUNCTIONS: usize = 4_000_000;
/// Maximum number of characters in a name.
const MAX_NAME_LEN: usize = 1024;
/// Maximum number of preceding functions to check for one that contains an address.
const MAX_NESTING: usize = 16;
/// Page size in bytes, the smallest on Linux.
const PAGE_SIZE: u64 = 4096;

/// The functions of one program or library.
pub struct Executable {
    /// Address and length in the file's address space, and name; sorted by address.
    functions: Vec<(u64, u64, String)>,
    /// Address of the first mapped byte in the file's address space.
    first_address: u64,
    /// Why functions that are not exported have no names; `None` if they have names.
    missing_names: Option<String>,
}

impl Executable {
    /// Finds the file that was mapped as `path`, and its debug file, in the folders of `places`. A folder is either the
    /// root of the recorded computer's file system or contains the file directly.
    ///
    /// # Errors
    /// The file was not found or cannot be read. The last error other than `NotFound` is returned.
    pub fn find(places: &SymbolPath, path: &str) -> Result<Self, SymbolError> {
        let mut last_error = SymbolError::NotFound;
        for folder in folders(places) {
            for candidate in candidates(folder, path) {
                match Self::open(&candidate, folder) {
                    Ok(executable) => return Ok(executable),
                    Err(SymbolError::NotFound) => {}
                    Err(error) => last_error = error,
                }
            }
        }
        Err(last_error)
    }

    fn open(path: &Path, folder: &Path) -> Result<Self, SymbolError> {
        let not_executable = |reason: String| SymbolError::NotExecutable(path.to_owned(), reason);
        let bytes = read(path)?;
        let elf = Elf::parse(&bytes).map_err(|error| not_executable(error.to_string()))?;
        let loadable = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let first_page = loadable.map(|header| header.p_vaddr & !(PAGE_SIZE - 1)).min();
        let first_address = first_page.ok_or_else(|| not_executable("no loadable segment".to_owned()))?;
        let mut executable = Self { functions: Vec::new(), first_address, missing_names: None };
        executable.add(&elf);
        let is_stripped = elf.syms.iter().all(|symbol| symbol.st_type() != sym::STT_FUNC);
        let build = build_id(&elf, &bytes);
        drop(bytes);
        if is_stripped {
            executable.missing_names = executable.add_debug_file(folder, build.as_deref());
        }
        if executable.functions.is_empty() {
            return Err(not_executable(executable.missing_names.unwrap_or_else(|| "no function names".to_owned())));
        }
        // Exported functions are in both symbol tables, and a function may have several names: prefer the longest
        // symbol, and among symbols of equal length a name without leading underscores.
        executable.functions.sort_unstable_by(|a, b| {
            let rank =
                |(address, length, name): &(u64, u64, String)| (*address, Reverse(*length), name.starts_with('_'));
            let ((.., name_a), (.., name_b)) = (a, b);
            rank(a).cmp(&rank(b)).then_with(|| name_a.cmp(name_b))
        });
        executable.functions.dedup_by_key(|&mut (address, ..)| address);
        Ok(executable)
    }

    /// Adds the functions of the debug file. Returns what is missing if this build has no debug file.
    fn add_debug_file(&mut self, folder: &Path, id: Option<&[u8]>) -> Option<String> {
        const STRIPPED: &str = "stripped: only exported functions have names";
        let Some(id) = id else {
            return Some(format!("{STRIPPED}, and there is no build id to find a debug file"));
        };
        let mut reason = format!("{STRIPPED}; {} was not found", debug_file(id).display());
        for candidate in [folder.to_owned(), folder.join("usr/lib/debug")].map(|root| root.join(debug_file(id))) {
            let bytes = match read(&candidate) {
                Ok(bytes) => bytes,
                Err(SymbolError::NotFound) => continue,
                Err(error) => {
                    reason = format!("{STRIPPED}; {error}");
                    continue;
                }
            };
            match Elf::parse(&bytes) {
                Ok(debug) if build_id(&debug, &bytes).as_deref() == Some(id) => {
                    self.add(&debug);
                    return None;
                }
                Ok(_) => reason = format!("{STRIPPED}; {}", SymbolError::OtherBuild(candidate)),
                Err(error) => reason = format!("{STRIPPED}; {}: {error}", candidate.display()),
            }
        }
        Some(reason)
    }

    /// Returns why functions that are not exported have no names, as text for the user; `None` if they have names.
    #[must_use]
    pub fn missing_names(&self) -> Option<&str> {
        self.missing_names.as_deref()
    }

    fn add(&mut self, elf: &Elf<'_>) {
        // On ARM, the lowest bit of an address selects the instruction set.
        let address_mask = if elf.header.e_machine == EM_ARM { !1 } else { !0 };
        for (symbols, names) in [(&elf.syms, &elf.strtab), (&elf.dynsyms, &elf.dynstrtab)] {
            for symbol in symbols.iter().take(MAX_FUNCTIONS) {
                let is_code = matches!(symbol.st_type(), sym::STT_FUNC | sym::STT_GNU_IFUNC);
                // A symbol of length 0 marks a start but does not cover any address.
                if !is_code || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF as usize {
                    continue;
                }
                let Some(name) = names.get_at(symbol.st_name).filter(|name| !name.is_empty()) else { continue };
                if self.functions.len() < MAX_FUNCTIONS {
                    let name = name.chars().take(MAX_NAME_LEN).collect();
                    self.functions.push((symbol.st_value & address_mask, symbol.st_size, name));
                }
            }
        }
    }

    /// Returns the functions at `offsets` from the file's first mapped byte; `None` for a gap between functions.
    pub fn functions(&self, offsets: impl IntoIterator<Item = u64>) -> Vec<Option<String>> {
        let name_at = |offset: u64| {
            let address = self.first_address.checked_add(offset)?;
            let next_index = self.functions.partition_point(|&(start, ..)| start <= address);
            // Functions can be nested; the innermost one wins.
            let preceding = self.functions[..next_index].iter().rev().take(MAX_NESTING);
            let mut containing = preceding.filter(|(start, size, _)| address - start < *size);
            containing.next().map(|(.., name)| name.clone())
        };
        offsets.into_iter().map(name_at).collect()
    }
}

fn folders(places: &SymbolPath) -> impl Iterator<Item = &Path> {
    places.places().iter().filter_map(|place| match place {
        SymbolPlace::Folder(folder) => Some(folder.as_path()),
        SymbolPlace::Store(_) => None,
    })
}

/// Returns possible locations of the file that was mapped as `path`, best first. Neither a path from a recording nor a
/// link below `folder` can lead out of the folder: an absolute link would point to a file of this computer.
fn candidates(folder: &Path, path: &str) -> Vec<PathBuf> {
    let relative_path: PathBuf = Path::new(path)
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let is_plain =
        !path.contains('\0') && !Path::new(path).components().any(|component| component == Component::ParentDir);
    let Some(name) = relative_path.file_name().filter(|_| is_plain) else { return Vec::new() };
    let is_inside = |file: &PathBuf| match (file.canonicalize(), folder.canonicalize()) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    };
    let in_tree = Some(folder.join(&relative_path)).filter(is_inside);
    in_tree.into_iter().chain([folder.join(name)]).collect()
}

/// Returns the relative path of the debug file with build id `id`.
fn debug_file(id: &[u8]) -> PathBuf {
    let (folder, file) = id.split_at(id.len().min(1));
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Path::new(".build-id").join(hexadecimal(folder)).join(format!("{}.debug", hexadecimal(file)))
}

/// Returns the build id, which an ELF file and its debug file share.
fn build_id(elf: &Elf<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let in_segments = elf.iter_note_headers(bytes).into_iter().flatten();
    let in_sections = elf.iter_note_sections(bytes, None).into_iter().flatten();
    let mut notes = in_segments.chain(in_sections).filter_map(Result::ok);
    let note = notes.find(|note| note.n_type == NT_GNU_BUILD_ID && note.name == "GNU")?;
    (2..=64).contains(&note.desc.len()).then(|| note.desc.to_vec())
}

fn read(path: &Path) -> Result<Vec<u8>, SymbolError> {
    let unreadable = |error| SymbolError::Unreadable(path.to_owned(), error);
    // A path from the recording may be a folder here, or have a file as a parent.
    let metadata = std::fs::metadata(path).map_err(|_| SymbolError::NotFound)?;
    if !metadata.is_file() {
        return Err(SymbolError::NotFound);
    }
    if metadata.len() > MAX_FILE_SIZE {
        return Err(SymbolError::NotExecutable(path.to_owned(), format!("larger than {MAX_FILE_SIZE} bytes")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE_SIZE).read_to_end(&mut bytes)).map_err(unreadable)?;
    Ok(bytes)
}
