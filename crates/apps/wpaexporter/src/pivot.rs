//! Groups the rows of a graph by its key columns, aggregates the other columns, and returns the lines of the file.
//!
//! WPA exports what its table shows: one line for each value of the first key, and below it the lines of the groups
//! that the preset expands. A group whose members all have the same next key is one line with it. Without keys, every
//! row is a line.

use hashbrown::{HashMap, HashSet};

use crate::cell::Cell;
use crate::profile::Sort;
use crate::query::Query;

/// Maximum number of rows and groups that are kept in memory.
pub const MAX_ROWS: usize = 1 << 22;

/// How a column is aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Shown only if the group has one row.
    None,
    Sum,
    /// Number of values.
    Count,
    Min,
    Max,
    Average,
    UniqueCount,
}

impl Aggregation {
    /// Parses the name in a profile; `None` for one that is not supported.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "None" => Self::None,
            "Sum" => Self::Sum,
            "Count" => Self::Count,
            "Min" => Self::Min,
            "Max" => Self::Max,
            "Average" => Self::Average,
            "UniqueCount" => Self::UniqueCount,
            _ => return None,
        })
    }
}

/// A visible column.
#[derive(Clone, Debug)]
pub struct PivotColumn {
    /// Name without a unit, for queries.
    pub name: String,
    pub is_key: bool,
    pub aggregation: Aggregation,
    pub sort: Option<Sort>,
    pub format: String,
}

/// More rows or groups than [`MAX_ROWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRows;

/// State of an aggregated column of a group.
#[derive(Clone, Debug)]
enum Total {
    Value(Cell),
    Count(i64),
    Average { sum: f64, count: u64, like: Cell },
    Unique { seen: HashSet<Cell>, only: Cell },
}

impl Total {
    fn new(aggregation: Aggregation) -> Self {
        match aggregation {
            Aggregation::Count => Self::Count(0),
            Aggregation::Average => Self::Average { sum: 0.0, count: 0, like: Cell::Empty },
            Aggregation::UniqueCount => Self::Unique { seen: HashSet::new(), only: Cell::Empty },
            _ => Self::Value(Cell::Empty),
        }
    }

    fn add(&mut self, aggregation: Aggregation, cell: &Cell, is_first: bool) {
        if cell.is_empty() {
            return;
        }
        match self {
            Self::Count(count) => *count += 1,
            Self::Average { sum, count, like } => {
                if let Some(value) = cell.as_f64() {
                    *sum += value;
                    *count += 1;
                }
                *like = cell.clone();
            }
            Self::Unique { seen, only } => {
                if seen.insert(cell.clone()) {
                    *only = cell.clone();
                }
            }
            Self::Value(value) => match aggregation {
                Aggregation::Sum => value.add(cell),
                Aggregation::Min if value.is_empty() || cell.order(value).is_lt() => *value = cell.clone(),
                Aggregation::Max if value.is_empty() || cell.order(value).is_gt() => *value = cell.clone(),
                Aggregation::None if is_first => *value = cell.clone(),
                _ => {}
            },
        }
    }

    fn result(&self, aggregation: Aggregation, rows: u64) -> Cell {
        match self {
            Self::Value(_) if aggregation == Aggregation::None && rows != 1 => Cell::Empty,
            Self::Value(value) => value.clone(),
            Self::Count(count) => Cell::Number(*count),
            Self::Average { count: 0, like, .. } if rows == 1 => like.clone(),
            Self::Average { count: 0, .. } => Cell::Empty,
            Self::Average { sum, count, like } => like.with_f64(sum / *count as f64),
            Self::Unique { only, .. } if rows == 1 => only.clone(),
            Self::Unique { seen, .. } => Cell::Number(i64::try_from(seen.len()).unwrap_or(i64::MAX)),
        }
    }
}

#[derive(Debug)]
struct Group {
    /// Value of the key at the group's depth.
    key: Cell,
    rows: u64,
    totals: Vec<Total>,
    children: Vec<usize>,
    /// Rows of a group of the last key, if groups can be expanded.
    members: Vec<Box<[Cell]>>,
}

/// Collects rows.
pub struct Pivot {
    columns: Vec<PivotColumn>,
    /// Indexes of the key columns.
    keys: Vec<usize>,
    expansion: Option<Query>,
    groups: Vec<Group>,
    by_key: HashMap<(usize, Cell), usize>,
    /// Rows without keys.
    rows: Vec<Box<[Cell]>>,
    kept: usize,
}

/// Index of the group that contains all others.
const ROOT: usize = 0;

impl Pivot {
    pub fn new(columns: Vec<PivotColumn>, expansion: Option<Query>) -> Self {
        let keys = (0..columns.len()).filter(|&index| columns[index].is_key).collect();
        let root = Group { key: Cell::Empty, rows: 0, totals: Vec::new(), children: Vec::new(), members: Vec::new() };
        Self { columns, keys, expansion, groups: vec![root], by_key: HashMap::new(), rows: Vec::new(), kept: 0 }
    }

