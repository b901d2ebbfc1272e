//! The kernel's functions and strings by address, as listed in the file.

use std::ops::Range;

use hashbrown::HashMap;

/// Functions and strings by address.
#[derive(Debug, Default)]
pub(crate) struct KernelSymbols {
    /// Kernel strings by address.
    strings: HashMap<u64, String>,
    symbols: SymbolTable,
}

/// Symbols of the kernel, stored compactly: there are hundreds of thousands, and a trace uses only a few.
#[derive(Debug, Default)]
struct SymbolTable {
    /// Concatenated symbol names.
    text: String,
    /// Names of modules, without the kernel itself.
    modules: Vec<String>,
    /// Sorted by address.
    entries: Vec<Symbol>,
    /// Number of symbols without an address: all of them, if an unprivileged user copied the list.
    hidden: u64,
    /// Number of unreadable lines.
    unreadable: u64,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    begin: u64,
    /// Begin and end of the name in the text.
    name: (u32, u32),
    /// Index in [`SymbolTable::modules`] plus 1; 0 is the kernel itself.
    module: u16,
    /// True for code, false for data.
    is_code: bool,
}

/// A function of the kernel or a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFunction<'a> {
    pub name: &'a str,
    /// Module; empty for the kernel itself.
    pub module: &'a str,
    /// Address range.
    pub addresses: Range<u64>,
}

/// The code of the kernel or a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCode<'a> {
    /// Module; empty for the kernel itself.
    pub module: &'a str,
    /// From the start of the first function to the end of the last.
    pub addresses: Range<u64>,
}

/// Page size, bytes. A function without a successor in the same module ends at most at the end of its page, because
/// modules start at page boundaries.
const PAGE_SIZE: u64 = 4096;

/// Symbol types of code (`nm`): `T` text, `W` weak, `i` resolved at kernel start; lowercase is local.
const CODE_TYPES: &[&str] = &["T", "t", "W", "w", "i"];

/// Linker symbols that mark the end of code rather than a function.
const END_SYMBOLS: &[&str] = &["_etext", "_einittext", "__init_end", "_end"];

impl SymbolTable {
    fn name(&self, symbol: Symbol) -> Option<&str> {
        self.text.get(symbol.name.0 as usize..symbol.name.1 as usize)
    }

    fn module(&self, symbol: Symbol) -> &str {
        let index = usize::from(symbol.module).checked_sub(1);
        index.and_then(|index| self.modules.get(index)).map_or("", String::as_str)
    }

    /// Parses `address type name [module]`.
    fn add(&mut self, line: &str, modules: &mut HashMap<String, u16>) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let begin = u64::from_str_radix(address, 16).ok()?;
        if begin == 0 {
            self.hidden += 1;
            return Some(());
        }
        let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
        let module = match module.map(|module| (module, modules.get(module))) {
            None => 0,
            Some((_, Some(&number))) => number,
            Some((module, None)) => {
                let number = u16::try_from(self.modules.len() + 1).ok()?;
                self.modules.push(module.to_owned());
                modules.insert(module.to_owned(), number);
                number
            }
        };
        let name_begin = u32::try_from(self.text.len()).ok()?;
        let name_end = u32::try_from(self.text.len().checked_add(name.len())?).ok()?;
        self.text.push_str(name);
        let is_code = CODE_TYPES.contains(&kind) && !END_SYMBOLS.contains(&name);
        self.entries.push(Symbol { begin, name: (name_begin, name_end), module, is_code });
        Some(())
    }

    /// Returns the symbols at the highest address up to `address`, and the next symbol.
    fn symbols_around(&self, address: u64) -> Option<(&[Symbol], Option<Symbol>)> {
        let next_index = self.entries.partition_point(|symbol| symbol.begin <= address);
        let begin = self.entries.get(next_index.checked_sub(1)?)?.begin;
        let first_index = self.entries.partition_point(|symbol| symbol.begin < begin);
        Some((self.entries.get(first_index..next_index)?, self.entries.get(next_index).copied()))
    }

    /// Returns the end address of the function `symbol`, which is followed by `next`.
    fn function_end(symbol: Symbol, next: Option<Symbol>) -> u64 {
        match next {
            Some(next) if next.module == symbol.module => next.begin,
            _ => {
                let page = (symbol.begin | (PAGE_SIZE - 1)).saturating_add(1);
                next.map_or(page, |next| page.min(next.begin))
            }
        }
    }
}

