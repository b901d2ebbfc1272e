"""SQL queries, compared with the commands of the program."""

import hashlib
import pathlib
import shutil

import pyarrow
import pyarrow.parquet
import pytest

import onoff
from onoff._sql import queries

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(scope="module")
def trace():
    return onoff.open(SAMPLES / "slow-boot.etl")


def rows(relation):
    return [dict(zip(relation.columns, row)) for row in relation.fetchall()]


@pytest.mark.parametrize("phase", ["PreSMSS", "SMSSInit", "WinLogonInit"])
def test_disk_by_process_and_path_matches_disk_list(trace, phase):
    found = [row for row in rows(onoff.sql("disk_by_process_and_path", trace)) if row["phase"] == phase]
    listed = trace.list("disk", by=["process", "path"], phase=phase)
    assert found
    expected = sorted((row.image, row.reads, row.read_bytes, row.service_ns) for row in listed.groups)
    assert sorted((row["image"], row["reads"], row["read_bytes"], row["service_ns"]) for row in found) == expected


def test_on_the_path_adds_up_to_the_phase(trace):
    found = rows(onoff.sql("on_the_path", trace))
    first = next(row for row in found if row["phase"] == "WinLogonInit")
    assert first["subject"] == "SoundShaper"
    for phase in trace.boot().phases:
        of_phase = [row["ns"] for row in found if row["phase"] == phase.name]
        assert not of_phase or sum(of_phase) == phase.duration_ns


def test_idle_slices_match_the_rule(trace):
    found = [row for row in rows(onoff.sql("idle_slices", trace)) if row["phase"] == "PostBoot"]
    slices = {slice_.start_ns: slice_ for slice_ in trace.boot().settling.slices}
    compared = [(row, slices[row["start_ns"]]) for row in found if row["start_ns"] in slices]
    assert len(compared) == len(slices) == 150
    for row, slice_ in compared:
        assert row["cpu_percent"] == pytest.approx(slice_.cpu_busy_percent, abs=0.2), row
        assert row["disk_percent"] == pytest.approx(slice_.disk_busy_percent, abs=0.2), row
        assert row["idle"] == slice_.idle, row


def test_slowest_services_match_the_boot(trace):
    found = rows(onoff.sql("slowest_services", trace))
    units = {unit.name: unit.duration_ns for unit in trace.boot().units if unit.kind == "start"}
    assert found[0]["service"] == "SoundShaper"
    assert {row["service"]: row["duration_ns"] for row in found if row["service"] in units} == units


def test_prepared_queries_are_documented_and_accept_any_recording(trace):
    prepared = queries()
    assert set(prepared) == {"disk_by_process_and_path", "idle_slices", "on_the_path", "slowest_services"}
    for name, text in prepared.items():
        assert text.startswith("-- ") and len(text.splitlines()[0]) > 30, name
        # This Linux boot has no context switches or disk requests: the result is empty, not an error.
        onoff.sql(name, SAMPLES / "linux-boot.tar.xz").fetchall()
    assert onoff.sql("slowest_services", SAMPLES / "linux-boot.tar.xz").fetchall()


def test_several_recordings_and_interval_macros(trace):
    counted = onoff.sql(
        "SELECT recording, count(*) FROM processes GROUP BY 1 ORDER BY 2", trace, SAMPLES / "linux-boot.tar.xz"
    ).fetchall()
    # The hashes are the output of sha256sum.
    hashes = [hashlib.sha256((SAMPLES / name).read_bytes()).hexdigest() for name in ("slow-boot.etl", "linux-boot.tar.xz")]
    assert counted == [(hashes[0], len(trace.processes)), (hashes[1], 39)]
    [(inside,)] = onoff.sql(
        "SELECT count(*) FROM disk_ios WHERE in_phase(recording, complete_ns, 'SMSSInit')", trace
    ).fetchall()
    phase = next(phase for phase in trace.boot().phases if phase.name == "SMSSInit")
    times = trace.disk_ios.to_pyarrow()["complete_ns"].to_pylist()
    assert inside == sum(phase.start_ns <= time < phase.end_ns for time in times) > 0
    [(both, none, length)] = onoff.sql(
        "SELECT overlapping(0, 10, 9, 20), overlapping(0, 10, 10, 20), overlap_ns(0, 10, 4, 20) FROM processes LIMIT 1", trace
    ).fetchall()
    assert (both, none, length) == (True, False, 6)


