//! What a capture shows of the link as a whole, by address: each of thousands of boots asks only for its own.

use std::net::IpAddr;

use hashbrown::HashMap;
use onoff_netboot::capture::AddressProbe;
use onoff_netboot::lookup::Lookup;
use onoff_netboot::{Capture, MacAddress};

/// Questions and answers about addresses and names, found quickly.
#[derive(Debug, Default)]
pub(super) struct LinkIndex<'a> {
    /// Questions whether an address is in use, by address, each by time.
    probes: HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>>,
    /// Addresses that a station asked for, each time.
    asked: HashMap<MacAddress, Vec<(i64, IpAddr)>>,
    /// The shortest time from a question to its answer, ns, by address and the station that asked.
    answers: HashMap<(IpAddr, MacAddress), i64>,
    /// Names looked up, by who asked, each by time.
    lookups: HashMap<IpAddr, Vec<&'a Lookup>>,
}

impl<'a> LinkIndex<'a> {
    pub(super) fn of(capture: &'a Capture) -> Self {
        let mut index = Self { probes: by_address(&capture.address_probes), ..Self::default() };
        for answer in &capture.address_answers {
            if let (Some(after_ns), Some(asked_by)) = (answer.after_ns, answer.asked_by) {
                let shortest = index.answers.entry((answer.address, asked_by)).or_insert(after_ns);
                *shortest = after_ns.min(*shortest);
            }
        }
        for probe in &capture.address_probes {
            if let Some(by) = probe.by {
                index.asked.entry(by).or_default().push((probe.time_ns, probe.target));
            }
        }
        for lookup in &capture.lookups {
            index.lookups.entry(lookup.client).or_default().push(lookup);
        }
        for lookups in index.lookups.values_mut() {
            lookups.sort_by_key(|lookup| lookup.asked_ns);
        }
        index
    }

    /// An index of questions alone.
    #[cfg(test)]
    pub(super) fn of_probes(probes: &[AddressProbe]) -> Self {
        Self { probes: by_address(probes), ..Self::default() }
    }

    /// How many questions for `address` came from `from_ns` to `to_ns`.
    pub(super) fn probes(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> usize {
        self.probes_between(address, from_ns, to_ns).len()
    }

    /// The first of them, ns.
    pub(super) fn first_probe(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> Option<i64> {
        self.probes_between(address, from_ns, to_ns).first().map(|&(time, _)| time)
    }

    fn probes_between(&self, address: IpAddr, from_ns: i64, to_ns: i64) -> &[(i64, Option<MacAddress>)] {
        let times = self.probes.get(&address).map_or(&[][..], Vec::as_slice);
        let start = times.partition_point(|&(time, _)| time < from_ns);
        let end = times.partition_point(|&(time, _)| time <= to_ns);
        times.get(start..end).unwrap_or_default()
    }

    /// What `station` asked for from `from_ns` to `to_ns`.
    pub(super) fn asked_by(&self, station: MacAddress, from_ns: i64, to_ns: i64) -> impl Iterator<Item = IpAddr> + '_ {
        let all = self.asked.get(&station).map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |(time, _)| (from_ns..=to_ns).contains(time)).map(|&(_, target)| target)
    }

    /// The shortest time from a question of `station` for an address to the answer, ns.
    pub(super) fn shortest_answer(&self, address: IpAddr, station: MacAddress) -> Option<i64> {
        self.answers.get(&(address, station)).copied()
    }

    /// Names that `client` looked up from `from_ns` to `to_ns`, by time.
    pub(super) fn lookups(&self, client: IpAddr, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &'a Lookup> + '_ {
        let all = self.lookups.get(&client).map_or(&[][..], Vec::as_slice);
        let start = all.partition_point(|lookup| lookup.asked_ns < from_ns);
        let later = all.get(start..).unwrap_or_default().iter().copied();
        later.take_while(move |lookup| lookup.asked_ns <= to_ns)
    }
}

fn by_address(probes: &[AddressProbe]) -> HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>> {
    let mut by_address: HashMap<IpAddr, Vec<(i64, Option<MacAddress>)>> = HashMap::new();
    for probe in probes {
        by_address.entry(probe.target).or_default().push((probe.time_ns, probe.by));
    }
    // The clock may have been set while the capture ran.
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
    fn questions_and_answers_are_found_by_address_whatever_order_they_came_in() {
        let one = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
        let other = IpAddr::from(Ipv4Addr::new(10, 0, 0, 2));
        let station = MacAddress([2, 0, 0, 0, 0, 9]);
        let probe = |time_ns, target, by| AddressProbe { time_ns, target, by };
        let answer = |address, after_ns: Option<i64>| {
            let asked_by = after_ns.map(|_| station);
            AddressAnswer { time_ns: 0, address, after_ns, asked_by }
        };
        let capture = Capture {
            // The clock was set back after the second.
            address_probes: vec![
                probe(50, one, None),
                probe(90, one, Some(station)),
                probe(20, one, Some(station)),
                probe(60, other, None),
            ],
            address_answers: vec![answer(one, Some(7)), answer(one, None), answer(one, Some(5)), answer(other, None)],
            ..Capture::default()
        };
        let index = LinkIndex::of(&capture);
        assert_eq!((index.probes(one, 20, 90), index.probes(one, 21, 89), index.probes(other, 0, 59)), (3, 1, 0));
        assert_eq!((index.first_probe(one, 0, 100), index.first_probe(one, 91, 100)), (Some(20), None));
        assert_eq!(index.asked_by(station, 0, 89).collect::<Vec<_>>(), [one]);
        assert_eq!(index.asked_by(station, 0, 90).count(), 2);
        let shortest = |address, station| index.shortest_answer(address, station);
        assert_eq!((shortest(one, station), shortest(other, station)), (Some(5), None));
        assert_eq!(shortest(one, MacAddress([2, 0, 0, 0, 0, 8])), None, "another station is somewhere else");
        assert_eq!(index.probes(one, 90, 20), 0, "a range that ends before it starts holds nothing");
    }
}
