//! What the kernel calls its addresses: functions and texts, as the file lists them.

use hashbrown::HashMap;

/// Functions and texts by address.
#[derive(Debug, Default)]
pub(crate) struct KernelNames {
    /// The kernel's own texts by address.
    strings: HashMap<u64, String>,
    symbols: Symbols,
}

/// The kernel's functions: hundreds of thousands, of which a trace names a few.
#[derive(Debug, Default)]
struct Symbols {
    /// Names as the file has them, one after the other.
    text: String,
    /// Address, and where in `text` its name begins and ends; sorted by address.
    places: Vec<(u64, u32, u32)>,
}

impl Symbols {
    /// The name at a place.
    fn name(&self, at: usize) -> Option<&str> {
        let &(_, from, to) = self.places.get(at)?;
        self.text.get(from as usize..to as usize)
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
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            if let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
                && let Ok(address) = u64::from_str_radix(address, 16)
                && let Ok(from) = u32::try_from(symbols.text.len())
                && let Ok(to) = u32::try_from(symbols.text.len() + name.len())
            {
                symbols.text.push_str(name);
                symbols.places.push((address, from, to));
            }
        }
        // The first of several names of one address is the one that the kernel itself prints.
        symbols.places.sort_by_key(|&(address, ..)| address);
    }

    /// The function that begins at `address`.
    pub(crate) fn function(&self, address: u64) -> Option<&str> {
        let places = &self.symbols.places;
        let at = places.partition_point(|&(begin, ..)| begin < address);
        let &(begin, ..) = places.get(at)?;
        (begin == address).then(|| self.symbols.name(at))?
    }

    /// The function that holds `address`: the last to begin before it.
    pub(crate) fn function_around(&self, address: u64) -> Option<&str> {
        let places = &self.symbols.places;
        let behind = places.partition_point(|&(begin, ..)| begin <= address);
        let &(begin, ..) = places.get(behind.checked_sub(1)?)?;
        self.function(begin)
    }

    /// The text at `address`.
    pub(super) fn string(&self, address: u64) -> Option<&str> {
        self.strings.get(&address).map(String::as_str)
    }
}
