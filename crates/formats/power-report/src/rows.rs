//! The table rows of a page, and the tags between them.

use crate::tables::{Node, Nodes, Tag, nodes, push_unescaped};

/// Maximum number of cells in a row; the reports have up to 12.
const MAX_CELLS: usize = 64;

/// A cell of a table row.
#[derive(Debug, Default)]
pub(crate) struct Cell<'p> {
    pub(crate) class: &'p str,
    pub(crate) text: String,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(crate) struct Row<'p> {
    /// The tag that opens the row.
    pub(crate) tag: Tag<'p>,
    pub(crate) cells: Vec<Cell<'p>>,
}

impl<'p> Row<'p> {
    /// Returns the text of the first cell with this class.
    pub(crate) fn text_of(&self, class: &str) -> Option<&str> {
        self.cells.iter().find(|cell| cell.class == class).map(|cell| cell.text.trim())
    }

    /// Returns the value of a row of two cells whose first is a label.
    pub(crate) fn labeled_value(&self) -> Option<&str> {
        let [label, value] = &self.cells[..] else { return None };
        (label.class == "label").then_some(value.text.trim())
    }

    /// True if the row has this CSS class.
    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.tag.attribute("class").is_some_and(|classes| classes.split_whitespace().any(|name| name == class))
    }
}

/// A part of a page.
pub(crate) enum Part<'p> {
    /// An opening tag, except of a row, a cell or a heading.
    Tag(Tag<'p>),
    /// Text of a heading of the first level.
    Heading(String),
    Row(Row<'p>),
}

/// The parts of a page, in order.
pub(crate) struct Parts<'p> {
    nodes: Nodes<'p>,
    row: Row<'p>,
    is_in_cell: bool,
    heading: Option<String>,
}

pub(crate) fn parts(page: &str) -> Parts<'_> {
    Parts { nodes: nodes(page), row: Row::default(), is_in_cell: false, heading: None }
}

impl<'p> Iterator for Parts<'p> {
    type Item = Part<'p>;

    fn next(&mut self) -> Option<Part<'p>> {
        loop {
            match self.nodes.next()? {
                Node::Open(tag) if tag.name == "tr" => {
                    self.row = Row { tag, cells: Vec::new() };
                    (self.is_in_cell, self.heading) = (false, None);
                }
                Node::Open(tag) if tag.name == "td" => {
                    self.is_in_cell = self.row.cells.len() < MAX_CELLS;
                    if self.is_in_cell {
                        let class = tag.attribute("class").unwrap_or_default();
                        self.row.cells.push(Cell { class, text: String::new() });
                    }
                }
                Node::Open(tag) if tag.name == "h1" => self.heading = Some(String::new()),
                Node::Open(tag) => return Some(Part::Tag(tag)),
                Node::Text(text) => {
                    if let Some(heading) = &mut self.heading {
                        push_unescaped(heading, text);
                    } else if self.is_in_cell
                        && let Some(cell) = self.row.cells.last_mut()
                    {
                        push_unescaped(&mut cell.text, text);
                    }
                }
                Node::Close("h1") => {
                    if let Some(heading) = self.heading.take() {
                        return Some(Part::Heading(heading));
                    }
                }
                Node::Close("td") => self.is_in_cell = false,
                Node::Close("tr") => {
                    self.is_in_cell = false;
                    return Some(Part::Row(std::mem::take(&mut self.row)));
                }
                Node::Close(_) => {}
            }
        }
    }
}
