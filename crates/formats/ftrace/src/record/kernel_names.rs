//! What the kernel calls its addresses: functions and texts, as the file lists them.

use std::ops::Range;

use hashbrown::HashMap;

/// Functions and texts by address.
#[derive(Debug, Default)]
pub(crate) struct KernelNames {
    /// The kernel's own texts by address.
    strings: HashMap<u64, String>,
    symbols: Symbols,
}

/// The kernel's symbols: hundreds of thousands, of which a trace names a few.
#[derive(Debug, Default)]
struct Symbols {
    /// Names as the file has them, one after the other.
    text: String,
    /// Names of modules; the kernel itself is not among them.
    modules: Vec<String>,
    /// Sorted by address.
    places: Vec<Symbol>,
    /// Symbols without an address: all of them, where a user without privileges copied the list.
    hidden: u64,
    /// Lines that are no symbol.
    unreadable: u64,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    begin: u64,
    /// Where in the text its name begins and ends.
    name: (u32, u32),
    /// Position in [`Symbols::modules`], counted from 1; 0 is the kernel itself.
    module: u16,
    /// Whether code begins there, not data.
    is_code: bool,
}

/// A function of the kernel, or of one of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFunction<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module that it belongs to; empty for the kernel itself.
    pub module: &'a str,
    /// Its addresses.
    pub addresses: Range<u64>,
}

/// The code of the kernel, or of one of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCode<'a> {
    /// The module; empty for the kernel itself.
    pub module: &'a str,
    /// From its first function to the end of its last.
    pub addresses: Range<u64>,
}

/// How far a function reaches behind which the list has nothing of the same module: no further than the page it begins
/// in, bytes. Modules begin at pages, and between two of them there is nothing.
const PAGE: u64 = 4096;

/// Types of symbols that are code (`nm`): `T` text, `W` weak, `i` chosen when the kernel starts; small letters are
/// local.
const CODE: &[&str] = &["T", "t", "W", "w", "i"];

/// Symbols of the kernel's linker script that say where code ends: no function begins there.
const ENDS: &[&str] = &["_etext", "_einittext", "__init_end", "_end"];

impl Symbols {
    fn name(&self, symbol: Symbol) -> Option<&str> {
        self.text.get(symbol.name.0 as usize..symbol.name.1 as usize)
    }

    fn module(&self, symbol: Symbol) -> &str {
        let at = usize::from(symbol.module).checked_sub(1);
        at.and_then(|at| self.modules.get(at)).map_or("", String::as_str)
    }

    /// `address type name [module]`.
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
        let from = u32::try_from(self.text.len()).ok()?;
        let to = u32::try_from(self.text.len().checked_add(name.len())?).ok()?;
        self.text.push_str(name);
        let is_code = CODE.contains(&kind) && !ENDS.contains(&name);
        self.places.push(Symbol { begin, name: (from, to), module, is_code });
        Some(())
    }

    /// The symbols of the last address up to `address`, and the first symbol behind it.
    fn around(&self, address: u64) -> Option<(&[Symbol], Option<Symbol>)> {
        let after = self.places.partition_point(|symbol| symbol.begin <= address);
        let begin = self.places.get(after.checked_sub(1)?)?.begin;
        let before = self.places.partition_point(|symbol| symbol.begin < begin);
        Some((self.places.get(before..after)?, self.places.get(after).copied()))
    }

    /// Where the function `symbol` ends, if `next` follows it.
    fn end(symbol: Symbol, next: Option<Symbol>) -> u64 {
        match next {
            Some(next) if next.module == symbol.module => next.begin,
            _ => {
                let page = (symbol.begin | (PAGE - 1)).saturating_add(1);
                next.map_or(page, |next| page.min(next.begin))
            }
        }
    }
}

