//! Prints the JSON Schema of all `--format json` documents and of the page content, derived from the serialized types.
//!
//! `cargo run -p onoff-page --features schema --example schema`; `tools/schema.py` stores the output.

use std::error::Error;
use std::io::{Write, stdout};

use onoff_page::page::Page;
use onoff_page::table::PageTable;
use onoff_page::waits::{PageRows, PageWaits};
use onoff_sections::json::document::{DocumentHeader, SCHEMA_VERSION, schemas};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let header = generator.subschema_for::<DocumentHeader<'_>>();
    let documents: Map<String, Value> = schemas(&mut generator)
        .into_iter()
        .map(|(name, schema)| {
            // Require the common header in addition to the document's own fields.
            let document = json!({
                "title": name,
                "type": "object",
                "required": ["onoff"],
                "properties": { "onoff": { "allOf": [header], "properties": { "document": { "const": name } } } },
                "allOf": [schema],
            });
            (name.to_owned(), document)
        })
        .collect();
    let page = generator.subschema_for::<Page>();
    let table = generator.subschema_for::<PageTable>();
    let (waits, rows) = (generator.subschema_for::<PageWaits>(), generator.subschema_for::<PageRows>());
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("onoff, version {SCHEMA_VERSION} of the contract"),
        "oneOf": documents.keys().map(|name| json!({ "$ref": format!("#/documents/{name}") })).collect::<Vec<Value>>(),
        "documents": documents,
        "page": { "content": page, "table": table, "waits": waits, "rows": rows },
        "$defs": generator.take_definitions(true),
    });
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, &schema)?;
    writeln!(out)?;
    Ok(())
}
