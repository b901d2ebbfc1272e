//! Reading terminates on any input.

use onoff_prefetch::{read_layout, read_plan, read_ready_boot, read_superfetch};
use onoff_testkit::compress::Compression;
use proptest::prelude::*;

/// Generates bytes that look like a plan, with mostly small offsets and counts.
fn plan_like_bytes() -> impl Strategy<Value = Vec<u8>> {
    let version = prop::sample::select(vec![17_u32, 23, 26, 30, 31]);
    let numbers = prop::collection::vec(prop_oneof![0..600_u32, any::<u32>()], 60..160);
    (version, numbers).prop_map(|(version, numbers)| {
        let mut bytes = version.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"SCCA");
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    })
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes in prop_oneof![plan_like_bytes(), prop::collection::vec(any::<u8>(), 0..400)], flags in any::<u8>()) {
        if let Ok(plan) = read_plan(&bytes) {
            prop_assert!(plan.files.len() <= 65_536);
            let references: usize = plan.volumes.iter().map(|volume| volume.file_references.len()).sum();
            prop_assert!(references <= plan.volumes.len() * bytes.len());
        }
        let mut wrapped = vec![b'M', b'A', b'M', flags];
        wrapped.extend_from_slice(&bytes);
        let _ = read_plan(&wrapped);
        let _ = read_layout(&bytes);
        let _ = read_superfetch(&bytes);
        let _ = read_superfetch(&wrapped);
        // Also as the decompressed contents of a trace and of a layout.
        for magic in [b"xFcE", b"iLdR"] {
            let contents = [magic.as_slice(), bytes.get(4..).unwrap_or_default()].concat();
            let packed = Compression::XpressHuffman.compress(&contents);
            let mut file = b"PfB\xe3".to_vec();
            file.extend_from_slice(&(contents.len() as u32).to_le_bytes());
            file.extend_from_slice(&(packed.len() as u32).to_le_bytes());
            file.extend_from_slice(&packed);
            let _ = read_ready_boot(&file);
        }
    }
}
