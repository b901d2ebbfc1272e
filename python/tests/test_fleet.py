"""Fleet analysis finds planted causes with the right size, reports nothing else, and does not judge small groups."""

import datetime

import pyarrow.parquet
import pytest

import fleet_generator
import onoff
from fleet_simulator import FIRST, Cause, simulate

UPDATE = FIRST + datetime.timedelta(days=40)
DRIVER_ON_A_MODEL = Cause(
    lambda run: run["model"] == "Fabrikam X" and run["audio_driver"] == "6.1.0", 5.0, "PreSMSS", "audiodrv"
)
FIRMWARE = Cause(lambda run: run["firmware"] == "Northwind 1.2", 4.0, "SMSSInit", "ACPI")
UPDATED = Cause(lambda run: run["when"] >= UPDATE, 2.5, "WinLogonInit", "UpdateAgent")


def simulated_fleet(tmp_path, seed, causes=(), **sizes):
    folder = simulate(tmp_path / str(seed), seed, causes=causes, **sizes)
    return onoff.fleet(folder / "runs", folder / "tags.csv")


def test_finds_exactly_three_planted_causes(tmp_path):
    fleet = simulated_fleet(tmp_path, 1, (DRIVER_ON_A_MODEL, FIRMWARE, UPDATED))
    explanations = fleet.explain()
    assert len(explanations.found) == 3, explanations
    by_subject = {factor.subject: factor for factor in explanations.found}
    assert set(by_subject) == {"audiodrv", "ACPI", "UpdateAgent"}, explanations
    assert set(by_subject["audiodrv"].what.split(" and ")) == {"model = Fabrikam X", "audio_driver = 6.1.0"}
    assert by_subject["ACPI"].what == "firmware = Northwind 1.2"
    assert by_subject["UpdateAgent"].what.startswith("since ")
    assert [by_subject[name].subject_phase for name in ("audiodrv", "ACPI", "UpdateAgent")] == ["PreSMSS", "SMSSInit", "WinLogonInit"]
    for name, planted in (("audiodrv", 5.0), ("ACPI", 4.0), ("UpdateAgent", 2.5)):
        factor = by_subject[name]
        assert factor.low_ns / 1e9 - 0.5 <= planted <= factor.high_ns / 1e9 + 0.5, factor.to_dict()
        assert factor.low_ns < factor.effect_ns < factor.high_ns and factor.chance <= 0.01
    drift = fleet.drift()
    assert len(drift) == 1
    change = datetime.datetime.fromisoformat(drift[0].first_after_utc[:19])
    assert abs(change - UPDATE) < datetime.timedelta(days=2), drift[0].to_dict()
    assert by_subject["UpdateAgent"].what == f"since {drift[0].first_after_utc}"


@pytest.mark.parametrize("cause", [DRIVER_ON_A_MODEL, FIRMWARE])
def test_single_cause_gives_one_explanation(tmp_path, cause):
    explanations = simulated_fleet(tmp_path, 2, (cause,)).explain()
    assert [factor.subject for factor in explanations.found] == [cause.subject], explanations


def test_finds_driver_version_on_one_model_without_tags(tmp_path):
    folder = simulate(tmp_path / "untagged", 6, causes=(DRIVER_ON_A_MODEL, FIRMWARE))
    explanations = onoff.fleet(folder / "runs").explain()
    by_subject = {factor.subject: factor for factor in explanations.found}
    assert set(by_subject) == {"audiodrv", "ACPI"}, explanations
    driver = by_subject["audiodrv"]
    assert set(driver.what.split(" and ")) == {"model = Fabrikam X", "audio.sys = 6.1.0"}
    assert driver.low_ns / 1e9 - 0.5 <= 5.0 <= driver.high_ns / 1e9 + 0.5, driver.to_dict()


def test_merges_modules_of_one_update(tmp_path):
    cause = Cause(lambda run: run["os_build"] == 26100, 4.0, "PreSMSS", "ntoskrnl.exe")
    folder = simulate(tmp_path / "build", 7, causes=(cause,))
    explanations = onoff.fleet(folder / "runs").explain()
    assert [factor.what for factor in explanations.found] == ["os_build = 26100"], explanations
    # The modules cannot be separated.
    assert {f"system{number}.dll = 10.0.26100" for number in range(20)} <= set(explanations.found[0].same_runs_as)


@pytest.mark.parametrize("seed", range(10, 20))
def test_healthy_fleet_has_no_explanation_and_no_drift(tmp_path, seed):
    fleet = simulated_fleet(tmp_path, seed)
    explanations = fleet.explain()
    assert not explanations.found and explanations.tried > 50, explanations
    assert "no significant factors" in repr(explanations)
    assert fleet.drift() == []


def test_ignores_small_effects_and_few_computers(tmp_path):
    # A delay of 0.15 s is significant in 2,000 runs, but too small to matter.
    small = Cause(lambda run: run["model"] == "Contoso 100", 0.15, "PreSMSS", "tiny")
    few = Cause(lambda run: run["computer"] in ("PC-0001", "PC-0002"), 20.0, "PreSMSS", "broken")
    assert simulated_fleet(tmp_path, 3, (small, few)).explain().found == []


