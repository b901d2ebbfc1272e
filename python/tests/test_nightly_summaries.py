"""A nightly run opens only new files, keeps its progress when it is killed, and can be checked."""

import os
import re
import shutil
import subprocess
import sys
import time

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import onoff
from onoff import _summaries, _summary_command
from test_summaries import SAMPLES, fleet, rows


@pytest.fixture
def hashed(monkeypatch):
    """Names of the files that are hashed."""
    names = []
    content_hash = _summaries.content_hash

    def counting(files):
        names.extend(os.path.basename(file) for file in files)
        return content_hash(files)

    monkeypatch.setattr(_summaries, "content_hash", counting)
    return names


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_known_files_are_not_opened(tmp_path, hashed, format):
    if format == "delta":
        pytest.importorskip("deltalake")
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    assert onoff.summaries(paths, out, format=format).read == 3
    hashed.clear()
    again = onoff.summaries(paths, out, format=format)
    assert (again.read, again.known, hashed) == (0, 3, [])
    assert onoff.summaries(paths, out, format=format, verify=True).known == 3
    assert len(hashed) == 3
    hashed.clear()
    # A file with another time is read to compare its contents, once.
    os.utime(paths / "0001.tar.gz", ns=(1, 1))
    shutil.move(paths / "0002.tar.gz", paths / "moved.tar.gz")
    for expected in (["0001.tar.gz", "moved.tar.gz"], []):
        result = onoff.summaries(paths, out, format=format)
        assert (result.read, result.known, sorted(hashed)) == (0, 3, expected)
        hashed.clear()
    # Other contents with the same size are another recording.
    fleet(tmp_path / "others", 5)
    os.replace(tmp_path / "others" / "0004.tar.gz", paths / "0000.tar.gz")
    assert onoff.summaries(paths, out, format=format).read == 1
    assert onoff.check_summaries(out)[:4] == (3, 0, (), ())


def test_tables_of_an_earlier_version_get_the_new_columns(tmp_path, hashed):
    paths = fleet(tmp_path / "recordings", 2)
    onoff.summaries(paths, tmp_path / "out")
    for part in (tmp_path / "out/recordings").glob("*.parquet"):
        table = pyarrow.parquet.read_table(part).drop_columns(["size_bytes", "modified_ns", "stamp"])
        pyarrow.parquet.write_table(table, part)
    hashed.clear()
    assert onoff.summaries(paths, tmp_path / "out").known == 2 and len(hashed) == 2
    hashed.clear()
    assert onoff.summaries(paths, tmp_path / "out").known == 2 and hashed == []
    sizes = dict(rows(tmp_path / "out", "SELECT path, size_bytes FROM {recordings}"))
    assert sizes == {str(path): path.stat().st_size for path in paths.iterdir()}


def test_killed_run_keeps_its_first_seconds(tmp_path):
    paths = fleet(tmp_path / "recordings", 12)
    program = "import onoff, sys; onoff.summaries(sys.argv[1], sys.argv[2], workers=1)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program, str(paths), str(tmp_path / "out")], env=environment)
    parts = tmp_path / "out/recordings"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not list(parts.glob("*.parquet")) and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = sum(pyarrow.parquet.read_metadata(part).num_rows for part in parts.glob("*.parquet"))
    assert kept > 0
    result = onoff.summaries(paths, tmp_path / "out")
    assert result.known >= kept and result.read + result.known == 12


def test_check_reports_what_is_wrong(tmp_path, capsys):
    paths = fleet(tmp_path / "recordings", 3)
    out = tmp_path / "out"
    onoff.summaries(paths, out)
    assert onoff.check_summaries(out) == onoff.SummaryCheck(3, 0, (), (), ())
    assert _summary_command.run(["summary", "--check", str(out)]) == 0
    assert "3 recordings" in capsys.readouterr().out
    (paths / "0000.tar.gz").unlink()
    os.utime(paths / "0001.tar.gz", ns=(1, 1))
    result = onoff.check_summaries(out)
    assert result.missing == (str(paths / "0000.tar.gz"),) and result.changed == (str(paths / "0001.tar.gz"),)
    assert not result.problems and "1 no longer exist" in repr(result)
    part = next((out / "phases").glob("*.parquet"))
    shutil.copy(part, out / "phases" / "other.parquet")
    (out / "services" / "damaged.parquet").write_bytes(b"PAR1")
    (out / "devices" / "half.unfinished").write_bytes(b"")
    problems = "\n".join(onoff.check_summaries(out).problems)
    assert "phases: rows of " in problems and "damaged.parquet: damaged" in problems and "half.unfinished: unfinished" in problems
    assert _summary_command.run(["summary", "--check", str(out)]) == 1
    assert _summary_command.run(["summary", "--check", str(tmp_path)]) == 64
    assert _summary_command.run(["summary", "--check"]) == 64


def test_rows_of_one_recording_are_the_rows_of_summaries(tmp_path):
    onoff.summaries(SAMPLES / "slow-boot.etl", tmp_path / "out")
    tables = onoff.rows(SAMPLES / "slow-boot.etl")
    for name, table in tables.items():
        query = f"SELECT * FROM read_parquet('{tmp_path}/out/{name}/*.parquet')" if list((tmp_path / "out" / name).glob("*.parquet")) else None
        if query is None:
            assert len(table) == 0
            continue
        assert duckdb.sql(query).fetchall() == duckdb.from_arrow(table).fetchall(), name
    damaged = tmp_path / "damaged.etl"
    damaged.write_text("no longer a log")
    for path in (damaged, tmp_path / "missing.etl"):
        answer = onoff.rows(path)
        assert answer["recordings"]["error"].to_pylist()[0] and len(answer["transitions"]) == 0


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        # `make wheel` does not install Ray, which is large.
        ("concurrent.futures", "30.03"),
        ("ray", "slow-shutdown.etl', {shutdown}"),
        ("dask", "({phase.duration_ns}, '{phase.name}')"),
    ],
)
def test_pools_of_the_book(tmp_path, library, expected):
    pytest.importorskip(library)
    page = (SAMPLES.parent / "docs/src/how-to/fleet.md").read_text()
    [example] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if f"import {library}" in block or f", {library}" in block or f"from {library}" in block]
    assert len(example.strip().splitlines()) <= 10
    for name in ("slow-boot.etl", "slow-shutdown.etl"):
        shutil.copy(SAMPLES / name, tmp_path / name)
    (tmp_path / "example.py").write_text(example)
    package = os.path.dirname(os.path.dirname(onoff.__file__))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), package]), "RAY_USAGE_STATS_ENABLED": "0"}
    result = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    boot, shutdown = onoff.boot(SAMPLES / "slow-boot.etl"), onoff.shutdown(SAMPLES / "slow-shutdown.etl")
    phases = [*boot.phases, *shutdown.phases]
    longest = max(phases, key=lambda phase: phase.duration_ns)
    expected = expected.format(shutdown=shutdown.total_ns, phase=longest)
    assert expected in result.stdout, result.stdout
