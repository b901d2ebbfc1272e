//! JavaScript object literals as JSON. The reports quote some texts with apostrophes, which JSON does not allow.

/// Finds the object that a script assigns to the variable `name`, and returns its byte offset.
pub(crate) fn find(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).find_map(|(start, _)| {
        let value = text.get(start..)?.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim_start();
        value.starts_with('{').then_some(text.len() - value.len())
    })
}

/// Rewrites the literal at the start of `text` as JSON, up to its closing brace.
///
/// # Errors
/// The offset in `text` at which the literal is cut off.
pub(crate) fn to_json(text: &str) -> Result<String, usize> {
    let mut json = String::new();
    let mut depth = 0_usize;
    let mut characters = text.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        match character {
            '"' | '\'' => push_text(&mut json, character, &mut characters).ok_or(text.len())?,
            '{' | '[' => {
                depth += 1;
                json.push(character);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                // A literal may have a comma after its last item.
                if json.ends_with(',') {
                    json.pop();
                }
                json.push(character);
                if depth == 0 {
                    return Ok(json);
                }
            }
            _ if character.is_whitespace() => {}
            _ if character.is_ascii_alphanumeric() || matches!(character, '-' | '+' | '.' | '_' | '$') => {
                let mut end = start + character.len_utf8();
                while let Some(&(_, next)) = characters.peek()
                    && (next.is_ascii_alphanumeric() || matches!(next, '-' | '+' | '.' | '_' | '$'))
                {
                    end += next.len_utf8();
                    characters.next();
                }
                push_word(&mut json, text.get(start..end).unwrap_or_default());
            }
            other => json.push(other),
        }
    }
    Err(text.len())
}

/// Appends a number or constant. Constants that JSON does not have, such as `NaN`, become `null`.
fn push_word(json: &mut String, word: &str) {
    let is_number = word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    json.push_str(if is_number || matches!(word, "true" | "false" | "null") { word } else { "null" });
}

/// Appends a text up to its closing `quote`; `None` if it does not end.
fn push_text(
    json: &mut String,
    quote: char,
    characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
) -> Option<()> {
    json.push('"');
    loop {
        match characters.next()?.1 {
            end if end == quote => break,
            '\\' => match characters.next()?.1 {
                escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u') => json.extend(['\\', escaped]),
                // Other escaped characters stand for themselves.
                plain => json.push(plain),
            },
            '"' => json.push_str("\\\""),
            control if control < ' ' => json.push(' '),
            plain => json.push(plain),
        }
    }
    json.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_json() {
        let text = r#"var Data = {"a": '0x0', "b": [1, -2.5e3, NaN, true,], "c": "it's \"x\" \'y\' \u00e4", "d": 'a"b',};
            var Other = {};"#;
        let json = to_json(&text[find(text, "Data").unwrap()..]).unwrap();
        assert_eq!(json, r#"{"a":"0x0","b":[1,-2.5e3,null,true],"c":"it's \"x\" 'y' \u00e4","d":"a\"b"}"#);
    }

    #[test]
    fn a_literal_that_is_cut_off_is_an_error() {
        for text in ["{", "{\"a\": [1, 2", "{\"a", "{'a\\", ""] {
            assert_eq!(to_json(text), Err(text.len()), "{text}");
        }
        assert_eq!(find("LocalSprData holds { the data }", "LocalSprData"), None, "prose");
    }
}