SAME_EVERYWHERE = [
    "SELECT * FROM transitions ORDER BY ALL",
    "SELECT * FROM phases ORDER BY ALL",
    "SELECT * FROM account ORDER BY ALL",
    "SELECT * FROM services ORDER BY ALL",
    "SELECT * FROM devices ORDER BY ALL",
    "SELECT * FROM findings ORDER BY ALL",
    "SELECT * FROM losses ORDER BY ALL",
    "SELECT * FROM versions ORDER BY ALL",
    "SELECT recording, kind, computer, os, recorded_utc FROM recordings WHERE error = '' ORDER BY ALL",
    "SELECT phase, subject FROM account WHERE in_phase(recording, start_ns, phase) ORDER BY ALL",
]


@pytest.fixture(scope="module")
def boots(tmp_path_factory):
    """Returns a folder of two recordings and a damaged file, and the folder of its summaries."""
    folder = tmp_path_factory.mktemp("sql")
    boots = folder / "boots"
    boots.mkdir()
    for name in ("slow-boot.etl", "slow-sleep.etl"):
        shutil.copy(SAMPLES / name, boots)
    (boots / "empty.etl").touch()
    onoff.summaries(boots, folder / "runs", workers=2)
    return boots, folder / "runs"


def test_a_query_runs_on_recordings_and_summaries(boots):
    recordings, stored = boots
    opened = [onoff.open(recordings / name) for name in ("slow-boot.etl", "slow-sleep.etl")]
    for query in SAME_EVERYWHERE:
        of_summaries, of_recordings = onoff.sql(query, stored), onoff.sql(query, *opened)
        assert of_recordings.columns == of_summaries.columns
        expected = of_summaries.fetchall()
        assert of_recordings.fetchall() == expected, query
        assert expected or query.split()[3] in ("losses", "versions")


def test_a_query_runs_on_a_folder_of_recordings(boots):
    recordings, stored = boots
    query = "SELECT * FROM account UNION ALL BY NAME SELECT recording, error <> '' AS failed FROM recordings ORDER BY ALL"
    found = onoff.sql(query, recordings).fetchall()
    assert found == onoff.sql(query, stored).fetchall() and sum(row[-1] is True for row in found) == 1


def test_tables_of_recordings_are_not_in_summaries(boots):
    recordings, stored = boots
    with pytest.warns(UserWarning, match="empty.etl"):
        counted = onoff.sql("SELECT count(DISTINCT recording) FROM processes", recordings).fetchall()
    assert counted == [(2,)]
    with pytest.raises(onoff.UsageError, match="no table 'processes'.*transitions"):
        onoff.sql("SELECT count(*) FROM processes", stored)


def test_rows_without_a_recording_do_not_count(boots, tmp_path):
    """As after a run that was killed before it wrote the row of the recording."""
    stored = tmp_path / "runs"
    shutil.copytree(boots[1], stored)
    before = onoff.sql("SELECT count(*) FROM phases", stored).fetchall()
    for file in (stored / "recordings").glob("*.parquet"):
        file.unlink()
        break
    if not any((stored / "recordings").glob("*.parquet")):
        pyarrow.parquet.write_table(onoff.rows(boots[0] / "slow-boot.etl")["recordings"], stored / "recordings/one.parquet")
    assert 0 < onoff.sql("SELECT count(*) FROM phases", stored).fetchall()[0][0] < before[0][0]


def test_rejects_file_access_and_unknown_names(trace):
    import duckdb

    with pytest.raises(duckdb.Error):
        onoff.sql("SELECT * FROM read_csv('/etc/passwd')", trace).fetchall()
    with pytest.raises(onoff.UsageError, match="on_the_path"):
        onoff.sql("nothing_of_that_name", trace)
    with pytest.raises(onoff.UsageError, match="recording"):
        onoff.sql("SELECT 1")


class FakeRecording(onoff.Recording):
    """A recording with one WinLogonInit phase, whose tables have the times 15 and 150 in every time column."""

    TIMES = (15, 150)

    kind = "a fake"

    def __init__(self, name, start_ns, end_ns):
        self._paths = [name]
        phase = {"name": "WinLogonInit", "start_ns": start_ns, "end_ns": end_ns, "duration_ns": end_ns - start_ns}
        self.boot_document = {"rows": [], "boot": {"phases": [phase]}}

    def _documents(self):
        return self.boot_document

    def table(self, name):
        [declaration] = [table for table in onoff.tables() if table.name == name]
        times = {column.name: pyarrow.array(self.TIMES, pyarrow.int64()) for column in time_columns(declaration)}

        class FakeTable:
            def to_pyarrow(self):
                return pyarrow.table(times)

        return FakeTable()


