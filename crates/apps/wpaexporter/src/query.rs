//! WPA's query language for rows, e.g. `[Process]:="Idle (0)" OR NOT ([CPU]:<2 [Thread Name]:~="worker")`.
//!
//! Documented nowhere; read from the profiles that public programs use. Conditions that follow each other must all
//! hold, as with `AND`, which binds more tightly than `OR`. Texts are compared without case.

use regex_lite::Regex;

/// Maximum number of conditions, and of nested brackets.
const MAX_CONDITIONS: usize = 4096;
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug)]
pub struct Query(Expression);

#[derive(Clone, Debug)]
enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Condition { column: String, operator: Operator },
}

#[derive(Clone, Debug)]
enum Operator {
    Equal(String),
    NotEqual(String),
    Less(String),
    LessOrEqual(String),
    Greater(String),
    GreaterOrEqual(String),
    Contains(String),
    ContainsNot(String),
    StartsWith(String),
    EndsWith(String),
    Matches(Box<Regex>),
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// A sentence with the part that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text.trim_start(), conditions: 0 };
        let expression = parser.any(0)?;
        match parser.rest {
            "" => Ok(Self(expression)),
            rest => Err(format!("the query '{text}' is not understood at '{rest}'")),
        }
    }

    /// Returns the names of the columns in the query.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        let mut pending = vec![&self.0];
        while let Some(expression) = pending.pop() {
            match expression {
                Expression::All(parts) | Expression::Any(parts) => pending.extend(parts),
                Expression::Not(part) => pending.push(part),
                Expression::Condition { column, .. } => columns.push(column.as_str()),
            }
        }
        columns
    }

    /// True if the row matches. `text_of` returns the text of a column, and false conditions follow from `None`.
    pub fn matches(&self, text_of: &dyn Fn(&str) -> Option<String>) -> bool {
        self.0.matches(text_of)
    }
}

impl Expression {
    fn matches(&self, text_of: &dyn Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(text_of)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(text_of)),
            Self::Not(part) => !part.matches(text_of),
            Self::Condition { column, operator } => text_of(column).is_some_and(|text| operator.matches(&text)),
        }
    }
}

impl Operator {
    fn new(operator: &str, value: String) -> Result<Self, String> {
        Ok(match operator {
            "=" => Self::Equal(value),
            "<>" => Self::NotEqual(value),
            "<" => Self::Less(value),
            "<=" => Self::LessOrEqual(value),
            ">" => Self::Greater(value),
            ">=" => Self::GreaterOrEqual(value),
            "~=" => Self::Contains(value.to_lowercase()),
            "~!" => Self::ContainsNot(value.to_lowercase()),
            "~<" => Self::StartsWith(value.to_lowercase()),
            "~>" => Self::EndsWith(value.to_lowercase()),
            _ => {
                let regex = Regex::new(&format!("(?i){value}"))
                    .map_err(|error| format!("'{value}' is not a regular expression: {error}"))?;
                Self::Matches(Box::new(regex))
            }
        })
    }

    fn matches(&self, text: &str) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = |value: &str| compare(text, value);
        match self {
            Self::Equal(value) => order(value) == Equal,
            Self::NotEqual(value) => order(value) != Equal,
            Self::Less(value) => order(value) == Less,
            Self::LessOrEqual(value) => order(value) != Greater,
            Self::Greater(value) => order(value) == Greater,
            Self::GreaterOrEqual(value) => order(value) != Less,
            Self::Contains(value) => text.to_lowercase().contains(value),
            Self::ContainsNot(value) => !text.to_lowercase().contains(value),
            Self::StartsWith(value) => text.to_lowercase().starts_with(value),
            Self::EndsWith(value) => text.to_lowercase().ends_with(value),
            Self::Matches(regex) => regex.is_match(text),
        }
    }
}

/// Compares two values as numbers if both are numbers, otherwise as texts without case.
fn compare(text: &str, value: &str) -> std::cmp::Ordering {
    let number = |text: &str| -> Option<f64> {
        text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
            .then(|| text.replace(',', ""))?
            .parse()
            .ok()
    };
    match (number(text), number(value)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => text.to_lowercase().cmp(&value.to_lowercase()),
    }
}

struct Parser<'t> {
    rest: &'t str,
    conditions: usize,
}

