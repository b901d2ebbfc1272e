//! The subset of the published SARIF 2.1.0 JSON schema that the program writes.
//!
//! The schema forbids unknown properties. If you add a property here, look it up in the schema first
//! (`sarif-schema-2.1.0.json` by OASIS).

use serde_json::Value;

/// The type of a property.
enum Holds {
    Text,
    Truth,
    /// An integer with this minimum.
    Number(i64),
    OneOf(&'static [&'static str]),
    /// A URI reference, without blanks and control characters.
    Reference,
    /// An object of this type.
    Object(&'static str),
    /// An array of this type; if true, items must be unique.
    List(&'static str, bool),
    /// A map from names to strings.
    Texts,
}

use Holds::{List, Number, Object, OneOf, Reference, Text, Texts, Truth};

/// An object type: name, required properties (`|` separates alternatives), optional properties.
type Shape = (&'static str, &'static [&'static str], &'static [(&'static str, Holds)]);

const SHAPES: &[Shape] = &[
    (
        "sarifLog",
        &["version", "runs"],
        &[("$schema", Reference), ("version", OneOf(&["2.1.0"])), ("runs", List("run", false))],
    ),
    (
        "run",
        &["tool"],
        &[("tool", Object("tool")), ("invocations", List("invocation", false)), ("results", List("result", false))],
    ),
    ("tool", &["driver"], &[("driver", Object("toolComponent"))]),
    ("toolComponent", &["name"], &[("name", Text), ("version", Text), ("rules", List("reportingDescriptor", true))]),
    (
        "reportingDescriptor",
        &["id"],
        &[("id", Text), ("name", Text), ("shortDescription", Object("multiformatMessageString"))],
    ),
    ("multiformatMessageString", &["text"], &[("text", Text)]),
    ("invocation", &["executionSuccessful"], &[("executionSuccessful", Truth)]),
    (
        "result",
        &["message"],
        &[
            ("ruleId", Text),
            ("ruleIndex", Number(-1)),
            ("kind", OneOf(&["notApplicable", "pass", "fail", "review", "open", "informational"])),
            ("level", OneOf(&["none", "note", "warning", "error"])),
            ("message", Object("message")),
            ("locations", List("location", false)),
            ("partialFingerprints", Texts),
        ],
    ),
    ("message", &["text|id"], &[("text", Text)]),
    (
        "location",
        &[],
        &[("physicalLocation", Object("physicalLocation")), ("logicalLocations", List("logicalLocation", true))],
    ),
    ("physicalLocation", &["address|artifactLocation"], &[("artifactLocation", Object("artifactLocation"))]),
    ("artifactLocation", &[], &[("uri", Reference)]),
    ("logicalLocation", &[], &[("fullyQualifiedName", Text)]),
];

/// Returns the schema violations of a SARIF document.
pub fn faults_of_sarif(document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    object("sarifLog", document, "", &mut faults);
    faults
}

fn object(name: &str, value: &Value, at: &str, faults: &mut Vec<String>) {
    let (_, required, properties) = SHAPES.iter().find(|shape| shape.0 == name).unwrap();
    let Some(map) = value.as_object() else {
        return faults.push(format!("{at} is no {name}"));
    };
    for names in *required {
        if !names.split('|').any(|name| map.contains_key(name)) {
            faults.push(format!("{at} lacks {names}"));
        }
    }
    for (key, value) in map {
        let at = format!("{at}/{key}");
        match properties.iter().find(|(name, _)| name == key) {
            Some((_, holds)) => property(holds, value, &at, faults),
            None => faults.push(format!("{at} is not known of {name}")),
        }
    }
}

fn property(holds: &Holds, value: &Value, at: &str, faults: &mut Vec<String>) {
    let text = value.as_str();
    let is_right = match holds {
        Text => text.is_some(),
        Truth => value.is_boolean(),
        Number(least) => value.as_i64().is_some_and(|number| number >= *least),
        OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        Reference => text
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte))),
        Texts => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
        Object(name) => return object(name, value, at, faults),
        List(name, is_set) => {
            let rows = value.as_array().map_or(&[][..], Vec::as_slice);
            for (index, row) in rows.iter().enumerate() {
                object(name, row, &format!("{at}/{index}"), faults);
            }
            let is_new = |(index, row): (usize, &Value)| !rows[..index].contains(row);
            value.is_array() && (!is_set || rows.iter().enumerate().all(is_new))
        }
    };
    if !is_right {
        faults.push(format!("{at} may not be {value}"));
    }
}
