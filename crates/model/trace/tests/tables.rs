//! Tests of the table registry, and generation of the reference page from it.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;

use onoff_trace::column::{ColumnMeaning, ColumnType, Value};
use onoff_trace::registry::{DECLARATIONS, TableDeclaration};
use onoff_trace::{Concatenation, FileIo, FileIos, FileOperation, Sample, Samples, TableName, Trace};

#[test]
fn every_name_except_inventory_has_a_table() {
    let declared: Vec<TableName> = DECLARATIONS.iter().map(|table| table.name).collect();
    let undeclared: Vec<&TableName> = TableName::ALL.iter().filter(|name| !declared.contains(name)).collect();
    assert_eq!(undeclared, [&TableName::Inventory]);
    let trace = Trace::default();
    for &name in TableName::ALL {
        assert_eq!(TableName::named(name.as_str()), Some(name));
        let view = trace.table(name);
        assert!(view.is_empty());
        assert_eq!(view.declaration().map(|table| table.name), declared.contains(&name).then_some(name));
    }
    assert_eq!(TableName::named("no such table"), None);
}

#[test]
fn columns_have_consistent_documentation_and_meaning() {
    for table in DECLARATIONS {
        let count = |meaning: ColumnMeaning| table.columns.iter().filter(|column| column.meaning == meaning).count();
        let name = table.name.as_str();
        assert!(table.documentation.trim().ends_with('.'), "{name}");
        assert!(count(ColumnMeaning::Time) + count(ColumnMeaning::Start) <= 1, "{name}: at most one start");
        assert!(
            count(ColumnMeaning::End) <= 1 && (count(ColumnMeaning::End) == 0 || count(ColumnMeaning::Start) == 1),
            "{name}: an end requires a start"
        );
        for column in table.columns {
            let column_name = format!("{name}.{}", column.name);
            assert!(!column.documentation.trim().is_empty(), "{column_name}");
            assert_eq!(column.name.ends_with("_ns"), column.meaning.unit() == "ns", "{column_name}");
            if column.meaning.unit() == "ns" {
                assert_eq!(column.column_type, ColumnType::Int64, "{column_name}");
            }
            for (id, meanings) in [
                ("tid", [ColumnMeaning::Thread, ColumnMeaning::OtherThread]),
                ("pid", [ColumnMeaning::Process, ColumnMeaning::OtherProcess]),
            ] {
                if column.name == id || column.name.ends_with(&format!("_{id}")) {
                    assert!(meanings.contains(&column.meaning), "{column_name}");
                }
            }
        }
    }
}

#[test]
fn reads_table_by_name_across_chunks() {
    let sample = |time_ns| Sample { time_ns, cpu: 3, tid: 1, address: 2, count: 1, source: 0 };
    let mut trace = Trace::default();
    trace.samples.push(Samples::from_iter([sample(1), sample(2)]));
    trace.samples.push(Samples::from_iter([sample(5)]));
    let view = trace.table(TableName::Samples);
    assert_eq!((view.len(), view.chunks().len()), (3, 2));
    let times: Vec<Value> =
        view.chunks().iter().flat_map(|chunk| (0..chunk.rows()).map(|row| chunk.columns()[0].value(row))).collect();
    assert_eq!(times, [Value::Signed(1), Value::Signed(2), Value::Signed(5)]);
    assert_eq!(view.known_cells(), [3; 6]);
    assert_eq!(view.chunks()[0].columns()[0].value(9), Value::Null);
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src/reference/tables.md");

/// Rows in which columns are often zero or null, as in most recordings.
fn file_io() -> impl Strategy<Value = FileIo> {
    let columns = (0..3_i64, prop::option::weighted(0.8, 0..2_i64), prop::option::weighted(0.1, 0..2_u32), 0..2_u64);
    let codes = (prop::sample::select(FileOperation::ALL), any::<bool>());
    (columns, codes).prop_map(|((start_ns, end_ns, tid, offset), (operation, unbuffered))| FileIo {
        start_ns,
        end_ns,
        tid,
        offset,
        operation,
        unbuffered,
        ..FileIo::UNKNOWN
    })
}

proptest! {
    #[test]
    fn concatenation_equals_one_table(
        chunks in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(file_io(), 0..4),
                prop::collection::vec(Just(FileIo::UNKNOWN), 0..4),
                prop::collection::vec(Just(FileIo { end_ns: Some(0), pid: Some(7), ..FileIo::UNKNOWN }), 0..4),
            ],
            0..6,
        ),
    ) {
        let mut joined = Concatenation::<FileIos>::default();
        for chunk in &chunks {
            joined.append(&chunk.iter().copied().collect());
        }
        let rows: Vec<FileIo> = chunks.concat();
        prop_assert_eq!(joined.len(), rows.len());
        let table = joined.finish();
        prop_assert_eq!(table.iter().collect::<Vec<_>>(), rows);
        prop_assert_eq!(table.offset.len(), table.len());
        prop_assert_eq!(table.end_ns.iter().count(), table.len());
    }
}

fn page() -> String {
    let mut page = String::from(
        "# Tables\n\nEvery kind of recording is converted to these tables. The library reads them by name (`Trace::table`), or with the feature \
         `arrow` as Arrow record batches whose schema metadata contains the unit, role and description of each column \
         (`onoff.unit`, `onoff.role`, `description`).\n\nTimes are nanoseconds since the recording's first event; on Linux, since \
         the kernel's start. \"yes\" in the column *empty* means that a cell can be empty: the value was not recorded, or the event had \
         not happened. The role identifies the start and the end of a row's work, and the process, thread or processor it belongs to.\n\nThis page is generated from the \
         declarations: `make reference`.\n",
    );
    for table in DECLARATIONS {
        section(table, &mut page);
    }
    page
}

fn section(table: &TableDeclaration, page: &mut String) {
    let text = |text: &str| without_links(text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|"));
    writeln!(page, "\n## {}\n\n{} Order: {}", table.name.as_str(), text(table.documentation), text(table.order))
        .unwrap();
    page.push_str("\n| column | type | unit | role | empty | |\n| --- | --- | --- | --- | --- | --- |\n");
    for column in table.columns {
        let codes = match column.column_type {
            ColumnType::Code(names) => {
                format!(" One of {}.", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {}{codes} |",
            column.name,
            column.column_type.as_str(),
            column.meaning.unit(),
            column.meaning.role(),
            if column.nullable { "yes" } else { "" },
            text(column.documentation),
        )
        .unwrap();
    }
}

/// Removes links into the code's documentation, which do not work in the book.
fn without_links(text: String) -> String {
    text.replace("[`crate::", "[`").replace("[`", "`").replace("`]", "`")
}

/// With `ONOFF_WRITE_REFERENCE` set, writes the page instead of comparing it; used by `make reference`.
#[test]
fn reference_page_is_up_to_date() {
    let page = page();
    if std::env::var_os("ONOFF_WRITE_REFERENCE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    assert_eq!(stored, page, "docs/src/reference/tables.md is not up to date: make reference");
}
