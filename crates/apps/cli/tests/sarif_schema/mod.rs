//! The shape of SARIF 2.1.0 as its published JSON schema has it, of the objects that the program writes.
//!
//! The schema forbids properties that it does not name. Here only those stand that the program writes: one that is added must be
//! looked up in the schema (`sarif-schema-2.1.0.json` of OASIS) first.

use serde_json::Value;

/// What a property holds.
enum Holds {
    Text,
    Truth,
    /// An integer from this on.
    Number(i64),
    OneOf(&'static [&'static str]),
    /// A reference to something: blanks and control characters are no part of it.
    Reference,
    /// An object of this type.
    Object(&'static str),
    /// A list of objects of this type; whether no two may be the same.
    List(&'static str, bool),
    /// Any names, each with a text.
    Texts,
}

use Holds::{List, Number, Object, OneOf, Reference, Text, Texts, Truth};

/// A type of object: its name, what it must have (one of the names that `|` separates), what it may have.
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

/// What of a SARIF document its schema forbids; empty for none.
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
