//! Bars for intervals on a common axis, with a resolution of an eighth of a character.

const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const FULL: char = '█';

/// An axis of `cells` characters from `start_ns` to `end_ns`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    start_ns: i64,
    end_ns: i64,
    cells: usize,
}

impl Axis {
    /// Creates an axis; an empty or reversed interval draws nothing.
    #[must_use]
    pub fn new(start_ns: i64, end_ns: i64, cells: usize) -> Self {
        Self { start_ns, end_ns, cells }
    }

    /// Draws the bar of an interval: blanks up to its start, then blocks; at least an eighth of a character unless it
    /// is empty.
    #[must_use]
    pub fn bar(&self, start_ns: i64, end_ns: i64) -> String {
        let (start, end) = (self.eighths(start_ns), self.eighths(end_ns));
        if end_ns <= start_ns || self.end_ns <= self.start_ns || self.cells == 0 {
            return String::new();
        }
        // Blocks start at the edge of a character, so the start is rounded; the end keeps its eighths.
        let first_cell = ((start + 4) / 8).min(self.cells - 1);
        let length = end.saturating_sub(first_cell * 8).max(1);
        let mut bar = " ".repeat(first_cell);
        bar.extend(std::iter::repeat_n(FULL, length / 8));
        if length % 8 > 0 {
            bar.push(EIGHTHS[length % 8]);
        }
        bar
    }

    fn eighths(&self, time_ns: i64) -> usize {
        let length = i128::from(self.end_ns) - i128::from(self.start_ns);
        if length <= 0 {
            return 0;
        }
        let offset = i128::from(time_ns.clamp(self.start_ns, self.end_ns)) - i128::from(self.start_ns);
        let eighths = offset * (self.cells as i128 * 8) / length;
        usize::try_from(eighths).unwrap_or(0)
    }
}

/// Draws one character per value, scaled to the largest; zero is blank.
#[must_use]
pub fn sparkline(values: &[u64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let max = values.iter().copied().max().unwrap_or(0).max(1);
    let height = |value: u64| match usize::try_from(u128::from(value) * 8 / u128::from(max)) {
        _ if value == 0 => ' ',
        Ok(eighths) => HEIGHTS[eighths.saturating_sub(1).min(7)],
        Err(_) => FULL,
    };
    values.iter().map(|&value| height(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_bars_by_interval() {
        let axis = Axis::new(0, 80, 10);
        assert_eq!(axis.bar(0, 80), "██████████");
        assert_eq!(axis.bar(40, 60), "     ██▌");
        assert_eq!(axis.bar(0, 1), "▏");
        assert_eq!(axis.bar(79, 80), "         █");
        assert_eq!(axis.bar(30, 30), "");
        assert_eq!(Axis::new(5, 5, 10).bar(0, 9), "");
        assert_eq!(Axis::new(i64::MIN, i64::MAX, 8).bar(0, i64::MAX), "    ████");
    }
}
