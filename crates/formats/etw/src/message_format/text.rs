//! The text of a message, with its arguments in the notation of `printf`.

use std::fmt::{self, Write as _};

use super::MessageFormat;
use crate::fields::Fields;
use crate::payload;
use crate::schema::InType;
use crate::value::{FormatMessage, Value};

/// Maximum length of a text in bytes. Events are smaller than 64 KiB, but a text can contain an argument repeatedly.
const MAX_TEXT: usize = 1 << 18;

/// Maximum width and precision of an argument; larger ones are reduced.
const MAX_WIDTH: usize = 1 << 10;

impl FormatMessage for MessageFormat {
    fn write(&self, payload: &[u8], pointer_size: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Fields::new();
        // Arguments that could not be read keep their placeholder.
        let _ = payload::decode(&self.layout, payload, pointer_size, &mut fields);
        let values: Vec<Value<'_>> = fields.iter().map(|field| field.value()).collect();
        // `%0` is the prefix that viewers write: processor, process, thread and time.
        let template = &*self.text;
        let template = template.strip_prefix("%0").map_or(template, |rest| rest.strip_prefix(' ').unwrap_or(rest));
        let mut text = String::new();
        for part in Parts(template) {
            if text.len() > MAX_TEXT {
                text.push('…');
                break;
            }
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Name { name, placeholder } => text.push_str(self.named_text(name).unwrap_or(placeholder)),
                Part::Argument { index, notation, placeholder } => {
                    match self.argument(index, &values, pointer_size).zip(Notation::parse(notation)) {
                        Some(((value, width), notation)) => notation.write(value, width, pointer_size, &mut text),
                        None => match index {
                            1 => text.push_str(&self.provider),
                            2 => text.push_str(&self.name),
                            _ => text.push_str(placeholder),
                        },
                    }
                }
            }
        }
        f.write_str(&text)
    }
}

impl MessageFormat {
    /// Returns the value of the argument with an index, and its size in bits if it is an integer.
    fn argument<'r>(&self, index: u16, values: &[Value<'r>], pointer_size: usize) -> Option<(Value<'r>, u32)> {
        let position = self.indices.iter().position(|&candidate| candidate == index)?;
        let property = self.layout.properties.get(position)?;
        let value = *values.get(position)?;
        let bits = match property.in_type {
            InType::Int8 | InType::UInt8 => 8,
            InType::Int16 | InType::UInt16 => 16,
            InType::Int32 | InType::UInt32 | InType::HexInt32 => 32,
            InType::Pointer if pointer_size == 4 => 32,
            InType::Opaque => return None,
            _ => 64,
        };
        Some((value, bits))
    }

    fn named_text(&self, name: &str) -> Option<&str> {
        Some(match name {
            "FUNC" => &self.function,
            "LEVEL" => &self.level_name,
            "FLAGS" | "KEYWORDS" => &self.flags,
            "FILE" => &self.source_file,
            "COMPNAME" => &self.provider,
            _ => return None,
        })
    }
}

/// A part of a format text.
enum Part<'t> {
    Text(&'t str),
    /// `%!FUNC!`
    Name {
        name: &'t str,
        placeholder: &'t str,
    },
    /// `%10!d!`, or `%10` for text.
    Argument {
        index: u16,
        notation: &'t str,
        placeholder: &'t str,
    },
}

/// Iterates over the parts of a format text.
struct Parts<'t>(&'t str);

impl<'t> Iterator for Parts<'t> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let start = text.find('%').unwrap_or(text.len());
        if start > 0 {
            let (before, rest) = text.split_at(start);
            self.0 = rest;
            return Some(Part::Text(before));
        }
        let (part, len) = placeholder(text).unwrap_or((Part::Text("%"), 1));
        self.0 = text.get(len..).unwrap_or_default();
        Some(part)
    }
}

/// Reads the placeholder at the start of `text`, which starts with `%`. Returns its length as well.
fn placeholder(text: &str) -> Option<(Part<'_>, usize)> {
    let after = text.get(1..)?;
    if let Some(name) = after.strip_prefix('!') {
        let (name, _) = name.split_once('!')?;
        let len = name.len() + 3;
        return Some((Part::Name { name, placeholder: text.get(..len)? }, len));
    }
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        let literal = match after.bytes().next()? {
            b'n' => "\n",
            b'r' => "\r",
            b't' => "\t",
            b'%' => "%",
            b'.' => ".",
            b' ' => " ",
            _ => return None,
        };
        return Some((Part::Text(literal), 2));
    }
    let index = after.get(..digits)?.parse().ok()?;
    let rest = after.get(digits..)?;
    let notation = rest.strip_prefix('!').and_then(|rest| rest.split_once('!')).map(|(notation, _)| notation);
    let len = 1 + digits + notation.map_or(0, |notation| notation.len() + 2);
    Some((Part::Argument { index, notation: notation.unwrap_or("s"), placeholder: text.get(..len)? }, len))
}

