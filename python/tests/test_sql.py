"""SQL queries, compared with the commands of the program."""

import pathlib

import pyarrow
import pytest

import onoff
from onoff._answers import wrap
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
    assert first["name"] == "SoundShaper"
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
        "SELECT recording, count(*) FROM processes GROUP BY 1 ORDER BY 1", trace, SAMPLES / "linux-boot.tar.xz"
    ).fetchall()
    assert counted == [(0, len(trace.processes)), (1, 39)]
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

    def __init__(self, start_ns, end_ns):
        phase = {"action": "boot", "name": "WinLogonInit", "start_ns": start_ns, "end_ns": end_ns, "duration_ns": end_ns - start_ns}
        self.phases_of_boot = wrap({"intervals": [phase]})

    def why(self, **options):
        return self.phases_of_boot

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
    return FakeRecording(10, 20), FakeRecording(100, 200)


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
    assert len(found) == len(parts) and set(map(frozenset, found.values())) == {frozenset({(0, 15), (1, 150)})}, found


def test_in_phase_ignores_other_recordings_and_local_tables(two_phases):
    def answer(query):
        return onoff.sql(query, *two_phases).fetchall()

    assert answer("SELECT recording, start_ns FROM phases WHERE in_phase(recording, start_ns, phase) ORDER BY ALL") == [(0, 10), (1, 100)]
    assert answer("SELECT recording FROM phases WHERE in_phase(1 - recording, start_ns, 'WinLogonInit')") == []
    assert answer("SELECT recording FROM processes WHERE in_phase(recording, start_ns, 'PreSMSS')") == []
    local_phases = "WITH phases AS (SELECT 0 AS recording, 'WinLogonInit' AS phase, 0 AS start_ns, 1000 AS end_ns)"
    query = "SELECT recording, start_ns FROM processes WHERE in_phase(recording, start_ns, 'WinLogonInit') ORDER BY ALL"
    assert answer(f"{local_phases} {query}") == [(0, 15), (1, 150)]
    assert answer("SELECT recording, count(*) FILTER (in_phase(recording, start_ns, 'WinLogonInit')) FROM processes GROUP BY 1 ORDER BY 1") == [(0, 1), (1, 1)]


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
