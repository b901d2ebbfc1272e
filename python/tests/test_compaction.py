"""Merging small files keeps every row once, wherever it is interrupted."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import duckdb
import pyarrow.parquet
import pytest

import onoff
from fleet_generator import generate
from onoff import _compaction, _summary_command
from onoff._summaries import TABLES, arrow_schema


def split(folder, parts):
    """Splits the tables of a folder as several runs of `onoff.summaries` would have written them."""
    for name in TABLES:
        tables = [pyarrow.parquet.read_table(path) for path in sorted((folder / name).glob("*.parquet"))]
        for path in (folder / name).glob("*.parquet"):
            path.unlink()
        (folder / name).mkdir(exist_ok=True)
        if not tables:
            continue
        schema = arrow_schema(name)
        table = pyarrow.concat_tables(tables)
        for column in schema.names:
            if column not in table.column_names:
                table = table.append_column(column, pyarrow.nulls(len(table), schema.field(column).type))
        keys = table["recording"].to_pylist()
        for part in range(parts):
            mask = pyarrow.array([hash(key) % parts == part for key in keys])
            pyarrow.parquet.write_table(table.filter(mask), folder / name / f"{part:04}.parquet")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "runs"
    generate(folder, 1, lambda fleet: None, computers=12, runs=5)
    split(folder, 3)
    return folder


def rows(folder):
    """Returns the rows of each table, as DuckDB reads the folder, if their recording has a row."""
    result = {}
    for name in TABLES:
        if list((folder / name).glob("*.parquet")) and list((folder / "recordings").glob("*.parquet")):
            known = f"SELECT recording FROM read_parquet('{folder}/recordings/*.parquet')"
            columns = ", ".join(arrow_schema(name).names)
            query = f"SELECT {columns} FROM read_parquet('{folder}/{name}/*.parquet', union_by_name=true) WHERE recording IN ({known})"
            result[name] = sorted(duckdb.sql(query).fetchall(), key=repr)
    return result


def test_merges_files_and_keeps_rows(folder, capsys):
    expected = rows(folder)
    assert {"recordings", "transitions", "phases", "account", "versions"} <= set(expected) and len(expected["recordings"]) == 60
    durations = [run["duration_ns"] for run in onoff.fleet(folder).runs()]
    assert _summary_command.run(["summary", "--compact", str(folder)]) == 0
    assert f"{3 * len(expected)} files are now {len(expected)}, with 60 recordings" in capsys.readouterr().out
    assert rows(folder) == expected
    assert [run["duration_ns"] for run in onoff.fleet(folder).runs()] == durations
    assert {len(list((folder / name).glob("*.parquet"))) for name in expected} == {1}
    # Nothing is left to merge, and nothing else is in the folders.
    result = onoff.compact_summaries(folder)
    assert result.files_before == result.files_after == len(expected)
    assert sorted(path.name for path in (folder / "recordings").iterdir() if path.suffix != ".parquet") == [".lock"]
    assert onoff.check_summaries(folder).problems == ()


def test_new_runs_continue_after_merging(tmp_path):
    samples = os.path.join(os.path.dirname(__file__), "..", "..", "samples")
    paths = [os.path.join(samples, name) for name in ("slow-boot.etl", "slow-shutdown.etl")]
    for path in paths:
        onoff.summaries(path, tmp_path / "out")
    expected = rows(tmp_path / "out")
    onoff.compact_summaries(tmp_path / "out")
    again = onoff.summaries(paths, tmp_path / "out")
    assert (again.read, again.known) == (0, 2) and rows(tmp_path / "out") == expected


def test_large_files_stay(folder, monkeypatch):
    sizes = {path.name: 0 for path in (folder / "recordings").glob("*.parquet")}
    for path in folder.glob("*/*.parquet"):
        sizes[path.name] += path.stat().st_size
    monkeypatch.setattr(_compaction, "_SMALL_BYTES", min(sizes.values()) - 1)
    assert onoff.compact_summaries(folder)[:2] == (15, 15)
    # Two files reach the size of a new one.
    monkeypatch.setattr(_compaction, "_SMALL_BYTES", 1 << 30)
    monkeypatch.setattr(_compaction, "_TARGET_BYTES", max(sizes.values()) + 1)
    assert onoff.compact_summaries(folder)[:2] == (15, 10)


class Killed(BaseException):
    pass


def test_interrupted_anywhere_loses_and_doubles_nothing(folder, tmp_path, monkeypatch):
    expected = rows(folder)
    step = 0
    finished = False
    states = set()
    while not finished:
        copy = tmp_path / f"copy{step}"
        subprocess.run(["cp", "-r", str(folder), str(copy)], check=True)
        remaining = step

        def count(original):
            def counting(*arguments, **options):
                nonlocal remaining
                if remaining == 0:
                    raise Killed
                remaining -= 1
                return original(*arguments, **options)

            return counting

        with monkeypatch.context() as patch, contextlib.suppress(Killed):
            for module, name in ((_compaction.os, "replace"), (_compaction.os, "fsync"), (_compaction.FilePath, "unlink")):
                patch.setattr(module, name, count(getattr(module, name)))
            onoff.compact_summaries(copy)
            finished = True
        # Other readers miss rows at most; readers of onoff refuse.
        seen = rows(copy)
        for name, table in seen.items():
            assert len(table) == len(set(table)) and set(table) <= set(expected[name]), (step, name)
        is_between = (copy / "recordings" / ".compaction").exists()
        states.add((is_between, len(seen.get("recordings", []))))
        if is_between:
            for read in (onoff.fleet, onoff.check_summaries, lambda folder: onoff.sql("SELECT count(*) FROM recordings", folder)):
                with pytest.raises(onoff.UnreadableError, match="--compact"):
                    read(copy)
        else:
            assert seen == expected, step
        onoff.compact_summaries(copy)
        assert rows(copy) == expected, step
        assert not list(copy.glob("*/.*.compacted"))
        step += 1
    assert step > 25 and {(False, 60), (True, 60), (True, 0)} <= states


def test_killed_while_writing(folder):
    expected = rows(folder)
    program = """
