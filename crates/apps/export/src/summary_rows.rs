//! Converts the documents about a recording to rows of the summary tables.

use serde_json::{Map, Value, json};

/// The `error` of a readable recording without a transition.
pub(crate) const NO_TRANSITION: &str = "no boot, shutdown, sleep or network boot in this recording";

/// Rows by table, as JSON objects with the names of the columns.
pub(crate) type Rows = Vec<(&'static str, Vec<Value>)>;

/// Returns the rows about a recording of `kind`, given the document of [`crate::documents::all_documents`].
pub(crate) fn rows(documents: &Value, kind: &str) -> Rows {
    let info = &documents["info"];
    let transitions: Vec<&Value> =
        list(&documents["rows"]).filter(|row| !text(&row["transition"]).is_empty()).collect();
    let losses = match &info["losses"] {
        Value::Null => &documents["netboot"]["losses"],
        losses => losses,
    };
    let mut rows = vec![
        ("transitions", transitions.iter().enumerate().map(|(number, row)| transition(number, row)).collect()),
        ("account", list(&documents["why"]["intervals"]).flat_map(account).collect()),
        ("findings", list(&documents["diagnosis"]["findings"]).map(finding).collect()),
        ("losses", list(losses).map(|loss| select(loss, &["counter", "count", "severity"])).collect()),
        ("versions", list(&documents["versions"]).map(|pair| json!({"module": pair[0], "version": pair[1]})).collect()),
    ];
    let (mut phases, mut services, mut devices) = (Vec::new(), Vec::new(), Vec::new());
    for (transition, number, report) in reports(documents) {
        let identity = json!({"transition": transition, "number": number});
        let phases_or_stages = if report["phases"].is_array() { &report["phases"] } else { &report["stages"] };
        for (place, phase) in list(phases_or_stages).enumerate() {
            let name = if phase["name"].is_null() { &phase["kind"] } else { &phase["name"] };
            let mut row = select(phase, &["half", "start_ns", "end_ns", "duration_ns", "certainty"]);
            row["place"] = json!(place);
            row["phase"] = name.clone();
            phases.push(merged(&identity, row));
        }
        for unit in list(&report["units"]) {
            let mut row = select(unit, &["kind", "duration_ns", "outcome", "on_path"]);
            row["service"] = unit["name"].clone();
            row["image"] = json!(text(&unit["image"]));
            services.push(merged(&identity, row));
        }
        for device in list(&report["devices"]) {
            let mut row = select(device, &["duration_ns"]);
            for name in ["device", "driver", "kind"] {
                row[name] = json!(text(&device[name]));
            }
            devices.push(merged(&identity, row));
        }
    }
    rows.extend([("phases", phases), ("services", services), ("devices", devices)]);
    rows.push(("recordings", vec![recording(info, kind, transitions.first().copied())]));
    rows
}

/// Returns the rows about a recording that cannot be read.
pub(crate) fn failure(message: &str) -> Rows {
    vec![("recordings", vec![json!({"kind": "", "error": message})])]
}

fn recording(info: &Value, kind: &str, first_transition: Option<&Value>) -> Value {
    let system = &info["system"];
    let of_transition = |name: &str| first_transition.map_or(&Value::Null, |row| &row[name]);
    let recorded_utc = match of_transition("recorded_utc") {
        Value::Null => &info["start_utc"],
        time => time,
    };
    json!({
        "kind": kind,
        "computer": if first_transition.is_some() { of_transition("computer").clone() } else { json!(text(&system["computer"])) },
        "os": text(&info["os"]),
        "os_build": info["os_build"],
        "model": text(&system["model"]),
        "firmware": text(&system["firmware"]),
        "processor": text(&system["processor_name"]),
        "processors": system["processors"],
        "memory_bytes": system["memory_bytes"],
        "recorded_utc": recorded_utc,
        "error": if first_transition.is_some() { "" } else { NO_TRANSITION },
    })
}

fn transition(number: usize, row: &Value) -> Value {
    let names = ["transition", "variant", "duration_ns", "at_least_ns", "phase", "phase_ns"];
    let mut columns = select(row, &[&names[..], &["subject", "subject_ns", "subject_certainty"]].concat());
    columns["number"] = json!(number);
    columns
}

fn account(interval: &Value) -> impl Iterator<Item = Value> {
    list(&interval["account"]["entries"]).map(|entry| {
        let mut row = select(entry, &["kind", "ns", "certainty"]);
        row["subject"] = entry["name"].clone();
        row["transition"] = interval["action"].clone();
        row["phase"] = interval["name"].clone();
        row["start_ns"] = interval["start_ns"].clone();
        row["phase_ns"] = interval["duration_ns"].clone();
        row
    })
}

fn finding(finding: &Value) -> Value {
    let mut row = select(finding, &["transition", "code", "phase", "cost_ns", "cost_basis", "certainty", "title"]);
    row["subject_kind"] = finding["subject"]["kind"].clone();
    row["subject"] = finding["subject"]["name"].clone();
    row
}

/// Returns the kind of each transition, its number within the kind, and its report.
fn reports(documents: &Value) -> Vec<(&'static str, usize, &Value)> {
    let mut reports = Vec::new();
    for transition in ["boot", "shutdown", "suspend"] {
        let document = &documents[transition];
        match &document["transitions"] {
            Value::Array(sleeps) => {
                reports.extend(sleeps.iter().enumerate().map(|(number, report)| (transition, number, report)));
            }
            _ if document.is_null() => {}
            _ => reports.push((transition, 0, document)),
        }
    }
    let boots = list(&documents["netboot"]["boots"]).enumerate();
    reports.extend(boots.map(|(number, report)| ("netboot", number, report)));
    reports
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns an object with some of the fields.
fn select(object: &Value, names: &[&str]) -> Value {
    Value::Object(names.iter().map(|&name| (name.to_owned(), object[name].clone())).collect::<Map<_, _>>())
}

fn merged(identity: &Value, mut row: Value) -> Value {
    for (name, value) in identity.as_object().into_iter().flatten() {
        row[name.as_str()] = value.clone();
    }
    row
}
