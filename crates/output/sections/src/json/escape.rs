//! JSON with strings that are safe to display: in addition to what JSON requires, it escapes control characters and
//! bidirectional overrides. Parsers read the same strings.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::terminal::printable::is_unprintable;

/// Writes `value` on one line.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_compact<T: Serialize + ?Sized>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaping(CompactFormatter))).map_err(io::Error::from)
}

/// Writes `value` indented.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_indented<T: Serialize + ?Sized>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaping(PrettyFormatter::new()))).map_err(io::Error::from)
}

/// A formatter that also escapes unprintable characters.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Fast path: almost every text is plain ASCII.
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return writer.write_all(fragment.as_bytes());
        }
        let mut remaining = fragment;
        while let Some((offset, character)) = remaining.char_indices().find(|&(_, character)| is_unprintable(character))
        {
            let (unescaped, tail) = remaining.split_at(offset);
            // All of these characters are in the Basic Multilingual Plane: one UTF-16 unit each.
            write!(writer, "{unescaped}\\u{:04x}", u32::from(character))?;
            remaining = tail.get(character.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(remaining.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compact(text: &str) -> String {
        let mut out = Vec::new();
        write_compact(text, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_unprintable_characters_losslessly() {
        // A C1 control sequence introducer, DEL, a directional override, the Arabic letter mark.
        for (text, written) in [
            ("\u{9b}31m", "\"\\u009b31m\""),
            ("a\u{7f}b", "\"a\\u007fb\""),
            ("exe.\u{202e}gpj", "\"exe.\\u202egpj\""),
            ("\u{61c}\u{2066}x\u{2069}\u{2028}", "\"\\u061c\\u2066x\\u2069\\u2028\""),
            ("\u{1b}[2J", "\"\\u001b[2J\""),
            ("Gerät 装置 🙂 \"q\"", "\"Gerät 装置 🙂 \\\"q\\\"\""),
        ] {
            assert_eq!(compact(text), written);
            assert_eq!(serde_json::from_str::<String>(written).unwrap(), text);
        }
    }

    #[test]
    fn matches_layout_of_serde_json() {
        let value = serde_json::json!({"a": [1, {"b": null}, []], "c": {}, "d": "x"});
        let mut out = Vec::new();
        write_indented(&value, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        let mut out = Vec::new();
        write_compact(&value, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&value).unwrap());
    }
}
