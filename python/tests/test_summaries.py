"""Many recordings: every one once, whatever happens on the way."""

import gzip
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import onoff
from onoff import _process, _summaries, _summary_command, _worker
from onoff._summaries import TABLES

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
NAME = b"labguest"


def fleet(folder, count):
    """Boots of computers that differ in name: recordings that hold other bytes."""
    folder.mkdir()
    boot = lzma.decompress((SAMPLES / "linux-boot.tar.xz").read_bytes())
    assert NAME in boot
    for number in range(count):
        with gzip.open(folder / f"{number:04}.tar.gz", "wb", compresslevel=1) as file:
            file.write(boot.replace(NAME, b"lab%05d" % number))
    return folder


def rows(out, query):
    return duckdb.sql(query.replace("{", f"read_parquet('{out}/").replace("}", "/*.parquet')")).fetchall()


def test_rows_are_what_the_verbs_say(tmp_path):
    paths = tmp_path / "recordings"
    paths.mkdir()
    for name in ("slow-boot.etl", "slow-shutdown.etl", "slow-sleep.etl", "linux-boot.tar.xz", "netboot-slow-link.pcap.xz"):
        shutil.copy(SAMPLES / name, paths / name)
    shutil.copy(SAMPLES / "slow-boot.etl", paths / "again.etl")
    (paths / "notes.txt").write_text("not a recording")
    done = onoff.summaries(paths, tmp_path / "out")
    assert (done.read, done.known, done.failed, done.skipped) == (5, 1, 0, 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(TABLES)
    out = tmp_path / "out"
    by_verb = sorted(
        (row.transition, row.duration_ns, row.phase, row.subject)
        for row in onoff.summary([path for path in sorted(paths.iterdir()) if path.name not in ("again.etl", "notes.txt")]).rows
    )
    found = rows(out, "SELECT transition, duration_ns, longest_phase, culprit FROM {transitions}")
    assert sorted(found) == by_verb and len(by_verb) >= 5
    [(digest, computer)] = rows(
        out, "SELECT recording, computer FROM {recordings} AS r JOIN {transitions} AS t USING (recording) WHERE transition = 'boot' AND os LIKE 'Windows%'"
    )
    boot = onoff.boot(SAMPLES / "slow-boot.etl")
    assert (digest, computer) == (boot.onoff.recordings[0].files[0].sha256, boot.onoff.recordings[0].computer)
    of_boot = f"WHERE recording = '{digest}'"
    phases = rows(out, f"SELECT phase, duration_ns FROM {{phases}} {of_boot} ORDER BY place")
    assert phases == [(phase.name, phase.duration_ns) for phase in boot.phases]
    for phase, length in phases:
        [(total,)] = rows(out, f"SELECT sum(ns) FROM {{account}} {of_boot} AND phase = '{phase}'")
        assert total in (None, length)
    assert rows(out, f"SELECT service FROM {{services}} {of_boot} ORDER BY duration_ns DESC LIMIT 1") == [("SoundShaper",)]
    assert rows(out, f"SELECT driver FROM {{devices}} {of_boot} ORDER BY duration_ns DESC LIMIT 1") == [("LegacyScan",)]
    trace = onoff.open(SAMPLES / "slow-boot.etl")
    codes = [(finding.code, finding.cost_ns) for finding in trace.findings()]
    assert sorted(rows(out, f"SELECT code, cost_ns FROM {{findings}} {of_boot}"), key=str) == sorted(codes, key=str)
    # Nothing is read again, under whatever name.
    shutil.copy(SAMPLES / "slow-sleep.etl", paths / "another name.etl")
    again = onoff.summaries(paths, out)
    assert (again.read, again.known) == (0, 7)
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {recordings}") == [(5, 5)]


def test_one_that_cannot_be_read_is_a_row_and_is_not_tried_again(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "bad.tar.gz").write_bytes((paths / "0000.tar.gz").read_bytes()[:5000])
    heard = []
    done = onoff.summaries(paths, tmp_path / "out", workers=1, progress=lambda *how: heard.append(how))
    assert done.read == 4 and [(number, of) for number, of, _ in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    errors = rows(tmp_path / "out", "SELECT path FROM {recordings} WHERE error <> ''")
    assert errors == [(str(paths / "bad.tar.gz"),)] and done.failed == 1
    assert onoff.summaries(paths, tmp_path / "out").read == 0


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    paths = fleet(tmp_path / "recordings", 24)
    out = tmp_path / "out"
    program = (
        "import onoff, onoff._summaries as s, sys; s._BATCH = 2; "
        "onoff.summaries(sys.argv[1], sys.argv[2], workers=2)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(paths), str(out)])
    for _ in range(600):
        if len(list(out.glob("recordings/*.parquet"))) >= 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = rows(out, "SELECT count(*) FROM {recordings}")[0][0]
    assert 0 < before < 24
    # What was being written counts for nothing: rows of a batch whose recordings are not there, and half of a file.
    stray = next(iter((out / "phases").glob("*.parquet")))
    shutil.copy(stray, out / "phases" / "0000.parquet")
    (out / "account" / "half.unfinished").write_bytes(b"PAR1")
    done = onoff.summaries(paths, out)
    assert (done.read, done.known) == (24 - before, before)
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {recordings}") == [(24, 24)]
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(24, 24)]
    assert rows(out, "SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM {phases} GROUP BY recording)") == [(1,)]
    assert not list(out.rglob("*.unfinished"))


def test_files_that_end_or_hang_their_process_are_rows_and_all_others_come_out_once(tmp_path, monkeypatch):
    paths = fleet(tmp_path / "recordings", 8)
    # A reader that a file ends, and one that never answers: the worker's own main loop with a file that does so.
    program = (
        "import json, os, sys, time, onoff._worker as w\n"
        "whole = w.rows\n"
        "def rows(paths):\n"
        "    if '0003' in paths[0]: os.abort()\n"
        "    if '0005' in paths[0]: time.sleep(600)\n"
        "    return whole(paths)\n"
        "w.rows = rows\n"
        "sys.argv = ['worker', '0']\n"
        "sys.exit(w.main())"
    )

    def start(reader):
        command = [sys.executable, "-c", program]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    monkeypatch.setattr(_process.Reader, "_start", start)
    done = onoff.summaries(paths, tmp_path / "out", workers=2, seconds=15)
    assert (done.read, done.failed) == (8, 2)
    errors = dict(rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error <> ''"))
    assert f"signal {int(signal.SIGABRT)}" in errors[str(paths / "0003.tar.gz")]
    assert "15 s" in errors[str(paths / "0005.tar.gz")]
    assert rows(tmp_path / "out", "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(6, 6)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only Unix limits a process's memory")
def test_a_file_that_needs_too_much_memory_is_a_row(tmp_path):
    paths = fleet(tmp_path / "recordings", 2)
    # A file of a megabyte that holds 500.
    block = b"7,loader,/card/a.dat,read,0,4\n" * (1 << 15)
    with gzip.open(paths / "large.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"pid,process,file,operation,offset,length\n")
        for _ in range((500 << 20) // len(block)):
            file.write(block)
    done = onoff.summaries(paths, tmp_path / "out", workers=1, memory_bytes=400 << 20)
    errors = rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error <> ''")
    assert (done.read, done.failed) == (3, 1)
    assert errors[0][0] == str(paths / "large.csv.gz") and ("memory" in errors[0][1] or "signal" in errors[0][1])


def test_rows_of_another_version_are_made_anew(tmp_path, monkeypatch):
    paths = fleet(tmp_path / "recordings", 3)
    onoff.summaries(paths, tmp_path / "out")
    monkeypatch.setattr(_summaries, "SCHEMA", _summaries.SCHEMA + 1)
    (paths / "0002.tar.gz").unlink()
    done = onoff.summaries(paths, tmp_path / "out")
    assert done.read == 2
    counted = rows(tmp_path / "out", "SELECT schema, count(*) FROM {recordings} GROUP BY 1 ORDER BY 1")
    assert counted == [(_summaries.SCHEMA - 1, 1), (_summaries.SCHEMA, 2)]
    assert rows(tmp_path / "out", "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(3, 3)]


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    paths = fleet(tmp_path / "recordings", 1)
    for out in (paths, paths / "0000.tar.gz"):
        with pytest.raises(onoff.UsageError):
            onoff.summaries(paths, out)
    assert sorted(path.name for path in paths.iterdir()) == ["0000.tar.gz"]
    with pytest.raises(onoff.UnreadableError):
        onoff.summaries(tmp_path / "nothing", tmp_path / "out")


def test_every_file_of_a_folder_is_a_row_or_counted(tmp_path):
    paths = tmp_path / "recordings"
    deep = paths.joinpath(*"abcdefghijkl")
    deep.mkdir(parents=True)
    shutil.copy(SAMPLES / "slow-boot.etl", deep / "boot.etl")
    for name in ("first.etl", "second.etl"):
        (paths / name).write_bytes(b"")
    (paths / "damaged.etl").write_text("no longer a log")
    (paths / "notes.txt").write_text("nothing that anybody recorded")
    done = onoff.summaries(paths, tmp_path / "out")
    assert (done.read, done.failed, done.skipped) == (4, 3, 1)
    errors = rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error != '' ORDER BY path")
    assert [pathlib.Path(path).name for path, _ in errors] == ["damaged.etl", "first.etl", "second.etl"]
    assert all("empty" in error for path, error in errors if "damaged" not in path)


def test_the_command_line_writes_the_same_tables_and_reads_nothing_twice(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "broken.etl").write_bytes(b"not a recording")

    def summary(*arguments):
        return subprocess.run([sys.executable, "-m", "onoff", "summary", *map(str, arguments)], capture_output=True, text=True)

    first = summary(paths, "--format", "parquet", "-o", tmp_path / "out")
    onoff.summaries(paths, tmp_path / "by-library")
    assert "known before" in first.stdout, first.stderr
    for table in ("recordings", "transitions", "phases", "services"):
        [[by_command], [by_library]] = ([rows(out, f"SELECT count(*) FROM {{{table}}}")[0][0]] for out in (tmp_path / "out", tmp_path / "by-library"))
        assert by_command == by_library > 0, table
    again = summary(paths, "--format=parquet", "-o", tmp_path / "out")
    # The broken file is a row with its error, so the output is not whole.
    assert again.stdout.split(": ", 1)[1].startswith("0 read") and again.returncode == 1, again.stdout
    # Without a folder there is nowhere to write to; a folder of something else stays as it is.
    assert summary(paths, "--format", "parquet").returncode == 64
    assert summary(paths, "--format", "parquet", "-o", paths).returncode == 64
    # Any other format is the compiled program's.
    assert summary(paths, "--format", "csv").stdout.startswith("recording,computer,")


RECORDING_WITH_VERSIONS = SAMPLES.parent.parent / "shared/samples/etl/net.4.5.2.x64.etl"


@pytest.mark.skipif(not RECORDING_WITH_VERSIONS.exists(), reason=f"{RECORDING_WITH_VERSIONS} is not here")
def test_versions_of_modules_are_those_of_the_table_of_images(tmp_path):
    onoff.summaries(RECORDING_WITH_VERSIONS, tmp_path / "out")
    onoff.open(RECORDING_WITH_VERSIONS).export(tmp_path / "tables", tables=["images"])
    expected = duckdb.sql(
        rf"SELECT DISTINCT lower(regexp_extract(path, '[^\\/]*$')), version FROM '{tmp_path}/tables/images.parquet' WHERE version <> '' ORDER BY ALL"
    ).fetchall()
    assert len(expected) > 100
    assert rows(tmp_path / "out", "SELECT module, version FROM {versions} ORDER BY ALL") == expected


def test_delta_tables_hold_the_same_rows_go_on_after_an_end_and_have_versions(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    paths = fleet(tmp_path / "recordings", 6)
    out = tmp_path / "delta"
    first, others = sorted(paths.iterdir())[:4], sorted(paths.iterdir())[4:]
    assert onoff.summaries(first, out, format="delta").read == 4
    # A run that ended before its recordings were written left rows of others: they count for nothing.
    stray = deltalake.DeltaTable(str(out / "phases")).to_pyarrow_table().slice(0, 3)
    stray = stray.set_column(0, "recording", pyarrow.array(["unknown"] * 3))
    deltalake.write_deltalake(str(out / "phases"), stray, mode="append")
    again = onoff.summaries([*first, *others], out, format="delta")
    assert (again.read, again.known) == (2, 4)
    onoff.summaries(paths, tmp_path / "parquet")
    for table, columns in TABLES.items():
        names = ["recording", *columns]
        found = deltalake.DeltaTable(str(out / table)).to_pyarrow_table(columns=names).to_pylist()
        parts = list((tmp_path / "parquet" / table).glob("*.parquet"))
        expected = pyarrow.parquet.ParquetDataset([str(part) for part in parts]).read(columns=names).to_pylist() if parts else []
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), table
    assert deltalake.DeltaTable(str(out / "transitions")).version() > 0
    by_delta, by_parquet = onoff.fleet(out), onoff.fleet(tmp_path / "parquet")
    assert sorted(map(repr, by_delta.runs())) == sorted(map(repr, by_parquet.runs()))
    # Rows of another version of the program are made anew.
    table = deltalake.DeltaTable(str(out / "recordings"))
    table.update(updates={"schema": "0"}, predicate="path LIKE '%0001%'")
    assert onoff.summaries(paths, out, format="delta").read == 1
    assert deltalake.DeltaTable(str(out / "recordings")).to_pyarrow_table().num_rows == 6
    for wrong, said in ((out, "holds delta tables"), (tmp_path / "parquet", "holds parquet tables")):
        with pytest.raises(onoff.UsageError, match=said):
            onoff.summaries(paths, wrong, format="parquet" if wrong == out else "delta")
    with pytest.raises(onoff.UsageError, match="no format"):
        onoff.summaries(paths, tmp_path / "other", format="orc")


def once(out, count):
    """Every recording has one row, and each of its tables has its rows once."""
    assert rows(out, "SELECT count(*), count(DISTINCT recording), count(DISTINCT path) FROM {recordings}") == [(count, count, count)]
    assert rows(out, "SELECT count(*) FROM (SELECT recording, place FROM {phases} GROUP BY ALL HAVING count(*) > 1)") == [(0,)]
    assert rows(out, "SELECT count(*) FROM {phases} WHERE recording NOT IN (SELECT recording FROM {recordings})") == [(0,)]
    return dict(rows(out, "SELECT path, error FROM {recordings}"))


@pytest.fixture
def here(monkeypatch):
    """Reads in this process, after what a test adds to ``before``: a function of a recording's first file that may answer itself."""
    before = []

    def ask(reader, task):
        for each in before:
            answer = each(task[0])
            if answer is not None:
                return answer
        return _worker.answer(task)

    monkeypatch.setattr(_process.Reader, "ask", ask)
    return before


def command(paths, out):
    return _summary_command.run(["summary", str(paths), "--format", "parquet", "-o", str(out), "--workers", "1"])


HOLD = (
    "import onoff, sys, time\n"
    "def progress(*done):\n"
    "    print('started', flush=True)\n"
    "    time.sleep(600)\n"
    "onoff.summaries(sys.argv[1], sys.argv[2], workers=1, progress=progress)"
)


def test_a_second_writer_is_refused_and_a_killed_one_is_not_waited_for(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(paths), str(out)], stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "started\n"
    with pytest.raises(onoff.UnreadableError, match=f"process {first.pid} on .* is writing to it"):
        onoff.summaries(paths, out)
    assert command(paths, out) == 1
    first.kill()
    first.wait()
    first.stdout.close()
    # The file with the killed one's number is still there.
    assert (out / "recordings" / ".lock").read_text().startswith(f"process {first.pid}")
    assert onoff.summaries(paths, out).read == 3
    once(out, 3)
    assert (out / "recordings" / ".lock").read_bytes() == b""


def test_runs_that_start_together_leave_one_row_for_each_recording(tmp_path):
    paths = fleet(tmp_path / "recordings", 6)
    out = tmp_path / "out"
    program = "import onoff, onoff._summaries as s, sys; s._BATCH = 1; onoff.summaries(sys.argv[1], sys.argv[2], workers=1)"
    runs = [subprocess.Popen([sys.executable, "-c", program, str(paths), str(out)], stderr=subprocess.PIPE) for _ in range(3)]
    said = [run.communicate()[1] for run in runs]
    assert 0 in [run.returncode for run in runs], said
    assert all(run.returncode == 0 or b"is writing to it" in text for run, text in zip(runs, said)), said
    once(out, 6)


def test_a_changed_file_replaces_its_rows(tmp_path, here):
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    onoff.summaries(paths, out)
    # One is written anew, two change their names, one of another folder is left as it is.
    with gzip.open(paths / "0000.tar.gz", "wb", compresslevel=1) as file:
        file.write(lzma.decompress((SAMPLES / "linux-boot.tar.xz").read_bytes()).replace(NAME, b"renewed1"))
    os.rename(paths / "0001.tar.gz", paths / "kept")
    os.rename(paths / "0002.tar.gz", paths / "0001.tar.gz")
    os.rename(paths / "kept", paths / "0002.tar.gz")
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(SAMPLES / "slow-boot.etl", other)
    onoff.summaries(other, out)
    done = onoff.summaries(paths, out)
    assert (done.read, done.failed, done.errors) == (3, 0, 0)
    once(out, 4)
    found = dict(rows(out, "SELECT path, computer FROM {recordings}"))
    assert found == {
        str(paths / "0000.tar.gz"): "renewed1",
        str(paths / "0001.tar.gz"): "lab00002",
        str(paths / "0002.tar.gz"): "lab00001",
        str(other / "slow-boot.etl"): "LAPTOP-7F3",
    }
    assert onoff.summaries(paths, out).read == 0


def test_names_are_the_same_from_wherever_they_are_given(tmp_path, here, monkeypatch):
    paths = fleet(tmp_path / "recordings", 1)
    monkeypatch.chdir(tmp_path)
    onoff.summaries("recordings", "out")
    (paths / "0000.tar.gz").unlink()
    shutil.copy(SAMPLES / "slow-boot.etl", paths / "0000.tar.gz")
    monkeypatch.chdir(paths)
    onoff.summaries(".", tmp_path / "out")
    assert once(tmp_path / "out", 1) == {str(paths / "0000.tar.gz"): ""}


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path, here):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    growing = paths / "0001.tar.gz"
    here.append(lambda path: os.utime(path, (1, 1)) if path == str(growing) else None)
    done = onoff.summaries(paths, out, workers=1)
    assert (done.read, done.failed, done.errors) == (2, 1, 1)
    assert once(out, 2)[str(growing)] == "it changed while it was read"
    here.clear()
    done = onoff.summaries(paths, out)
    assert (done.read, done.known, done.errors) == (1, 1, 0)
    assert set(once(out, 2).values()) == {""}


def test_a_time_out_is_read_again_and_the_exit_code_is_that_of_what_the_tables_hold(tmp_path, here, capsys):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "bad.tar.gz").write_bytes((paths / "0000.tar.gz").read_bytes()[:5000])
    out = tmp_path / "out"
    slow = []

    def late(path):
        if path.endswith("0001.tar.gz"):
            slow.append(path)
            return "it took longer than 600 s"

    here.append(late)
    assert command(paths, out) == 1
    assert "4 read" in capsys.readouterr().out
    # It is still too slow: read again, and no success.
    assert command(paths, out) == 1
    assert "1 read" in (said := capsys.readouterr().out) and "2 of its recordings could not be read" in said
    assert len(slow) == 2
    once(out, 4)
    here.clear()
    assert command(paths, out) == 1
    assert "1 read" in (said := capsys.readouterr().out) and "1 of its recordings could not be read" in said
    assert {error for path, error in once(out, 4).items() if "bad" not in path} == {""}
    # What is damaged is not tried again, and is no success either, until it is gone.
    assert command(paths, out) == 1
    assert "0 read" in capsys.readouterr().out
    (paths / "bad.tar.gz").unlink()
    assert command(paths, out) == 0
    once(out, 3)


def test_a_file_that_cannot_be_opened_is_tried_again_and_costs_no_rows_that_are_there(tmp_path, here, monkeypatch):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    closed = {str(paths / "0001.tar.gz")}

    def content_hash(files):
        if closed & set(files):
            raise OSError(5, "Input/output error", files[0])
        return _worker.content_hash(files)

    monkeypatch.setattr(_summaries, "content_hash", content_hash)
    for _ in range(2):
        done = onoff.summaries([paths, paths], out)
        assert (done.failed, done.errors) == (1, 1)
        assert "Input/output error" in once(out, 2)[str(paths / "0001.tar.gz")]
    closed.clear()
    done = onoff.summaries(paths, out)
    assert (done.read, done.errors, set(once(out, 2).values())) == (1, 0, {""})
    closed.add(str(paths / "0000.tar.gz"))
    assert command(paths, out) == 1
    assert set(once(out, 2).values()) == {""}


def test_rows_that_an_earlier_version_doubled_are_there_once(tmp_path, here):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    onoff.summaries(paths, out)
    for part in list(out.glob("*/*.parquet")):
        shutil.copy(part, part.with_name(f"again-{part.name}"))
    assert rows(out, "SELECT count(*) FROM {recordings}") == [(4,)]
    assert onoff.summaries(paths, out).read == 0
    once(out, 2)


def test_recordings_without_a_transition_are_an_answer_of_nothing(tmp_path, here):
    paths = tmp_path / "recordings"
    paths.mkdir()
    (paths / "reads.csv").write_text("pid,process,file,operation,offset,length\n7,loader,/card/a.dat,read,0,4\n")
    assert command(paths, tmp_path / "out") == 2
    shutil.copy(SAMPLES / "slow-boot.etl", paths)
    assert command(paths, tmp_path / "out") == 0
