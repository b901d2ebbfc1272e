//! Units of times and lengths, as `-timeunit` names them.

/// A unit of times and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    /// Its name: `ns`, `us`, `ms` or `s`.
    pub name: &'static str,
    /// Its name in XML.
    pub name_in_xml: &'static str,
    /// Ns of one.
    pub ns: i64,
}

const UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "ns", name_in_xml: "nsec", ns: 1 },
    TimeUnit { name: "us", name_in_xml: "usec", ns: 1_000 },
    TimeUnit { name: "ms", name_in_xml: "msec", ns: 1_000_000 },
    TimeUnit { name: "s", name_in_xml: "sec", ns: 1_000_000_000 },
];

impl TimeUnit {
    /// The unit of that name, in any case.
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
