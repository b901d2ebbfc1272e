//! Length-limited canonical Huffman codes.

/// Longest code that 4-bit lengths can express.
const MAX_LEN: u8 = 15;

/// Returns the code lengths for the symbols' frequencies, 0 for unused symbols. At least two symbols get a code, so
/// that the code is complete.
pub(super) fn code_lengths(frequencies: &[u32]) -> Vec<u8> {
    let mut weights: Vec<u64> = frequencies.iter().map(|&count| u64::from(count)).collect();
    for symbol in 0..weights.len() {
        if weights.iter().filter(|&&weight| weight > 0).count() >= 2 {
            break;
        }
        weights[symbol] = weights[symbol].max(1);
    }
    loop {
        let lengths = unlimited_lengths(&weights);
        if lengths.iter().all(|&length| length <= MAX_LEN) {
            return lengths;
        }
        // Flatter weights shorten the longest codes; a few rounds always suffice.
        for weight in &mut weights {
            if *weight > 0 {
                *weight = (*weight >> 2) + 1;
            }
        }
    }
}

fn unlimited_lengths(weights: &[u64]) -> Vec<u8> {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    let mut parents: Vec<usize> = vec![usize::MAX; weights.len()];
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = weights
        .iter()
        .enumerate()
        .filter(|&(_, &weight)| weight > 0)
        .map(|(node, &weight)| Reverse((weight, node)))
        .collect();
    while let (Some(Reverse((light, left))), Some(Reverse((heavy, right)))) = (heap.pop(), heap.pop()) {
        let parent = parents.len();
        parents.push(usize::MAX);
        parents[left] = parent;
        parents[right] = parent;
        heap.push(Reverse((light + heavy, parent)));
        if heap.len() == 1 {
            break;
        }
    }
    weights
        .iter()
        .enumerate()
        .map(|(symbol, &weight)| {
            let mut length = 0;
            let mut node = symbol;
            while weight > 0 && parents[node] != usize::MAX {
                node = parents[node];
                length += 1;
            }
            length
        })
        .collect()
}

/// Returns the canonical codes: shorter first, symbols in order within a length.
pub(super) fn canonical_codes(lengths: &[u8]) -> Vec<u16> {
    let mut codes = vec![0; lengths.len()];
    let mut next_code: u32 = 0;
    for length in 1..=MAX_LEN {
        next_code <<= 1;
        for (symbol, _) in lengths.iter().enumerate().filter(|&(_, &code_length)| code_length == length) {
            codes[symbol] = next_code as u16;
            next_code += 1;
        }
    }
    codes
}
