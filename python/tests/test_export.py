"""Reads exported Parquet and Arrow files with other libraries."""

import json
import pathlib

import duckdb
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import onoff

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
RECORDINGS = ["slow-boot.etl", "slow-sleep.etl", "linux-boot.tar.xz", "netboot-slow-link.pcap.xz", "four-byte-reads.csv.gz"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_files_match_tables_in_memory(name, tmp_path):
    recording = onoff.open(SAMPLES / name)
    recording.export(tmp_path / "parquet", "parquet")
    recording.export(tmp_path / "arrow", "arrow")
    tables = recording.tables()
    names = {path.name for path in (tmp_path / "parquet").iterdir()}
    assert names == {f"{table}.parquet" for table in tables} | {"recording.json"}
    for table in tables.values():
        expected = pyarrow.table(table).combine_chunks()
        for file in (
            pyarrow.parquet.read_table(tmp_path / "parquet" / f"{table.name}.parquet"),
            pyarrow.feather.read_table(tmp_path / "arrow" / f"{table.name}.arrow"),
        ):
            assert file.combine_chunks().equals(expected) or in_order(file) == in_order(expected), table.name
            assert file.schema.field(0).metadata == expected.schema.field(0).metadata
        path = str(tmp_path / "parquet" / f"{table.name}.parquet")
        assert duckdb.execute("SELECT count(*) FROM read_parquet(?)", [path]).fetchall() == [(len(table),)]
        assert polars.read_parquet(path).height == len(table)
        metadata = pyarrow.parquet.read_metadata(path)
        described = json.loads(metadata.metadata[b"onoff.columns"])
        assert list(described) == expected.schema.names
        for sorting in metadata.row_group(0).sorting_columns:
            times = [time for time in column_of(path, sorting.column_index) if time is not None]
            assert times == sorted(times), table.name


def in_order(table):
    """Sorts the rows: files are sorted by time, tables may not be."""
    return sorted(map(str, table.to_pylist()))


def column_of(path, index):
    table = pyarrow.parquet.read_table(path)
    return table.column(index).to_pylist()


def test_parquet_encodings_and_compression(tmp_path):
    tables = ["disk_ios", "ready_threads", "stacks"]
    onoff.open(SAMPLES / "slow-boot.etl").export(tmp_path / "tables", "parquet", tables)
    columns = {}
    for table in tables:
        group = pyarrow.parquet.read_metadata(tmp_path / "tables" / f"{table}.parquet").row_group(0)
        assert group.num_rows > 0
        chunks = [group.column(number) for number in range(group.num_columns)]
        columns.update({f"{table}.{chunk.path_in_schema}": chunk for chunk in chunks})
    assert "DELTA_BINARY_PACKED" in columns["disk_ios.complete_ns"].encodings
    assert "DELTA_BINARY_PACKED" in columns["ready_threads.after_switches"].encodings
    assert "DELTA_BINARY_PACKED" not in columns["disk_ios.file"].encodings
    assert "RLE_DICTIONARY" in columns["disk_ios.file"].encodings
    assert "RLE_DICTIONARY" not in columns["stacks.stack.list.item"].encodings
    assert {column.compression for column in columns.values()} == {"ZSTD"}


def test_row_groups_are_ordered_by_time(tmp_path):
    count = 1_200_000
    length = 1000
    lines = (f"7,loader,/card/a.dat,read,{4 * (number % 4096)},4,{number * length},{length - 1}\n" for number in range(count))
    path = tmp_path / "many.csv"
    with open(path, "w") as out:
        out.write("pid,process,file,operation,offset,length,time_ns,duration_ns\n")
        out.writelines(lines)
    onoff.open(path).export(tmp_path / "tables", "parquet", ["file_ios"])
    file = tmp_path / "tables" / "file_ios.parquet"
    metadata = pyarrow.parquet.read_metadata(file)
    assert metadata.num_rows == count
    assert metadata.num_row_groups == 3
    intervals = []
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(metadata.schema.names.index("start_ns")).statistics
        intervals.append((statistics.min, statistics.max))
    assert intervals == sorted(intervals) and all(first[1] <= second[0] for first, second in zip(intervals, intervals[1:])), intervals
    # A query about the end of the recording reads a single group.
    late = intervals[-1][1] - 100 * length
    groups = [number for number, (_, last) in enumerate(intervals) if last >= late]
    assert groups == [2]
    counted = duckdb.execute("SELECT count(*) FROM read_parquet(?) WHERE start_ns >= ?", [str(file), late]).fetchall()
    assert counted == [(101,)]


def test_export_writes_description_and_replaces_nothing(tmp_path):
    recording = onoff.open(SAMPLES / "linux-boot.tar.xz")
    recording.export(tmp_path / "tables", "parquet", ["milestones"])
    description = json.loads((tmp_path / "tables" / "recording.json").read_text())
    assert description == recording.info().to_dict()
    before = (tmp_path / "tables" / "milestones.parquet").read_bytes()
    with pytest.raises(onoff.UnreadableError, match="not empty"):
        recording.export(tmp_path / "tables", "parquet")
    assert (tmp_path / "tables" / "milestones.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables"]
    for arguments in ({"format": "xlsx"}, {"tables": ["inventory"]}, {"tables": ["nothing"]}):
        with pytest.raises(onoff.UsageError):
            recording.export(tmp_path / "other", **arguments)
    assert not (tmp_path / "other").exists()
