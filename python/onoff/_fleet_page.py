"""HTML report about a fleet: a single file without scripts or external resources."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from ._answers import seconds

if TYPE_CHECKING:
    from ._fleet import Fleet

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}summary{font-size:1.3em;font-weight:600;cursor:pointer}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}td,th{border-color:#444}}"""
_BARS = 60
_MAX_MODELS = 30
"""Maximum number of rows of the table by model, most runs first."""


def page(fleet: Fleet, transitions: tuple[str, ...]) -> str:
    """Returns the report as HTML, with a section that opens and closes for each kind of transition."""
    parts = [f"<h1>{_text(repr(fleet)[1:-1])}</h1>"]
    for index, transition in enumerate(transitions):
        body = "".join(_section(fleet, transition))
        if len(transitions) == 1:
            parts.append(f"<h2>{_text(transition)}</h2>{body}")
        else:
            parts.append(f'<details name="transition"{" open" if index == 0 else ""}><summary>{_text(transition)}</summary>{body}</details>')
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fleet</title><style>{_STYLE}</style></head>'
    return f"{head}<body>{''.join(parts)}</body></html>\n"


def _section(fleet: Fleet, transition: str) -> list[str]:
    durations_ns = [int(value) for value in fleet._sample(transition).total_ns]
    if not durations_ns:
        return ["<p>No run has a known duration.</p>"]
    parts = [f"<h3>Duration of each {_text(transition)}</h3>", _histogram(durations_ns)]
    parts.append(_percentiles("phase", [(row.phase, row) for row in fleet.phases(transition=transition)]))
    models = [(row["group"] or "unknown", row) for row in fleet.phases(by="model", transition=transition) if row.phase == "all"]
    if len(models) > 1:
        parts.append("<h3>By model</h3>")
        parts.append(_percentiles("model", sorted(models, key=lambda item: -item[1].runs)[:_MAX_MODELS]))
    parts.append("<h3>Factors associated with slow runs</h3>")
    explanations = fleet.explain(transition)
    rows: list[tuple[Any, ...]] = []
    if explanations.found:
        for factor in explanations.found:
            interval = f"{seconds(factor.low_ns) if factor.low_ns > 0 else '0 s'} to {seconds(factor.high_ns)}"
            contributor = f"{factor.subject} in {factor.subject_phase}" if factor.subject else ""
            slow_runs = f"{factor.slow_percent:.0f} % ({factor.rest_slow_percent:.0f} %)"
            rows.append(
                (factor.what, seconds(factor.effect_ns), interval, factor.runs, factor.computers, slow_runs, contributor, ", ".join(factor.same_runs_as))
            )
        names = ("group", "slower by", "95 % interval", "runs", "computers", "slow runs (others)", "largest contributor", "same runs as")
        parts.append(_table(names, rows))
    else:
        parts.append("<p>No significant factors.</p>")
    for row in explanations.undecided:
        parts.append(f"<p>Cannot tell yet: {_text(row.what)} ({row.computers} computers). About {row.more_computers:,} more computers would decide.</p>")
    parts.append(f"<p>{explanations.tried:,} groups compared; {explanations.too_small:,} skipped because they have too few runs or computers.</p>")
    drift = fleet.drift(transition)
    parts.append("<h3>Changes over time</h3>")
    if drift:
        rows = [
            (
                row.first_after_utc if row.kind == "step" else f"steadily from {row.last_before_utc} to {row.first_after_utc}",
                ("slower by " if row.effect_ns > 0 else "faster by ") + seconds(abs(row.effect_ns)),
                row.phase,
                row.runs_before,
                row.runs_after,
            )
            for row in drift
        ]
        parts.append(_table(("first run after", "change", "seen in", "runs before", "runs after"), rows))
    else:
        parts.append("<p>No significant change over time.</p>")
    parts.append("<h3>Ten slowest runs</h3>")
    parts.append(
        _table(
            ("computer", "duration", "usually", "reason", "longest phase", "", "blamed on", "recording"),
            [
                (
                    *(row.computer, seconds(row.duration_ns), _seconds(row.usual_ns), row.reason),
                    *(row.phase or "", _seconds(row.phase_ns), row.subject or "", row.path),
                )
                for row in fleet.slowest(10, transition)
            ],
        )
    )
    return parts


def _percentiles(first: str, rows: list[tuple[str, Any]]) -> str:
    names = (first, "runs", "computers", "median", "90th percentile", "99th percentile", "longest")
    columns = ("median_ns", "p90_ns", "p99_ns", "longest_ns")
    return _table(names, [(name, row.runs, row.computers, *(seconds(row[column]) for column in columns)) for name, row in rows])


def _seconds(nanoseconds: Any) -> str:
    return "" if nanoseconds is None else seconds(nanoseconds)


def _text(value: Any) -> str:
    return html.escape("" if value is None else str(value))


def _table(columns: Any, rows: Any) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _step(length: float) -> float:
    """Returns a round distance between marks of a scale.

    >>> [_step(length) for length in (9, 47, 130)]
    [2.0, 10.0, 20.0]
    """
    size = 1.0
    while length / size > 60:
        size *= 10
    while length / size < 6:
        size /= 10
    return next(size * factor for factor in (1.0, 2.0, 5.0, 10.0) if length / (size * factor) <= 7)


def _histogram(durations_ns: list[int]) -> str:
    """Returns a histogram of run durations with scales, as SVG."""
    low, high = min(durations_ns), max(durations_ns)
    width = max(1, (high - low) // _BARS + 1)
    bars = [0] * _BARS
    for duration_ns in durations_ns:
        bars[min(_BARS - 1, (duration_ns - low) // width)] += 1
    largest = max(bars)
    left, height = 40, 100

    def x(ns: float) -> float:
        return left + 10 * (ns - low) / width

    shapes = "".join(
        f'<rect x="{left + 10 * index}" y="{height - height * count / largest:.1f}" width="9" height="{height * count / largest:.1f}" fill="#3a7bd5">'
        f"<title>{count} runs, {seconds(low + index * width)} to {seconds(low + (index + 1) * width)}</title></rect>"
        for index, count in enumerate(bars)
        if count
    )
    label = '<text x="{:.1f}" y="{:.1f}" font-size="11" text-anchor="{}" fill="currentColor">{}</text>'
    line = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="currentColor" stroke-opacity="0.3"/>'
    marks = []
    step = 1e9 * _step(max(1e-9, (high - low + 1) / 1e9))
    mark = step * -(-low // step)
    while mark <= low + _BARS * width:
        marks.append(line.format(x(mark), height, x(mark), height + 4) + label.format(x(mark), height + 15, "middle", seconds(int(mark)) if mark else "0 s"))
        mark += step
    for count in sorted({largest, (largest + 1) // 2}):
        y = height - height * count / largest
        marks.append(line.format(left - 4, y, left + 10 * _BARS, y) + label.format(left - 7, y + 4, "end", f"{count:,}"))
    marks.append(line.format(left, height, left + 10 * _BARS, height))
    size = f"0 -8 {left + 10 * _BARS + 25} {height + 30}"
    return f'<svg viewBox="{size}" role="img" aria-label="Number of runs by duration">{"".join(marks)}{shapes}</svg>'