/// A conversion of `printf`: flags, width, precision, type.
#[derive(Default)]
struct Notation {
    is_left: bool,
    has_plus: bool,
    has_space: bool,
    is_alternate: bool,
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl Notation {
    fn parse(text: &str) -> Option<Self> {
        let mut notation = Self::default();
        let mut rest = text;
        while let Some(flag) = rest.chars().next() {
            match flag {
                '-' => notation.is_left = true,
                '+' => notation.has_plus = true,
                ' ' => notation.has_space = true,
                '#' => notation.is_alternate = true,
                '0' => notation.has_zeros = true,
                _ => break,
            }
            rest = rest.get(1..)?;
        }
        (notation.width, rest) = leading_number(rest);
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = leading_number(after);
            (notation.precision, rest) = (Some(precision), after);
        }
        // The size of an argument comes from its type.
        let sizes = ["I64", "I32", "hh", "ll", "h", "l", "L", "I", "w", "z", "j", "t"];
        let conversion = sizes.iter().find_map(|size| rest.strip_prefix(size)).unwrap_or(rest);
        let mut characters = conversion.chars();
        notation.conversion = characters.next()?;
        characters.next().is_none().then_some(notation)
    }

    /// Appends a value of `bits` bits. Values that do not fit the conversion are written as text.
    fn write(&self, value: Value<'_>, bits: u32, pointer_size: usize, out: &mut String) {
        let number = match value {
            Value::Int(number) => Some(number.cast_unsigned()),
            value => value.as_u64(),
        };
        let mask = u64::MAX >> 64_u32.saturating_sub(bits).min(63);
        let number = number.map(|number| number & mask);
        let prefix = |prefix| if self.is_alternate && number != Some(0) { prefix } else { "" };
        let formatted = match (self.conversion, number) {
            ('d' | 'i', Some(number)) => {
                let shift = 64_u32.saturating_sub(bits).min(63);
                let signed = (number << shift).cast_signed() >> shift;
                let sign = match (signed < 0, self.has_plus, self.has_space) {
                    (true, ..) => "-",
                    (false, true, _) => "+",
                    (false, false, true) => " ",
                    (false, false, false) => "",
                };
                Some((sign, signed.unsigned_abs().to_string()))
            }
            ('u' | 'U', Some(number)) => Some(("", number.to_string())),
            ('x', Some(number)) => Some((prefix("0x"), format!("{number:x}"))),
            ('X', Some(number)) => Some((prefix("0X"), format!("{number:X}"))),
            ('o', Some(number)) => Some((prefix("0"), format!("{number:o}"))),
            ('p' | 'P', Some(number)) => Some(("", format!("{number:0width$X}", width = pointer_size * 2))),
            _ => None,
        };
        if let Some((sign, digits)) = formatted {
            self.write_number(sign, &digits, out);
            return;
        }
        let text = match (self.conversion, value, number) {
            ('c' | 'C', _, Some(number)) => {
                let character = u32::try_from(number).ok().and_then(char::from_u32);
                character.unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
            }
            ('f' | 'F', Value::Double(number), _) => format!("{number:.*}", self.precision.unwrap_or(6)),
            (_, value, _) => value.to_string(),
        };
        match self.precision {
            Some(precision) if matches!(self.conversion, 's' | 'S') => {
                self.pad(&text.chars().take(precision).collect::<String>(), out);
            }
            _ => self.pad(&text, out),
        }
    }

    fn write_number(&self, sign: &str, digits: &str, out: &mut String) {
        let min_digits = match self.precision {
            Some(precision) => precision,
            None if self.has_zeros && !self.is_left => self.width.saturating_sub(sign.len()),
            None => 0,
        };
        self.pad(&format!("{sign}{digits:0>min_digits$}"), out);
    }

    fn pad(&self, text: &str, out: &mut String) {
        let width = self.width;
        // Writing to a `String` does not fail.
        let _ = if self.is_left { write!(out, "{text:<width$}") } else { write!(out, "{text:>width$}") };
    }
}

/// Splits a number from the start of `text`, reduced to [`MAX_WIDTH`]; 0 if there is none.
fn leading_number(text: &str) -> (usize, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let number = if number.is_empty() { 0 } else { number.parse().unwrap_or(MAX_WIDTH) };
    (number.min(MAX_WIDTH), rest)
}
