"""Questions in SQL: prepared ones against the program's own verbs."""

import pathlib

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
def test_disk_by_process_and_path_is_what_the_list_of_the_disk_says(trace, phase):
    found = [row for row in rows(onoff.sql("disk_by_process_and_path", trace)) if row["phase"] == phase]
    listed = trace.list("disk", by=["process", "path"], phase=phase)
    assert found
    by_verb = sorted((row.image, row.reads, row.read_bytes, row.service_ns) for row in listed.groups)
    assert sorted((row["image"], row["reads"], row["read_bytes"], row["service_ns"]) for row in found) == by_verb


def test_who_was_on_the_path_sums_to_the_phase(trace):
    found = rows(onoff.sql("on_the_path", trace))
    first = next(row for row in found if row["phase"] == "WinLogonInit")
    assert first["name"] == "SoundShaper"
    for phase in trace.boot().phases:
        of_phase = [row["ns"] for row in found if row["phase"] == phase.name]
        assert not of_phase or sum(of_phase) == phase.duration_ns


def test_idle_slices_are_those_of_the_rule(trace):
    found = [row for row in rows(onoff.sql("idle_slices", trace)) if row["phase"] == "PostBoot"]
    rule = {each.start_ns: each for each in trace.boot().settling.slices}
    compared = [(row, rule[row["start_ns"]]) for row in found if row["start_ns"] in rule]
    assert len(compared) == len(rule) == 150
    for row, slice_ in compared:
        assert row["cpu_percent"] == pytest.approx(slice_.cpu_busy_percent, abs=0.2), row
        assert row["disk_percent"] == pytest.approx(slice_.disk_busy_percent, abs=0.2), row
        assert row["idle"] == slice_.idle, row


def test_slowest_services_are_those_of_the_boot(trace):
    found = rows(onoff.sql("slowest_services", trace))
    units = {unit.name: unit.duration_ns for unit in trace.boot().units if unit.kind == "start"}
    assert found[0]["service"] == "SoundShaper"
    assert {row["service"]: row["duration_ns"] for row in found if row["service"] in units} == units


def test_every_prepared_query_is_documented_and_answers_other_recordings(trace):
    prepared = queries()
    assert set(prepared) == {"disk_by_process_and_path", "idle_slices", "on_the_path", "slowest_services"}
    for name, text in prepared.items():
        assert text.startswith("-- ") and len(text.splitlines()[0]) > 30, name
        # A Linux boot has neither context switches nor disk requests here: an empty answer, no error.
        onoff.sql(name, SAMPLES / "linux-boot.tar.xz").fetchall()
    assert onoff.sql("slowest_services", SAMPLES / "linux-boot.tar.xz").fetchall()


def test_several_recordings_stay_separate_and_intervals_have_helpers(trace):
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


def test_queries_reach_no_files_and_wrong_names_are_refused(trace):
    import duckdb

    with pytest.raises(duckdb.Error):
        onoff.sql("SELECT * FROM read_csv('/etc/passwd')", trace).fetchall()
    with pytest.raises(onoff.UsageError, match="on_the_path"):
        onoff.sql("nothing_of_that_name", trace)
    with pytest.raises(onoff.UsageError, match="recording"):
        onoff.sql("SELECT 1")
