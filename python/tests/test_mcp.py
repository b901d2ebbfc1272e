"""Tests ``onoff mcp`` over stdin and stdout, as an assistant uses it."""

import json
import pathlib
import subprocess
import sys

import pytest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


class Client:
    """JSON-RPC client with one message per line, as specified by MCP."""

    def __init__(self, *folders):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onoff", "mcp", *map(str, folders)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.number = 0

    def send(self, method, **params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number
        return answer

    def tool(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return "".join(block["text"] for block in result["content"]), result.get("isError", False)


@pytest.fixture
def client():
    client = Client(SAMPLES)
    welcome = client.ask(
        "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}
    )["result"]
    assert welcome["serverInfo"]["name"] == "onoff"
    assert "tools" in welcome["capabilities"]
    assert "overview" in welcome["instructions"]
    client.send("notifications/initialized")
    yield client
    client.process.stdin.close()
    assert client.process.wait(timeout=60) == 0
    client.process.stdout.close()
    client.process.stderr.close()


def test_tools_are_read_only(client):
    tools = client.ask("tools/list")["result"]["tools"]
    assert {"recordings", "guide", "more", "boot", "diagnose", "why", "list", "compare"} <= {tool["name"] for tool in tools}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)


def test_session_from_list_of_recordings_to_critical_path(client):
    listing, failed = client.tool("recordings")
    assert not failed
    recording = next(line.split(" (")[0] for line in listing.splitlines() if "slow-boot.etl" in line)
    boot, failed = client.tool("boot", file=recording)
    assert not failed
    printed = subprocess.run([sys.executable, "-m", "onoff", "boot", recording], capture_output=True, text=True, check=True).stdout
    # The tool returns the first part of the command's output.
    part = boot.split("\n[")[0]
    assert printed.startswith(part)
    assert len(part) > 2_000
    document, failed = client.tool("diagnose", file=recording, format="json")
    assert not failed
    findings, _ = client.tool("diagnose", file="slow-boot.etl")
    assert "CloudBox" in findings
    why, failed = client.tool("why", file="slow-boot.etl", phase="WinLogonInit")
    assert not failed and "WinLogonInit" in why


def test_reports_errors(client):
    text, failed = client.tool("boot", file="/etc/passwd")
    assert failed and "outside the folders" in text
    text, failed = client.tool("boot", file="README.md")
    assert failed and "README.md" in text
    answer = client.ask("tools/call", name="record", arguments={})
    assert "unknown tool 'record'" in answer["error"]["message"]


def test_requires_existing_folders():
    for folders, code in [([], 64), (["/nonexistent"], 1)]:
        result = subprocess.run(
            [sys.executable, "-m", "onoff", "mcp", *folders], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert result.returncode == code, result.stderr
