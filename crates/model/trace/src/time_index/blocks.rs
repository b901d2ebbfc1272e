//! Time index of a table, in blocks of rows.

use std::ops::Range;

/// Rows per block: few enough to scan, and enough that the index takes about 1% of the table's memory.
const BLOCK_ROWS: usize = 512;

/// Finds the rows that may overlap a time range, whatever their order. The closer the rows are to time order, the fewer
/// others are scanned.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    chunk: usize,
    first_row: usize,
    rows: usize,
    /// Earliest start and latest end of its rows, ns.
    begin_ns: i64,
    end_ns: i64,
    /// Latest end of its rows and of all rows before, ns.
    reach_ns: i64,
    /// Earliest start of its rows and of all rows after, ns.
    from_ns: i64,
}

impl Blocks {
    /// Indexes a table with chunks of the given lengths; `extent` returns the start and end of a row of a chunk, ns.
    pub(super) fn of(chunks: impl IntoIterator<Item = usize>, extent: impl Fn(usize, usize) -> (i64, i64)) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut reach_ns = i64::MIN;
        for (chunk, length) in chunks.into_iter().enumerate() {
            for first_row in (0..length).step_by(BLOCK_ROWS) {
                let rows = BLOCK_ROWS.min(length - first_row);
                let (mut begin_ns, mut end_ns) = (i64::MAX, i64::MIN);
                for row in first_row..first_row + rows {
                    let (begin, end) = extent(chunk, row);
                    begin_ns = begin_ns.min(begin);
                    end_ns = end_ns.max(end);
                }
                reach_ns = reach_ns.max(end_ns);
                blocks.push(Block { chunk, first_row, rows, begin_ns, end_ns, reach_ns, from_ns: begin_ns });
            }
        }
        let mut from_ns = i64::MAX;
        for block in blocks.iter_mut().rev() {
            from_ns = from_ns.min(block.begin_ns);
            block.from_ns = from_ns;
        }
        Self { blocks }
    }

    /// Chunks and row ranges that contain all rows that started before `end_ns` and ended at `start_ns` or later, in
    /// table order.
    pub(super) fn between(&self, start_ns: i64, end_ns: i64) -> Vec<(usize, Range<usize>)> {
        let first = self.blocks.partition_point(|block| block.reach_ns < start_ns);
        let until = self.blocks.partition_point(|block| block.from_ns < end_ns);
        let some = self.blocks.get(first..until.max(first)).unwrap_or_default().iter();
        some.filter(|block| block.begin_ns < end_ns && block.end_ns >= start_ns)
            .map(|block| (block.chunk, block.first_row..block.first_row + block.rows))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn indexed(chunks: &[Vec<(i64, i64)>]) -> Blocks {
        Blocks::of(chunks.iter().map(Vec::len), |chunk, row| chunks[chunk][row])
    }

    #[test]
    fn short_range_scans_few_rows() {
        let rows: Vec<(i64, i64)> = (0..100_000).map(|at| (at * 10, at * 10 + 5)).collect();
        let blocks = indexed(&[rows]);
        let scanned: usize = blocks.between(500_000, 500_100).into_iter().map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * BLOCK_ROWS).contains(&scanned), "{scanned}");
        assert_eq!(blocks.between(2_000_000, 3_000_000), []);
        assert_eq!(blocks.between(-10, 0), []);
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
            let second = rows.split_off(cut.min(rows.len()));
            let chunks = [rows, second];
            let every = || (0..2).flat_map(|chunk| (0..chunks[chunk].len()).map(move |row| (chunk, row)));
            let blocks = indexed(&chunks);
            for (start_ns, end_ns) in ranges {
                let is_in = |&(chunk, row): &(usize, usize)| chunks[chunk][row].0 < end_ns && chunks[chunk][row].1 >= start_ns;
                let scanned = blocks.between(start_ns, end_ns);
                let found: Vec<_> =
                    scanned.into_iter().flat_map(|(chunk, rows)| rows.map(move |row| (chunk, row))).filter(is_in).collect();
                prop_assert_eq!(found, every().filter(is_in).collect::<Vec<_>>());
            }
        }
    }
}
