"""Tags, cohorts, single runs and nightly reports of a fleet; wrong names are errors."""

import datetime

import pytest

import onoff
from fleet_generator import FIRST, generate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")

    def causes(fleet):
        mask = fleet.day >= 40
        fleet.add("WinLogonInit", "UpdateAgent.exe", mask, 2.0)
        one = (fleet.computer == 3) & (fleet.day == fleet.day[fleet.computer == 3].max())
        fleet.add("PostBoot", "Backup.exe", one, 40.0, spread=0.0)

    generate(folder, 11, causes, computers=60, runs=6)
    return folder


def test_misspelt_names_are_errors(folder):
    fleet = onoff.fleet(folder)
    for call in (fleet.explain, fleet.drift, fleet.slowest, fleet.runs, fleet.phases):
        with pytest.raises(onoff.UsageError, match="unknown transition 'bot'; available: boot"):
            call(transition="bot")
    with pytest.raises(onoff.NothingToAnswer, match="no shutdown in the fleet"):
        fleet.explain("shutdown")
    with pytest.raises(onoff.UsageError, match="unknown attribute 'maker'"):
        fleet.phases(by="maker")
    with pytest.raises(onoff.UsageError, match="unknown attribute or module 'maker'"):
        fleet.gate({"maker": 1}, {"os_build": 19045})
    with pytest.raises(onoff.UsageError, match="is not a date"):
        fleet.watch("yesterday")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("computer,site\nPC-00001,Rome\nPC-00002\n", "line 3: 1 values, but the header has 2 columns"),
        ("computer,site\nPC-00001,Rome\nPC-00001,Oslo\n", "line 3: computer 'PC-00001' is already in line 2"),
        ("computer,model\nPC-00001,X\n", "'model' is reserved"),
        ("computer,site,Site\nPC-00001,a,b\n", "two columns have the name 'Site'"),
        ("name,site\nPC-00001,Rome\n", "need a column 'recording' .* or 'computer'"),
        ("", "the file is empty"),
        ('computer,site\nPC-00001,"Rome\n', "line"),
    ],
)
def test_wrong_tags_are_errors_with_file_and_line(folder, tmp_path, text, message):
    path = tmp_path / "tags.csv"
    path.write_text(text)
    with pytest.raises(onoff.Error, match=message) as error:
        onoff.fleet(folder, path)
    assert str(path) in str(error.value)


def test_tags_in_another_encoding_and_missing_files(folder, tmp_path):
    path = tmp_path / "tags.csv"
    path.write_bytes("computer,site\nPC-00001,Köln\n".encode("latin-1"))
    with pytest.raises(onoff.Error, match="line 2: not UTF-8"):
        onoff.fleet(folder, path)
    with pytest.raises(onoff.Error, match="missing.csv: no such file"):
        onoff.fleet(folder, tmp_path / "missing.csv")


def test_tags_are_text_and_unmatched_rows_are_counted(folder, tmp_path):
    path = tmp_path / "tags.csv"
    path.write_text("computer,site,asset\n" + "".join(f"PC-{number:05},{'north' if number % 2 else 'south'},007\n" for number in range(50)) + "PC-99999,x,1\n")
    fleet = onoff.fleet(folder, path)
    assert (fleet.tags.unmatched, fleet.tags.untagged) == (1, 10)
    assert "1 rows without a computer, 10 computers without a row" in repr(fleet)
    assert {run["asset"] for run in fleet.runs()} == {"007", None}
    assert sum(row.runs for row in fleet.phases(by="site") if row.phase == "all") == 360


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tags_from_a_table_in_memory(folder, library):
    module = pytest.importorskip(library)
    columns = {"computer": [f"PC-{number:05}" for number in range(60)], "floor": [number % 3 for number in range(60)]}
    tags = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    fleet = onoff.fleet(folder, tags)
    assert {run["floor"] for run in fleet.runs()} == {"0", "1", "2"}
    assert fleet.gate({"floor": 0}, {"floor": [1, 2]}).baseline_computers == 20


