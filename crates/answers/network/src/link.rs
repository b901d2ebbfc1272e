//! Indexes of address and name lookups on the link, because a capture may contain thousands of boots.

use std::net::IpAddr;

use hashbrown::HashMap;
use onoff_netboot::capture::AddressProbe;
use onoff_netboot::lookup::Lookup;
use onoff_netboot::{Capture, MacAddress};

/// Address and name lookups by address.
#[derive(Debug, Default)]
pub(super) struct LinkIndex<'a> {
    /// Address-in-use checks by target address, ordered by time.
    probes: HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>>,
    /// ARP targets by requesting station, with times.
    targets: HashMap<MacAddress, Vec<(i64, IpAddr)>>,
    /// Shortest response time by address and requesting station, ns.
    answers: HashMap<(IpAddr, MacAddress), i64>,
    /// DNS lookups by client, ordered by time.
    lookups: HashMap<IpAddr, Vec<&'a Lookup>>,
}

impl<'a> LinkIndex<'a> {
    pub(super) fn new(capture: &'a Capture) -> Self {
        let mut index = Self { probes: by_address(&capture.address_probes), ..Self::default() };
        for answer in &capture.address_answers {
            if let (Some(response_ns), Some(prober)) = (answer.response_time_ns, answer.prober) {
                let shortest = index.answers.entry((answer.address, prober)).or_insert(response_ns);
                *shortest = response_ns.min(*shortest);
            }
        }
        for probe in &capture.address_probes {
            if let Some(prober) = probe.prober {
                index.targets.entry(prober).or_default().push((probe.time_ns, probe.target));
            }
        }
        for lookup in &capture.lookups {
            index.lookups.entry(lookup.client).or_default().push(lookup);
        }
        for lookups in index.lookups.values_mut() {
            lookups.sort_by_key(|lookup| lookup.query_ns);
        }
        index
    }

    #[cfg(test)]
    pub(super) fn from_probes(probes: &[AddressProbe]) -> Self {
        Self { probes: by_address(probes), ..Self::default() }
    }

    /// Returns the number of checks of `address` from `from_ns` to `to_ns`.
    pub(super) fn probes(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> usize {
        self.probes_in_range(address, from_ns, to_ns).len()
    }

    /// Returns the time of the first check, ns.
    pub(super) fn first_probe(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> Option<i64> {
        self.probes_in_range(address, from_ns, to_ns).first().map(|&(time, _)| time)
    }

    fn probes_in_range(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> &[(i64, Option<MacAddress>)] {
        let times = self.probes.get(&address).map_or(&[][..], Vec::as_slice);
        let start = times.partition_point(|&(time, _)| time < from_ns);
        let end = times.partition_point(|&(time, _)| time <= to_ns);
        times.get(start..end).unwrap_or_default()
    }

    /// Returns the ARP targets of `station` from `from_ns` to `to_ns`.
    pub(super) fn requested_by(
        &self,
        station: MacAddress,
        from_ns: i64,
        to_ns: i64,
    ) -> impl Iterator<Item = IpAddr> + '_ {
        let targets = self.targets.get(&station).map_or(&[][..], Vec::as_slice);
        targets.iter().filter(move |(time, _)| (from_ns..=to_ns).contains(time)).map(|&(_, target)| target)
    }

    /// Returns the shortest response time of an address to `station`, ns.
    pub(super) fn shortest_answer(&self, address: IpAddr, station: MacAddress) -> Option<i64> {
        self.answers.get(&(address, station)).copied()
    }

    /// Returns the DNS lookups of `client` from `from_ns` to `to_ns`, ordered by time.
    pub(super) fn lookups(&self, client: IpAddr, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &'a Lookup> + '_ {
        let lookups = self.lookups.get(&client).map_or(&[][..], Vec::as_slice);
        let start = lookups.partition_point(|lookup| lookup.query_ns < from_ns);
        let later = lookups.get(start..).unwrap_or_default().iter().copied();
        later.take_while(move |lookup| lookup.query_ns <= to_ns)
    }
}

fn by_address(probes: &[AddressProbe]) -> HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>> {
    let mut by_address: HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>> = HashMap::new();
    for probe in probes {
        by_address.entry(probe.target).or_default().push((probe.time_ns, probe.prober));
    }
    // The clock may have been set during the capture.
    for times in by_address.values_mut() {
        times.sort_by_key(|&(time, _)| time);
    }
    by_address
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use onoff_netboot::capture::AddressAnswer;

    use super::*;

    #[test]
    fn finds_lookups_by_address_in_any_order() {
        let first = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
        let second = IpAddr::from(Ipv4Addr::new(10, 0, 0, 2));
        let station = MacAddress([2, 0, 0, 0, 0, 9]);
        let probe = |time_ns, target, prober| AddressProbe { time_ns, target, prober };
        let answer = |address, response_time_ns: Option<i64>| {
            let prober = response_time_ns.map(|_| station);
            AddressAnswer { time_ns: 0, address, response_time_ns, prober }
        };
        let capture = Capture {
            // The clock was set back after the second probe.
            address_probes: vec![
                probe(50, first, None),
                probe(90, first, Some(station)),
                probe(20, first, Some(station)),
                probe(60, second, None),
            ],
            address_answers: vec![
                answer(first, Some(7)),
                answer(first, None),
                answer(first, Some(5)),
                answer(second, None),
            ],
            ..Capture::default()
        };
        let index = LinkIndex::new(&capture);
        assert_eq!((index.probes(first, 20, 90), index.probes(first, 21, 89), index.probes(second, 0, 59)), (3, 1, 0));
        assert_eq!((index.first_probe(first, 0, 100), index.first_probe(first, 91, 100)), (Some(20), None));
        assert_eq!(index.requested_by(station, 0, 89).collect::<Vec<_>>(), [first]);
        assert_eq!(index.requested_by(station, 0, 90).count(), 2);
        let shortest = |address, station| index.shortest_answer(address, station);
        assert_eq!((shortest(first, station), shortest(second, station)), (Some(5), None));
        assert_eq!(shortest(first, MacAddress([2, 0, 0, 0, 0, 8])), None, "other station");
        assert_eq!(index.probes(first, 90, 20), 0, "an inverted range is empty");
    }
}
