//! Call stacks in the [speedscope](https://www.speedscope.app/file-format-schema.json) format: a sampled profile with
//! weights in nanoseconds.

use std::collections::HashMap;
use std::io::{self, Write};

use onoff_lists::flame::Flame;
use serde::Serialize;

#[derive(Serialize)]
struct File<'f> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'f str,
    shared: Shared<'f>,
    profiles: [Profile<'f>; 1],
}

#[derive(Serialize)]
struct Shared<'f> {
    frames: Vec<Frame<'f>>,
}

#[derive(Serialize)]
struct Frame<'f> {
    name: &'f str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'f> {
    r#type: &'static str,
    name: &'f str,
    unit: &'static str,
    start_value: i64,
    end_value: i64,
    samples: Vec<Vec<usize>>,
    weights: Vec<i64>,
}

/// Writes `flame` as a profile with the given name.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(flame: &Flame, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut frames = Vec::new();
    let mut frame_indices: HashMap<&str, usize> = HashMap::new();
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for stack in flame.stacks() {
        weights.extend(stack.last().map(|&node| flame.nodes[node].own_ns));
        let frame_index = |&node: &usize| {
            let name = flame.nodes[node].name.as_str();
            *frame_indices.entry(name).or_insert_with(|| {
                frames.push(Frame { name });
                frames.len() - 1
            })
        };
        samples.push(stack.iter().map(frame_index).collect());
    }
    let profile = Profile {
        r#type: "sampled",
        name,
        unit: "nanoseconds",
        start_value: 0,
        end_value: flame.total_ns,
        samples,
        weights,
    };
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("onoff ", env!("CARGO_PKG_VERSION")),
        name,
        shared: Shared { frames },
        profiles: [profile],
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}
