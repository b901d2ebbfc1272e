#!/usr/bin/env python3
"""Records network boots (record.py), and checks onoff's reports.

lab/netboot/check.py ONOFF [OUT] [RUN ...]

The checks cover order, presence, identities and bytes, and that the injected delay is found; no other times.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The DHCP server pings an address before offering it, and waits about 3 s for a reply.
ADDRESS_CHECK_NS = 2_500_000_000
RUNS = {
    "windows": ["--server", "atftpd", "--check-address"],
    "lockstep": ["--server", "dnsmasq"],
    "twice": ["--server", "dnsmasq", "--everywhere"],
    "lost-blocks": ["--server", "dnsmasq", "--drop", "2000"],
    "missing-file": ["--server", "dnsmasq", "--fault", "missing-file"],
    "dead-server": ["--server", "dnsmasq", "--fault", "dead-server"],
}
# Expected reason by fault.
REASONS = {"missing-file": "file_refused", "dead-server": "server_not_on_link"}


def main():
    if len(sys.argv) < 2 or any(name not in RUNS for name in sys.argv[3:]):
        sys.exit(f"{__doc__}\nRuns: {', '.join(RUNS)}")
    onoff = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else folder)
        for name in sys.argv[3:] or RUNS:
            subprocess.run([sys.executable, HERE / "record.py", out / name, *RUNS[name]], check=True)
            check(name, onoff, out / name)


def check(name, onoff, folder):
    facts = json.loads((folder / "facts.json").read_text())
    command = [onoff, "netboot", folder / "capture.pcap", "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    faults = list(differences(facts, answer))
    for fault in faults:
        print(f"check: {name}: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    boot = answer["boots"][0]
    findings = ", ".join(finding["rule"] for finding in boot["findings"])
    print(f"check: {name}: {boot['outcome']['verdict']} in {boot['duration_ns'] / 1e9:.2f} s; found {findings}")


def differences(facts, answer):
    """The differences between the report and the facts."""
    def same(what, expected, found):
        if expected != found:
            yield f"{what}: expected {expected!r}, found {found!r}"

    yield from same("machines that booted", [facts["client_mac"]], [boot["client"]["mac"] for boot in answer["boots"]])
    if len(answer["boots"]) != 1:
        return
    boot = answer["boots"][0]
    if facts["fault"]:
        yield from failed(facts, boot)
        return
    yield from same("outcome", "loaded", boot["outcome"]["verdict"])
    twice = ["frames_captured_twice"] if facts["everywhere"] else []
    yield from same("losses", twice, [loss["counter"] for loss in answer["losses"]])
    if facts["everywhere"]:
        # The bridge and its port each capture the guest's frames.
        frames, copies = answer["capture"]["frames"], answer["capture"]["duplicate_frames"]
        if not 0.45 * frames < copies <= 0.5 * frames:
            yield f"frames captured twice: {copies} copies among {frames} frames"
    expected = ["dhcp", "size_probe", "boot_program"]
    yield from same("order of the stages", expected, [stage["kind"] for stage in boot["stages"] if stage["kind"] in expected])
    # The client may repeat its request while the server checks whether the address is in use.
    messages = [message["kind"] for message in boot["dhcp"][0]["messages"]]
    yield from same("DHCP messages", ["discover", "offer", "request", "ack"], list(dict.fromkeys(messages)))
    windows = facts["server"] == "atftpd"
    transfers = [transfer for transfer in boot["transfers"] if transfer["outcome"] == "complete"]
    yield from same("files", [facts["file"]], [transfer["file"] for transfer in transfers])
    for transfer in transfers:
        blocks = facts["file_bytes"] // transfer["block_size"] + 1
        yield from same("bytes", facts["file_bytes"], transfer["counts"]["bytes"])
        yield from same("blocks", blocks, transfer["counts"]["blocks"])
        yield from same("window asked for", 4, transfer["requested"]["window"])
        yield from same("window granted", 4 if windows else None, transfer["granted"]["window"])
        yield from same("blocks sent again", bool(facts["dropped_every"]), transfer["counts"]["repeated_data"] > 0)
    rules = [finding["rule"] for finding in boot["findings"]]
    yield from same("a finding on the offer's delay", facts["address_checked"], "offer_delay" in rules)
    yield from same("a finding on lost blocks", bool(facts["dropped_every"]), "retransmissions" in rules)
    # With one window in the capture, a larger one is advised only where it helps by both ends of the model's range.
    yield from same("a finding on the window that was refused", not windows, "window_refused" in rules)
    if facts["address_checked"]:
        delay = boot["dhcp"][0]["offer_delay_ns"]
        if delay < ADDRESS_CHECK_NS:
            yield f"the offer's delay: {delay} ns are less than the server waits"


def failed(facts, boot):
    """The differences between the report of a failed boot and the injected fault and the firmware's message."""
    outcome = boot["outcome"]
    if (outcome["verdict"], outcome["reason"]) != ("failed", REASONS[facts["fault"]]):
        yield f"outcome: {outcome['verdict']}, {outcome['reason']}: {outcome['description']}"
    codes = [code["code"] for code in outcome["codes"]]
    if not set(facts["screen"]) & set(codes):
        yield f"codes: the screen shows {facts['screen']}, the answer says {codes}"
    if "duplex" in json.dumps(boot["findings"]):
        yield "a cable is suspected where nothing was sent again"


if __name__ == "__main__":
    main()
