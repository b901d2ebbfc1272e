//! A model of a storage device, fitted to its recorded reads.
//!
//! A read takes a fixed time and the time of its bytes. That holds for one read at a time: with several requests in
//! flight, a duration includes the wait for the others. So only reads that had the device to themselves are fitted.

use hashbrown::HashMap;
use onoff_trace::{IoOrigin, StringId};
use serde::Serialize;

use super::request::Request;

/// A device model: a fixed time per request, and a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageDevice {
    /// Time per request without its bytes, ns.
    pub latency_ns: i64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Source of these numbers.
    pub origin: DeviceOrigin,
}

/// Source of a device model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceOrigin {
    /// Given by the caller.
    Given,
    /// Fitted to the durations of the recorded requests.
    Fitted,
}

impl StorageDevice {
    pub(super) fn time_ns(&self, operations: u64, bytes: u64) -> i64 {
        let bytes_ns = bytes as f64 / self.bytes_per_second.max(1.0) * 1e9;
        let time_ns = operations as f64 * self.latency_ns as f64 + bytes_ns;
        // Saturates at 292 years.
        time_ns as i64
    }
}

/// The device model that fits the recorded reads, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFit {
    /// The model; `None` if the reads determine none.
    pub device: Option<StorageDevice>,
    /// Number of reads that had the device to themselves, to which the model is fitted.
    pub reads: u64,
    /// Number of reads that are not used, because other requests were in flight.
    pub overlapping_reads: u64,
    /// Mean difference between the duration of a read and the model, percent of the mean duration.
    pub error_percent: Option<f64>,
    /// Why there is no model, as a clause.
    pub reason: Option<&'static str>,
}

/// Fits a model to the reads of a device, and to uncached reads of programs in case no device was recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceFitter {
    device: ReadFitter,
    uncached: ReadFitter,
}

impl DeviceFitter {
    /// Adds a request; requests are in the order of their starts.
    pub(super) fn add(&mut self, request: &Request) {
        match request.level {
            IoOrigin::Device => self.device.add(request),
            IoOrigin::Application if request.unbuffered => self.uncached.add(request),
            _ => {}
        }
    }

    /// Returns the model; `None` without reads of a device.
    pub(super) fn finish(self) -> Option<DeviceFit> {
        self.device.finish().or_else(|| self.uncached.finish())
    }
}

/// The requests of one device or file that may still be in flight.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    /// Latest end, ns.
    end_ns: i64,
    /// Bytes and duration of a read that had the device to itself so far, ns.
    alone: Option<(u64, i64)>,
}

#[derive(Clone, Debug, Default)]
struct ReadFitter {
    in_flight: HashMap<StringId, InFlight>,
    overlapping_reads: u64,
    sums: Sums,
    sample: Sample,
}

impl ReadFitter {
    fn add(&mut self, request: &Request) {
        let Some(duration_ns) = request.duration_ns else { return };
        let end_ns = request.start_ns.saturating_add(duration_ns);
        let first = InFlight { end_ns: i64::MIN, alone: None };
        let in_flight = self.in_flight.entry(request.file).or_insert(first);
        let is_alone = request.start_ns >= in_flight.end_ns;
        match in_flight.alone.take() {
            Some((bytes, duration_ns)) if is_alone => {
                self.sums.add(bytes, duration_ns);
                self.sample.add(bytes, duration_ns);
            }
            Some(_) => self.overlapping_reads += 1,
            None => {}
        }
        if !request.is_write {
            if is_alone {
                in_flight.alone = Some((request.length, duration_ns));
            } else {
                self.overlapping_reads += 1;
            }
        }
        in_flight.end_ns = in_flight.end_ns.max(end_ns);
    }