import onoff, sys, time
from onoff import _compaction
original = _compaction._sync
def sync(file):
    original(file)
    print("written", flush=True)
    time.sleep(60)
_compaction._sync = sync
onoff.compact_summaries(sys.argv[1])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program, str(folder)], env=environment, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"written\n"
    # A second writer is refused meanwhile.
    with pytest.raises(onoff.UnreadableError, match=f"process {process.pid} .* is writing to it"):
        onoff.compact_summaries(folder)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert list(folder.glob("*/.*.compacted")) and rows(folder) == expected
    time.sleep(0.1)
    onoff.compact_summaries(folder)
    assert rows(folder) == expected and not list(folder.glob("*/.*.compacted"))


def test_delta_tables(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    samples = os.path.join(os.path.dirname(__file__), "..", "..", "samples")
    for name in ("slow-boot.etl", "slow-shutdown.etl"):
        onoff.summaries(os.path.join(samples, name), tmp_path / "out", format="delta")
    before = deltalake.DeltaTable(str(tmp_path / "out/phases")).to_pyarrow_table().sort_by([("recording", "ascending"), ("place", "ascending")])
    result = onoff.compact_summaries(tmp_path / "out")
    assert result.files_after < result.files_before and result.recordings == 2
    after = deltalake.DeltaTable(str(tmp_path / "out/phases")).to_pyarrow_table().sort_by([("recording", "ascending"), ("place", "ascending")])
    assert after == before and len(after) == 9


@pytest.mark.parametrize("text", ["", "{}", '{"old": ["../../kept.parquet"], "new": "a.parquet"}', '{"old": ["kept"], "new": "a.parquet"}'])
def test_foreign_journals_delete_nothing(folder, text):
    kept = [folder / "kept.parquet", folder / "recordings" / "kept"]
    for path in kept:
        path.write_text("kept")
    (folder / "recordings" / ".compaction").write_text(text)
    with pytest.raises(onoff.UnreadableError, match="not a journal"):
        onoff.compact_summaries(folder)
    assert all(path.exists() for path in kept)


def test_wrong_folders(tmp_path):
    with pytest.raises(onoff.UsageError, match="no tables found"):
        onoff.compact_summaries(tmp_path)
    assert _summary_command.run(["summary", "--compact", str(tmp_path)]) == 64
    assert _summary_command.run(["summary", "--compact"]) == 64
