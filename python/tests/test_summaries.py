"""Tests that summaries contain every recording exactly once, whatever happens."""

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
    """Creates boots of computers with different names, so that their contents differ."""
    folder.mkdir()
    boot = lzma.decompress((SAMPLES / "linux-boot.tar.xz").read_bytes())
    assert NAME in boot
    for number in range(count):
        with gzip.open(folder / f"{number:04}.tar.gz", "wb", compresslevel=1) as file:
            file.write(boot.replace(NAME, b"lab%05d" % number))
    return folder


def rows(out, query):
    return duckdb.sql(query.replace("{", f"read_parquet('{out}/").replace("}", "/*.parquet')")).fetchall()


def test_rows_match_the_commands(tmp_path):
    paths = tmp_path / "recordings"
    paths.mkdir()
    for name in ("slow-boot.etl", "slow-shutdown.etl", "slow-sleep.etl", "linux-boot.tar.xz", "netboot-slow-link.pcap.xz"):
        shutil.copy(SAMPLES / name, paths / name)
    shutil.copy(SAMPLES / "slow-boot.etl", paths / "again.etl")
    (paths / "notes.txt").write_text("not a recording")
    result = onoff.summaries(paths, tmp_path / "out")
    assert (result.read, result.known, result.failed, result.skipped) == (5, 1, 0, 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(TABLES)
    out = tmp_path / "out"
    expected = sorted(
        (row.transition, row.duration_ns, row.phase, row.subject)
        for row in onoff.summary([path for path in sorted(paths.iterdir()) if path.name not in ("again.etl", "notes.txt")]).rows
    )
    transitions = rows(out, "SELECT transition, duration_ns, phase, subject FROM {transitions}")
    assert sorted(transitions) == expected and len(expected) >= 5
    [(digest, computer)] = rows(
        out, "SELECT recording, computer FROM {recordings} AS r JOIN {transitions} AS t USING (recording) WHERE transition = 'boot' AND os LIKE 'Windows%'"
    )
    boot = onoff.boot(SAMPLES / "slow-boot.etl")
    assert (digest, computer) == (boot.onoff.recordings[0].files[0].sha256, boot.onoff.recordings[0].computer)
    where_boot = f"WHERE recording = '{digest}'"
    phases = rows(out, f"SELECT phase, duration_ns FROM {{phases}} {where_boot} ORDER BY place")
    assert phases == [(phase.name, phase.duration_ns) for phase in boot.phases]
    for phase, duration_ns in phases:
        [(total,)] = rows(out, f"SELECT sum(ns) FROM {{account}} {where_boot} AND phase = '{phase}'")
        assert total in (None, duration_ns)
    assert rows(out, f"SELECT service FROM {{services}} {where_boot} ORDER BY duration_ns DESC LIMIT 1") == [("SoundShaper",)]
    assert rows(out, f"SELECT driver FROM {{devices}} {where_boot} ORDER BY duration_ns DESC LIMIT 1") == [("LegacyScan",)]
    trace = onoff.open(SAMPLES / "slow-boot.etl")
    codes = [(finding.code, finding.cost_ns) for finding in trace.findings()]
    assert sorted(rows(out, f"SELECT code, cost_ns FROM {{findings}} {where_boot}"), key=str) == sorted(codes, key=str)
    # Known recordings are not read again under another name.
    shutil.copy(SAMPLES / "slow-sleep.etl", paths / "another name.etl")
    again = onoff.summaries(paths, out)
    assert (again.read, again.known) == (0, 7)
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {recordings}") == [(5, 5)]


def test_unreadable_recording_is_a_row_and_not_read_again(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "bad.tar.gz").write_bytes((paths / "0000.tar.gz").read_bytes()[:5000])
    progress_calls = []
    result = onoff.summaries(paths, tmp_path / "out", workers=1, progress=lambda *arguments: progress_calls.append(arguments))
    assert result.read == 4 and [(done, total) for done, total, _ in progress_calls] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    errors = rows(tmp_path / "out", "SELECT path FROM {recordings} WHERE error <> ''")
    assert errors == [(str(paths / "bad.tar.gz"),)] and result.failed == 1
    assert onoff.summaries(paths, tmp_path / "out").read == 0


def test_continues_after_kill(tmp_path):
    paths = fleet(tmp_path / "recordings", 12)
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
    before_kill = rows(out, "SELECT count(*) FROM {recordings}")[0][0]
    assert 0 < before_kill < 12
    # Leftovers of an interrupted write must be ignored: rows without a recording, and a partial file.
    stray = next(iter((out / "phases").glob("*.parquet")))
    shutil.copy(stray, out / "phases" / "0000.parquet")
    (out / "account" / "half.unfinished").write_bytes(b"PAR1")
    result = onoff.summaries(paths, out)
    assert (result.read, result.known) == (12 - before_kill, before_kill)
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {recordings}") == [(12, 12)]
    assert rows(out, "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(12, 12)]
    assert rows(out, "SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM {phases} GROUP BY recording)") == [(1,)]
    assert not list(out.rglob("*.unfinished"))


def test_crashing_and_hanging_files_are_rows(tmp_path, monkeypatch):
    paths = fleet(tmp_path / "recordings", 8)
    # The worker's main loop, with one file that crashes it and one that hangs.
    program = (
        "import json, os, sys, time, onoff._worker as w\n"
        "original = w.rows\n"
        "def rows(paths):\n"
        "    if '0003' in paths[0]: os.abort()\n"
        "    if '0005' in paths[0]: time.sleep(600)\n"
        "    return original(paths)\n"
        "w.rows = rows\n"
        "sys.argv = ['worker', '0']\n"
        "sys.exit(w.main())"
    )

    def start(reader):
        command = [sys.executable, "-c", program]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    monkeypatch.setattr(_process.Reader, "_start", start)
    result = onoff.summaries(paths, tmp_path / "out", workers=2, seconds=15)
    assert (result.read, result.failed) == (8, 2)
    errors = dict(rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error <> ''"))
    assert f"signal {int(signal.SIGABRT)}" in errors[str(paths / "0003.tar.gz")]
    assert "15 s" in errors[str(paths / "0005.tar.gz")]
    assert rows(tmp_path / "out", "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(6, 6)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only Unix limits a process's memory")
def test_memory_limit_gives_a_row_with_an_error(tmp_path):
    paths = fleet(tmp_path / "recordings", 2)
    # 500 MiB compressed to about 1 MiB.
    block = b"7,loader,/card/a.dat,read,0,4\n" * (1 << 15)
    with gzip.open(paths / "large.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"pid,process,file,operation,offset,length\n")
        for _ in range((500 << 20) // len(block)):
            file.write(block)
    result = onoff.summaries(paths, tmp_path / "out", workers=1, memory_bytes=400 << 20)
    errors = rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error <> ''")
    assert (result.read, result.failed) == (3, 1)
    assert errors[0][0] == str(paths / "large.csv.gz") and ("memory" in errors[0][1] or "signal" in errors[0][1])


def test_rows_of_another_schema_are_replaced(tmp_path, monkeypatch):
    paths = fleet(tmp_path / "recordings", 3)
    onoff.summaries(paths, tmp_path / "out")
    monkeypatch.setattr(_summaries, "SCHEMA", _summaries.SCHEMA + 1)
    (paths / "0002.tar.gz").unlink()
    result = onoff.summaries(paths, tmp_path / "out")
    assert result.read == 2
    counted = rows(tmp_path / "out", "SELECT schema, count(*) FROM {recordings} GROUP BY 1 ORDER BY 1")
    assert counted == [(_summaries.SCHEMA - 1, 1), (_summaries.SCHEMA, 2)]
    assert rows(tmp_path / "out", "SELECT count(*), count(DISTINCT recording) FROM {transitions}") == [(3, 3)]


def test_rejects_folder_with_other_files(tmp_path):
    paths = fleet(tmp_path / "recordings", 1)
    for out in (paths, paths / "0000.tar.gz"):
        with pytest.raises(onoff.UsageError):
            onoff.summaries(paths, out)
    assert sorted(path.name for path in paths.iterdir()) == ["0000.tar.gz"]
    with pytest.raises(onoff.UnreadableError):
        onoff.summaries(tmp_path / "nothing", tmp_path / "out")


def test_every_file_is_a_row_or_counted(tmp_path):
    paths = tmp_path / "recordings"
    deep = paths.joinpath(*"abcdefghijkl")
    deep.mkdir(parents=True)
    shutil.copy(SAMPLES / "slow-boot.etl", deep / "boot.etl")
    for name in ("first.etl", "second.etl"):
        (paths / name).write_bytes(b"")
    (paths / "damaged.etl").write_text("no longer a log")
    (paths / "notes.txt").write_text("not a recording")
    result = onoff.summaries(paths, tmp_path / "out")
    assert (result.read, result.failed, result.skipped) == (4, 3, 1)
    errors = rows(tmp_path / "out", "SELECT path, error FROM {recordings} WHERE error != '' ORDER BY path")
    assert [pathlib.Path(path).name for path, _ in errors] == ["damaged.etl", "first.etl", "second.etl"]
    assert all("empty" in error for path, error in errors if "damaged" not in path)


def test_command_line_writes_same_tables(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "broken.etl").write_bytes(b"not a recording")

    def summary(*arguments):
        return subprocess.run([sys.executable, "-m", "onoff", "summary", *map(str, arguments)], capture_output=True, text=True)

    first = summary(paths, "--format", "parquet", "-o", tmp_path / "out")
    onoff.summaries(paths, tmp_path / "by-library")
    assert "already known" in first.stdout, first.stderr
    for table in ("recordings", "transitions", "phases", "services"):
        [[by_command], [by_library]] = ([rows(out, f"SELECT count(*) FROM {{{table}}}")[0][0]] for out in (tmp_path / "out", tmp_path / "by-library"))
        assert by_command == by_library > 0, table
    again = summary(paths, "--format=parquet", "-o", tmp_path / "out")
    # The broken file is a row with an error, so the exit code is 1.
    assert again.stdout.split(": ", 1)[1].startswith("0 read") and again.returncode == 1, again.stdout
    # Usage errors: no output folder, or a folder with other files.
    assert summary(paths, "--format", "parquet").returncode == 64
    assert summary(paths, "--format", "parquet", "-o", paths).returncode == 64
    # Other formats are handled by the compiled program.
    assert summary(paths, "--format", "csv").stdout.startswith("recording,boot,computer,")


RECORDING_WITH_VERSIONS = SAMPLES.parent.parent / "shared/samples/etl/net.4.5.2.x64.etl"


@pytest.mark.skipif(not RECORDING_WITH_VERSIONS.exists(), reason=f"{RECORDING_WITH_VERSIONS} does not exist")
def test_module_versions_match_image_table(tmp_path):
    onoff.summaries(RECORDING_WITH_VERSIONS, tmp_path / "out")
    onoff.open(RECORDING_WITH_VERSIONS).export(tmp_path / "tables", tables=["images"])
    expected = duckdb.sql(
        rf"SELECT DISTINCT lower(regexp_extract(path, '[^\\/]*$')), version FROM '{tmp_path}/tables/images.parquet' WHERE version <> '' ORDER BY ALL"
    ).fetchall()
    assert len(expected) > 100
    assert rows(tmp_path / "out", "SELECT module, version FROM {versions} ORDER BY ALL") == expected


def test_delta_tables(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    paths = fleet(tmp_path / "recordings", 6)
    out = tmp_path / "delta"
    first, others = sorted(paths.iterdir())[:4], sorted(paths.iterdir())[4:]
    assert onoff.summaries(first, out, format="delta").read == 4
    # Rows without a recording, as left by an interrupted run, must be ignored.
    stray = deltalake.DeltaTable(str(out / "phases")).to_pyarrow_table().slice(0, 3)
    stray = stray.set_column(0, "recording", pyarrow.array(["unknown"] * 3))
    deltalake.write_deltalake(str(out / "phases"), stray, mode="append")
    again = onoff.summaries([*first, *others], out, format="delta")
    assert (again.read, again.known) == (2, 4)
    onoff.summaries(paths, tmp_path / "parquet")
    for table, columns in TABLES.items():
        names = ["recording", *columns]
        actual = deltalake.DeltaTable(str(out / table)).to_pyarrow_table(columns=names).to_pylist()
        parts = list((tmp_path / "parquet" / table).glob("*.parquet"))
        expected = pyarrow.parquet.ParquetDataset([str(part) for part in parts]).read(columns=names).to_pylist() if parts else []
        assert sorted(map(repr, actual)) == sorted(map(repr, expected)), table
    assert deltalake.DeltaTable(str(out / "transitions")).version() > 0
    by_delta, by_parquet = onoff.fleet(out), onoff.fleet(tmp_path / "parquet")
    assert sorted(map(repr, by_delta.runs())) == sorted(map(repr, by_parquet.runs()))
    # Rows of another schema version are replaced.
    table = deltalake.DeltaTable(str(out / "recordings"))
    table.update(updates={"schema": "0"}, predicate="path LIKE '%0001%'")
    assert onoff.summaries(paths, out, format="delta").read == 1
    assert deltalake.DeltaTable(str(out / "recordings")).to_pyarrow_table().num_rows == 6
    for wrong, message in ((out, "contains delta tables"), (tmp_path / "parquet", "contains parquet tables")):
        with pytest.raises(onoff.UsageError, match=message):
            onoff.summaries(paths, wrong, format="parquet" if wrong == out else "delta")
    with pytest.raises(onoff.UsageError, match="unknown format"):
        onoff.summaries(paths, tmp_path / "other", format="orc")


def check_unique(out, count):
    """Checks that every recording has one row, and that its rows in other tables are not duplicated."""
    assert rows(out, "SELECT count(*), count(DISTINCT recording), count(DISTINCT path) FROM {recordings}") == [(count, count, count)]
    assert rows(out, "SELECT count(*) FROM (SELECT recording, place FROM {phases} GROUP BY ALL HAVING count(*) > 1)") == [(0,)]
    assert rows(out, "SELECT count(*) FROM {phases} WHERE recording NOT IN (SELECT recording FROM {recordings})") == [(0,)]
    return dict(rows(out, "SELECT path, error FROM {recordings}"))


@pytest.fixture
def in_process(monkeypatch):
    """Reads recordings in this process. Functions appended to the returned list get the first file and may return a result."""
    functions = []

    def run(reader, task):
        for function in functions:
            answer = function(task[0])
            if answer is not None:
                return answer
        return _worker.answer(task)

    monkeypatch.setattr(_process.Reader, "run", run)
    return functions


def run_command(paths, out, *options):
    return _summary_command.run(["summary", str(paths), "--format", "parquet", "-o", str(out), "--workers", "1", *options])


HOLD_LOCK = (
    "import onoff, sys, time\n"
    "def progress(*done):\n"
    "    print('started', flush=True)\n"
    "    time.sleep(600)\n"
    "onoff.summaries(sys.argv[1], sys.argv[2], workers=1, progress=progress)"
)


def test_rejects_second_writer_but_not_after_kill(tmp_path):
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    first = subprocess.Popen([sys.executable, "-c", HOLD_LOCK, str(paths), str(out)], stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "started\n"
    with pytest.raises(onoff.UnreadableError, match=f"process {first.pid} on .* is writing to it"):
        onoff.summaries(paths, out)
    assert run_command(paths, out) == 1
    first.kill()
    first.wait()
    first.stdout.close()
    # The lock file with the killed process's id still exists.
    assert (out / "recordings" / ".lock").read_text().startswith(f"process {first.pid}")
    result = onoff.summaries(paths, out)
    # The killed process may have written its first recording.
    assert result.read >= 2 and result.read + result.known == 3
    check_unique(out, 3)
    assert (out / "recordings" / ".lock").read_bytes() == b""


def test_concurrent_runs_write_each_recording_once(tmp_path):
    paths = fleet(tmp_path / "recordings", 6)
    out = tmp_path / "out"
    program = "import onoff, onoff._summaries as s, sys; s._BATCH = 1; onoff.summaries(sys.argv[1], sys.argv[2], workers=1)"
    runs = [subprocess.Popen([sys.executable, "-c", program, str(paths), str(out)], stderr=subprocess.PIPE) for _ in range(3)]
    messages = [run.communicate()[1] for run in runs]
    assert 0 in [run.returncode for run in runs], messages
    assert all(run.returncode == 0 or b"is writing to it" in text for run, text in zip(runs, messages)), messages
    check_unique(out, 6)


def test_changed_file_replaces_its_rows(tmp_path, in_process):
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    onoff.summaries(paths, out)
    # One file is replaced, two swap their names, one in another folder is unchanged.
    with gzip.open(paths / "0000.tar.gz", "wb", compresslevel=1) as file:
        file.write(lzma.decompress((SAMPLES / "linux-boot.tar.xz").read_bytes()).replace(NAME, b"renewed1"))
    os.rename(paths / "0001.tar.gz", paths / "kept")
    os.rename(paths / "0002.tar.gz", paths / "0001.tar.gz")
    os.rename(paths / "kept", paths / "0002.tar.gz")
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(SAMPLES / "slow-boot.etl", other)
    onoff.summaries(other, out)
    result = onoff.summaries(paths, out)
    assert (result.read, result.failed, result.errors) == (3, 0, 0)
    check_unique(out, 4)
    computers = dict(rows(out, "SELECT path, computer FROM {recordings}"))
    assert computers == {
        str(paths / "0000.tar.gz"): "renewed1",
        str(paths / "0001.tar.gz"): "lab00002",
        str(paths / "0002.tar.gz"): "lab00001",
        str(other / "slow-boot.etl"): "LAPTOP-7F3",
    }
    assert onoff.summaries(paths, out).read == 0


def test_paths_are_absolute(tmp_path, in_process, monkeypatch):
    paths = fleet(tmp_path / "recordings", 1)
    monkeypatch.chdir(tmp_path)
    onoff.summaries("recordings", "out")
    (paths / "0000.tar.gz").unlink()
    shutil.copy(SAMPLES / "slow-boot.etl", paths / "0000.tar.gz")
    monkeypatch.chdir(paths)
    onoff.summaries(".", tmp_path / "out")
    assert check_unique(tmp_path / "out", 1) == {str(paths / "0000.tar.gz"): ""}


def test_file_changed_while_reading_is_read_again(tmp_path, in_process):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    growing = paths / "0001.tar.gz"
    in_process.append(lambda path: os.utime(path, (1, 1)) if path == str(growing) else None)
    result = onoff.summaries(paths, out, workers=1)
    assert (result.read, result.failed, result.errors) == (2, 1, 1)
    assert check_unique(out, 2)[str(growing)] == "the file changed while it was read"
    in_process.clear()
    result = onoff.summaries(paths, out)
    assert (result.read, result.known, result.errors) == (1, 1, 0)
    assert set(check_unique(out, 2).values()) == {""}


def test_retries_time_outs_and_exit_code_reflects_stored_errors(tmp_path, in_process, capsys):
    paths = fleet(tmp_path / "recordings", 3)
    (paths / "bad.tar.gz").write_bytes((paths / "0000.tar.gz").read_bytes()[:5000])
    out = tmp_path / "out"
    timed_out = []

    def time_out(path):
        if path.endswith("0001.tar.gz"):
            timed_out.append(path)
            return "timed out after 600 s"

    in_process.append(time_out)
    assert run_command(paths, out) == 1
    assert "4 read" in capsys.readouterr().out
    # It still times out, so it is read again and the exit code stays 1.
    assert run_command(paths, out) == 1
    assert "1 read" in (message := capsys.readouterr().out) and "2 recordings in it could not be read" in message
    assert len(timed_out) == 2
    check_unique(out, 4)
    in_process.clear()
    assert run_command(paths, out) == 1
    assert "1 read" in (message := capsys.readouterr().out) and "1 recording in it could not be read" in message
    assert {error for path, error in check_unique(out, 4).items() if "bad" not in path} == {""}
    # A damaged file is not read again, but the exit code is 1 until it is deleted.
    assert run_command(paths, out) == 1
    assert "0 read" in capsys.readouterr().out
    (paths / "bad.tar.gz").unlink()
    assert run_command(paths, out) == 0
    check_unique(out, 3)


def test_retries_unopenable_file_and_keeps_existing_rows(tmp_path, in_process, monkeypatch):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    unopenable = {str(paths / "0001.tar.gz")}

    def content_hash(files):
        if unopenable & set(files):
            raise OSError(5, "Input/output error", files[0])
        return _worker.content_hash(files)

    monkeypatch.setattr(_summaries, "content_hash", content_hash)
    for _ in range(2):
        result = onoff.summaries([paths, paths], out)
        assert (result.failed, result.errors) == (1, 1)
        assert "Input/output error" in check_unique(out, 2)[str(paths / "0001.tar.gz")]
    unopenable.clear()
    result = onoff.summaries(paths, out)
    assert (result.read, result.errors, set(check_unique(out, 2).values())) == (1, 0, {""})
    unopenable.add(str(paths / "0000.tar.gz"))
    # A known file is opened only to verify its contents.
    assert run_command(paths, out) == 0
    assert run_command(paths, out, "--verify") == 1
    assert set(check_unique(out, 2).values()) == {""}


def test_removes_duplicate_rows(tmp_path, in_process):
    paths = fleet(tmp_path / "recordings", 2)
    out = tmp_path / "out"
    onoff.summaries(paths, out)
    for part in list(out.glob("*/*.parquet")):
        shutil.copy(part, part.with_name(f"again-{part.name}"))
    assert rows(out, "SELECT count(*) FROM {recordings}") == [(4,)]
    assert onoff.summaries(paths, out).read == 0
    check_unique(out, 2)


def test_exit_code_without_transitions(tmp_path, in_process):
    paths = tmp_path / "recordings"
    paths.mkdir()
    (paths / "reads.csv").write_text("pid,process,file,operation,offset,length\n7,loader,/card/a.dat,read,0,4\n")
    assert run_command(paths, tmp_path / "out") == 2
    shutil.copy(SAMPLES / "slow-boot.etl", paths)
    assert run_command(paths, tmp_path / "out") == 0
