"""Tests ``onoff mcp`` with the official client of the Model Context Protocol."""

import json
import pathlib
import subprocess
import sys

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


def session(steps, *folders):
    """Runs ``await steps(client)`` with a connected client."""

    async def run():
        server = StdioServerParameters(command=sys.executable, args=["-m", "onoff", "mcp", *map(str, folders or [SAMPLES])])
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            with anyio.fail_after(120):
                welcome = await client.initialize()
                await steps(client, welcome)

    anyio.run(run)


async def call(client, tool, **arguments):
    """Returns the text of a tool's answer, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    return "".join(block.text for block in result.content), bool(getattr(result, "isError", getattr(result, "is_error", False)))


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "onoff", *map(str, arguments)], capture_output=True, text=True, check=False).stdout


def test_tools_are_read_only():
    async def steps(client, welcome):
        assert "overview" in welcome.instructions
        tools = (await client.list_tools()).tools
        names = {tool.name for tool in tools}
        assert {"recordings", "guide", "more", "boot", "diagnose", "why", "list", "compare", "what-if", "events", "gate"} <= names
        for tool in tools:
            annotations = tool.annotations.model_dump(by_alias=True)
            assert annotations["readOnlyHint"], tool.name
        # The guide speaks of tools that exist.
        text, failed = await call(client, "guide")
        assert not failed and "diagnose" in text

    session(steps)


def test_session_from_list_of_recordings_to_critical_path():
    async def steps(client, _):
        listing, failed = await call(client, "recordings")
        assert not failed
        recording = next(line.split(" (")[0] for line in listing.splitlines() if "slow-boot.etl" in line)
        boot, failed = await call(client, "boot", file=recording)
        assert not failed
        # The tool returns the first part of the command's output.
        part = boot.split("\n[")[0]
        assert command("boot", recording).startswith(part) and len(part) > 2_000
        _, failed = await call(client, "diagnose", file=recording, format="json")
        assert not failed
        findings, _ = await call(client, "diagnose", file="slow-boot.etl")
        assert "CloudBox" in findings
        why, failed = await call(client, "why", file="slow-boot.etl", phase="WinLogonInit")
        assert not failed and "WinLogonInit" in why

    session(steps)


def test_ranges_events_what_if_and_gate_answer_as_the_commands():
    boot = SAMPLES / "slow-boot.etl"

    async def steps(client, _):
        rows, failed = await call(client, "list", what="services", file="slow-boot.etl", range=["10s", "20s"], format="csv")
        assert not failed and rows.strip() == command("services", boot, "--range", "10s", "20s", "--format", "csv").strip()
        assert rows.strip() != command("services", boot, "--format", "csv").strip()
        events, failed = await call(client, "events", file="slow-boot.etl", range=["10s", "10.01s"], format="json")
        assert not failed
        printed = command("events", boot, "--range", "10s", "10.01s", "--format", "json")
        lines = events.split("\n[")[0].splitlines()
        assert lines and lines == printed.splitlines()[: len(lines)] and json.loads(lines[0])["time_ns"] >= 10_000_000_000
        prediction, failed = await call(client, "what-if", file="slow-boot.etl", without=["SoundShaper"], format="json")
        assert not failed and prediction.startswith("{")
        verdict, failed = await call(client, "gate", baseline=["slow-boot.etl"], candidate=["slow-boot.etl"], limit=["boot.total 5%"])
        assert not failed and "boot.total" in verdict

    session(steps)


def test_reports_errors_and_reveals_nothing_outside():
    async def steps(client, _):
        for existing, missing in (("/etc/passwd", "/etc/nothing"), ("../" * 12 + "etc/passwd", "../" * 12 + "etc/nothing")):
            answers = [await call(client, "boot", file=path) for path in (existing, missing)]
            assert all(failed and "outside the folders" in text for text, failed in answers)
            assert answers[0][0].replace(existing, "") == answers[1][0].replace(missing, "")
        text, failed = await call(client, "boot", file="README.md")
        assert failed and "README.md" in text and "outside" not in text
        text, failed = await call(client, "list", what="cpu", file="slow-boot.etl", range=["1s", "--output=x"])
        assert failed and "two times" in text
        with pytest.raises(Exception, match="unknown tool 'record'"):
            await client.call_tool("record", {})

    session(steps)


async def complete(client, value):
    """Returns a JSON value with what its part left out, by calls of ``more``."""

    async def rest(more):
        result = await client.call_tool("more", {name: more[name] for name in ("handle", "pointer", "from")})
        return await complete(client, json.loads(result.content[0].text))

    if isinstance(value, list):
        more = value[-1]["$more"] if value and isinstance(value[-1], dict) and value[-1].get("$more", {}).get("from") else None
        items = [await complete(client, item) for item in (value[:-1] if more else value)]
        return items + (await rest(more) if more else [])
    if isinstance(value, dict):
        more = value.get("$more")
        if more and len(value) == 1:
            return await rest(more)
        if "$text" in value:
            return value["$text"] + (await rest(more) if more else "")
        fields = {name: await complete(client, field) for name, field in value.items() if name != "$more"}
        return fields | (await rest(more) if more else {})
    return value


def test_long_json_comes_in_parts_that_are_json():
    async def steps(client, _):
        result = await client.call_tool("boot", {"file": "slow-boot.etl", "format": "json"})
        part = json.loads(result.content[0].text)
        assert len(result.content[0].text) <= 8_000 and result.model_dump(by_alias=True)["structuredContent"] == part
        printed = json.loads(command("boot", SAMPLES / "slow-boot.etl", "--format", "json"))
        assert part["fix_first"] == printed["fix_first"] and part["total_ns"] == printed["total_ns"] and part != printed
        assert await complete(client, part) == printed
        result = await client.call_tool("firmware", {"file": "firmware-FBPT.bin.xz", "format": "json"})
        assert result.model_dump(by_alias=True)["structuredContent"] == json.loads(result.content[0].text)

    session(steps)


def test_long_calls_report_progress_and_end_when_cancelled(tmp_path):
    boot = (SAMPLES / "slow-boot.etl").read_bytes()
    for number in range(30):
        # Different recordings, of which each takes a while.
        (tmp_path / f"{number}.etl").write_bytes(boot + bytes(number))

    async def steps(client, _):
        reports = []

        async def on_progress(progress, total, _message):
            reports.append((progress, total))

        result = await client.call_tool("summary", {"files": ["."], "format": "csv"}, progress_callback=on_progress)
        assert "boot" in result.content[0].text
        assert reports == sorted(set(reports)) and reports and reports[-1][0] <= reports[-1][1] == 30
        # After a cancelled call the server goes on.
        with anyio.move_on_after(1):
            await client.call_tool("summary", {"files": ["."], "format": "csv"})
        text, failed = await call(client, "guide")
        assert not failed and "diagnose" in text

    session(steps, tmp_path)


def test_requires_existing_folders():
    for folders, code in [([], 64), (["/nonexistent"], 1)]:
        result = subprocess.run(
            [sys.executable, "-m", "onoff", "mcp", *folders], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert result.returncode == code, result.stderr