    /// Adds a row, with a cell for each visible column.
    ///
    /// # Errors
    /// There are too many rows or groups.
    pub fn add(&mut self, row: &[Cell]) -> Result<(), TooManyRows> {
        if self.keys.is_empty() {
            self.keep()?;
            self.rows.push(row.into());
            return Ok(());
        }
        let mut parent = ROOT;
        for depth in 0..self.keys.len() {
            let key = row.get(self.keys[depth]).cloned().unwrap_or_default();
            let group = match self.by_key.get(&(parent, key.clone())) {
                Some(&group) => group,
                None => {
                    self.keep()?;
                    let group = self.groups.len();
                    let totals = self.columns.iter().map(|column| Total::new(column.aggregation)).collect();
                    let (children, members) = (Vec::new(), Vec::new());
                    self.groups.push(Group { key: key.clone(), rows: 0, totals, children, members });
                    self.groups[parent].children.push(group);
                    self.by_key.insert((parent, key), group);
                    group
                }
            };
            let Group { rows, totals, .. } = &mut self.groups[group];
            for ((total, column), cell) in totals.iter_mut().zip(&self.columns).zip(row) {
                total.add(column.aggregation, cell, *rows == 0);
            }
            *rows += 1;
            parent = group;
        }
        if self.expansion.is_some() {
            self.keep()?;
            self.groups[parent].members.push(row.into());
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), TooManyRows> {
        self.kept += 1;
        if self.kept > MAX_ROWS { Err(TooManyRows) } else { Ok(()) }
    }

    /// Returns the lines of the file.
    pub fn finish(mut self) -> Vec<Vec<Cell>> {
        if self.keys.is_empty() {
            let mut rows = std::mem::take(&mut self.rows);
            self.sort_rows(&mut rows);
            return rows.into_iter().map(<[Cell]>::into_vec).collect();
        }
        let mut lines = Vec::new();
        // Groups to write, last first, with the keys of the groups around them.
        let mut pending: Vec<(usize, Vec<Cell>)> = Vec::new();
        self.push_children(ROOT, &[], &mut pending);
        while let Some((mut group, mut keys)) = pending.pop() {
            keys.push(self.groups[group].key.clone());
            // A group with one member is one line with it.
            while let [child] = self.groups[group].children[..] {
                group = child;
                keys.push(self.groups[group].key.clone());
            }
            lines.push(self.line(group, &keys));
            if self.groups[group].rows < 2 || !self.is_expanded(group, &keys) {
                continue;
            }
            if self.groups[group].children.is_empty() {
                let mut rows = std::mem::take(&mut self.groups[group].members);
                self.sort_rows(&mut rows);
                lines.extend(rows.into_iter().map(<[Cell]>::into_vec));
            } else {
                self.push_children(group, &keys, &mut pending);
            }
        }
        lines
    }

    fn push_children(&self, group: usize, keys: &[Cell], pending: &mut Vec<(usize, Vec<Cell>)>) {
        let mut children = self.groups[group].children.clone();
        let sorts = self.sorts();
        let lines: HashMap<usize, Vec<Cell>> = match sorts.is_empty() {
            true => HashMap::new(),
            false => children
                .iter()
                .map(|&child| {
                    let keys: Vec<Cell> = keys.iter().chain([&self.groups[child].key]).cloned().collect();
                    (child, self.line(child, &keys))
                })
                .collect(),
        };
        children.sort_by(|a, b| match (lines.get(a), lines.get(b)) {
            (Some(a), Some(b)) => order(&sorts, a, b),
            _ => std::cmp::Ordering::Equal,
        });
        pending.extend(children.into_iter().rev().map(|child| (child, keys.to_vec())));
    }

    /// Returns the line of a group: its keys, the keys of the groups around it, and the totals.
    fn line(&self, group: usize, keys: &[Cell]) -> Vec<Cell> {
        let Group { rows, totals, .. } = &self.groups[group];
        let mut keys = keys.iter();
        let cells = self.columns.iter().zip(totals);
        cells
            .map(|(column, total)| match column.is_key {
                true => keys.next().cloned().unwrap_or_default(),
                false => total.result(column.aggregation, *rows),
            })
            .collect()
    }

    /// True if the group, or a group in it, matches the expansion query.
    fn is_expanded(&self, group: usize, keys: &[Cell]) -> bool {
        let Some(query) = &self.expansion else { return false };
        let mut pending = vec![(group, keys.to_vec())];
        while let Some((group, keys)) = pending.pop() {
            let text_of = |name: &str| -> Option<String> {
                match name {
                    "Series Depth" => Some(keys.len().to_string()),
                    "Series Name" => Some(self.columns[self.keys[keys.len().checked_sub(1)?]].name.clone()),
                    name => {
                        let depth = self.keys.iter().position(|&key| self.columns[key].name == name)?;
                        keys.get(depth).map(|key| key.format(&self.columns[self.keys[depth]].format))
                    }
                }
            };
            if query.matches(&text_of) {
                return true;
            }
            for &child in &self.groups[group].children {
                let mut keys = keys.clone();
                keys.push(self.groups[child].key.clone());
                pending.push((child, keys));
            }
        }
        false
    }

    /// Returns the columns to sort by, most important first.
    fn sorts(&self) -> Vec<(usize, bool)> {
        let mut sorts: Vec<(i32, usize, bool)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| column.sort.map(|sort| (sort.priority, index, sort.is_descending)))
            .collect();
        sorts.sort_unstable();
        sorts.into_iter().map(|(_, index, is_descending)| (index, is_descending)).collect()
    }

