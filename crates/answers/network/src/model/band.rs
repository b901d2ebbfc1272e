//! The range of a turn for any window, from measured turns that each differ from the usual pace by up to a factor.
//!
//! A turn is a line over the window: `fixed + slope x`, neither below zero. The band is the set of all lines within the
//! factor of every measured turn: a polygon, whose corners are the extremes. One measured window leaves a wide band, from
//! all of the turn fixed to all of it in the slope; windows far from the measured ones get a wide range, too.

use super::TurnSample;

/// Tolerance for corners on a line.
const ROUNDING: f64 = 1e-9;

/// What a turn grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Blocks,
    Bytes,
}

impl Growth {
    /// Returns the x of a window.
    pub(super) fn x(self, window: f64, block_size: u32) -> f64 {
        match self {
            Self::Blocks => window,
            Self::Bytes => window * f64::from(block_size),
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct TurnBand {
    /// Largest relative difference between a turn and its line.
    pub(super) error: f64,
    /// Fixed part and slope of the extreme lines.
    corners: Vec<[f64; 2]>,
}

impl TurnBand {
    /// Returns the band of `samples`; `None` if no line is within `error` of every sample.
    pub(super) fn new(samples: &[TurnSample], growth: Growth, error: f64) -> Option<Self> {
        let factor = 1.0 + error;
        // Each bound is fixed + slope x = ns; the axes are bounds, too.
        let mut bounds = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let points = merged(samples, growth);
        for &[x, ns] in &points {
            bounds.extend([[1.0, x, ns / factor], [1.0, x, ns * factor]]);
        }
        let is_inside = |fixed: f64, slope: f64| {
            points.iter().all(|&[x, ns]| {
                let turn = fixed + slope * x;
                turn * factor * (1.0 + ROUNDING) >= ns && turn <= ns * factor * (1.0 + ROUNDING)
            })
        };
        let mut corners = Vec::new();
        for (index, [a, b, right]) in bounds.iter().enumerate() {
            for [other_a, other_b, other_right] in &bounds[..index] {
                let determinant = a * other_b - other_a * b;
                if determinant == 0.0 {
                    continue;
                }
                let fixed = (right * other_b - other_right * b) / determinant;
                let slope = (a * other_right - other_a * right) / determinant;
                let scale = right.abs().max(other_right.abs()) * ROUNDING;
                if fixed >= -scale && slope >= -scale && is_inside(fixed.max(0.0), slope.max(0.0)) {
                    corners.push([fixed.max(0.0), slope.max(0.0)]);
                }
            }
        }
        (!points.is_empty() && !corners.is_empty()).then_some(Self { error, corners })
    }

    /// Returns the shortest and the longest usual turn at `x`, ns.
    pub(super) fn usual_ns(&self, x: f64) -> [f64; 2] {
        let turns = self.corners.iter().map(|[fixed, slope]| fixed + slope * x);
        turns.fold([f64::INFINITY, 0.0], |[shortest, longest], ns| [shortest.min(ns), longest.max(ns)])
    }

    /// Returns the shortest and the longest turn of another transfer at `x`, ns: its pace differs, too.
    pub(super) fn turn_ns(&self, x: f64) -> [f64; 2] {
        let [shortest, longest] = self.usual_ns(x);
        [shortest / (1.0 + self.error), longest * (1.0 + self.error)]
    }
}

/// Averages the samples within each doubling of x, so that their number is bounded.
fn merged(samples: &[TurnSample], growth: Growth) -> Vec<[f64; 2]> {
    let mut points: Vec<(f64, f64, f64)> = samples
        .iter()
        .filter(|sample| sample.ns > 0.0 && sample.window > 0)
        .map(|sample| (growth.x(f64::from(sample.window), sample.block_size), sample.ns, sample.count.max(1) as f64))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
        .chunk_by(|a, b| a.0.log2().floor() == b.0.log2().floor())
        .map(|chunk| {
            let count: f64 = chunk.iter().map(|(.., count)| count).sum();
            let mean = |number: fn(&(f64, f64, f64)) -> f64| {
                chunk.iter().map(|point| number(point) * point.2).sum::<f64>() / count
            };
            [mean(|point| point.0), mean(|point| point.1)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(turns: &[(u32, f64)], error: f64) -> TurnBand {
        let samples: Vec<TurnSample> = turns
            .iter()
            .map(|&(window, ns)| TurnSample { window, block_size: 1468, count: 500, ns, variation: None })
            .collect();
        TurnBand::new(&samples, Growth::Blocks, error).unwrap()
    }

    fn assert_close(found: [f64; 2], expected: [f64; 2]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{found:?} {expected:?}");
    }

    #[test]
    fn one_window_leaves_the_slope_open() {
        let one = band(&[(4, 400.0)], 0.0);
        assert_close(one.usual_ns(4.0), [400.0, 400.0]);
        assert_close(one.usual_ns(64.0), [400.0, 6_400.0]);
        assert_close(one.usual_ns(1.0), [100.0, 400.0]);
    }

    #[test]
    fn two_windows_leave_only_the_error() {
        let two = band(&[(4, 500.0), (16, 1_700.0)], 0.0);
        assert_close(two.usual_ns(64.0), [6_500.0, 6_500.0]);
        // The lowest line passes through 500·1.1 and 1,700/1.1; the highest starts at zero, not below, and passes through
        // 1,700·1.1.
        let two = band(&[(4, 500.0), (16, 1_700.0)], 0.1);
        assert_close(two.usual_ns(64.0), [1_700.0 / 1.1 + 4.0 * (1_700.0 / 1.1 - 550.0), 4.0 * 1_870.0]);
        assert_close(two.turn_ns(16.0), [1_700.0 / 1.21, 1_700.0 * 1.21]);
    }

    #[test]
    fn turns_that_no_line_explains_have_no_band() {
        let samples = [(1, 900.0), (4, 300.0), (16, 900.0)].map(|(window, ns)| TurnSample {
            window,
            block_size: 1468,
            count: 500,
            ns,
            variation: None,
        });
        assert!(TurnBand::new(&samples, Growth::Blocks, 0.1).is_none());
        assert!(TurnBand::new(&samples, Growth::Blocks, 1.0).is_some());
        assert!(TurnBand::new(&[], Growth::Blocks, 1.0).is_none());
    }

    #[test]
    fn many_windows_are_merged() {
        let samples: Vec<TurnSample> = (1..=u32::from(u16::MAX))
            .map(|window| TurnSample {
                window,
                block_size: 512,
                count: 9,
                ns: 50.0 + 2.0 * f64::from(window),
                variation: None,
            })
            .collect();
        assert_eq!(merged(&samples, Growth::Blocks).len(), 16);
        let band = TurnBand::new(&samples, Growth::Blocks, 0.001).unwrap();
        let [shortest, longest] = band.usual_ns(1_000.0);
        assert!(shortest <= 2_050.0 && (2_050.0..2_060.0).contains(&longest), "{shortest} {longest}");
    }
}
