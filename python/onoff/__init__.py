"""Analyzes where the time goes when a computer boots, shuts down, sleeps or wakes.

>>> import onoff
>>> boot = onoff.boot("samples/slow-boot.etl")
>>> boot
<boot of LAPTOP-7F3: 30.0 s in 6 phases>
>>> boot.phases[0].name, boot.phases[0].duration_ns
('PreSMSS', 9120400200)
>>> boot.total
datetime.timedelta(seconds=30, microseconds=32145)

Open a recording once to run several analyses:

>>> trace = onoff.open("samples/slow-boot.etl")
>>> [finding.subject.name for finding in trace.findings()][0]
'SoundShaper'
>>> trace.why(service="SoundShaper").intervals[0].account.entries[0].name
'SoundShaper'

Tables support the Arrow PyCapsule interface and share their memory with other libraries:

>>> trace.context_switches
<table context_switches: 26,926 rows, 12 columns>
>>> import pyarrow
>>> pyarrow.table(trace.context_switches).num_rows
26926
"""

from __future__ import annotations

from . import types
from ._answers import Answer, Record, Records, Transition
from ._compaction import Compaction, compact_summaries
from ._errors import Error, MissingFileError, NothingToAnswer, UnreadableError, UsageError
from ._fleet import Comparison, Explanations, Fleet, Watch, fleet
from ._onoff import __version__
from ._summaries import Summaries, rows, summaries
from ._summary_check import SummaryCheck, check_summaries
from ._sql import sql
from ._recording import (
    Recording,
    Table,
    TableDeclaration,
    boot,
    compare,
    firmware,
    gate,
    image,
    info,
    io,
    netboot,
    open,
    prefetch,
    shutdown,
    summary,
    suspend,
    tables,
    transitions,
    what_if,
    why,
)

__all__ = [
    "Answer",
    "Compaction",
    "Comparison",
    "Error",
    "Explanations",
    "Fleet",
    "MissingFileError",
    "NothingToAnswer",
    "Record",
    "Records",
    "Recording",
    "Summaries",
    "SummaryCheck",
    "Table",
    "TableDeclaration",
    "Transition",
    "UnreadableError",
    "UsageError",
    "Watch",
    "__version__",
    "boot",
    "check_summaries",
    "compact_summaries",
    "compare",
    "firmware",
    "fleet",
    "gate",
    "image",
    "info",
    "io",
    "netboot",
    "open",
    "prefetch",
    "rows",
    "shutdown",
    "sql",
    "summaries",
    "summary",
    "suspend",
    "tables",
    "transitions",
    "types",
    "what_if",
    "why",
]
