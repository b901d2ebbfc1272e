//! Time units, as in `-timeunit`.

/// A unit of times and durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    /// `ns`, `us`, `ms` or `s`.
    pub name: &'static str,
    pub xml_name: &'static str,
    /// Length of one unit.
    pub ns: i64,
}

const UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "ns", xml_name: "nsec", ns: 1 },
    TimeUnit { name: "us", xml_name: "usec", ns: 1_000 },
    TimeUnit { name: "ms", xml_name: "msec", ns: 1_000_000 },
    TimeUnit { name: "s", xml_name: "sec", ns: 1_000_000_000 },
];

impl TimeUnit {
    /// Finds a unit by name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| unit.name.eq_ignore_ascii_case(name))
    }
}

/// Microseconds.
impl Default for TimeUnit {
    fn default() -> Self {
        UNITS[1]
    }
}
