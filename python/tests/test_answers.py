"""Results as objects match the documents of the program; errors become exceptions."""

import copy
import json
import keyword
import pathlib
import pickle
import subprocess
import sys

import pytest

import onoff
from onoff._answers import Record, Records

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


def program(*arguments):
    """Runs the program in another process."""
    result = subprocess.run([sys.executable, "-m", "onoff", *map(str, arguments)], capture_output=True)
    return result.returncode, result.stdout, result.stderr.decode()


@pytest.mark.parametrize(
    ("verb", "sample", "options"),
    [
        ("boot", "slow-boot.etl", {}),
        ("boot", "linux-boot.tar.xz", {}),
        ("boot", "slow-boot.etl", {"idle": "adk"}),
        ("shutdown", "slow-shutdown.etl", {}),
        ("suspend", "slow-sleep.etl", {}),
        ("why", "slow-boot.etl", {"service": "SoundShaper"}),
        ("what_if", "slow-boot.etl", {"without": ["SoundShaper", "LegacyScan"], "disk": "2x"}),
        ("netboot", "netboot-slow-link.pcap.xz", {}),
        ("firmware", "firmware-FBPT.bin.xz", {}),
        ("io", "four-byte-reads.csv.gz", {"by": ["process", "file"]}),
        ("image", "image", {}),
    ],
)
def test_result_matches_program_output(verb, sample, options):
    path = SAMPLES / sample
    flags = [f"--{name}={item}" for name, value in options.items() for item in (value if isinstance(value, list) else [value])]
    code, printed, errors = program(verb.replace("_", "-"), path, *flags, "--format", "json")
    assert code == 0, errors
    answer = getattr(onoff, verb)(path, **options)
    assert answer.to_dict() == json.loads(printed)
    assert pickle.loads(pickle.dumps(answer)).to_dict() == answer.to_dict()
    if verb not in ("firmware", "image"):
        assert getattr(onoff.open(path), verb)(**options).to_dict() == answer.to_dict()


def test_finds_planted_cause():
    trace = onoff.open(SAMPLES / "slow-boot.etl")
    finding = trace.findings()[0]
    assert (finding.subject.name, finding.phase, finding.certainty) == ("SoundShaper", "WinLogonInit", "measured")
    # The entries of the account add up to the phases, to the nanosecond.
    for phase in trace.phases:
        entries = [entry for entry in trace.account if entry.phase == phase.name]
        if entries:
            assert sum(entry.ns for entry in entries) == phase.duration_ns
    assert {entry.phase for entry in trace.account} >= {"PreSMSS", "WinLogonInit", "PostBoot"}
    assert [row.transition for row in trace.transitions()] == ["boot"]
    assert [row.transition for row in onoff.open(SAMPLES / "slow-sleep.etl").transitions()] == ["suspend"]
    assert onoff.open(SAMPLES / "slow-sleep.etl").phases and onoff.open(SAMPLES / "netboot-slow-link.pcap.xz").phases


def test_transition_has_findings_and_account():
    trace = onoff.open(SAMPLES / "slow-boot.etl")
    by_path, opened = onoff.boot(SAMPLES / "slow-boot.etl"), trace.boot()
    for boot in (by_path, opened):
        assert boot.findings() == trace.findings() and len(boot.findings()) > 3
        assert sum(entry.ns for entry in boot.account) == sum(phase.duration_ns for phase in boot.phases if phase.name in {entry.phase for entry in boot.account})
    by_iterator = onoff.boot((path for path in [SAMPLES / "slow-boot.etl"]), manifest=iter(()))
    assert by_iterator.findings() == by_path.findings()
    sleep = onoff.suspend(SAMPLES / "slow-sleep.etl")
    assert sleep.findings() and sleep.account
    # Excludes findings of other kinds of transitions.
    trace = onoff.open(SAMPLES / "slow-sleep.etl")
    assert not onoff.Transition(sleep, lambda: trace, "boot").findings()
    # Can be pickled without the recording.
    assert pickle.loads(pickle.dumps(by_path)).total == by_path.total


def test_compare_and_gate():
    runs = SAMPLES / "runs"
    sides = sorted(path for path in runs.iterdir() if path.is_dir())
    assert len(sides) >= 2
    comparison = onoff.compare(sides[0], sides[1])
    code, printed, _ = program("compare", sides[0], sides[1], "--format", "json")
    assert code == 0 and comparison.to_dict() == json.loads(printed)
    lists = [sorted(side.iterdir()) for side in sides[:2]]
    by_lists = onoff.compare(*lists)
    assert by_lists.document == "comparison"
    limit = "boot.total 5% and 500ms"
    gates = [onoff.gate(side, other, limit=limit) for side, other in ((sides[0], sides[1]), (sides[1], sides[0]))]
    assert {gate.document for gate in gates} == {"gate"}


def test_summary_includes_unreadable_recordings(tmp_path):
    bad = tmp_path / "bad.etl"
    bad.write_bytes(b"no recording at all, but long enough to look at" * 10)
    rows = onoff.summary([SAMPLES / "slow-boot.etl", bad]).rows
    assert [bool(row.error) for row in rows] == [False, True]


