//! The subset of the published SARIF 2.1.0 JSON schema that the program writes.
//!
//! The schema forbids unknown properties. If you add a property here, look it up in the schema first
//! (`sarif-schema-2.1.0.json` by OASIS).

use serde_json::Value;

/// The type of a property.
enum PropertyType {
    Text,
    Boolean,
    /// An integer with this minimum.
    Number(i64),
    OneOf(&'static [&'static str]),
    /// A URI reference, without blanks and control characters.
    Reference,
    /// An object of this type.
    Object(&'static str),
    /// An array of this type. If the flag is set, the items must be unique.
    List(&'static str, bool),
    /// A map from names to strings.
    Texts,
}

use PropertyType::{Boolean, List, Number, Object, OneOf, Reference, Text, Texts};

/// An object type: name, required properties (`|` separates alternatives), optional properties.
type ObjectType = (&'static str, &'static [&'static str], &'static [(&'static str, PropertyType)]);

const OBJECT_TYPES: &[ObjectType] = &[
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
    ("invocation", &["executionSuccessful"], &[("executionSuccessful", Boolean)]),
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
pub fn sarif_violations(document: &Value) -> Vec<String> {
    let mut violations = Vec::new();
    check_object("sarifLog", document, "", &mut violations);
    violations
}

fn check_object(name: &str, value: &Value, path: &str, violations: &mut Vec<String>) {
    let (_, required, properties) = OBJECT_TYPES.iter().find(|(type_name, ..)| *type_name == name).unwrap();
    let Some(map) = value.as_object() else {
        return violations.push(format!("{path} is not of type {name}"));
    };
    for names in *required {
        if !names.split('|').any(|name| map.contains_key(name)) {
            violations.push(format!("{path} has no {names}"));
        }
    }
    for (key, value) in map {
        let path = format!("{path}/{key}");
        match properties.iter().find(|(name, _)| name == key) {
            Some((_, property_type)) => check_property(property_type, value, &path, violations),
            None => violations.push(format!("{path} is not a property of {name}")),
        }
    }
}

fn check_property(property_type: &PropertyType, value: &Value, path: &str, violations: &mut Vec<String>) {
    let text = value.as_str();
    let is_valid = match property_type {
        Text => text.is_some(),
        Boolean => value.is_boolean(),
        Number(minimum) => value.as_i64().is_some_and(|number| number >= *minimum),
        OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        Reference => text
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte))),
        Texts => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
        Object(name) => return check_object(name, value, path, violations),
        List(name, must_be_unique) => {
            let list_items = value.as_array().map_or(&[][..], Vec::as_slice);
            for (index, item) in list_items.iter().enumerate() {
                check_object(name, item, &format!("{path}/{index}"), violations);
            }
            let is_new = |(index, item): (usize, &Value)| !list_items[..index].contains(item);
            value.is_array() && (!must_be_unique || list_items.iter().enumerate().all(is_new))
        }
    };
    if !is_valid {
        violations.push(format!("{path} has the invalid value {value}"));
    }
}
