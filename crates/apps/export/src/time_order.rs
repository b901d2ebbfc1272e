//! The time order of the rows of a table.

use onoff::trace::TableView;
use onoff::trace::column::{Column, ColumnMeaning};

/// The position of a row: the number of its chunk, and its number in the chunk.
pub(crate) type RowPosition = (usize, usize);

/// The time order of the rows of a table, with rows without a time first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeOrder {
    /// The number of the time column; `None` for a table without times.
    pub(crate) column: Option<usize>,
    /// The rows in time order; `None` if they are already sorted.
    pub(crate) rows: Option<Vec<RowPosition>>,
}

impl TimeOrder {
    /// Orders `view` by a time column that is already sorted if there is one, otherwise by time, start or end.
    pub(crate) fn from_view(view: &TableView<'_>) -> Self {
        let Some(declaration) = view.declaration() else { return Self::default() };
        let column_with_meaning =
            |meaning| declaration.columns.iter().position(move |column| column.meaning == meaning);
        let candidates: Vec<usize> = [ColumnMeaning::Time, ColumnMeaning::Start, ColumnMeaning::End]
            .into_iter()
            .filter_map(column_with_meaning)
            .collect();
        let chunks: Vec<Vec<Column<'_>>> = view.chunks().iter().map(|chunk| chunk.columns()).collect();
        let column_chunks = |column: usize| chunks.iter().filter_map(move |chunk| chunk.get(column));
        let times =
            |column: usize| column_chunks(column).flat_map(|cells| (0..cells.rows()).map(move |row| cells.as_ns(row)));
        // `None` sorts before every time.
        if let Some(&column) =
            candidates.iter().find(|&&column| times(column).any(|time| time.is_some()) && times(column).is_sorted())
        {
            return Self { column: Some(column), rows: None };
        }
        let Some(column) = candidates.into_iter().find(|&column| times(column).any(|time| time.is_some())) else {
            return Self::default();
        };
        let mut rows: Vec<(Option<i64>, RowPosition)> = column_chunks(column)
            .enumerate()
            .flat_map(|(chunk, cells)| (0..cells.rows()).map(move |row| (cells.as_ns(row), (chunk, row))))
            .collect();
        // Rows with equal times keep their order, because their positions are compared.
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
        TimeOrder::from_view(&trace.table(TableName::Milestones))
    }

    #[test]
    fn sorts_stably_unless_already_sorted() {
        assert_eq!(milestones(&[1, 2, 2, 9]).rows, None);
        assert_eq!(milestones(&[5, 1, 5, 3]).rows, Some(vec![(0, 1), (0, 3), (0, 0), (0, 2)]));
        assert_eq!(milestones(&[]), TimeOrder::default());
    }
}
