"""Checked by mypy only; never run."""

from typing import Optional
from datetime import timedelta

from typing_extensions import assert_type

import onoff

boot = onoff.boot("boot.etl", idle="adk")
assert_type(boot, onoff.Transition)
assert_type(boot.findings(), onoff.Records)
assert_type(boot.account, onoff.Records)
assert_type(boot.total, Optional[timedelta])
trace = onoff.open(["boot.etl"], times="timedelta")
assert_type(trace, onoff.Recording)
assert_type(trace.context_switches, onoff.Table)
assert_type(trace.findings(), onoff.Records)
assert_type(trace.findings()[0], onoff.Record)
assert_type(trace.tables(), dict[str, onoff.Table])
assert_type(trace.export("tables", "parquet"), dict[str, int])
onoff.open("boot.etl", times="seconds")  # type: ignore[arg-type]
onoff.boot(3)  # type: ignore[arg-type]
fleet = onoff.fleet("runs")
assert_type(fleet.explain(), onoff.Explanations)
assert_type(fleet.why("boot.etl"), onoff.Comparison)
assert_type(fleet.watch("2026-04-10"), onoff.Watch)
assert_type(onoff.check_summaries("runs"), onoff.SummaryCheck)
with onoff.open("boot.etl") as opened:
    assert_type(opened, onoff.Recording)
fleet.watch(3)  # type: ignore[arg-type]