def time_columns(declaration):
    return [column for column in declaration.columns if column.name.endswith("_ns")]


@pytest.fixture(scope="module")
def two_phases():
    return FakeRecording("/first", 10, 20), FakeRecording("/second", 100, 200)


WITH_TIMES = [declaration for declaration in onoff.tables() if time_columns(declaration)]


@pytest.mark.parametrize("declaration", WITH_TIMES, ids=lambda declaration: declaration.name)
def test_in_phase_uses_the_callers_columns(two_phases, declaration):
    parts = []
    for column in time_columns(declaration):
        for alias in ("", declaration.name, "p", "phases", "argument", "recording", "phase"):
            prefix = f"{alias}." if alias else ""
            parts.append(
                f"""SELECT '{column.name} of {alias}' AS case_name, {prefix}recording, {prefix}{column.name} FROM {declaration.name} {alias and f"AS {alias}"}
                    WHERE in_phase({prefix}recording, {prefix}{column.name}, 'WinLogonInit')"""
            )
    found = {}
    for case_name, recording, time_ns in onoff.sql(" UNION ALL ".join(parts), *two_phases).fetchall():
        found.setdefault(case_name, set()).add((recording, time_ns))
    assert len(found) == len(parts) and set(map(frozenset, found.values())) == {frozenset({("path:/first", 15), ("path:/second", 150)})}, found


def test_in_phase_ignores_other_recordings_and_local_tables(two_phases):
    def answer(query):
        return onoff.sql(query, *two_phases).fetchall()

    assert answer("SELECT recording, start_ns FROM phases WHERE in_phase(recording, start_ns, phase) ORDER BY ALL") == [("path:/first", 10), ("path:/second", 100)]
    assert answer("SELECT recording FROM phases WHERE in_phase(if(recording = 'path:/first', 'path:/second', 'path:/first'), start_ns, 'WinLogonInit')") == []
    assert answer("SELECT recording FROM processes WHERE in_phase(recording, start_ns, 'PreSMSS')") == []
    local_phases = "WITH phases AS (SELECT 'path:/first' AS recording, 'WinLogonInit' AS phase, 0 AS start_ns, 1000 AS end_ns)"
    query = "SELECT recording, start_ns FROM processes WHERE in_phase(recording, start_ns, 'WinLogonInit') ORDER BY ALL"
    assert answer(f"{local_phases} {query}") == [("path:/first", 15), ("path:/second", 150)]
    assert answer("SELECT recording, count(*) FILTER (in_phase(recording, start_ns, 'WinLogonInit')) FROM processes GROUP BY 1 ORDER BY 1") == [("path:/first", 1), ("path:/second", 1)]


@pytest.mark.parametrize(
    ("first", "second", "overlap", "length"),
    [
        ((0, 10), (9, 20), True, 1),
        ((0, 10), (10, 20), False, 0),
        ((10, 20), (0, 10), False, 0),
        # No end: still open at the end of the recording.
        ((5, None), (0, 10), True, 5),
        ((0, 10), (5, None), True, 5),
        ((10, None), (0, 10), False, 0),
        ((5, None), (7, None), True, None),
        # No start: already open at the start of the recording.
        ((None, 10), (4, 20), True, 6),
        ((None, 10), (10, 20), False, 0),
        ((None, 10), (None, 20), True, None),
        ((None, None), (4, 20), True, 16),
    ],
)
def test_overlap_of_open_intervals(trace, first, second, overlap, length):
    values = ", ".join("NULL::BIGINT" if value is None else str(value) for value in (*first, *second))
    found = onoff.sql(f"SELECT overlapping({values}), overlap_ns({values}) FROM processes LIMIT 1", trace).fetchall()
    assert found == [(overlap, length)]


def test_running_process_overlaps_the_last_phase(trace):
    last = max(trace.boot().phases, key=lambda phase: phase.end_ns)
    counted = onoff.sql(
        f"""SELECT count(*) FILTER (end_ns IS NULL AND overlapping(start_ns, end_ns, {last.start_ns}, {last.end_ns})),
                   count(*) FILTER (end_ns IS NULL AND overlap_ns(start_ns, end_ns, {last.start_ns}, {last.end_ns}) > 0),
                   count(*) FILTER (end_ns IS NULL) FROM processes""",
        trace,
    ).fetchall()
    [(overlapping, counted_ns, still_running)] = counted
    assert overlapping == counted_ns == still_running > 0
