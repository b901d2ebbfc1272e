//! `xperf -a services`: the auto-start window, then one row per service transition, in ms.

use std::io::{self, Write};

use onoff_evidence::DerivedInterval;
use onoff_trace::ServiceChange;
use onoff_usage::units::Unit;

use super::milliseconds;
use onoff_report::text::printable::printable;

/// Thresholds in ns above which a step of a service is also listed after the rows; `None` if the step is never listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointsOfInterest {
    /// Creating the container.
    pub container_ns: Option<i64>,
    /// Loading the service's image.
    pub image_load_ns: Option<i64>,
    /// Initialization of the service.
    pub initialization_ns: Option<i64>,
}

/// Writes service starts and stops. `window` is the auto-start window.
pub fn write(
    window: &DerivedInterval,
    services: &[Unit],
    points: &PointsOfInterest,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "AutoStart, StartTime, EndTime, Duration")?;
    if !(services.is_empty() && window.start_ns.is_none() && window.end_ns.is_none()) {
        writeln!(
            out,
            "AutoStart, {}, {}, {}",
            milliseconds(window.start_ns),
            milliseconds(window.end_ns),
            milliseconds(window.duration_ns)
        )?;
    }
    writeln!(
        out,
        "Transition, ServiceName, Group, TotalTime, ContTime, LoadTime, InitTime, \
         StartedAt, ContDoneAt, LoadDoneAt, EndedAt, Container"
    )?;
    for service in services {
        write_service(service, out)?;
    }
    write_points(services, points, out)
}

fn write_points(services: &[Unit], points: &PointsOfInterest, out: &mut dyn Write) -> io::Result<()> {
    if *points == PointsOfInterest::default() {
        return Ok(());
    }
    writeln!(out, "PointOfInterest, ServiceName, Part, Time, StartedAt")?;
    for service in services {
        for (step, duration_ns, threshold_ns) in [
            ("ContainerInit", service.container_ns, points.container_ns),
            ("ImageLoad", service.image_load_ns, points.image_load_ns),
            ("ServiceInit", service.initialization_ns, points.initialization_ns),
        ] {
            if let (Some(duration_ns), Some(threshold_ns)) = (duration_ns, threshold_ns)
                && duration_ns > threshold_ns
            {
                writeln!(
                    out,
                    "PointOfInterest, {}, {step}, {}, {}",
                    printable(&service.name),
                    milliseconds(Some(duration_ns)),
                    milliseconds(Some(service.start_ns)),
                )?;
            }
        }
    }
    Ok(())
}

fn write_service(service: &Unit, out: &mut dyn Write) -> io::Result<()> {
    let transition = match service.kind {
        ServiceChange::Start => "Start",
        ServiceChange::Stop => "Stop",
    };
    // A step that was not recorded takes no time: it ends when the previous step ends.
    let container_done_ns = service.checkpoint_ns.unwrap_or(service.start_ns);
    let load_done_ns = service.load_done_ns.unwrap_or(container_done_ns);
    writeln!(
        out,
        "{transition}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}",
        printable(&service.name),
        printable(&service.group),
        milliseconds(service.duration_ns),
        milliseconds(Some(container_done_ns.saturating_sub(service.start_ns))),
        milliseconds(Some(load_done_ns.saturating_sub(container_done_ns))),
        milliseconds(service.end_ns.map(|end| end.saturating_sub(load_done_ns))),
        milliseconds(Some(service.start_ns)),
        milliseconds(Some(container_done_ns)),
        milliseconds(Some(load_done_ns)),
        milliseconds(service.end_ns),
        printable(&service.command),
    )
}