    fn sort_rows(&self, rows: &mut [Box<[Cell]>]) {
        let sorts = self.sorts();
        rows.sort_by(|a, b| order(&sorts, a, b));
    }
}

fn order(sorts: &[(usize, bool)], a: &[Cell], b: &[Cell]) -> std::cmp::Ordering {
    let orders = sorts.iter().map(|&(index, is_descending)| {
        let order = match (a.get(index), b.get(index)) {
            (Some(a), Some(b)) => a.order(b),
            _ => std::cmp::Ordering::Equal,
        };
        if is_descending { order.reverse() } else { order }
    });
    orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, is_key: bool, aggregation: Aggregation) -> PivotColumn {
        PivotColumn { name: name.to_owned(), is_key, aggregation, sort: None, format: String::new() }
    }

    /// Processes, threads, counts and times of five rows.
    fn lines(expansion: Option<&str>, keys: usize) -> Vec<String> {
        let descending = Some(Sort { priority: 0, is_descending: true });
        let columns = vec![
            column("Process", keys > 0, Aggregation::None),
            column("Thread", keys > 1, Aggregation::None),
            column("Count", false, Aggregation::Sum),
            PivotColumn { sort: descending, ..column("Time", false, Aggregation::Max) },
        ];
        let mut pivot = Pivot::new(columns, expansion.map(|query| Query::parse(query).unwrap()));
        for (process, thread, time) in [("a", 1, 10), ("b", 7, 50), ("a", 2, 30), ("a", 1, 20), ("c", 9, 5)] {
            pivot.add(&[Cell::text(process), Cell::Number(thread), Cell::Number(1), Cell::Number(time)]).unwrap();
        }
        let text = |line: Vec<Cell>| line.iter().map(|cell| cell.format("")).collect::<Vec<_>>().join(",");
        pivot.finish().into_iter().map(text).collect()
    }

    #[test]
    fn without_keys_every_row_is_a_line() {
        assert_eq!(lines(None, 0), ["b,7,1,50", "a,2,1,30", "a,1,1,20", "a,1,1,10", "c,9,1,5"]);
    }

    #[test]
    fn groups_are_aggregated_and_sorted() {
        assert_eq!(lines(None, 1), ["b,7,1,50", "a,,3,30", "c,9,1,5"]);
        assert_eq!(lines(None, 2), ["b,7,1,50", "a,,3,30", "c,9,1,5"]);
    }

    #[test]
    fn expanded_groups_repeat_the_keys_around_them() {
        let by_thread = ["b,7,1,50", "a,,3,30", "a,2,1,30", "a,1,2,20", "c,9,1,5"];
        assert_eq!(lines(Some(r#"[Series Name]:="Process""#), 2), by_thread);
        let all = ["b,7,1,50", "a,,3,30", "a,2,1,30", "a,1,2,20", "a,1,1,20", "a,1,1,10", "c,9,1,5"];
        assert_eq!(lines(Some("[Series Depth]:<=2"), 2), all);
        assert_eq!(lines(Some("[Thread]:=1"), 2), all, "the groups around a match are expanded too");
        assert_eq!(lines(Some("[Thread]:=3"), 2), lines(None, 2));
    }

    #[test]
    fn every_aggregation() {
        let all =
            ["", "Sum", "Count", "Min", "Max", "Average", "UniqueCount"].map(|name| Aggregation::named(name).unwrap());
        let mut columns = vec![column("Key", true, Aggregation::None)];
        columns.extend(all.map(|aggregation| column("x", false, aggregation)));
        let mut pivot = Pivot::new(columns, None);
        for value in [4, 4, 1] {
            let mut row = vec![Cell::text("k")];
            row.extend(std::iter::repeat_n(Cell::Number(value), all.len()));
            pivot.add(&row).unwrap();
        }
        let line: Vec<String> = pivot.finish()[0].iter().map(|cell| cell.format("")).collect();
        assert_eq!(line, ["k", "", "9", "3", "1", "4", "3", "2"]);
        assert_eq!(Aggregation::named("Peak"), None);
    }
}
