"""Measures the coverage of the confidence intervals of a fleet."""

from types import SimpleNamespace

import duckdb
import numpy
import pytest

import onoff
from onoff._fleet import Fleet
from onoff._factors import paired_differences, slope_estimate
from onoff._sample import Sample, group_of_mask
from onoff._statistics import interval, shift_of
from planted_fleets import SECONDS, PlantedFleet, changed_fleet, drifting_fleet, slow_module_fleet, two_build_fleet, upgraded_fleet

MIN_COVERAGE = 0.93


@pytest.mark.parametrize(("seconds", "fleets"), [(2.0, 1200), (3.0, 250), (5.0, 120)])
def test_explanation_intervals_cover_planted_effects(seconds, fleets):
    # Detected rarely, half of the time, and always: rarely detected effects suffer most from selection bias.
    rng = numpy.random.default_rng(161)
    covered, errors = [], []
    for _ in range(fleets):
        fleet = slow_module_fleet(rng, seconds)
        for factor in fleet.explain().found[:1]:
            truth_ns = fleet.truth_ns(factor.what)
            covered.append(factor.low_ns <= truth_ns <= factor.high_ns)
            errors.append(factor.effect_ns - truth_ns)
    assert len(covered) >= 60, len(covered)
    assert numpy.mean(covered) >= MIN_COVERAGE, (len(covered), numpy.mean(covered))
    # The estimate is median-unbiased.
    assert abs(numpy.median(errors)) < 0.5e9, numpy.median(errors)


def test_healthy_fleets_have_no_explanations():
    rng = numpy.random.default_rng(162)
    assert sum(bool(slow_module_fleet(rng, 0.0).explain().found) for _ in range(300)) <= 3


def test_drift_intervals_cover_planted_changes():
    rng = numpy.random.default_rng(163)
    covered = []
    for seconds in (4.0, -4.0):
        for _ in range(120):
            for change in changed_fleet(rng, seconds).drift()[:1]:
                assert change.low_ns <= change.effect_ns <= change.high_ns
                if change.kind == "slope":  # The size of a step is not the size of a slope.
                    continue
                covered.append(change.low_ns <= 1e9 * seconds <= change.high_ns)
    assert len(covered) > 50 and numpy.mean(covered) >= MIN_COVERAGE, (len(covered), numpy.mean(covered))


@pytest.mark.parametrize("seconds", [1.0, 2.5, -2.5])
def test_drift_compares_computers_with_themselves(seconds):
    rng = numpy.random.default_rng(174)
    covered, errors, steps, fleets = [], [], [], 100
    for _ in range(fleets):
        for change in changed_fleet(rng, seconds, runs=4).drift()[:1]:
            steps.append(change.kind == "step")
            if change.kind != "step":
                continue
            covered.append(change.low_ns <= 1e9 * seconds <= change.high_ns)
            errors.append(change.effect_ns / 1e9 - seconds)
    # A second is less than what tells a step from a slope.
    assert len(steps) >= (0.9 if abs(seconds) > 2 else 0.5) * fleets and numpy.mean(steps) >= (0.85 if abs(seconds) > 2 else 0.5), (len(steps), numpy.mean(steps))
    assert numpy.mean(covered) >= MIN_COVERAGE, (len(covered), numpy.mean(covered))
    assert abs(numpy.median(errors)) < 0.2


def quiet_sample(rng, outliers=0.0):
    """Returns 60 computers with 10 runs, which differ by 0.2 s only, and the runs after an update on some day."""
    computer = numpy.repeat(numpy.arange(60), 10)
    day = rng.uniform(0, 60, len(computer))
    after = day >= rng.uniform(6, 54, 60)[computer]
    total_ns = 1e9 * (rng.uniform(25, 35, 60)[computer] + rng.normal(0, 0.2, len(computer)) + numpy.where(rng.random(len(computer)) < outliers, 30.0, 0.0))
    return computer, day, after, total_ns


