//! Time index of a table, in blocks of rows.

use std::ops::Range;

/// Rows per block. Few enough to scan, and enough that the index takes about 1 % of the table's memory.
const BLOCK_ROWS: usize = 512;

/// Finds the rows that may overlap a time range, in any row order. The closer the rows are to time order, the fewer
/// rows outside the range are scanned.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    chunk: usize,
    first_row: usize,
    rows: usize,
    /// Earliest start of the rows, in ns.
    start_ns: i64,
    /// Latest end of the rows, in ns.
    end_ns: i64,
    /// Latest end of the rows and of all preceding rows, in ns.
    max_end_so_far_ns: i64,
    /// Earliest start of the rows and of all following rows, in ns.
    min_start_from_here_ns: i64,
}

impl Blocks {
    /// Indexes a table with chunks of the given lengths. `row_interval` returns the start and end of a row of a chunk,
    /// in ns.
    pub(super) fn new(
        chunk_lengths: impl IntoIterator<Item = usize>,
        row_interval: impl Fn(usize, usize) -> (i64, i64),
    ) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut max_end_so_far_ns = i64::MIN;
        for (chunk, length) in chunk_lengths.into_iter().enumerate() {
            for first_row in (0..length).step_by(BLOCK_ROWS) {
                let rows = BLOCK_ROWS.min(length - first_row);
                let (mut start_ns, mut end_ns) = (i64::MAX, i64::MIN);
                for row in first_row..first_row + rows {
                    let (row_start_ns, row_end_ns) = row_interval(chunk, row);
                    start_ns = start_ns.min(row_start_ns);
                    end_ns = end_ns.max(row_end_ns);
                }
                max_end_so_far_ns = max_end_so_far_ns.max(end_ns);
                blocks.push(Block {
                    chunk,
                    first_row,
                    rows,
                    start_ns,
                    end_ns,
                    max_end_so_far_ns,
                    min_start_from_here_ns: start_ns,
                });
            }
        }
        let mut min_start_from_here_ns = i64::MAX;
        for block in blocks.iter_mut().rev() {
            min_start_from_here_ns = min_start_from_here_ns.min(block.start_ns);
            block.min_start_from_here_ns = min_start_from_here_ns;
        }
        Self { blocks }
    }

    /// Returns chunks and row ranges that contain all rows that started before `end_ns` and ended at `start_ns` or
    /// later, in table order.
    pub(super) fn rows_between(&self, start_ns: i64, end_ns: i64) -> Vec<(usize, Range<usize>)> {
        let first_index = self.blocks.partition_point(|block| block.max_end_so_far_ns < start_ns);
        let end_index = self.blocks.partition_point(|block| block.min_start_from_here_ns < end_ns);
        let candidates = self.blocks.get(first_index..end_index.max(first_index)).unwrap_or_default().iter();
        candidates
            .filter(|block| block.start_ns < end_ns && block.end_ns >= start_ns)
            .map(|block| (block.chunk, block.first_row..block.first_row + block.rows))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn indexed(chunks: &[Vec<(i64, i64)>]) -> Blocks {
        Blocks::new(chunks.iter().map(Vec::len), |chunk, row| chunks[chunk][row])
    }

    #[test]
    fn short_range_scans_few_rows() {
        let rows: Vec<(i64, i64)> = (0..100_000).map(|number| (number * 10, number * 10 + 5)).collect();
        let blocks = indexed(&[rows]);
        let scanned: usize = blocks.rows_between(500_000, 500_100).into_iter().map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * BLOCK_ROWS).contains(&scanned), "{scanned}");
        assert_eq!(blocks.rows_between(2_000_000, 3_000_000), []);
        assert_eq!(blocks.rows_between(-10, 0), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn finds_the_same_rows_as_a_full_scan(
            rows in prop::collection::vec((-2_000_i64..2_000, 0_i64..700), 0..2_500),
            cut in 0_usize..2_500,
            in_order: bool,
            ranges in prop::collection::vec((-2_500_i64..2_500, -2_500_i64..2_500), 20),
        ) {
            let mut rows: Vec<(i64, i64)> = rows.into_iter().map(|(begin, length)| (begin, begin + length)).collect();
            if in_order {
                rows.sort_unstable();
            }
            let second_chunk = rows.split_off(cut.min(rows.len()));
            let chunks = [rows, second_chunk];
            let all_rows = || (0..2).flat_map(|chunk| (0..chunks[chunk].len()).map(move |row| (chunk, row)));
            let blocks = indexed(&chunks);
            for (start_ns, end_ns) in ranges {
                let is_in_range = |&(chunk, row): &(usize, usize)| {
                    let (row_start_ns, row_end_ns) = chunks[chunk][row];
                    row_start_ns < end_ns && row_end_ns >= start_ns
                };
                let scanned = blocks.rows_between(start_ns, end_ns);
                let scanned_rows = scanned.into_iter().flat_map(|(chunk, rows)| rows.map(move |row| (chunk, row)));
                let rows_found: Vec<_> = scanned_rows.filter(is_in_range).collect();
                prop_assert_eq!(rows_found, all_rows().filter(is_in_range).collect::<Vec<_>>());
            }
        }
    }
}
