//! The order of a table's rows in time.

use onoff::trace::TableView;
use onoff::trace::column::{Column, Meaning};

/// Where a row is: the number of its piece, and of the row in it.
pub(crate) type Place = (usize, usize);

/// By which column a table's rows follow each other in time, rows without that time first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeOrder {
    /// The column's number; `None` for a table without times.
    pub(crate) column: Option<usize>,
    /// The rows in that order; `None` where they are so already.
    pub(crate) rows: Option<Vec<Place>>,
}

impl TimeOrder {
    /// That of `view`: by a column that its rows follow already if there is one, so that nothing is moved; else by its moment, or
    /// else its start, or else its end.
    pub(crate) fn of(view: &TableView<'_>) -> Self {
        let Some(declaration) = view.declaration() else { return Self::default() };
        let of_meaning = |meaning| declaration.columns.iter().position(move |column| column.meaning == meaning);
        let candidates: Vec<usize> =
            [Meaning::Time, Meaning::Start, Meaning::End].into_iter().filter_map(of_meaning).collect();
        let pieces: Vec<Vec<Column<'_>>> = view.pieces().iter().map(|piece| piece.columns()).collect();
        let times = |column: usize| pieces.iter().filter_map(move |piece| piece.get(column));
        let cells =
            |column: usize| times(column).flat_map(|cells| (0..cells.rows()).map(move |row| cells.nanoseconds(row)));
        // `None` orders before every time.
        if let Some(&column) =
            candidates.iter().find(|&&column| cells(column).any(|time| time.is_some()) && cells(column).is_sorted())
        {
            return Self { column: Some(column), rows: None };
        }
        let Some(column) = candidates.into_iter().find(|&column| cells(column).any(|time| time.is_some())) else {
            return Self::default();
        };
        let mut rows: Vec<(Option<i64>, Place)> = times(column)
            .enumerate()
            .flat_map(|(piece, cells)| (0..cells.rows()).map(move |row| (cells.nanoseconds(row), (piece, row))))
            .collect();
        // Rows of one time stay in their order.
        rows.sort();
        Self { column: Some(column), rows: Some(rows.into_iter().map(|(_, place)| place).collect()) }
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
    fn rows_in_order_stay_and_others_are_ordered_without_mixing_equals() {
        assert_eq!(milestones(&[1, 2, 2, 9]).rows, None);
        assert_eq!(milestones(&[5, 1, 5, 3]).rows, Some(vec![(0, 1), (0, 3), (0, 0), (0, 2)]));
        assert_eq!(milestones(&[]), TimeOrder::default());
    }
}