    fn finish(mut self) -> Option<DeviceFit> {
        let last_reads: Vec<(u64, i64)> = self.in_flight.values().filter_map(|in_flight| in_flight.alone).collect();
        for (bytes, duration_ns) in last_reads {
            self.sums.add(bytes, duration_ns);
            self.sample.add(bytes, duration_ns);
        }
        let reads = self.sums.count;
        if reads + self.overlapping_reads == 0 {
            return None;
        }
        let fit = self.sums.device();
        Some(DeviceFit {
            device: fit.ok(),
            reads,
            overlapping_reads: self.overlapping_reads,
            error_percent: fit.ok().map(|device| self.sample.error_percent(&device)),
            reason: match fit.err() {
                Some(_) if self.overlapping_reads > reads => {
                    Some("several requests were in flight most of the time, so a duration includes the wait for others")
                }
                reason => reason,
            },
        })
    }
}

/// Maximum number of reads in the sample.
const MAX_SAMPLE: usize = 1 << 16;

/// Every n-th read, where n grows with the number of reads.
#[derive(Clone, Debug, Default)]
struct Sample {
    reads: Vec<(u64, i64)>,
    count: usize,
    /// Binary logarithm of n.
    interval_log2: u32,
}

impl Sample {
    fn add(&mut self, bytes: u64, duration_ns: i64) {
        if self.count.trailing_zeros() >= self.interval_log2 {
            if self.reads.len() >= MAX_SAMPLE {
                let mut is_kept = false;
                self.reads.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
                self.interval_log2 += 1;
            }
            if self.count.trailing_zeros() >= self.interval_log2 {
                self.reads.push((bytes, duration_ns));
            }
        }
        self.count += 1;
    }

    fn error_percent(&self, device: &StorageDevice) -> f64 {
        let mut error_ns = 0.0;
        let mut total_ns = 0.0;
        for &(bytes, duration_ns) in &self.reads {
            error_ns += device.time_ns(1, bytes).saturating_sub(duration_ns).unsigned_abs() as f64;
            total_ns += duration_ns as f64;
        }
        if total_ns > 0.0 { error_ns / total_ns * 100.0 } else { 0.0 }
    }
}

/// Sums for a linear fit of duration over size.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    bytes: f64,
    ns: f64,
    bytes_squared: f64,
    bytes_ns: f64,
}

/// Minimum number of reads for a fit.
const MIN_FIT_READS: u64 = 100;

impl Sums {
    fn add(&mut self, bytes: u64, duration_ns: i64) {
        let (bytes, ns) = (bytes as f64, duration_ns as f64);
        self.count += 1;
        self.bytes += bytes;
        self.ns += ns;
        self.bytes_squared += bytes * bytes;
        self.bytes_ns += bytes * ns;
    }

