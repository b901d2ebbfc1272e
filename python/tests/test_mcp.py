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


def test_requires_existing_folders():
    for folders, code in [([], 64), (["/nonexistent"], 1)]:
        result = subprocess.run(
            [sys.executable, "-m", "onoff", "mcp", *folders], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert result.returncode == code, result.stderr
