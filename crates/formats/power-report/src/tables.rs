//! A tolerant scanner for the tags and texts of a page. Scripts and styles are skipped.

/// A tag or a text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node<'p> {
    Open(Tag<'p>),
    /// Name of the closed element.
    Close(&'p str),
    Text(&'p str),
}

/// An opening tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag<'p> {
    pub(crate) name: &'p str,
    attributes: &'p str,
}

impl<'p> Tag<'p> {
    /// Returns the value of an attribute in double quotes, as written.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'p str> {
        self.attributes.match_indices(name).find_map(|(start, _)| {
            let before = self.attributes.get(..start)?;
            if !before.is_empty() && !before.ends_with(|last: char| last.is_whitespace()) {
                return None;
            }
            let value = self.attributes.get(start + name.len()..)?.strip_prefix("=\"")?;
            value.split('"').next()
        })
    }
}

/// The nodes of a page, in order.
pub(crate) struct Nodes<'p> {
    rest: &'p str,
}

pub(crate) fn nodes(page: &str) -> Nodes<'_> {
    Nodes { rest: page }
}

impl<'p> Nodes<'p> {
    /// Takes up to `length` bytes.
    fn take(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Skips the content of a script or style.
    fn skip_to(&mut self, end: &str) {
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        self.take(length);
    }
}

impl<'p> Iterator for Nodes<'p> {
    type Item = Node<'p>;

    fn next(&mut self) -> Option<Node<'p>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if !self.rest.starts_with('<') {
                let length = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Node::Text(self.take(length)));
            }
            if self.rest.starts_with("<!--") {
                self.skip_to("-->");
                self.take("-->".len());
                continue;
            }
            let length = tag_length(self.rest);
            let tag = self.take(length).trim_start_matches('<').trim_end_matches('>').trim_end_matches('/');
            if let Some(name) = tag.strip_prefix('/') {
                return Some(Node::Close(name.trim()));
            }
            let (name, attributes) = tag.split_once(|character: char| character.is_whitespace()).unwrap_or((tag, ""));
            match name {
                "script" => self.skip_to("</script"),
                "style" => self.skip_to("</style"),
                _ => {}
            }
            return Some(Node::Open(Tag { name, attributes }));
        }
    }
}

/// Returns the length of the tag at the start of `text`. Quoted values may contain `>`.
fn tag_length(text: &str) -> usize {
    let mut is_quoted = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'>' if !is_quoted => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Appends a text with the entities that XML predefines and character numbers resolved.
pub(crate) fn push_unescaped(target: &mut String, text: &str) {
    let mut parts = text.split('&');
    target.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let character = part.split_once(';').and_then(|(name, rest)| Some((entity(name)?, rest)));
        match character {
            Some((character, rest)) => {
                target.push(character);
                target.push_str(rest);
            }
            None => {
                target.push('&');
                target.push_str(part);
            }
        }
    }
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_texts_and_scripts() {
        let page = "<!-- a > b --><td class=\"date time\" title=\"1>0\">x<br/></td><script>if (a<b) {}</script>end";
        let nodes: Vec<Node<'_>> = nodes(page).collect();
        let [
            Node::Open(cell),
            Node::Text("x"),
            Node::Open(_),
            Node::Close("td"),
            Node::Open(_),
            Node::Close("script"),
            Node::Text("end"),
        ] = nodes[..]
        else {
            panic!("{nodes:?}");
        };
        assert_eq!(
            (cell.name, cell.attribute("class"), cell.attribute("title")),
            ("td", Some("date time"), Some("1>0"))
        );
        assert_eq!(cell.attribute("lass"), None);
        let mut text = String::new();
        push_unescaped(&mut text, "R&amp;D &#228;&#x41; &unknown; &");
        assert_eq!(text, "R&D äA &unknown; &");
    }
}
