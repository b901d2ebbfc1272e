//! The model against the paper's table and against turns that are laid down.

use super::*;

const BOOT_WIM: u64 = 201 << 20;
const GIGABIT: u64 = 1_000_000_000;

#[test]
fn a_block_on_the_wire() {
    // 1456 bytes are 1526 on the wire, 12.2 µs at 1 Gb/s.
    assert_eq!(wire_ns(1456, false, GIGABIT), 12_208);
    assert_eq!(wire_ns(1448, true, GIGABIT), 12_304);
}

/// Each reading of the paper's tuned run, 9.5382 s with windows of 50 blocks of 1456 bytes: all of a turn per acknowledgment, or
/// all of it per block.
#[test]
fn table_1_of_the_uefi_pxe_paper_by_each_reading() {
    let gap_ns = wire_ns(1456, false, GIGABIT) as f64;
    let blocks = blocks_of(BOOT_WIM, 1456);
    assert_eq!(blocks, 144_756);
    let turns = blocks.div_ceil(50);
    let left = 9_538_200_000.0 - (blocks - turns) as f64 * gap_ns;
    let per_acknowledgment = ClientTurn { fixed_ns: left / turns as f64, per_block_ns: 0.0 };
    let per_block = ClientTurn { fixed_ns: 0.0, per_block_ns: left / blocks as f64 };
    let seconds =
        |client, window: u64| (steady(blocks, blocks.div_ceil(window), gap_ns, 0.0, client) / 1e8).round() / 10.0;
    let windows = [1, 4, 8, 16, 32, 50, 64];
    assert_eq!(windows.map(|window| seconds(per_acknowledgment, window)), [390.2, 98.9, 50.3, 26.0, 13.9, 9.5, 7.8]);
    assert_eq!(windows.map(|window| seconds(per_block, window)), [7.8, 9.1, 9.4, 9.5, 9.5, 9.5, 9.5]);
    // The default run had about 4,000 acknowledgments of 36 blocks and took 23.7053 s: neither reading explains it.
    let default = |client| 23.7053 - steady(blocks, 4_000, gap_ns, 0.0, client) / 1e9;
    assert!((11.0..11.4).contains(&default(per_acknowledgment)), "{}", default(per_acknowledgment));
    assert!((14.0..14.3).contains(&default(per_block)), "{}", default(per_block));
}

#[test]
fn c0_and_k_are_told_apart_by_windows_and_only_by_them() {
    let turn = |window: u32| (window, 500_u64, 100_000.0 + 98_000.0 * f64::from(window));
    let (found, windows) = client_turn(&[turn(1), turn(4), turn(16), turn(64)]).unwrap();
    assert!((found.fixed_ns - 100_000.0).abs() < 1.0 && (found.per_block_ns - 98_000.0).abs() < 1.0, "{found:?}");
    assert_eq!(windows, [1, 4, 16, 64]);
    assert_eq!(client_turn(&[turn(4), turn(4)]), None);
    assert_eq!(client_turn(&[]), None);
    // Turns that shrink as the window grows are no cost per block, and none is below zero.
    let (found, _) = client_turn(&[(1, 9, 900.0), (4, 9, 500.0)]).unwrap();
    assert!(found.fixed_ns > 0.0 && found.per_block_ns.abs() < f64::EPSILON);
    let (found, _) = client_turn(&[(1, 9, 10.0), (4, 9, 900.0)]).unwrap();
    assert!(found.fixed_ns.abs() < f64::EPSILON && found.per_block_ns > 0.0);
}

