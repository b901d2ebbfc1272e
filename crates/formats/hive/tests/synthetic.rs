//! Synthetic hives.

use onoff_hive::{Error, Hive, ValueKind};
use onoff_testkit::hive::{DEFAULT_WRITE_TIME, HiveKey, interrupted_write};

fn services(count: u32) -> HiveKey {
    let mut root = HiveKey::root();
    for index in 0..count {
        let key = root.subkey(&format!(r"ControlSet001\Services\Service{index}"));
        key.set_value("Start", 2_u32)
            .set_value("DependOnService", ["RpcSs", "Tcpip"].as_slice())
            .set_value("ImagePath", r"system32\a.exe");
    }
    root.subkey("Long").set_value("Blob", vec![9_u8; 40_000]).set_value("", "default").set_value("Wide", 1_u64 << 40);
    root.subkey("Übung").set_value("Kind", vec![1_u8, 2]);
    root
}

#[test]
fn reads_keys_and_values_of_every_type() {
    let hive = Hive::read(services(3).to_hive(), &[]).unwrap();
    assert!(!hive.is_dirty());
    let key = hive.key(r"controlset001\SERVICES\service1").unwrap();
    assert_eq!((key.name().as_str(), key.value("start").unwrap().number()), ("Service1", Some(2)));
    assert_eq!(key.value("DependOnService").unwrap().strings().unwrap(), ["RpcSs", "Tcpip"]);
    assert_eq!(key.value("ImagePath").unwrap().string().unwrap(), r"system32\a.exe");
    assert_eq!(key.last_written_unix_ns(), Some((DEFAULT_WRITE_TIME as i64 - 116_444_736_000_000_000) * 100));
    let long = hive.key("Long").unwrap();
    assert_eq!(long.value("Blob").unwrap().data.len(), 40_000);
    assert_eq!(
        (long.value("").unwrap().string().unwrap().as_str(), long.value("Wide").unwrap().number()),
        ("default", Some(1 << 40))
    );
    assert_eq!(hive.key("übung").unwrap().value("Kind").unwrap().kind, ValueKind::Binary);
    assert!(hive.key(r"Long\Nowhere").is_none());
    let survey = hive.survey();
    assert_eq!((survey.keys, survey.values), (8, 13));
    assert_eq!((survey.unreadable_keys, survey.unreadable_values, survey.recovered_keys), (0, 0, 0));
}

#[test]
fn applies_matching_log_only() {
    let old = services(2);
    let mut new = old.clone();
    new.subkey(r"ControlSet001\Services\Service1").set_value("Start", 4_u32);
    let (hive, log) = interrupted_write(&old.to_hive(), &new.to_hive());
    let start = |hive: &Hive| hive.key(r"ControlSet001\Services\Service1").unwrap().value("Start").unwrap().number();
    let read = Hive::read(hive.clone(), &[&log]).unwrap();
    assert_eq!((start(&read), read.log_stats().applied, read.is_dirty()), (Some(4), 1, true));
    // Without the log, the old value is read, and the hive is dirty.
    let read = Hive::read(hive.clone(), &[]).unwrap();
    assert_eq!((start(&read), read.is_dirty()), (Some(2), true));
    let mut broken = log.clone();
    *broken.last_mut().unwrap() ^= 1;
    let read = Hive::read(hive, &[&broken]).unwrap();
    assert_eq!((start(&read), read.log_stats().applied, read.log_stats().skipped), (Some(2), 0, 1));
    // A hive that was closed properly does not use logs.
    let read = Hive::read(old.to_hive(), &[&log]).unwrap();
    assert_eq!((start(&read), read.log_stats().applied), (Some(2), 0));
}

#[test]
fn recovers_subkeys_of_damaged_list() {
    let mut bytes = services(5).to_hive();
    let offset = bytes.windows(4).position(|window| window == b"lh\x05\0").unwrap();
    bytes[offset..offset + 2].copy_from_slice(b"??");
    let hive = Hive::read(bytes, &[]).unwrap();
    assert_eq!(hive.key(r"ControlSet001\Services").unwrap().subkeys().len(), 5);
    assert!(hive.key(r"ControlSet001\Services\Service4").is_some());
    assert_eq!((hive.survey().recovered_keys, hive.survey().unreadable_keys), (5, 0));
}

#[test]
fn counts_damaged_keys_and_values() {
    let mut bytes = services(5).to_hive();
    let name = bytes.windows(8).position(|window| window == b"Service3").unwrap();
    bytes[name - 76..name - 74].copy_from_slice(b"xx");
    let value = bytes.windows(4).position(|window| window == b"Blob").unwrap();
    bytes[value - 20] = b'x';
    let hive = Hive::read(bytes, &[]).unwrap();
    let survey = hive.survey();
    assert_eq!((survey.unreadable_keys, survey.unreadable_values), (1, 1));
    assert_eq!(hive.key(r"ControlSet001\Services").unwrap().subkeys().len(), 4);
}

#[test]
fn rejects_other_files() {
    assert_eq!(Hive::read(b"MZ".to_vec(), &[]).unwrap_err(), Error::NotAHive);
    assert_eq!(Hive::read(b"regf".to_vec(), &[]).unwrap_err(), Error::Truncated { offset: 4 });
    let empty = Hive::read([b"regf".as_slice(), &[0; 5000]].concat(), &[]).unwrap_err();
    assert!(matches!(empty, Error::NoRoot { .. }), "{empty}");
}
