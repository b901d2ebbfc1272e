"""Rows that are assembled in Python, beside the classes of ``onoff.types``."""

from __future__ import annotations

from typing import Literal, Optional

from ._answers import Record, Records
from .types import AccountInterval, AccountSubjectKind, ActionShare, Certainty, DriverRequests, FileReader, UnknownReason


class AccountRow(Record):
    """Time of a subject in a phase, with the names of the table ``account``, and details."""

    __slots__ = ()
    transition: Literal["boot", "shutdown", "suspend"]
    """Kind of transition."""
    phase: str
    """Name of the phase."""
    start_ns: int
    """Start of the phase, ns."""
    phase_ns: int
    """Duration of the phase, ns."""
    kind: AccountSubjectKind
    """Kind of subject."""
    subject: str
    """Name of the service, driver or program; a phrase for idle and unknown time."""
    ns: int
    """Time of the subject in the phase, ns."""
    percent: float
    """Share of the phase, %."""
    certainty: Certainty
    device: str
    """For a driver: instance of the first device it worked for. For a file: model of the disk."""
    pid: Optional[int]
    read_by: Records[FileReader]
    """For a file: the processes that read it."""
    unknown_reason: Optional[UnknownReason]
    """Why the time is unknown."""
    actions: Records[ActionShare]
    """Time by kind of action."""
    requests: Optional[DriverRequests]
    """For a driver: its requests."""
    intervals: Records[AccountInterval]
    """The longest intervals."""
    interval_count: int
    """Number of intervals."""


class FleetPhase(Record):
    """Percentiles of a phase, or of the whole transition, in a group of runs."""

    __slots__ = ()
    group: str
    """Value of the attribute; empty if the runs are not grouped or the value is unknown."""
    phase: str
    """Name of the phase; ``all`` for the whole transition."""
    place: int
    """Position of the phase in the transition; -1 for the whole transition."""
    runs: int
    computers: int
    median_ns: int
    """Nanoseconds."""
    p90_ns: int
    """Nanoseconds."""
    p99_ns: int
    """Nanoseconds."""
    longest_ns: int
    """Nanoseconds."""


class FleetFactor(Record):
    """What slow runs have in common."""

    __slots__ = ()
    what: str
    """The group, such as ``model = Contoso 2`` or ``audio.sys >= 6.0.2``."""
    effect_ns: int
    """Effect on the total, ns."""
    low_ns: int
    """Lower end of the 95 % interval of the effect, ns."""
    high_ns: int
    """Upper end of the 95 % interval of the effect, ns."""
    chance: float
    """Probability of a group this clear in a healthy fleet, with all comparisons counted."""
    runs: int
    """Number of runs in the group."""
    computers: int
    """Number of computers in the group."""
    rest: int
    """Number of runs outside the group."""
    same_runs_as: list[str]
    """Groups of the same runs, which cannot be separated."""
    seen_in: Literal["total", "slow_runs", "phase", "subject"]
    """Where the group is clearest."""
    phase: str
    """Phase in which it is clearest; empty for the total."""
    phase_effect_ns: Optional[int]
    """Effect on the phase, ns."""
    phase_low_ns: Optional[int]
    """Lower end of the 95 % interval of the effect on the phase, ns."""
    phase_high_ns: Optional[int]
    """Upper end of the 95 % interval of the effect on the phase, ns."""
    slow_percent: float
    """Share of slow runs in the group, %."""
    rest_slow_percent: float
    """Share of slow runs outside the group, %."""
    subject: str
    """Subject whose time differs most; empty if none does."""
    subject_phase: str
    """Phase of the subject."""
    subject_ns: Optional[int]
    """Difference of the subject's mean time, ns."""


class UndecidedFactor(Record):
    """A group that may be slow, but needs more computers for a verdict."""

    __slots__ = ()
    what: str
    """The group."""
    chance: float
    """Probability of a group this clear in a healthy fleet."""
    runs: int
    computers: int
    phase: str
    """Phase in which it is clearest; empty for the total."""
    more_computers: int
    """About how many more computers would decide."""


class FleetChange(Record):
    """A date, or a period, at which a transition became slower or faster."""

    __slots__ = ()
    kind: Literal["step", "slope"]
    """``step`` for a date, ``slope`` for a steady change over the whole period."""
    last_before_utc: str
    """Last run before the change."""
    first_after_utc: str
    """First run after the change."""
    phase: str
    """Phase that changed most; empty for the total."""
    effect_ns: int
    """Effect on the total, ns."""
    low_ns: int
    """Lower end of the 95 % interval, ns."""
    high_ns: int
    """Upper end of the 95 % interval, ns."""
    runs_before: int
    runs_after: int


class SlowRun(Record):
    """A slow run with its reason."""

    __slots__ = ()
    computer: str
    duration_ns: int
    """Nanoseconds."""
    phase: Optional[str]
    """Longest phase."""
    phase_ns: Optional[int]
    """Nanoseconds."""
    subject: Optional[str]
    """Largest contributor to the longest phase."""
    subject_ns: Optional[int]
    """Time of the contributor, ns."""
    recorded_utc: Optional[str]
    path: str
    """Path of the recording."""
    usual_ns: Optional[int]
    """Usual duration of the computer, ns."""
    reason: str
    """What took longer than usual; empty if nothing did."""
    reason_ns: Optional[int]
    """How much longer it took, ns."""


class ComparedTime(Record):
    """Time of a subject or phase in a run, and usually."""

    __slots__ = ()
    phase: str
    subject: str
    """Subject; empty for a whole phase."""
    ns: int
    """Time in the run, ns."""
    usual_ns: int
    """Median of the other runs, ns."""
    more_ns: int
    """Difference, ns."""


class FleetDifference(Record):
    """Difference of recent runs to earlier runs of the same computers."""

    __slots__ = ()
    computers: int
    """Number of computers with both; 0 if too few for a difference."""
    effect_ns: Optional[int]
    """Nanoseconds."""
    low_ns: Optional[int]
    """Lower end of the 95 % interval, ns."""
    high_ns: Optional[int]
    """Upper end of the 95 % interval, ns."""


class NewSubject(Record):
    """A subject that no earlier run has."""

    __slots__ = ()
    phase: str
    subject: str
    runs: int
    computers: int
    mean_ns: int
    """Mean time in these runs, ns."""


class NewVersion(Record):
    """A version of a module that no earlier run has."""

    __slots__ = ()
    module: str
    version: str
    runs: int
    computers: int


class FleetVerdict(Record):
    """Result of a limit for two cohorts."""

    __slots__ = ()
    baseline_runs: int
    baseline_computers: int
    candidate_runs: int
    candidate_computers: int
    paired_computers: int
    """Number of computers in both cohorts."""
    passed: Optional[bool]
    """``None`` without a verdict."""
    verdict: Literal["pass", "regression", "no_verdict"]
    exit_code: Literal[0, 1, 2]
    """Exit code, as of ``onoff gate``."""
    why: str
    """Reason as text."""
    effect_ns: Optional[int]
    """Difference of the cohorts, ns."""
    low_ns: Optional[int]
    """Lower end of the 95 % interval, ns."""
    high_ns: Optional[int]
    """Upper end of the 95 % interval, ns."""
    p: Optional[float]
    """Probability of a difference this large between equal cohorts."""
    limit_ns: int
    """Nanoseconds."""
    more_computers: Optional[int]
    """About how many more computers in each cohort would decide."""