    /// Returns the least-squares fit, or why the reads determine none.
    fn device(&self) -> Result<StorageDevice, &'static str> {
        let count = self.count as f64;
        let spread = count * self.bytes_squared - self.bytes * self.bytes;
        if self.count < MIN_FIT_READS {
            return Err("fewer than 100 reads had the device to themselves");
        }
        if spread <= f64::EPSILON * self.bytes_squared * count {
            return Err("all reads have one size, which does not show what a byte costs");
        }
        let ns_per_byte = (count * self.bytes_ns - self.bytes * self.ns) / spread;
        let latency_ns = (self.ns - ns_per_byte * self.bytes) / count;
        if ns_per_byte <= 0.0 || latency_ns < 0.0 {
            return Err("larger reads did not take longer in proportion: a cache answered, or the rate varied");
        }
        Ok(StorageDevice {
            latency_ns: latency_ns as i64,
            bytes_per_second: 1e9 / ns_per_byte,
            origin: DeviceOrigin::Fitted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(start_ns: i64, duration_ns: i64, length: u64) -> Request {
        Request {
            start_ns,
            duration_ns: Some(duration_ns),
            pid: None,
            process: StringId::EMPTY,
            file: StringId::EMPTY,
            handle: 0,
            offset: 0,
            length,
            level: IoOrigin::Device,
            is_write: false,
            unbuffered: true,
        }
    }

    /// Reads of a device with 100 µs and 100 MB/s, `gap_ns` after each other.
    fn reads(gap_ns: i64) -> Vec<Request> {
        let mut now_ns = 0;
        let reads = (0..200_u64).map(|index| {
            let bytes = 4096 * (1 + index % 16);
            let duration_ns = 100_000 + bytes as i64 * 10;
            let request = read(now_ns, duration_ns, bytes);
            now_ns += duration_ns + gap_ns;
            request
        });
        reads.collect()
    }

    fn fit(requests: &[Request]) -> Option<DeviceFit> {
        let mut fitter = DeviceFitter::default();
        requests.iter().for_each(|request| fitter.add(request));
        fitter.finish()
    }

    #[test]
    fn fits_device_with_its_error() {
        let exact = fit(&reads(0)).unwrap();
        let device = exact.device.unwrap();
        assert!((device.latency_ns - 100_000).abs() < 100, "{device:?}");
        assert!((device.bytes_per_second / 1e8 - 1.0).abs() < 1e-3, "{device:?}");
        assert_eq!((exact.reads, exact.overlapping_reads, exact.reason), (200, 0, None));
        assert!(exact.error_percent.unwrap() < 0.1);
        // Durations that deviate by 50 µs in either direction.
        let mut noisy = reads(100_000);
        for (index, request) in noisy.iter_mut().enumerate() {
            let deviation_ns = if index % 2 == 0 { 50_000 } else { -50_000 };
            request.duration_ns = request.duration_ns.map(|ns| ns + deviation_ns);
        }
        let error_percent = fit(&noisy).unwrap().error_percent.unwrap();
        let expected = 50_000.0 * 100.0 / (100_000.0 + 8.5 * 40_960.0);
        assert!((error_percent - expected).abs() < 1.0, "{error_percent} {expected}");
        // Uncached reads of programs are used only without a device.
        let mut uncached = reads(0);
        uncached.iter_mut().for_each(|request| request.level = IoOrigin::Application);
        assert_eq!(fit(&uncached), fit(&reads(0)));
        uncached.iter_mut().for_each(|request| request.unbuffered = false);
        assert_eq!(fit(&uncached), None);
    }

    #[test]
    fn refuses_reads_that_do_not_determine_a_device() {
        // Every read starts before the previous one ends.
        let queued = fit(&reads(-50_000)).unwrap();
        assert_eq!((queued.device, queued.reads, queued.overlapping_reads), (None, 0, 200));
        assert!(queued.reason.unwrap().starts_with("several requests were in flight"));
        // A few reads overlap: they are not used.
        let mut mixed = reads(10_000);
        mixed.insert(101, read(mixed[100].start_ns + 1, 900_000_000, 4096));
        let last_ns = mixed[101].start_ns + 900_000_000;
        mixed.extend(reads(10_000).into_iter().map(|read| Request { start_ns: read.start_ns + last_ns, ..read }));
        let mixed = fit(&mixed).unwrap();
        assert!((mixed.device.unwrap().latency_ns - 100_000).abs() < 100, "{mixed:?}");
        assert_eq!((mixed.reads, mixed.overlapping_reads), (300, 101));
        let single_size: Vec<Request> = (0..200).map(|index| read(index * 200_000, 100_000, 4096)).collect();
        assert!(fit(&single_size).unwrap().reason.unwrap().contains("one size"));
        assert!(fit(&reads(0)[..50]).unwrap().reason.unwrap().starts_with("fewer than 100"));
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn sample_is_bounded_and_covers_all_reads() {
        let mut sample = Sample::default();
        (0..300_000).for_each(|index| sample.add(index, 0));
        assert!(sample.reads.len() <= MAX_SAMPLE && sample.reads.len() > MAX_SAMPLE / 4);
        assert!(sample.reads.windows(2).all(|pair| pair[1].0 - pair[0].0 == 8), "every eighth read");
    }
}