impl KernelNames {
    /// `0xaddress : "text"` a line.
    pub(crate) fn strings(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if let Some((address, text)) = line.split_once(" : ")
                && let Ok(address) = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16)
            {
                self.strings.insert(address, text.trim().trim_matches('"').to_owned());
            }
        }
    }

    /// `address type name [module]` a line.
    pub(crate) fn symbols(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let symbols = &mut self.symbols;
        let mut modules = (1..).zip(&symbols.modules).map(|(number, name)| (name.clone(), number)).collect();
        for line in text.lines() {
            // The list ends with zeros.
            let line = line.trim_matches(['\0', ' ', '\t', '\r']);
            if !line.is_empty() && symbols.add(line, &mut modules).is_none() {
                symbols.unreadable += 1;
            }
        }
        // The first of several names of one address is the one that the kernel itself prints.
        symbols.places.sort_by_key(|symbol| symbol.begin);
    }

    /// Whether the list has symbols and no address of any: `/proc/kallsyms` as a user without privileges sees it.
    pub(crate) fn are_hidden(&self) -> bool {
        self.symbols.hidden > 0 && !self.symbols.places.iter().any(|symbol| symbol.is_code)
    }

    /// Lines of the list that are no symbol.
    pub(crate) fn unreadable(&self) -> u64 {
        self.symbols.unreadable
    }

    /// The function that begins at `address`.
    pub(crate) fn function(&self, address: u64) -> Option<&str> {
        let (found, _) = self.symbols.around(address)?;
        let &first = found.first().filter(|symbol| symbol.begin == address)?;
        self.symbols.name(first)
    }

    /// The name of the function that holds `address`.
    pub(crate) fn function_around(&self, address: u64) -> Option<&str> {
        self.function_at(address).map(|function| function.name)
    }

    /// The function that holds `address`; `None` for data, and behind the end of a module's code.
    pub(crate) fn function_at(&self, address: u64) -> Option<KernelFunction<'_>> {
        let symbols = &self.symbols;
        let (found, next) = symbols.around(address)?;
        let &symbol = found.iter().find(|symbol| symbol.is_code)?;
        // An end of code at the same address as a function is a function's begin all the same; data is not.
        let end = Symbols::end(symbol, next);
        (address < end).then(|| symbols.name(symbol))?.map(|name| KernelFunction {
            name,
            module: symbols.module(symbol),
            addresses: symbol.begin..end,
        })
    }

    /// The code of the kernel and of its modules.
    pub(crate) fn code(&self) -> Vec<KernelCode<'_>> {
        let symbols = &self.symbols;
        let mut found: Vec<Option<Range<u64>>> = vec![None; symbols.modules.len() + 1];
        for (at, &symbol) in symbols.places.iter().enumerate().filter(|(_, symbol)| symbol.is_code) {
            let next = symbols.places.get(at + 1..).and_then(|rest| rest.iter().find(|next| next.begin > symbol.begin));
            let end = Symbols::end(symbol, next.copied());
            if let Some(of_module) = found.get_mut(usize::from(symbol.module)) {
                let range = of_module.get_or_insert(symbol.begin..end);
                range.end = range.end.max(end);
            }
        }
        let names = std::iter::once("").chain(symbols.modules.iter().map(String::as_str));
        names.zip(found).filter_map(|(module, addresses)| Some(KernelCode { module, addresses: addresses? })).collect()
    }

    /// The text at `address`.
    pub(super) fn string(&self, address: u64) -> Option<&str> {
        self.strings.get(&address).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> KernelNames {
        let mut names = KernelNames::default();
        names.symbols(text.as_bytes());
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
    fn an_address_inside_of_a_function_has_its_name_and_module() {
        let names = names(LIST);
        let at = |address| names.function_at(address).map(|found| (found.name, found.module, found.addresses.end));
        // Of several names the first; the last byte of a function is still in it.
        assert_eq!(at(0xffff_ffff_8100_003f), Some(("_stext", "", 0xffff_ffff_8100_0040)));
        assert_eq!(at(0xffff_ffff_8100_0040), Some(("second", "", 0xffff_ffff_8100_0080)));
        assert_eq!(at(0xffff_ffff_c000_0123), Some(("mod_write", "mod", 0xffff_ffff_c000_1000)));
        assert_eq!(names.function(0xffff_ffff_c000_0100), Some("mod_write"));
        let code: Vec<_> = names.code().into_iter().map(|code| (code.module, code.addresses)).collect();
        let expected = [
            ("", 0xffff_ffff_8100_0000..0xffff_ffff_8100_0080),
            ("mod", 0xffff_ffff_c000_0000..0xffff_ffff_c000_1000),
            ("other", 0xffff_ffff_c001_0000..0xffff_ffff_c001_1000),
        ];
        assert_eq!(code, expected);
        assert!(!names.are_hidden());
        assert_eq!(names.unreadable(), 0);
    }

    #[test]
    fn an_address_outside_of_every_function_has_no_name() {
        let names = names(LIST);
        for (address, what) in [
            (0x1000, "before the first"),
            (0xffff_ffff_80ff_ffff, "one byte before the first"),
            (0xffff_ffff_8100_0080, "the end of the kernel's code"),
            (0xffff_ffff_8200_0010, "data"),
            (0xffff_ffff_c001_0084, "data between two functions"),
            (0xffff_ffff_c000_1000, "behind the last page of a module"),
            (u64::MAX, "far behind"),
        ] {
            assert_eq!(names.function_at(address), None, "{what}");
            assert_eq!(names.function_around(address), None, "{what}");
        }
    }

    #[test]
    fn a_list_without_addresses_names_nothing() {
        let hidden = names("0000000000000000 T _stext\n0000000000000000 t schedule\n0000000000000000 t x\t[mod]\n");
        assert!(hidden.are_hidden());
        for address in [0, 1, 0xffff_ffff_8100_0000] {
            assert_eq!(hidden.function_at(address), None);
            assert_eq!(hidden.function(address), None);
        }
        assert!(!names("").are_hidden());
        let broken = names("zz T a\nffffffff81000000\nffffffff81000000 T ok\n\0");
        assert_eq!((broken.unreadable(), broken.function(0xffff_ffff_8100_0000)), (2, Some("ok")));
        // Behind the highest address there is no room for an end.
        let last = names("ffffffffffffffff T last\n");
        assert_eq!(last.function_at(u64::MAX), None);
    }

    proptest::proptest! {
        #[test]
        fn any_list_is_read(text in "([0-9a-f]{1,17} [a-zA-Z] [a-z]{0,4}(\t\\[[a-z]{0,2}\\])?\n|\\PC{0,9}\n){0,9}", address: u64) {
            let names = names(&text);
            if let Some(found) = names.function_at(address) {
                assert!(found.addresses.contains(&address));
            }
            names.code();
        }
    }
}
