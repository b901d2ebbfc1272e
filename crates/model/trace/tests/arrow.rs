//! Tables as Arrow: types, nulls, texts, stacks and metadata are preserved, and the tables stay unchanged.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use onoff_trace::arrow::schema;
use onoff_trace::registry::DECLARATIONS;
use onoff_trace::{
    Batches, DiskIo, DiskOperation, IoPriority, Sample, Samples, Stack, StackId, Stacks, StringId, TableName, Trace,
};

fn disk_read(complete_ns: i64, issue_ns: Option<i64>, pid: Option<u32>, file: StringId) -> DiskIo {
    DiskIo {
        issue_ns,
        complete_ns,
        disk: 0,
        operation: DiskOperation::Read,
        offset: 4096,
        size: 65536,
        priority: IoPriority::Low,
        service_ns: 1000,
        pid,
        tid: None,
        file,
        file_object: 7,
        irp: 9,
        irp_flags: 0,
    }
}

#[test]
fn converts_rows_with_nulls_without_changing_table() {
    let mut trace = Trace::default();
    let name = trace.strings.intern(r"\Device\HarddiskVolume3\Windows\explorer.exe");
    trace.strings.intern("another text after the name");
    trace.disk_ios =
        [disk_read(20, Some(10), Some(4), name), disk_read(40, None, None, StringId::EMPTY)].into_iter().collect();
    let trace = Arc::new(trace);

    for _ in 0..2 {
        let batches: Vec<_> = trace.arrow().batches(TableName::DiskIos).map(Result::unwrap).collect();
        let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 14));
        let issue = batch.column_by_name("issue_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!((issue.value(0), issue.is_null(1)), (10, true));
        // Zero copy: the numbers are in the table.
        let complete = batch.column_by_name("complete_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!(complete.values().as_ptr(), trace.disk_ios.complete_ns.as_ptr());
        let pid = batch.column_by_name("pid").unwrap().as_primitive::<UInt32Type>();
        assert_eq!((pid.value(0), pid.is_null(1)), (4, true));
        let file = batch.column_by_name("file").unwrap().as_string_view();
        assert_eq!((file.value(0), file.is_null(1)), (r"\Device\HarddiskVolume3\Windows\explorer.exe", true));
        let priority = batch.column_by_name("priority").unwrap().as_string_view();
        assert_eq!(priority.value(0), "low");
    }
    assert_eq!(trace.disk_ios.len(), 2);
}

#[test]
fn converts_stacks_to_lists() {
    let mut trace = Trace::default();
    let stack = trace.stack_pool.intern(&[0xfff0, 0x10]);
    let chunk = |stack| Stacks::from_iter([Stack { time_ns: 1, pid: 4, tid: 8, stack }]);
    trace.stacks = [chunk(stack), chunk(StackId::EMPTY)].into_iter().collect();
    let arrow = Arc::new(trace).arrow();
    let batches: Vec<_> = arrow.batches(TableName::Stacks).map(Result::unwrap).collect();
    assert_eq!(batches.len(), 2);
    let lists = batches[0].column_by_name("stack").unwrap().as_list::<i32>();
    assert_eq!(lists.value(0).as_primitive::<UInt64Type>().values(), &[0xfff0, 0x10]);
    assert!(batches[1].column_by_name("stack").unwrap().is_null(0));
    assert_eq!(arrow.batches(TableName::Samples).count(), 0);
    assert_eq!(arrow.batches(TableName::Inventory).count(), 0);
}

#[test]
fn every_table_has_schema_metadata() {
    for table in DECLARATIONS {
        let schema = schema(table);
        assert_eq!(schema.metadata().get("onoff.table").map(String::as_str), Some(table.name.as_str()));
        assert!(schema.metadata().get("description").is_some_and(|text| !text.is_empty()));
        assert_eq!(schema.fields().len(), table.columns.len());
        for (field, column) in schema.fields().iter().zip(table.columns) {
            let metadata = |key: &str| field.metadata().get(key).map_or("", String::as_str);
            assert_eq!(field.name(), column.name);
            assert_eq!(metadata("onoff.unit"), column.meaning.unit());
            assert_eq!(metadata("onoff.role"), column.meaning.role());
            assert!(!metadata("description").is_empty(), "{}.{}", table.name.as_str(), column.name);
        }
    }
    let disk = DECLARATIONS.iter().find(|table| table.name == TableName::DiskIos).unwrap();
    let schema = schema(disk);
    let issue = schema.field_with_name("issue_ns").unwrap();
    assert_eq!(issue.metadata().get("onoff.role").map(String::as_str), Some("start"));
    assert_eq!(issue.metadata().get("onoff.unit").map(String::as_str), Some("ns"));
}

#[test]
fn batches_preserve_chunk_order() {
    let sample = |time_ns| Sample { time_ns, cpu: 0, tid: 1, address: 2, count: 1, source: 0 };
    let mut batches = Batches::<Samples>::default();
    batches.push([sample(1), sample(2)].into_iter().collect());
    batches.push(Samples::new());
    batches.push([sample(3)].into_iter().collect());
    assert_eq!(batches.chunks().len(), 2);
    assert_eq!(batches.len(), 3);
    assert_eq!(batches.iter().map(|row| row.time_ns).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn batches_keep_trace_alive() {
    let trace = Arc::new(Trace {
        disk_ios: [disk_read(20, Some(10), None, StringId::EMPTY)].into_iter().collect(),
        ..Trace::default()
    });
    let weak = Arc::downgrade(&trace);
    let batches: Vec<_> = trace.arrow().batches(TableName::DiskIos).map(Result::unwrap).collect();
    drop(trace);
    let complete = batches[0].column_by_name("complete_ns").unwrap().as_primitive::<Int64Type>().clone();
    assert_eq!(complete.values(), &[20]);
    drop(batches);
    assert!(weak.upgrade().is_some(), "the array keeps the trace alive");
    drop(complete);
    assert!(weak.upgrade().is_none(), "the last array releases the trace");
}
