//! Reports and lists as text and JSON, and lanes, of one recording.

use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::shutdown::ShutdownOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::report::text::boot::no_boot;
use onoff::report::text::shutdown::no_shutdown;
use onoff::sections::table::{RowSelection, TEXT_ROWS};
use onoff::{Lanes, List, ListQuery, QueryError, Session};

use crate::{code_and_answer, exchange};

/// Analyzes the boot. The answer is text if `json` is 0, otherwise JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_boot(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let boot = session.boot(&BootOptions::default()).map_err(|error| error.map(|reason| no_boot(&reason)))?;
        Ok(if json { boot.write_json(&[session.provenance()?], out) } else { boot.write_text(out) })
    })
}

/// Analyzes the shutdown.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_shutdown(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let shutdown = session.shutdown(&ShutdownOptions::default());
        let shutdown = shutdown.map_err(|error| error.map(|reason| no_shutdown(&reason)))?;
        Ok(if json { shutdown.write_json(&[session.provenance()?], out) } else { shutdown.write_text(out) })
    })
}

/// Analyzes all sleeps.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_suspend(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let sleeps = session.sleeps(&SuspendOptions::default());
        let sleeps = sleeps.map_err(QueryError::into_message)?;
        Ok(if json { sleeps.write_json(&[session.provenance()?], out) } else { sleeps.write_text(out) })
    })
}

/// Lists processes.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_processes(json: u32) -> u32 {
    list(json, &List::Processes)
}

/// Lists service starts and stops.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_services(json: u32) -> u32 {
    list(json, &List::Services)
}

fn list(json: u32, list: &List) -> u32 {
    answer(json, |session, json, out| {
        let selection = RowSelection { top: (!json).then_some(TEXT_ROWS), ..RowSelection::default() };
        let answer = session.list(list, &ListQuery { selection, ..ListQuery::default() });
        let answer = answer.map_err(QueryError::into_message)?;
        Ok(if json { answer.write_json(&[session.provenance()?], out) } else { answer.write_text(out) })
    })
}

/// Lists the tracks of the recording as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_tracks() -> u32 {
    with_lanes(|lanes| Some(serde_json::to_vec(&lanes.tracks())))
}

/// Draws `from_ns..to_ns` of a track, given by its number, for a width of `pixels`. The answer is JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_lane(track: u32, from_ns: i64, to_ns: i64, pixels: u32) -> u32 {
    with_lanes(|lanes| Some(serde_json::to_vec(&lanes.draw(track, from_ns, to_ns, pixels.min(MAX_PIXELS))?)))
}

/// Maximum width of a drawing; wider than any screen.
const MAX_PIXELS: u32 = 1 << 16;

fn with_lanes(draw: impl FnOnce(&Lanes) -> Option<serde_json::Result<Vec<u8>>>) -> u32 {
    let mut exchange = exchange();
    let lanes = match exchange.lanes.take() {
        Some(lanes) => Ok(lanes),
        None => Session::from_bytes(exchange.files.iter().cloned()).and_then(|session| session.lanes()),
    };
    let result = lanes.map_err(QueryError::from).and_then(|lanes| {
        let json = draw(&lanes);
        exchange.lanes = Some(lanes);
        let json = json.ok_or_else(|| QueryError::Unanswerable("no track with that number".to_owned()))?;
        json.map_err(|error| QueryError::Unanswerable(error.to_string()))
    });
    let (code, answer) = code_and_answer(result);
    exchange.answer = answer;
    code
}

/// Runs a query on the files and stores the answer.
fn answer(
    json: u32,
    query: impl FnOnce(&Session, bool, &mut Vec<u8>) -> Result<std::io::Result<()>, QueryError<String>>,
) -> u32 {
    let mut exchange = exchange();
    let mut output = Vec::new();
    let result = Session::from_bytes(exchange.files.iter().cloned())
        .map_err(QueryError::Unreadable)
        .and_then(|session| query(&session, json != 0, &mut output));
    let (code, answer) = code_and_answer(match result {
        Ok(Ok(())) => Ok(output),
        Ok(Err(error)) => Err(QueryError::Unanswerable(error.to_string())),
        Err(error) => Err(error),
    });
    exchange.answer = answer;
    code
}
