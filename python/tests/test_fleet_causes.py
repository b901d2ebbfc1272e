"""Planted causes of each kind are found first, with the right size; healthy fleets have none."""

import datetime

import pytest

import fleet_generator
import onoff
from fleet_generator import FIRST, generate

GROUP_CAUSES = [cause for cause in fleet_generator.CAUSES if cause not in (fleet_generator.slow_drift, fleet_generator.step_after_update)]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("cause", GROUP_CAUSES, ids=lambda cause: cause.__name__)
def test_planted_cause_is_first(tmp_path, cause, seed):
    _, (mask, seconds, parts) = generate(tmp_path, seed, cause, computers=200, runs=5)
    explanations = onoff.fleet(tmp_path).explain()
    assert explanations.found, explanations
    factor = explanations.found[0]
    names = " and ".join([factor.what, *factor.same_runs_as])
    assert all(part in names for part in parts), (parts, explanations)
    assert abs(factor.runs - mask.sum()) <= 0.15 * mask.sum(), (factor.runs, mask.sum())
    margin = 0.5 * (factor.high_ns - factor.low_ns) + 0.04e9 * seconds
    assert factor.low_ns - margin <= 1e9 * seconds <= factor.high_ns + margin, factor.to_dict()
    assert factor.low_ns > 0 and factor.chance <= 0.01


def test_step_is_found_to_the_day(tmp_path):
    _, (_, seconds, (_, date)) = generate(tmp_path, 3, fleet_generator.step_after_update, computers=150, runs=5)
    fleet = onoff.fleet(tmp_path)
    [change] = fleet.drift()
    when = datetime.datetime.fromisoformat(change.first_after_utc[:19])
    assert change.kind == "step" and abs(when - datetime.datetime.fromisoformat(date)) < datetime.timedelta(days=1)
    assert change.low_ns <= 1.05e9 * seconds and 0.95e9 * seconds <= change.high_ns
    [factor] = fleet.explain().found
    assert factor.what == f"since {change.first_after_utc}" and factor.subject == "UpdateAgent.exe"


def test_slope_is_found(tmp_path):
    generate(tmp_path, 4, fleet_generator.slow_drift, computers=150, runs=5)
    fleet = onoff.fleet(tmp_path)
    [change] = fleet.drift()
    assert change.kind == "slope" and change.low_ns <= 3e9 <= change.high_ns
    assert change.last_before_utc < (FIRST + datetime.timedelta(days=1)).isoformat() and change.first_after_utc > (FIRST + datetime.timedelta(days=59)).isoformat()
    assert fleet.explain().found[0].what.startswith("steadily from 2026-03-02")


@pytest.mark.parametrize("seed", range(50, 56))
def test_healthy_fleet_has_no_cause(tmp_path, seed):
    generate(tmp_path, seed, computers=160, runs=4)
    fleet = onoff.fleet(tmp_path)
    assert fleet.explain().found == [] and fleet.drift() == []


def test_group_with_too_few_computers_is_undecided(tmp_path):
    def three_computers(fleet):
        fleet.model[:3], fleet.bios[:3] = 1, 7
        mask = fleet.of(fleet.bios == 7)
        fleet.add("PreSMSS", "ACPI", mask, 5.0)
        return mask

    generate(tmp_path, 1, three_computers, computers=80, runs=5)
    explanations = onoff.fleet(tmp_path).explain()
    assert explanations.found == []
    [row] = [row for row in explanations.undecided if row.what == "firmware = Contoso 2.7"]
    assert row.computers == 3 and 2 <= row.more_computers <= 10
    assert "cannot tell yet: firmware = Contoso 2.7 (3 computers); about " in repr(explanations)


def test_time_that_replaces_other_time_is_no_cause(tmp_path):
    def other_storage_driver(fleet):
        # All time of one subject moves to another on half of the computers.
        mask = fleet.of(fleet.memory >= 2)
        moved = fleet.parts["WinLogonInit", "svchost.exe"] * mask
        fleet.parts["WinLogonInit", "svchost.exe"] = fleet.parts["WinLogonInit", "svchost.exe"] - moved
        fleet.parts["WinLogonInit", "newsvc.exe"] = moved

    generate(tmp_path, 8, other_storage_driver, computers=160, runs=4)
    assert onoff.fleet(tmp_path).explain().found == []


def test_phase_that_moves_time_to_another_is_no_cause(tmp_path):
    def earlier(fleet):
        mask = fleet.of(fleet.model == 0)
        fleet.add("PreSMSS", "disk", mask, 2.0, spread=0.1)
        for subject in ("System", "svchost.exe", "MsMpEng.exe", "disk"):
            part = fleet.parts["WinLogonInit", subject]
            fleet.parts["WinLogonInit", subject] = part - 2.0 * mask * part / sum(values for (phase, _), values in fleet.parts.items() if phase == "WinLogonInit")

    generate(tmp_path, 9, earlier, computers=160, runs=4)
    explanations = onoff.fleet(tmp_path).explain()
    assert explanations.found == [], explanations
