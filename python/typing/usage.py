"""Checked by mypy and pyright only; never run."""

from datetime import timedelta
from typing import Literal, Optional

from typing_extensions import assert_type

import onoff
import onoff.types

boot = onoff.boot("boot.etl", idle="adk", list_boots=False)
assert_type(boot, onoff.types.BootAnswer)
assert_type(boot.findings(noise="1s"), onoff.Records[onoff.types.RuleFinding])
assert_type(boot.account[0].subject, str)
assert_type(boot.total, Optional[timedelta])
assert_type(boot.onoff.recordings[0].computer, str)
assert_type(boot.phases[0].duration_ns, Optional[int])
assert_type(boot.phases[0].name, onoff.types.PhaseName)
assert_type(boot.phases[:2], onoff.Records[onoff.types.Phase])
sleep = onoff.suspend("sleep.etl").transitions[0]
assert_type(sleep.total, Optional[timedelta])
trace = onoff.open(["boot.etl"], times="timedelta")
assert_type(trace, onoff.Recording)
assert_type(trace.context_switches, onoff.Table)
assert_type(trace.findings()[0].subject.name, str)
assert_type(trace.list("cpu", by=["process"]), onoff.types.CpuAnswer)
assert_type(trace.what_if(async_="driver").measured_ns, int)
assert_type(trace.tables(), dict[str, onoff.Table])
assert_type(trace.export("tables", "parquet"), dict[str, int])
assert_type(trace.list("disk").total, Optional[onoff.types.DiskAmounts])
assert_type(trace.info().losses[0].count, int)
fleet = onoff.fleet("runs")
assert_type(fleet.explain(), onoff.Explanations)
assert_type(fleet.explain().found[0].effect_ns, int)
assert_type(fleet.slowest()[0].subject, Optional[str])
assert_type(fleet.gate({"os": "a"}, {"os": "b"}).verdict, Literal["pass", "regression", "no_verdict"])
assert_type(fleet.why("boot.etl"), onoff.Comparison)
assert_type(fleet.watch("2026-04-10"), onoff.Watch)
assert_type(onoff.check_summaries("runs"), onoff.SummaryCheck)
with onoff.open("boot.etl") as opened:
    assert_type(opened, onoff.Recording)

# Each line has an error, so that an ignored error that no longer occurs is itself an error.
onoff.open("boot.etl", times="seconds")  # type: ignore[arg-type]
onoff.boot(3)  # type: ignore[arg-type]
onoff.boot("boot.etl", idlee="adk")  # type: ignore[call-arg]
onoff.boot("boot.etl", idle="adkk")  # type: ignore[arg-type]
boot.phasess  # type: ignore[attr-defined]
boot.phases[0].durations_ns  # type: ignore[attr-defined]
boot.phases[0].name == "PreSMS"  # type: ignore[comparison-overlap]
trace.context_swaps  # type: ignore[attr-defined]
trace.list("cpus")  # type: ignore[call-overload]
fleet.watch(3)  # type: ignore[arg-type]
fleet.slowest()[0].culprit  # type: ignore[attr-defined]
onoff.sqll  # type: ignore[attr-defined]