@pytest.mark.parametrize("seconds", [0.0, 0.5, 3.0, 10.0])
@pytest.mark.parametrize("outliers", [0.0, 0.03])
def test_large_effects_are_not_taken_for_outliers(seconds, outliers):
    """The deviation between runs of a computer says nothing about the size of an effect."""
    rng = numpy.random.default_rng(181)
    steps, slopes = [], []
    for _ in range(100):
        computer, day, after, total_ns = quiet_sample(rng, outliers)
        sample = Sample(computer, total_ns + 1e9 * seconds * after, day)
        steps.append(shift_of(paired_differences(sample, group_of_mask((), after, sample), sample.total_ns)))
        sample = Sample(computer, total_ns + 1e9 * seconds * day / 60, day)
        slopes.append(slope_estimate(sample, day / 60, sample.total_ns))
    for estimates in (steps, slopes):
        found = [interval(estimate) for estimate in estimates]
        assert numpy.mean([size.low_ns <= 1e9 * seconds <= size.high_ns for size in found]) >= 0.88, found
        assert abs(numpy.median([size.ns for size in found]) - 1e9 * seconds) < 0.02e9 + 0.005e9 * seconds


def test_drift_finds_slopes():
    rng = numpy.random.default_rng(175)
    changes = [drifting_fleet(rng, 0.1).drift() for _ in range(100)]
    first = [rows[0] for rows in changes if rows]
    assert len(first) >= 95 and sum(row.kind == "slope" for row in first) >= 80, (len(first), sum(row.kind == "slope" for row in first))
    covered = [row.low_ns <= 0.1 * SECONDS * 1e9 <= row.high_ns for row in first if row.kind == "slope"]
    assert numpy.mean(covered) >= MIN_COVERAGE, numpy.mean(covered)


def test_healthy_fleets_have_no_drift():
    rng = numpy.random.default_rng(176)
    assert sum(bool(changed_fleet(rng, 0.0, runs=4).drift()) for _ in range(200)) <= 3


def test_gate_pairs_runs_of_the_same_computers():
    rng = numpy.random.default_rng(177)
    for share, verdict in ((0.0, "pass"), (0.10, "regression")):
        answers = [upgraded_fleet(rng, 120, share).gate({"build": 1}, {"build": 2}) for _ in range(100)]
        assert all(answer.paired_computers == 120 for answer in answers)
        # The same number of computers without pairs decides rarely.
        assert numpy.mean([answer.verdict == verdict for answer in answers]) > 0.9, share
        truth_ns = share * SECONDS * 1e9
        assert numpy.mean([answer.low_ns <= 1.01 * truth_ns + 1 and truth_ns * 0.97 <= answer.high_ns for answer in answers]) >= MIN_COVERAGE


def verdicts(seed, baseline, candidate, share, fleets=200):
    rng = numpy.random.default_rng(seed)
    answers = [two_build_fleet(rng, baseline, candidate, share).gate({"build": 1}, {"build": 2}) for _ in range(fleets)]
    return answers, {name: sum(answer.verdict == name for answer in answers) / fleets for name in ("pass", "regression", "no_verdict")}


@pytest.mark.parametrize(("baseline", "candidate"), [(5, 5), (8, 8), (20, 20), (300, 8)])
def test_gate_rarely_passes_regressions_in_small_cohorts(baseline, candidate):
    answers, shares = verdicts(164, baseline, candidate, 0.10)
    assert shares["pass"] <= 0.025 and shares["no_verdict"] > 0.5, shares
    for answer in answers:
        code = {"pass": 0, "regression": 1, "no_verdict": 2}[answer.verdict]
        assert (answer.exit_code, answer.passed) == (code, {0: True, 1: False, 2: None}[code])
        assert (answer.more_computers is not None) == (code == 2) == answer.why.startswith("Unknown: ")
        # The verdict matches the interval.
        side = "pass" if answer.high_ns < answer.limit_ns else "regression" if answer.low_ns > answer.limit_ns else "no_verdict"
        assert answer.verdict == side


