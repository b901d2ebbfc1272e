"""Compares Arrow tables of every kind of recording with CSV output, which does not use Arrow."""

import csv
import datetime
import gc
import pathlib
import threading

import duckdb
import pandas
import polars
import pyarrow
import pytest

import onoff

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
RECORDINGS = [
    "slow-boot.etl",
    "slow-sleep.etl",
    "linux-boot.tar.xz",
    "netboot-slow-link.pcap.xz",
    "firmware-FBPT.bin.xz",
    "four-byte-reads.csv.gz",
]


def as_text(value):
    """Formats an Arrow value like the CSV export."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(f"{address:#x}" for address in value)
    return str(value)


def normalized(text):
    """Normalizes control characters and the CSV protection against formulas."""
    for control, shown in (("\t", "\\t"), ("\r", "\\r"), ("\n", "\\n")):
        text = text.replace(control, shown)
    return text[1:] if text[:2] in ("'=", "'+", "'-", "'@") else text


@pytest.mark.parametrize("name", RECORDINGS)
def test_arrow_matches_csv(name, tmp_path):
    recording = onoff.open(SAMPLES / name)
    written = recording.export(tmp_path / "csv", "csv")
    assert set(written) == {f"{table}.csv" for table in recording.tables()}
    assert written
    for table in recording.tables().values():
        columns = pyarrow.table(table).to_pydict()
        with open(tmp_path / "csv" / f"{table.name}.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(table) == written[f"{table.name}.csv"] > 0
        # Check every seventh row of large tables.
        step = 1 if len(rows) < 5000 else 7
        for column, values in columns.items():
            different = [
                (row, values[row], rows[row][column])
                for row in range(0, len(rows), step)
                if as_text(values[row]) != rows[row][column] and normalized(as_text(values[row])) != normalized(rows[row][column])
            ]
            assert not different, (table.name, column, different[:3])


def test_buffers_are_shared_and_outlive_the_recording():
    recording = onoff.open(SAMPLES / "slow-boot.etl")
    first, second = (pyarrow.table(recording.context_switches) for _ in range(2))
    addresses = [[chunk.buffers()[1].address for chunk in table["time_ns"].chunks] for table in (first, second)]
    assert addresses[0] == addresses[1]
    texts = [pyarrow.table(recording.images)["path"].chunk(0).buffers()[2].address for _ in range(2)]
    assert texts[0] == texts[1]
    expected = first["time_ns"].to_pylist()
    del recording, second
    gc.collect()
    assert first["time_ns"].to_pylist() == expected == sorted(expected)


def test_libraries_agree():
    table = onoff.open(SAMPLES / "slow-boot.etl").disk_ios
    expected = sum(pyarrow.table(table)["size"].to_pylist())
    assert expected > 0
    assert table.to_polars()["size"].sum() == expected
    assert isinstance(table.to_polars(), polars.DataFrame)
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame["size"].sum() == expected
    arrow = table.to_pyarrow()
    assert duckdb.sql("SELECT sum(size) FROM arrow").fetchall() == [(expected,)]


def test_schema_has_units_roles_and_descriptions():
    for declaration in onoff.tables():
        for column in declaration.columns:
            assert column.description, (declaration.name, column.name)
            if column.name.endswith("_ns"):
                assert column.unit in ("ns", ""), (declaration.name, column.name)
    schema = pyarrow.table(onoff.open(SAMPLES / "slow-boot.etl").disk_ios).schema
    assert schema.field("issue_ns").metadata[b"onoff.unit"] == b"ns"
    assert schema.field("issue_ns").metadata[b"onoff.role"] == b"start"
    assert schema.field("size").metadata[b"onoff.unit"] == b"bytes"
    assert schema.metadata[b"onoff.table"] == b"disk_ios"


def test_times_as_durations():
    plain = pyarrow.table(onoff.open(SAMPLES / "slow-boot.etl").disk_ios)
    timed = pyarrow.table(onoff.open(SAMPLES / "slow-boot.etl", times="timedelta").disk_ios)
    assert timed.schema.field("complete_ns").type == pyarrow.duration("ns")
    assert timed["complete_ns"].cast("int64").to_pylist() == plain["complete_ns"].to_pylist()
    assert timed.schema.field("size").type == plain.schema.field("size").type
    shown = timed.slice(0, 1).to_pandas()["complete_ns"][0]
    assert shown.to_pytimedelta() == datetime.timedelta(microseconds=plain["complete_ns"][0].as_py() // 1000)
    with pytest.raises(onoff.UsageError):
        onoff.open(SAMPLES / "slow-boot.etl", times="seconds")


def test_reading_releases_the_gil():
    finished = threading.Event()
    turns = 0

    def read():
        onoff.summary([SAMPLES / "slow-boot.etl", SAMPLES / "linux-boot.tar.xz"])
        finished.set()

    thread = threading.Thread(target=read)
    thread.start()
    while not finished.is_set():
        turns += 1
    thread.join()
    # If the reader held the GIL, there would be only a handful of turns.
    assert turns > 10_000, turns


def test_rejects_unknown_tables():
    recording = onoff.open(SAMPLES / "slow-boot.etl")
    with pytest.raises(AttributeError, match="'contextswitches'"):
        recording.contextswitches
    with pytest.raises(onoff.UsageError, match="inventory"):
        recording.table("inventory")
    assert len(recording.dhcp_messages) == 0
    assert pyarrow.table(recording.dhcp_messages).num_columns > 5
