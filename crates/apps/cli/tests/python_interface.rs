//! The file from which `tools/python_types.py` generates types of the Python package: options of the verbs, and tables.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use onoff_trace::DECLARATIONS;
use serde_json::{Map, Value, json};

/// With `ONOFF_WRITE_REFERENCE` set, writes the file instead of comparing it; used by `make reference`.
#[test]
fn python_interface_reference_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python/interface.json");
    let verbs: Map<String, Value> =
        onoff_cli::command_line().get_subcommands().map(|verb| (verb.get_name().to_owned(), options(verb))).collect();
    let tables: Map<String, Value> =
        DECLARATIONS.iter().map(|table| (table.name.as_str().to_owned(), json!(table.documentation.trim()))).collect();
    let text = format!("{:#}\n", json!({ "options": verbs, "tables": tables }));
    if std::env::var_os("ONOFF_WRITE_REFERENCE").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == text, "python/interface.json is out of date: run 'make reference'");
}

/// Returns the visible options of a verb by name.
fn options(verb: &Command) -> Value {
    let options = verb.get_arguments().filter(|argument| !argument.is_hide_set());
    Value::Object(options.filter_map(|argument| Some((argument.get_long()?.to_owned(), option(argument)))).collect())
}

fn option(argument: &Arg) -> Value {
    let choices = argument.get_possible_values();
    let choices: Vec<&str> =
        choices.iter().filter(|choice| !choice.is_hide_set()).map(|choice| choice.get_name()).collect();
    let help = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string).unwrap_or_default();
    json!({
        "help": help,
        "type": if argument.get_action().takes_values() { value_type(argument) } else { "flag" },
        "choices": choices,
        "repeated": matches!(argument.get_action(), ArgAction::Append),
    })
}

/// Returns the type of an option's value. A specialized parser, such as the parser of `4x`, takes text even if its result is a
/// number; only options with the value `N` take numbers.
fn value_type(argument: &Arg) -> &'static str {
    let parsed = argument.get_value_parser().type_id();
    let is_one_of = |types: &[TypeId]| types.iter().any(|id| parsed == *id);
    let counts = [TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<i64>()];
    let name = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    match name.as_deref() {
        Some("N") if is_one_of(&counts) => "count",
        _ if is_one_of(&[TypeId::of::<PathBuf>()]) => "path",
        _ => "text",
    }
}