def test_runs_of_one_computer_are_not_independent(tmp_path):
    # Twelve computers with 100 runs each, three of which are slow.
    slow = Cause(lambda run: run["computer"] in ("PC-0000", "PC-0001", "PC-0002"), 10.0, "PreSMSS", "old disk")
    explanations = simulated_fleet(tmp_path, 4, (slow,), computers=12, runs=1200).explain()
    assert explanations.found == [], explanations


def test_lists_inseparable_factors(tmp_path):
    # All computers of one model have a dock: either may be the cause.
    cause = Cause(lambda run: run["model"] == "Northwind 9", 4.0, "PreSMSS", "ACPI")
    folder = simulate(tmp_path / "runs", 5, causes=(cause,))
    tags = folder / "dock.csv"
    rows = onoff.fleet(folder / "runs").runs()
    docks = {run["computer"]: "dock" if run["model"] == "Northwind 9" else "none" for run in rows}
    tags.write_text("computer,dock\n" + "".join(f"{name},{dock}\n" for name, dock in docks.items()))
    [factor] = onoff.fleet(folder / "runs", tags).explain().found
    assert {factor.what, *factor.same_runs_as} == {"model = Northwind 9", "dock = dock"}


def test_percentiles_match_the_runs(tmp_path):
    fleet = simulated_fleet(tmp_path, 6, computers=50, runs=200)
    runs = sorted(run["duration_ns"] for run in fleet.runs())
    [total] = [row for row in fleet.phases() if row.phase == "all"]
    assert (total.runs, total.computers, total.longest_ns) == (200, 50, runs[-1])
    assert (total.median_ns, total.p90_ns) == (runs[99], runs[179])
    by_model = fleet.phases(by="model")
    assert sum(row.runs for row in by_model if row.phase == "all") == 200
    assert {row.phase for row in by_model} == {"all", "PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit", "PostBoot"}
    slowest = fleet.slowest(10)
    assert [row.duration_ns for row in slowest] == runs[::-1][:10] and slowest[0].phase
    with pytest.raises(onoff.UsageError):
        fleet.phases(by="color")


def test_gate_fails_only_for_slower_cohort(tmp_path):
    slow_build = Cause(lambda run: run["os_build"] == 26100, 3.0, "WinLogonInit", "Defender")
    fleet = simulated_fleet(tmp_path, 7, (slow_build,))
    slower = fleet.gate({"os_build": 19045}, {"os_build": 26100})
    assert slower.passed is False and slower.low_ns <= 3.2e9 <= slower.high_ns + 5e8 and "slower" in slower.why
    assert fleet.gate({"os_build": 26100}, {"os_build": 19045}).passed is True
    assert fleet.gate({"os_build": 19045}, {"os_build": 22621}).passed is True
    small = fleet.gate({"os_build": 19045}, {"os_build": 1})
    assert small.passed is None and "Unknown" in small.why
    with pytest.raises(onoff.UsageError):
        fleet.gate({"os_build": 19045}, {"model": "Contoso 100"})


def test_html_report_is_self_contained_and_escapes_names(tmp_path):
    folder = simulate(tmp_path / "fleet", 8, causes=(FIRMWARE,))
    tags = folder / "hostile.csv"
    names = {run["computer"] for run in onoff.fleet(folder / "runs").runs()}
    tags.write_text("computer,note\n" + "".join(f"{name},<script>alert(1)</script>\n" for name in sorted(names)))
    fleet = onoff.fleet(folder / "runs", tags)
    fleet.html(tmp_path / "fleet.html")
    page = (tmp_path / "fleet.html").read_text()
    assert "<svg" in page and "Northwind 1.2" in page and "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page


def test_small_fleet_of_real_recordings(tmp_path):
    import pathlib

    samples = pathlib.Path(__file__).resolve().parents[2] / "samples"
    onoff.summaries([samples / "slow-boot.etl", samples / "linux-boot.tar.xz"], tmp_path / "out")
    fleet = onoff.fleet(tmp_path / "out")
    assert [row.subject for row in fleet.slowest() if row.computer == "LAPTOP-7F3"] == ["SoundShaper"]
    explanations = fleet.explain()
    assert explanations.found == [] and explanations.too_small > 0 and explanations.runs == 2
    with pytest.raises(onoff.UsageError):
        onoff.fleet(tmp_path)


def test_tables_of_earlier_versions_have_other_names(tmp_path):
    fleet_generator.generate(tmp_path, 1, computers=12, runs=2)
    expected = onoff.fleet(tmp_path).slowest(3)
    assert expected[0].subject == "System" and expected[0].phase in fleet_generator.PHASES
    old_names = {"phase": "longest_phase", "phase_ns": "longest_phase_ns", "subject": "culprit", "subject_ns": "culprit_ns"}
    [file] = (tmp_path / "transitions").glob("*.parquet")
    table = pyarrow.parquet.read_table(file)
    half = len(table) // 2
    # Some files are new, others old.
    pyarrow.parquet.write_table(table.slice(0, half), file)
    old = table.slice(half)
    pyarrow.parquet.write_table(old.rename_columns([old_names.get(name, name) for name in old.column_names]), file.with_name("old.parquet"))
    assert onoff.fleet(tmp_path).slowest(3) == expected
    pyarrow.parquet.write_table(table.drop_columns(list(old_names)), file)
    file.with_name("old.parquet").unlink()
    assert [row.subject for row in onoff.fleet(tmp_path).slowest(3)] == [None] * 3
