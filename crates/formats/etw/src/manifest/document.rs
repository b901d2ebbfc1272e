//! Parses the XML of a manifest into elements with names, attributes and positions. Text between elements is ignored,
//! because manifests have no such content.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ManifestError;

/// Maximum number of elements and attributes of a manifest. The largest one of Windows has about 60,000.
const MAX_NODES: usize = 2_000_000;

/// The elements of a manifest in document order.
pub(super) struct Document<'x> {
    xml: &'x str,
    elements: Vec<Element>,
}

struct Element {
    /// Name without the namespace prefix, which is optional in manifests.
    name: String,
    attributes: Vec<(String, String)>,
    /// Byte offset of the start tag.
    offset: usize,
    /// Index after the last descendant.
    end: usize,
}

/// An element of a document.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    document: &'a Document<'a>,
    index: usize,
}

impl<'x> Document<'x> {
    pub(super) fn parse(xml: &'x str) -> Result<Self, ManifestError> {
        let mut document = Self { xml, elements: Vec::new() };
        let mut reader = Reader::from_str(xml);
        // Indices of the open elements.
        let mut open: Vec<usize> = Vec::new();
        let mut nodes = 0_usize;
        loop {
            let offset = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let error_here = |message: String| ManifestError::at_offset(xml, offset, message);
            match reader.read_event().map_err(|error| error_here(error.to_string()))? {
                Event::Start(element) => {
                    open.push(document.elements.len());
                    nodes = nodes.saturating_add(document.add(&element, offset)?);
                }
                Event::Empty(element) => nodes = nodes.saturating_add(document.add(&element, offset)?),
                // The reader checks that tags match.
                Event::End(_) => {
                    let end = document.elements.len();
                    if let Some(element) = open.pop().and_then(|index| document.elements.get_mut(index)) {
                        element.end = end;
                    }
                }
                Event::DocType(_) => return Err(error_here("unexpected document type".to_owned())),
                Event::Eof => break,
                _ => {}
            }
            if nodes > MAX_NODES {
                return Err(error_here(format!("more than {MAX_NODES} elements and attributes")));
            }
        }
        if let Some(unclosed) = open.pop().and_then(|index| document.elements.get(index)) {
            let message = format!("{} is not closed", unclosed.name);
            return Err(ManifestError::at_offset(xml, unclosed.offset, message));
        }
        if document.elements.is_empty() {
            return Err(ManifestError::at_offset(xml, 0, "no elements"));
        }
        Ok(document)
    }

    /// Adds an element. Returns the number of added nodes: 1 plus the number of attributes.
    fn add(&mut self, element: &BytesStart<'_>, offset: usize) -> Result<usize, ManifestError> {
        let mut attributes: Vec<(String, String)> = Vec::new();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| ManifestError::at_offset(self.xml, offset, error.to_string()))?;
            let key: &str = attribute.key.as_ref();
            // Line breaks in attribute values are normalized to spaces, as XML requires.
            let raw = attribute.value.replace("\r\n", " ").replace(['\r', '\n', '\t'], " ");
            let value = quick_xml::escape::unescape(&raw)
                .map_err(|error| ManifestError::at_offset(self.xml, offset, format!("{key}: {error}")))?;
            attributes.push((key.to_owned(), value.into_owned()));
        }
        let nodes = attributes.len().saturating_add(1);
        let end = self.elements.len().saturating_add(1);
        let name: String = element.local_name().as_ref().to_owned();
        self.elements.push(Element { name, attributes, offset, end });
        Ok(nodes)
    }

    /// Iterates over all elements in document order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.elements.len()).map(|index| Node { document: self, index })
    }
}

impl<'a> Node<'a> {
    fn element(self) -> Option<&'a Element> {
        self.document.elements.get(self.index)
    }

    /// Returns the name without prefix.
    pub(super) fn name(self) -> &'a str {
        self.element().map_or("", |element| &element.name)
    }

    /// True if the element has this name, with any prefix.
    pub(super) fn is_named(self, name: &str) -> bool {
        self.name() == name
    }

    pub(super) fn attribute(self, name: &str) -> Option<&'a str> {
        let (_, value) = self.element()?.attributes.iter().find(|(key, _)| key == name)?;
        Some(value)
    }

    /// Returns an attribute, or an error if it is missing.
    pub(super) fn required_attribute(self, name: &str) -> Result<&'a str, ManifestError> {
        self.attribute(name).ok_or_else(|| self.error(format!("{} has no attribute {name}", self.name())))
    }

    /// Iterates over the child elements.
    pub(super) fn children(self) -> impl Iterator<Item = Node<'a>> {
        let document = self.document;
        let end = self.element().map_or(0, |element| element.end);
        let mut next = self.index.saturating_add(1);
        std::iter::from_fn(move || {
            let index = Some(next).filter(|&index| index < end)?;
            next = document.elements.get(index)?.end;
            Some(Node { document, index })
        })
    }

    /// Returns the first child element with this name.
    pub(super) fn child(self, name: &str) -> Option<Node<'a>> {
        self.children().find(|child| child.is_named(name))
    }

    /// Iterates over the descendants.
    pub(super) fn descendants(self) -> impl Iterator<Item = Node<'a>> {
        let document = self.document;
        let end = self.element().map_or(0, |element| element.end);
        (self.index.saturating_add(1)..end).map(move |index| Node { document, index })
    }

    /// Creates an error at the position of the element.
    pub(super) fn error(self, message: impl Into<String>) -> ManifestError {
        ManifestError::at_offset(self.document.xml, self.element().map_or(0, |element| element.offset), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_direct_descendants() {
        let document = Document::parse("<a><b x='1&lt;2\n3'><c/></b><p:d/></a>").unwrap();
        let root = document.nodes().next().unwrap();
        let names = |nodes: Vec<Node<'_>>| nodes.into_iter().map(|node| node.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(root.children().collect()), ["b", "d"]);
        assert_eq!(names(root.descendants().collect()), ["b", "c", "d"]);
        assert_eq!(root.child("b").and_then(|b| b.attribute("x")), Some("1<2 3"));
        assert_eq!(document.nodes().count(), 4);
    }

    #[test]
    fn rejects_invalid_documents_with_position() {
        for (xml, line, column) in
            [("", 1, 1), ("text", 1, 1), ("<a>\n <b>", 2, 2), ("<a>\n</b>", 2, 1), ("<a x='&no;'/>", 1, 1)]
        {
            let error = Document::parse(xml).err().unwrap();
            assert_eq!((error.line, error.column), (line, column), "{xml:?}: {error}");
        }
        assert!(Document::parse("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>").is_err());
    }
}
