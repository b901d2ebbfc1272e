"""HTML report about a fleet: a single file without scripts or external resources."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from ._answers import seconds

if TYPE_CHECKING:
    from ._fleet import Fleet

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}td,th{border-color:#444}}"""
_BARS = 60


def page(fleet: Fleet, transition: str) -> str:
    """Returns the report as HTML."""
    runs = fleet.runs(transition)
    durations_ns = [run["duration_ns"] for run in runs]
    explanations = fleet.explain(transition)
    parts = [f"<h1>{_text(repr(fleet)[1:-1])}</h1>", f"<h2>Duration of each {_text(transition)}</h2>", _histogram(durations_ns)]
    parts.append(
        _table(
            ("phase", "runs", "computers", "median", "90th percentile", "99th percentile", "longest"),
            [
                (row.phase, row.runs, row.computers, *(seconds(row[name]) for name in ("median_ns", "p90_ns", "p99_ns", "longest_ns")))
                for row in fleet.phases(transition=transition)
            ],
        )
    )
    parts.append("<h2>Factors associated with slow runs</h2>")
    rows: list[tuple[Any, ...]] = []
    if explanations.found:
        for factor in explanations.found:
            interval = f"{seconds(factor.low_ns) if factor.low_ns > 0 else '0 s'} to {seconds(factor.high_ns)}"
            contributor = f"{factor.subject} in {factor.subject_phase}" if factor.subject else ""
            rows.append((factor.what, seconds(factor.effect_ns), interval, factor.runs, factor.computers, contributor, ", ".join(factor.same_runs_as)))
        parts.append(_table(("group", "slower by", "95 % interval", "runs", "computers", "largest contributor", "same runs as"), rows))
    else:
        parts.append("<p>No significant factors.</p>")
    parts.append(f"<p>{explanations.tried} groups tried; {explanations.too_small} skipped because they have too few runs or computers.</p>")
    drift = fleet.drift(transition)
    parts.append("<h2>Changes over time</h2>")
    if drift:
        rows = [
            (row.first_after_utc, ("slower by " if row.effect_ns > 0 else "faster by ") + seconds(abs(row.effect_ns)), row.runs_before, row.runs_after)
            for row in drift
        ]
        parts.append(_table(("first run after", "change", "runs before", "runs after"), rows))
    else:
        parts.append("<p>No significant change over time.</p>")
    parts.append("<h2>Ten slowest runs</h2>")
    slowest = fleet.slowest(10, transition)
    parts.append(
        _table(
            ("computer", "duration", "longest phase", "", "blamed on", "recording"),
            [
                (row.computer, seconds(row.duration_ns), row.longest_phase, _seconds(row.longest_phase_ns), row.culprit, row.path)
                for row in slowest
            ],
        )
    )
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fleet</title><style>{_STYLE}</style></head>'
    return f"{head}<body>{''.join(parts)}</body></html>\n"


def _seconds(nanoseconds: Any) -> str:
    return "" if nanoseconds is None else seconds(nanoseconds)


def _text(value: Any) -> str:
    return html.escape("" if value is None else str(value))


def _table(columns: Any, rows: Any) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _histogram(durations_ns: list[int]) -> str:
    """Returns a histogram of run durations, as SVG."""
    if not durations_ns:
        return "<p>No run has a known duration.</p>"
    low, high = min(durations_ns), max(durations_ns)
    width = max(1, (high - low) // _BARS + 1)
    bars = [0] * _BARS
    for duration_ns in durations_ns:
        bars[min(_BARS - 1, (duration_ns - low) // width)] += 1
    largest = max(bars)
    shapes = "".join(
        f'<rect x="{10 * index}" y="{100 - 100 * count / largest:.1f}" width="9" height="{100 * count / largest:.1f}" fill="#3a7bd5">'
        f"<title>{count} runs, {seconds(low + index * width)} to {seconds(low + (index + 1) * width)}</title></rect>"
        for index, count in enumerate(bars)
        if count
    )
    labels = f'<text x="0" y="114" font-size="11" fill="currentColor">{seconds(low)}</text>'
    labels += f'<text x="{10 * _BARS}" y="114" font-size="11" text-anchor="end" fill="currentColor">{seconds(high)}</text>'
    return f'<svg viewBox="0 0 {10 * _BARS} 118" role="img" aria-label="Runs by duration">{shapes}{labels}</svg>'
