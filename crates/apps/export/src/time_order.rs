//! Sorts the rows of a table by time.

use onoff::trace::TableView;
use onoff::trace::column::{Column, Meaning};

/// Position of a row: chunk number and row number in the chunk.
pub(crate) type Position = (usize, usize);

/// The time column to sort a table by, and the resulting order. Rows without a time come first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeOrder {
    /// Column number; `None` for a table without times.
    pub(crate) column: Option<usize>,
    /// Rows in order; `None` if they are already sorted.
    pub(crate) rows: Option<Vec<Position>>,
}

impl TimeOrder {
    /// Determines the order of `view`: by a time column that is already sorted if there is one; otherwise by the time, the start or
    /// the end, whichever exists first.
    pub(crate) fn of(view: &TableView<'_>) -> Self {
        let Some(declaration) = view.declaration() else { return Self::default() };
        let of_meaning = |meaning| declaration.columns.iter().position(move |column| column.meaning == meaning);
        let candidates: Vec<usize> =
            [Meaning::Time, Meaning::Start, Meaning::End].into_iter().filter_map(of_meaning).collect();
        let chunks: Vec<Vec<Column<'_>>> = view.pieces().iter().map(|chunk| chunk.columns()).collect();
        let times = |column: usize| chunks.iter().filter_map(move |chunk| chunk.get(column));
        let cells =
            |column: usize| times(column).flat_map(|cells| (0..cells.rows()).map(move |row| cells.nanoseconds(row)));
        // `None` sorts before every time.
        if let Some(&column) =
            candidates.iter().find(|&&column| cells(column).any(|time| time.is_some()) && cells(column).is_sorted())
        {
            return Self { column: Some(column), rows: None };
        }
        let Some(column) = candidates.into_iter().find(|&column| cells(column).any(|time| time.is_some())) else {
            return Self::default();
        };
        let mut rows: Vec<(Option<i64>, Position)> = times(column)
            .enumerate()
            .flat_map(|(chunk, cells)| (0..cells.rows()).map(move |row| (cells.nanoseconds(row), (chunk, row))))
            .collect();
        // Rows with equal times keep their order, because the position is part of the key.
        rows.sort();
        Self { column: Some(column), rows: Some(rows.into_iter().map(|(_, position)| position).collect()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use onoff::trace::{Milestone, StringId, TableName, Trace};

    use super::*;

    fn milestone(time_ns: i64) -> Milestone {
        let none = StringId::EMPTY;
        Milestone { time_ns, name: none, detail: none, value: None, pid: None, tid: None, event: none }
    }

    fn milestones(times: &[i64]) -> TimeOrder {
        let trace = Trace { milestones: times.iter().copied().map(milestone).collect(), ..Trace::default() };
        TimeOrder::of(&trace.table(TableName::Milestones))
    }

    #[test]
    fn sorts_by_time_and_keeps_order_of_equal_times() {
        assert_eq!(milestones(&[1, 2, 2, 9]).rows, None);
        assert_eq!(milestones(&[5, 1, 5, 3]).rows, Some(vec![(0, 1), (0, 3), (0, 0), (0, 2)]));
        assert_eq!(milestones(&[]), TimeOrder::default());
    }
}