fn fitted(window: u32, loss_events: u64) -> Fitted {
    let (blocks, client) = (6_000_u64, 400_000.0);
    let turns = blocks.div_ceil(u64::from(window));
    let losses_ns = loss_events as i64 * 1_000_000_000;
    let per_acknowledgment = ClientTurn { fixed_ns: client, per_block_ns: 0.0 };
    let steady_ns = steady(blocks, turns, 12_000.0, 50_000.0, per_acknowledgment) as i64;
    let measured_ns = steady_ns + losses_ns + 70_000_000;
    Fitted {
        model: LatencyModel {
            blocks,
            turns,
            gap_ns: 12_000,
            gap_measured: true,
            turn_ns: 450_000,
            server_ns: 50_000,
            per_acknowledgment,
            per_block: ClientTurn { fixed_ns: 0.0, per_block_ns: client / f64::from(window) },
            fitted: false,
            fitted_windows: Vec::new(),
            steady_ns,
            model_ns: steady_ns,
            measured_ns,
            unexplained_ns: 0,
            pauses_ns: 70_000_000,
            loss_events,
            losses_ns,
            wire_ns: 0,
            wire_percent: 0.0,
        },
        bytes: 1468 * 6_000 - 1468,
        ipv6: false,
        block_size: 1468,
        window,
        timeout_ns: 1e9,
        bits_per_s: GIGABIT,
        round_trip_at_most_ns: 100_000.0,
        turns: Vec::new(),
        firmware: true,
    }
}

#[test]
fn the_settings_that_were_give_what_was_measured() {
    for (window, losses) in [(1, 0), (4, 0), (4, 9), (50, 3)] {
        let fitted = fitted(window, losses);
        let settings = Settings { window: Some(window), block_size: Some(1468), ..Settings::default() };
        let (shortest, longest, lost) = fitted.predicted_ns(&settings);
        assert!((shortest - fitted.model.measured_ns).abs() <= 2, "{window} {losses}: {shortest}");
        assert!((longest - fitted.model.measured_ns).abs() <= 2, "{window} {losses}: {longest}");
        assert_eq!(lost, fitted.model.losses_ns);
    }
}

#[test]
fn one_window_gives_a_range_and_several_a_number() {
    let mut one = fitted(4, 0);
    let wider = Settings { window: Some(16), ..Settings::default() };
    let (shortest, longest, _) = one.predicted_ns(&wider);
    // Per acknowledgment three quarters of the turns go; per block only the server's.
    assert!(longest - shortest > 300_000_000, "{shortest} {longest}");
    let turns = [(4, 100, 400_000.0), (16, 100, 1_600_000.0)];
    one.turns = turns.to_vec();
    let mut all = [one];
    fit_together(&mut all, Some(100_000));
    assert!(all[0].model.fitted);
    let (shortest, longest, _) = all[0].predicted_ns(&wider);
    assert_eq!(shortest, longest);
}

#[test]
fn round_trip_and_loss_that_are_asked_about() {
    let one = fitted(4, 0);
    let (was, ..) = one.predicted_ns(&Settings::default());
    let (shortest, longest, _) = one.predicted_ns(&Settings { round_trip_ns: Some(5_000_000), ..Settings::default() });
    // 1,500 turns of 5 ms each; up to 0.1 ms of it may have been there.
    assert!((longest - was - 7_500_000_000).abs() < 10, "{longest}");
    assert!((shortest - was - 7_350_000_000).abs() < 10, "{shortest}");
    let (_, _, lost) = one.predicted_ns(&Settings { loss: Some(0.001), ..Settings::default() });
    // 6 blocks, one of four the last of its window, which costs a time-out of 1 s.
    assert!((1_400_000_000..1_600_000_000).contains(&lost), "{lost}");
    let (.., more) = one.predicted_ns(&Settings { loss: Some(0.001), window: Some(1), ..Settings::default() });
    assert!(more > 3 * lost, "{more}");
}

#[test]
fn sums_do_not_overflow() {
    let mut one = fitted(4, 0);
    one.bytes = u64::MAX;
    one.model.measured_ns = i64::MAX;
    let settings = Settings { block_size: Some(0), window: Some(0), ..Settings::default() };
    let (shortest, longest, _) = one.predicted_ns(&settings);
    assert!(0 <= shortest && shortest <= longest);
}