def test_exceptions_have_path_and_offset(tmp_path):
    bad = tmp_path / "bad.etl"
    bad.write_bytes(b"no recording at all" * 10)
    with pytest.raises(onoff.UnreadableError, match="unknown format") as raised:
        onoff.open(bad)
    assert (raised.value.path, raised.value.offset) == (str(bad), None)
    bad.write_bytes(b"")
    with pytest.raises(onoff.UnreadableError) as raised:
        onoff.boot(bad)
    assert (raised.value.path, raised.value.offset) == (str(bad), 0)
    with pytest.raises(onoff.UnreadableError) as raised:
        onoff.open(tmp_path / "nothing.etl")
    assert (raised.value.path, raised.value.offset) == (str(tmp_path / "nothing.etl"), None)
    with pytest.raises(onoff.NothingToAnswer, match="shutdown"):
        onoff.shutdown(SAMPLES / "slow-boot.etl")
    with pytest.raises(onoff.UsageError, match="keyword argument .nonsense."):
        onoff.boot(SAMPLES / "slow-boot.etl", nonsense=True)
    with pytest.raises(ValueError, match="no recording"):
        onoff.boot([])
    assert issubclass(onoff.UnreadableError, onoff.Error) and issubclass(onoff.UsageError, onoff.Error)


def test_losses_are_in_recording_and_its_repr(tmp_path):
    complete = onoff.open(SAMPLES / "slow-boot.etl")
    assert complete.losses == [] and "losses" not in repr(complete)
    truncated = tmp_path / "cut.etl"
    content = (SAMPLES / "slow-boot.etl").read_bytes()
    truncated.write_bytes(content[: len(content) * 2 // 3 + 100])
    trace = onoff.open(truncated)
    assert trace.losses and trace.losses[0].help and trace.losses[0].count > 0
    assert "loss" in repr(trace)
    code, printed, _ = program("info", truncated, "--format", "json")
    assert code == 0 and [loss.to_dict() for loss in trace.losses] == json.loads(printed)["losses"]


def test_html_for_notebooks_escapes_recording_content():
    trace = onoff.open(SAMPLES / "slow-boot.etl")
    page = trace.boot()._repr_html_()
    assert "<svg" in page and "WinLogonInit" in page and "SoundShaper" in page
    assert "<svg" in trace._repr_html_()
    assert "issue_ns" in trace.disk_ios._repr_html_()
    hostile = Records([Record({"name": "<script>alert(1)</script>", "duration_ns": 1})])
    assert "<script>" not in hostile._repr_html_() and "<script>" not in hostile[0]._repr_html_()
    frame = trace.view()._repr_html_()
    assert frame.startswith("<iframe sandbox=") and "SoundShaper" in trace.view().page


def test_lists_convert_to_data_frames():
    phases = onoff.boot(SAMPLES / "slow-boot.etl").phases
    frame = phases.to_pandas()
    assert list(frame["name"]) == [phase.name for phase in phases] and frame["duration_ns"].sum() > 0
    assert phases.to_polars()["name"].to_list() == list(frame["name"])
    assert isinstance(phases[:2], Records) and len(phases[:2]) == 2


def test_module_runs_the_program():
    code, printed, _ = program("--version")
    assert code == 0 and printed.decode().strip() == f"onoff {onoff.__version__}"
    code, _, errors = program("boot", SAMPLES / "netboot-slow-link.pcap.xz")
    assert (code, "onoff netboot" in errors) == (2, True)


def test_missing_files_and_wrong_options_are_pythons_errors():
    for call in (lambda: onoff.boot("missing.etl"), lambda: onoff.open("missing.etl")):
        with pytest.raises(FileNotFoundError) as error:
            call()
        assert isinstance(error.value, onoff.UnreadableError) and error.value.filename == "missing.etl"
    with pytest.raises(onoff.UsageError, match="unexpected keyword argument 'idlee'"):
        onoff.boot(SAMPLES / "slow-boot.etl", idlee="adk")
    with pytest.raises(onoff.UsageError, match="invalid value 'x' for 'idle'"):
        onoff.boot(SAMPLES / "slow-boot.etl", idle="x")


def test_recordings_close_and_cross_processes():
    with onoff.open(SAMPLES / "slow-boot.etl") as trace:
        expected, table = trace.boot().total_ns, trace.processes
        for again in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
            assert again.boot().total_ns == expected and again.paths == trace.paths
    assert len(table.to_pyarrow()) == 28
    with pytest.raises(onoff.UsageError, match="closed"):
        trace.processes


def test_no_field_is_hidden():
    schema = json.loads((SAMPLES.parent / "docs/src/reference/onoff.schema.json").read_text())
    names = set()

    def collect(value):
        if isinstance(value, dict):
            names.update(value.get("properties", {}))
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)

    collect(schema)
    assert {"values", "items", "from"} <= names
    for kind in (onoff.Record, onoff.Answer):
        record = kind({name: 7 for name in names})
        attributes = dir(record)
        for name in names:
            # A property of the class may have the name, if the value is available too.
            attribute = name if getattr(record, name, None) == 7 and not keyword.iskeyword(name) else f"{name}_"
            assert getattr(record, attribute) == 7 and attribute in attributes and record[name] == 7
