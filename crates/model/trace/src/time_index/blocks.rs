//! The rows of a table by time, in blocks.

use std::ops::Range;

/// Rows of a block: few enough to be looked at one by one, and many enough that blocks take a hundredth of the table's
/// memory.
const BLOCK_ROWS: usize = 512;

/// Which rows of a table may lie in a range of time, whatever order they are in: where they are nearly in order, few
/// others are looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    piece: usize,
    first_row: usize,
    rows: usize,
    /// The earliest begin and the latest end of its rows, ns.
    begin_ns: i64,
    end_ns: i64,
    /// The latest end of its rows and of all before, ns.
    reach_ns: i64,
    /// The earliest begin of its rows and of all after, ns.
    from_ns: i64,
}

impl Blocks {
    /// Of a table in pieces of so many rows each; `extent` says when a row of a piece began and ended, ns.
    pub(super) fn of(pieces: impl IntoIterator<Item = usize>, extent: impl Fn(usize, usize) -> (i64, i64)) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut reach_ns = i64::MIN;
        for (piece, length) in pieces.into_iter().enumerate() {
            for first_row in (0..length).step_by(BLOCK_ROWS) {
                let rows = BLOCK_ROWS.min(length - first_row);
                let (mut begin_ns, mut end_ns) = (i64::MAX, i64::MIN);
                for row in first_row..first_row + rows {
                    let (begin, end) = extent(piece, row);
                    begin_ns = begin_ns.min(begin);
                    end_ns = end_ns.max(end);
                }
                reach_ns = reach_ns.max(end_ns);
                blocks.push(Block { piece, first_row, rows, begin_ns, end_ns, reach_ns, from_ns: begin_ns });
            }
        }
        let mut from_ns = i64::MAX;
        for block in blocks.iter_mut().rev() {
            from_ns = from_ns.min(block.begin_ns);
            block.from_ns = from_ns;
        }
        Self { blocks }
    }

    /// Pieces and rows in them among which are all that began before `end_ns` and ended at `start_ns` or later, in the
    /// table's order.
    pub(super) fn between(&self, start_ns: i64, end_ns: i64) -> Vec<(usize, Range<usize>)> {
        let first = self.blocks.partition_point(|block| block.reach_ns < start_ns);
        let until = self.blocks.partition_point(|block| block.from_ns < end_ns);
        let some = self.blocks.get(first..until.max(first)).unwrap_or_default().iter();
        some.filter(|block| block.begin_ns < end_ns && block.end_ns >= start_ns)
            .map(|block| (block.piece, block.first_row..block.first_row + block.rows))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn indexed(pieces: &[Vec<(i64, i64)>]) -> Blocks {
        Blocks::of(pieces.iter().map(Vec::len), |piece, row| pieces[piece][row])
    }

    #[test]
    fn a_short_range_of_a_long_table_looks_at_few_rows() {
        let rows: Vec<(i64, i64)> = (0..100_000).map(|at| (at * 10, at * 10 + 5)).collect();
        let blocks = indexed(&[rows]);
        let looked_at: usize = blocks.between(500_000, 500_100).into_iter().map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * BLOCK_ROWS).contains(&looked_at), "{looked_at}");
        assert_eq!(blocks.between(2_000_000, 3_000_000), []);
        assert_eq!(blocks.between(-10, 0), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn the_index_finds_what_a_look_at_every_row_finds(
            rows in prop::collection::vec((-2_000_i64..2_000, 0_i64..700), 0..2_500),
            cut in 0_usize..2_500,
            in_order: bool,
            asked in prop::collection::vec((-2_500_i64..2_500, -2_500_i64..2_500), 20),
        ) {
            let mut rows: Vec<(i64, i64)> = rows.into_iter().map(|(begin, length)| (begin, begin + length)).collect();
            if in_order {
                rows.sort_unstable();
            }
            let second = rows.split_off(cut.min(rows.len()));
            let pieces = [rows, second];
            let every = || (0..2).flat_map(|piece| (0..pieces[piece].len()).map(move |row| (piece, row)));
            let blocks = indexed(&pieces);
            for (start_ns, end_ns) in asked {
                let is_in = |&(piece, row): &(usize, usize)| pieces[piece][row].0 < end_ns && pieces[piece][row].1 >= start_ns;
                let looked_at = blocks.between(start_ns, end_ns);
                let found: Vec<_> =
                    looked_at.into_iter().flat_map(|(piece, rows)| rows.map(move |row| (piece, row))).filter(is_in).collect();
                prop_assert_eq!(found, every().filter(is_in).collect::<Vec<_>>());
            }
        }
    }
}
