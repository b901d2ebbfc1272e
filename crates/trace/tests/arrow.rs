//! A table's way to Arrow: types, nulls, texts and stacks arrive as they were put in.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use onoff_trace::cell::Pools;
use onoff_trace::{
    Batches, DiskIo, DiskIos, DiskOperation, IoPriority, Sample, Samples, Stack, StackId, StackPool, Stacks, StringId,
    StringPool,
};

fn read(complete_ns: i64, issue_ns: Option<i64>, pid: Option<u32>, file: StringId) -> DiskIo {
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
fn rows_become_columns_with_their_nulls() {
    let mut strings = StringPool::new();
    let stacks = StackPool::new();
    let name = strings.intern(r"\Device\HarddiskVolume3\Windows\explorer.exe");
    let table: DiskIos =
        [read(20, Some(10), Some(4), name), read(40, None, None, StringId::EMPTY)].into_iter().collect();
    assert_eq!(table.get(1), Some(read(40, None, None, StringId::EMPTY)));
    assert_eq!(table.get(2), None);

    let batch = table.into_record_batch(Pools { strings: &strings, stacks: &stacks }).unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (2, 14));
    let issue = batch.column_by_name("issue_ns").unwrap().as_primitive::<Int64Type>();
    assert_eq!((issue.value(0), issue.is_null(1)), (10, true));
    let pid = batch.column_by_name("pid").unwrap().as_primitive::<UInt32Type>();
    assert_eq!((pid.value(0), pid.is_null(1)), (4, true));
    let file = batch.column_by_name("file").unwrap().as_string_view();
    assert_eq!((file.value(0), file.is_null(1)), (r"\Device\HarddiskVolume3\Windows\explorer.exe", true));
    let priority = batch.column_by_name("priority").unwrap().as_string_view();
    assert_eq!(priority.value(0), "low");
}

#[test]
fn stacks_become_lists() {
    let strings = StringPool::new();
    let mut stacks = StackPool::new();
    let stack = stacks.intern(&[0xfff0, 0x10]);
    let mut table = Stacks::new();
    table.push(Stack { time_ns: 1, pid: 4, tid: 8, stack });
    table.push(Stack { time_ns: 2, pid: 4, tid: 8, stack: StackId::EMPTY });
    let batch = table.into_record_batch(Pools { strings: &strings, stacks: &stacks }).unwrap();
    let lists = batch.column_by_name("stack").unwrap().as_list::<i32>();
    assert_eq!(lists.value(0).as_primitive::<UInt64Type>().values(), &[0xfff0, 0x10]);
    assert!(lists.is_null(1));
}

#[test]
fn batches_keep_the_order_of_their_pieces() {
    let sample = |time_ns| Sample { time_ns, cpu: 0, tid: 1, address: 2, count: 1, source: 0 };
    let mut batches = Batches::<Samples>::default();
    batches.push([sample(1), sample(2)].into_iter().collect());
    batches.push(Samples::new());
    batches.push([sample(3)].into_iter().collect());
    assert_eq!(batches.pieces().len(), 2);
    assert_eq!(batches.len(), 3);
    assert_eq!(batches.iter().map(|row| row.time_ns).collect::<Vec<_>>(), [1, 2, 3]);
}
