//! Decodes the progress ids of EDK II measurements (`PerformanceLib.h`).

use onoff_trace::firmware::{FirmwareEdge, FirmwareWork};

/// Returns the work, the edge, and the class that is the same for begin and end.
pub(super) fn decode(progress: u16) -> (FirmwareWork, FirmwareEdge, u16) {
    use FirmwareEdge::{Begin, End, Point};
    if progress == 0 {
        return (FirmwareWork::Point, Point, 0);
    }
    // Below 0x10 begins are odd and the end is the next number; above, a begin has the low digit 0.
    let (class, edge) = match progress {
        0..0x10 => ((progress - 1) / 2 * 2 + 1, if progress % 2 == 1 { Begin } else { End }),
        _ => (progress & !0xf, if progress & 0xf == 0 { Begin } else { End }),
    };
    let work = match class {
        0x01 => FirmwareWork::EntryPoint,
        0x03 => FirmwareWork::LoadImage,
        0x05 => FirmwareWork::DriverStart,
        0x07 => FirmwareWork::DriverSupport,
        0x09 => FirmwareWork::DriverStop,
        0x10 => FirmwareWork::EventSignal,
        0x20 => FirmwareWork::Callback,
        0x30 => FirmwareWork::Function,
        0x40 => FirmwareWork::InModule,
        0x50 => FirmwareWork::CrossModule,
        _ => FirmwareWork::Other,
    };
    (work, edge, class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FirmwareEdge::{Begin, End, Point};

    #[test]
    fn begin_and_end_share_a_class() {
        for (progress, work, edge, class) in [
            (0, FirmwareWork::Point, Point, 0),
            (1, FirmwareWork::EntryPoint, Begin, 1),
            (2, FirmwareWork::EntryPoint, End, 1),
            (9, FirmwareWork::DriverStop, Begin, 9),
            (0xa, FirmwareWork::DriverStop, End, 9),
            (0xf, FirmwareWork::Other, Begin, 0xf),
            (0x50, FirmwareWork::CrossModule, Begin, 0x50),
            (0x51, FirmwareWork::CrossModule, End, 0x50),
            (0x63, FirmwareWork::Other, End, 0x60),
            (u16::MAX, FirmwareWork::Other, End, 0xfff0),
        ] {
            assert_eq!(decode(progress), (work, edge, class), "{progress:#x}");
        }
    }
}