impl Parser<'_> {
    fn any(&mut self, depth: usize) -> Result<Expression, String> {
        let mut parts = vec![self.all(depth)?];
        while self.take_word("OR") {
            parts.push(self.all(depth)?);
        }
        Ok(Expression::Any(parts))
    }

    fn all(&mut self, depth: usize) -> Result<Expression, String> {
        let mut parts = vec![self.part(depth)?];
        while !self.rest.is_empty() && !self.rest.starts_with(')') && !self.is_word("OR") {
            self.take_word("AND");
            parts.push(self.part(depth)?);
        }
        Ok(Expression::All(parts))
    }

    fn part(&mut self, depth: usize) -> Result<Expression, String> {
        if depth >= MAX_DEPTH || self.conditions >= MAX_CONDITIONS {
            return Err("the query is too long".to_owned());
        }
        if self.take_word("NOT") {
            return Ok(Expression::Not(Box::new(self.part(depth + 1)?)));
        }
        if self.take("(") {
            let inner = self.any(depth + 1)?;
            return if self.take(")") { Ok(inner) } else { Err("the query has a bracket without an end".to_owned()) };
        }
        self.condition()
    }

    fn condition(&mut self) -> Result<Expression, String> {
        self.conditions += 1;
        let not_understood = |rest: &str| format!("the query is not understood at '{rest}'");
        let rest = self.rest;
        let (column, after) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once("]:"),
            // A name without brackets has no spaces.
            None => rest.split_once(':').filter(|(name, _)| !name.is_empty() && !name.contains([' ', '"', '('])),
        }
        .ok_or_else(|| not_understood(rest))?;
        const OPERATORS: [&str; 11] = ["<>", "<=", ">=", "~=", "~!", "~<", "~>", "=", "<", ">", "*"];
        let operator = OPERATORS.into_iter().find(|operator| after.starts_with(operator));
        let operator = operator.ok_or_else(|| not_understood(after))?;
        let value = after.get(operator.len()..).unwrap_or_default();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("the query has a quote without an end")?,
            None => value.split_at(value.find([' ', ')']).unwrap_or(value.len())),
        };
        self.rest = after.trim_start();
        Ok(Expression::Condition { column: column.to_owned(), operator: Operator::new(operator, value.to_owned())? })
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.rest.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '(', '[']))
    }

    fn take_word(&mut self, word: &str) -> bool {
        self.is_word(word) && self.take(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(query: &str, row: &[(&str, &str)]) -> bool {
        let text_of = |name: &str| row.iter().find(|(column, _)| *column == name).map(|(_, text)| (*text).to_owned());
        Query::parse(query).unwrap().matches(&text_of)
    }

    #[test]
    fn published_queries_are_understood() {
        let idle = [("DPC/ISR", "Regular CPU Usage"), ("Process", "Idle (0)"), ("Thread ID", "0"), ("Count", "1")];
        let query = r#"[DPC/ISR]:="DPC" OR [DPC/ISR]:="ISR" OR [Process]:="Idle (0)""#;
        assert!(matches(query, &idle));
        assert!(!matches(query, &[("DPC/ISR", "Regular CPU Usage"), ("Process", "System (4)")]));
        assert!(matches(r#"([DPC/ISR]:="Regular CPU Usage" AND [Thread ID]:=0) OR Count:=0"#, &idle));
        let key = [("Provider Name", "Multi-Input"), ("Task Name", "Keyboard"), ("Field 2", "Ctrl+Alt+Win+F")];
        assert!(matches(r#"[Provider Name]:="Multi-Input" [Task Name]:="Keyboard" [Field 2]:~="Win+F""#, &key));
        assert!(!matches(r#"[Provider Name]:="Multi-Input" [Task Name]:="Mouse""#, &key));
        assert!(matches(r#"[Provider Name]:*"Multi-.*|Chrome.*""#, &key));
        assert!(matches(r#"NOT [Field 2]:~<"Correction""#, &key));
        assert!(matches("Lifetime:=Transient", &[("Lifetime", "Transient")]));
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let row = [("Size", "1,024"), ("CPU", "10")];
        assert!(matches("[Size]:>999", &row) && matches("[CPU]:>=10", &row));
        assert!(!matches(r#"[CPU]:<"9""#, &row));
        assert!(!matches("[Absent]:<>1", &row), "a column without a value matches nothing");
    }

    #[test]
    fn and_binds_more_tightly_than_or() {
        let row = [("a", "1"), ("b", "2")];
        assert!(matches("[a]:=1 OR [a]:=2 AND [b]:=3", &row));
        assert!(!matches("([a]:=1 OR [a]:=2) AND [b]:=3", &row));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "[a]", "[a]:=\"b", "([a]:=1", "[a]:=1)", "[a]:?1", "[a]:*\"(\"", &"(".repeat(10_000)] {
            assert!(Query::parse(text).is_err(), "{text}");
        }
    }
}