def test_cohorts_by_date_list_version_and_comparison(folder):
    fleet = onoff.fleet(folder)
    day = (FIRST + datetime.timedelta(days=40)).date()
    answer = fleet.gate({"before": day}, {"since": day})
    assert (answer.verdict, answer.exit_code) == ("regression", 1), answer.why
    assert answer.paired_computers > 50 and answer.low_ns <= 2.05e9 <= answer.high_ns
    assert answer.baseline_runs + answer.candidate_runs == 360
    runs = fleet.runs()
    both = fleet.gate({"memory_bytes": "<= 8589934592"}, {"memory_bytes": "> 8589934592"})
    assert both.baseline_runs == sum(int(run["memory_bytes"]) <= 8 << 30 for run in runs)
    assert both.candidate_runs == 360 - both.baseline_runs
    versions = fleet.gate({"mod1.sys": "< 6.0"}, {"mod1.sys": ">= 6.0"})
    assert versions.baseline_runs + versions.candidate_runs == 360 and versions.baseline_runs > 0
    present = fleet.gate({"mod2.sys": None}, {"mod2.sys": "1.0.7"})
    assert present.baseline_runs + present.candidate_runs == 360
    names = sorted({run["computer"] for run in runs})
    assert fleet.gate({"computer": names[:30]}, {"computer": names[30:]}).baseline_computers == 30
    small = fleet.gate({"computer": names[:3]}, {"computer": names[3:]})
    assert (small.verdict, small.exit_code, small.effect_ns) == ("no_verdict", 2, None)
    with pytest.raises(onoff.UsageError, match="overlap"):
        fleet.gate({"since": day}, {"os_build": [19045, 22631, 26100]})
    with pytest.raises(onoff.UsageError, match="needs a number"):
        fleet.gate({"memory_bytes": "<= 8 GiB"}, {"memory_bytes": "> 1"})


def test_slow_run_is_compared_with_its_own_computer(folder):
    fleet = onoff.fleet(folder)
    slowest = fleet.slowest(3)
    assert slowest[0].computer == "PC-00003" and slowest[0].reason.startswith("Backup.exe in PostBoot: 40.0 s more")
    assert slowest[0].duration_ns - slowest[0].usual_ns > 30e9
    answer = fleet.why(slowest[0])
    assert answer.compared_with == "5 other runs of PC-00003"
    assert (answer.entries[0].phase, answer.entries[0].subject, answer.entries[0].usual_ns) == ("PostBoot", "Backup.exe", 0)
    assert sum(entry.ns for entry in answer.entries) == pytest.approx(answer.duration_ns, abs=100)
    assert "Backup.exe: 40.0 s, usually 0 ns" in repr(answer)
    assert fleet.why(slowest[0].path) == answer
    with pytest.raises(onoff.UsageError, match="no boot of 'nothing'"):
        fleet.why("nothing")


def test_watch_reports_what_is_new(folder):
    fleet = onoff.fleet(folder)
    answer = fleet.watch(FIRST + datetime.timedelta(days=40))
    assert answer.runs == sum(run["recorded_utc"] >= (FIRST + datetime.timedelta(days=40)).isoformat() for run in fleet.runs())
    assert answer.difference.low_ns <= 2.05e9 <= answer.difference.high_ns
    assert {row.subject for row in answer.new_subjects} >= {"UpdateAgent.exe", "Backup.exe"}
    assert answer.slow_runs[0].computer == "PC-00003" and "Backup.exe" in answer.slow_runs[0].reason
    text = repr(answer)
    assert "slower" in text and "new: UpdateAgent.exe in WinLogonInit" in text
    with pytest.raises(onoff.NothingToAnswer):
        fleet.watch("2030-01-01")


def test_report_has_scales_models_and_reasons(folder, tmp_path):
    onoff.fleet(folder).html(tmp_path / "fleet.html")
    page = (tmp_path / "fleet.html").read_text()
    assert "By model" in page and "Contoso 1" in page and "Backup.exe in PostBoot: 40.0 s more than usual" in page
    assert page.count("<text") >= 6 and "<script" not in page