impl KernelSymbols {
    /// Adds kernel strings: one `0xaddress : "text"` per line.
    pub(crate) fn add_strings(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if let Some((address, text)) = line.split_once(" : ")
                && let Ok(address) = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16)
            {
                self.strings.insert(address, text.trim().trim_matches('"').to_owned());
            }
        }
    }

    /// Adds symbols: one `address type name [module]` per line.
    pub(crate) fn add_symbols(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let symbols = &mut self.symbols;
        let mut modules = (1..).zip(&symbols.modules).map(|(number, name)| (name.clone(), number)).collect();
        for line in text.lines() {
            // The list is zero-terminated.
            let line = line.trim_matches(['\0', ' ', '\t', '\r']);
            if !line.is_empty() && symbols.add(line, &mut modules).is_none() {
                symbols.unreadable += 1;
            }
        }
        // Stable sort: if several symbols share an address, the kernel prints the first.
        symbols.entries.sort_by_key(|symbol| symbol.begin);
    }

    /// True if the list has symbols but no addresses, as in `/proc/kallsyms` of an unprivileged user.
    pub(crate) fn is_hidden(&self) -> bool {
        self.symbols.hidden > 0 && !self.symbols.entries.iter().any(|symbol| symbol.is_code)
    }

    /// Returns the number of unreadable lines.
    pub(crate) fn unreadable_lines(&self) -> u64 {
        self.symbols.unreadable
    }

    /// Returns the function that starts at `address`.
    pub(crate) fn function(&self, address: u64) -> Option<&str> {
        let (symbols_at_start, _) = self.symbols.symbols_around(address)?;
        let &symbol = symbols_at_start.first().filter(|symbol| symbol.begin == address)?;
        self.symbols.name(symbol)
    }

    /// Returns the name of the function that contains `address`.
    pub(crate) fn function_around(&self, address: u64) -> Option<&str> {
        self.function_at(address).map(|function| function.name)
    }

    /// Returns the function that contains `address`; `None` for data and past the end of a module's code.
    pub(crate) fn function_at(&self, address: u64) -> Option<KernelFunction<'_>> {
        let symbols = &self.symbols;
        let (candidates, next) = symbols.symbols_around(address)?;
        let &symbol = candidates.iter().find(|symbol| symbol.is_code)?;
        // A function at the address of an end symbol is still a function; data is not.
        let end = SymbolTable::function_end(symbol, next);
        (address < end).then(|| symbols.name(symbol))?.map(|name| KernelFunction {
            name,
            module: symbols.module(symbol),
            addresses: symbol.begin..end,
        })
    }

    /// Returns the code ranges of the kernel and its modules.
    pub(crate) fn code_ranges(&self) -> Vec<KernelCode<'_>> {
        let symbols = &self.symbols;
        let mut ranges: Vec<Option<Range<u64>>> = vec![None; symbols.modules.len() + 1];
        for (index, &symbol) in symbols.entries.iter().enumerate().filter(|(_, symbol)| symbol.is_code) {
            let next = symbols
                .entries
                .get(index + 1..)
                .and_then(|following| following.iter().find(|next| next.begin > symbol.begin));
            let end = SymbolTable::function_end(symbol, next.copied());
            if let Some(module_range) = ranges.get_mut(usize::from(symbol.module)) {
                let range = module_range.get_or_insert(symbol.begin..end);
                range.end = range.end.max(end);
            }
        }
        let names = std::iter::once("").chain(symbols.modules.iter().map(String::as_str));
        names.zip(ranges).filter_map(|(module, addresses)| Some(KernelCode { module, addresses: addresses? })).collect()
    }

    /// Returns the string at `address`.
    pub(super) fn string(&self, address: u64) -> Option<&str> {
        self.strings.get(&address).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> KernelSymbols {
        let mut names = KernelSymbols::default();
        names.add_symbols(text.as_bytes());
        names
    }

    const LIST: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 t first
ffffffff81000040 t second
ffffffff81000080 T _etext
ffffffff82000000 D data_of_the_kernel
ffffffffc0000000 t mod_read\t[mod]
ffffffffc0000100 t mod_write\t[mod]
ffffffffc0010000 t other_read\t[other]
ffffffffc0010080 d other_data\t[other]
ffffffffc0010090 t other_write\t[other]
";

    #[test]
    fn finds_function_and_module_of_address() {
        let names = names(LIST);
        let lookup = |address| {
            names.function_at(address).map(|function| (function.name, function.module, function.addresses.end))
        };
        // The first of several names wins; the last byte of a function still belongs to it.
        assert_eq!(lookup(0xffff_ffff_8100_003f), Some(("_stext", "", 0xffff_ffff_8100_0040)));
        assert_eq!(lookup(0xffff_ffff_8100_0040), Some(("second", "", 0xffff_ffff_8100_0080)));
        assert_eq!(lookup(0xffff_ffff_c000_0123), Some(("mod_write", "mod", 0xffff_ffff_c000_1000)));
        assert_eq!(names.function(0xffff_ffff_c000_0100), Some("mod_write"));
        let code: Vec<_> = names.code_ranges().into_iter().map(|code| (code.module, code.addresses)).collect();
        let expected = [
            ("", 0xffff_ffff_8100_0000..0xffff_ffff_8100_0080),
            ("mod", 0xffff_ffff_c000_0000..0xffff_ffff_c000_1000),
            ("other", 0xffff_ffff_c001_0000..0xffff_ffff_c001_1000),
        ];
        assert_eq!(code, expected);
        assert!(!names.is_hidden());
        assert_eq!(names.unreadable_lines(), 0);
    }

    #[test]
    fn addresses_outside_functions_have_no_name() {
        let names = names(LIST);
        for (address, location) in [
            (0x1000, "before the first"),
            (0xffff_ffff_80ff_ffff, "one byte before the first"),
            (0xffff_ffff_8100_0080, "the end of the kernel's code"),
            (0xffff_ffff_8200_0010, "data"),
            (0xffff_ffff_c001_0084, "data between two functions"),
            (0xffff_ffff_c000_1000, "after the last page of a module"),
            (u64::MAX, "the highest address"),
        ] {
            assert_eq!(names.function_at(address), None, "{location}");
            assert_eq!(names.function_around(address), None, "{location}");
        }
    }

    #[test]
    fn list_without_addresses_has_no_names() {
        let hidden = names("0000000000000000 T _stext\n0000000000000000 t schedule\n0000000000000000 t x\t[mod]\n");
        assert!(hidden.is_hidden());
        for address in [0, 1, 0xffff_ffff_8100_0000] {
            assert_eq!(hidden.function_at(address), None);
            assert_eq!(hidden.function(address), None);
        }
        assert!(!names("").is_hidden());
        let broken = names("zz T a\nffffffff81000000\nffffffff81000000 T ok\n\0");
        assert_eq!((broken.unreadable_lines(), broken.function(0xffff_ffff_8100_0000)), (2, Some("ok")));
        // A function at the highest address has no end.
        let last = names("ffffffffffffffff T last\n");
        assert_eq!(last.function_at(u64::MAX), None);
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_list(text in "([0-9a-f]{1,17} [a-zA-Z] [a-z]{0,4}(\t\\[[a-z]{0,2}\\])?\n|\\PC{0,9}\n){0,9}", address: u64) {
            let names = names(&text);
            if let Some(function) = names.function_at(address) {
                assert!(function.addresses.contains(&address));
            }
            names.code_ranges();
        }
    }
}