def test_gate_decides_for_large_cohorts():
    assert verdicts(165, 400, 400, 0.10, fleets=25)[1]["regression"] == 1
    assert verdicts(166, 1500, 1500, 0.0, fleets=10)[1]["pass"] == 1
    # A difference equal to the limit rarely passes.
    assert verdicts(167, 60, 60, 0.03)[1]["pass"] <= 0.04


def test_gate_rarely_fails_healthy_cohorts():
    wrong = [verdicts(168, *sizes, 0.0, fleets=400)[1]["regression"] for sizes in ((5, 5), (20, 20), (300, 8))]
    assert max(wrong) <= 0.025, wrong


def test_more_computers_is_enough_for_a_verdict():
    more = int(numpy.median([answer.more_computers for answer in verdicts(169, 20, 20, 0.10)[0] if answer.verdict == "no_verdict"]))
    assert 20 < more < 200
    decided = 1 - verdicts(170, 20 + more, 20 + more, 0.10, fleets=60)[1]["no_verdict"]
    assert decided > 0.5, (more, decided)


def test_too_few_computers_give_no_verdict():
    rng = numpy.random.default_rng(171)
    answer = two_build_fleet(rng, 4, 30, 3.0).gate({"build": 1}, {"build": 2})
    assert (answer.verdict, answer.exit_code, answer.more_computers, answer.baseline_computers) == ("no_verdict", 2, 2, 4)
    empty = two_build_fleet(rng, 30, 30, 0.0).gate({"build": 1}, {"build": 3})
    assert (empty.verdict, empty.candidate_runs, empty.more_computers) == ("no_verdict", 0, 10)
    same = PlantedFleet(numpy.full(60, SECONDS), numpy.zeros(60), numpy.arange(60), attributes={"build": numpy.arange(60) % 2})
    assert same.gate({"build": 0}, {"build": 1}).verdict == "pass"


def test_subject_time_is_free_of_selection_bias():
    rng = numpy.random.default_rng(172)
    members, others, subjects, planted = 30, 60, 25, 1.0
    count = members + others
    measured = []
    for _ in range(60):
        fleet = Fleet.__new__(Fleet)
        fleet._database = database = duckdb.connect()
        fleet._run_tables = {"boot": SimpleNamespace(name="runs")}
        database.execute(f"CREATE TABLE runs AS SELECT i AS run, i::VARCHAR AS recording FROM range({count}) AS r(i)")
        ns = rng.normal(4.0, 1.5, (count, subjects))
        ns[:members, 0] += planted
        rows = {
            "recording": [str(number) for number in range(count) for _ in range(subjects)],
            "subject": [f"service{number}" for number in range(subjects)] * count,
            "ns": (1e9 * ns.ravel()).astype(int).tolist(),
        }
        database.execute("CREATE TABLE rows AS SELECT unnest($recording) AS recording, unnest($subject) AS subject, unnest($ns) AS ns", rows)
        database.execute("CREATE VIEW account AS SELECT *, 'boot' AS transition, 'PostBoot' AS phase, 'service' AS kind FROM rows")
        sample = Sample(numpy.arange(count), numpy.full(count, 3e10))
        result = fleet._subject("boot", sample, group_of_mask((), numpy.arange(count) < members, sample))
        if result["subject"] == "service0":
            measured.append(result["subject_ns"] / 1e9)
    assert len(measured) > 25
    assert numpy.mean(measured) == pytest.approx(planted, abs=0.12)


def test_interval_with_zero_is_formatted_as_bound(tmp_path):
    from onoff._fleet import slower

    assert slower(onoff.Record({"effect_ns": 10**9, "low_ns": 0, "high_ns": 3 * 10**9})) == "at most 3.00 s slower (95 % interval)"
    clear = onoff.Record({"effect_ns": 2 * 10**9, "low_ns": 10**9, "high_ns": 3 * 10**9})
    assert slower(clear) == "2.00 s slower (95 % interval 1.00 s to 3.00 s)"
