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
    "secure-boot": ["--server", "dnsmasq", "--fault", "secure-boot"],
    "restarted-server": ["--server", "own", "--fault", "restarted-server"],
    "https": ["--server", "dnsmasq", "--https"],
    "two-blocks": ["--server", "own", "--window", "2"],
    "three-blocks": ["--server", "own", "--window", "3"],
    "far": ["--server", "own", "--delay", "5", "--both", "--limit", "600"],
    "loss": ["--server", "dnsmasq", "--delay", "1", "--loss", "1", "--both", "--limit", "900"],
}
# The relay is a program: it adds up to this share of the planted delay on a busy host.
MAX_RELAY_PERCENT = 100
# Expected reason by fault.
REASONS = {"missing-file": "file_refused", "dead-server": "server_not_on_link", "secure-boot": "back_to_firmware",
           "restarted-server": "server_unreachable"}


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
    if facts["both"]:
        command[2:3] = [folder / "capture.pcap", folder / "client.pcap"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        faults += path_differences(facts, answer["path"])
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
    if facts["https"]:
        yield from same("downloads", True, any(download["bytes"] > facts["file_bytes"] for download in boot["downloads"]))
        return
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
    granted = {"atftpd": 4, "own": min(facts["window"] or 4, 4)}.get(facts["server"])
    has_losses = bool(facts["dropped_every"] or facts["loss_percent"])
    transfers = [transfer for transfer in boot["transfers"] if transfer["outcome"] == "complete"]
    yield from same("files", [facts["file"]], [transfer["file"] for transfer in transfers])
    for transfer in transfers:
        blocks = facts["file_bytes"] // transfer["block_size"] + 1
        yield from same("bytes", facts["file_bytes"], transfer["counts"]["bytes"])
        yield from same("blocks", blocks, transfer["counts"]["blocks"])
        yield from same("window asked for", 4, transfer["requested"]["window"])
        yield from same("window granted", granted, transfer["granted"]["window"])
        yield from same("blocks sent again", has_losses, transfer["counts"]["repeated_data"] > 0)
    rules = [finding["rule"] for finding in boot["findings"]]
    yield from same("a finding on the offer's delay", facts["address_checked"], "offer_delay" in rules)
    yield from same("a finding on lost blocks", has_losses, "retransmissions" in rules)
    # With one window in the capture, a larger one is advised only where it helps by both ends of the model's range.
    yield from same("a finding on the window that was refused", granted != 4, "window_refused" in rules)
    if facts["address_checked"]:
        delay = boot["dhcp"][0]["offer_delay_ns"]
        if delay < ADDRESS_CHECK_NS:
            yield f"the offer's delay: {delay} ns are less than the server waits"


def path_differences(facts, path):
    """The differences between the path of two captures and the planted delay and losses."""
    if not path:
        yield "the path: two captures of one boot were not recognized"
        return
    planted_ns = 2 * facts["delay_ms"] * 1e6
    if not planted_ns <= path["shortest_round_trip_ns"] <= planted_ns * (1 + MAX_RELAY_PERCENT / 100):
        yield f"the path: round trip {path['shortest_round_trip_ns'] / 1e6:.2f} ms, planted {planted_ns / 1e6:.2f} ms"
    if path["client_capture"].rsplit("/", 1)[-1] != "client.pcap":
        yield f"the path: {path['client_capture']} is not the client's capture"
    lost = facts["lost"] or {"to_client": 0, "to_server": 0}
    for direction, planted in lost.items():
        if path[direction]["lost"] != planted:
            yield f"the path: {path[direction]['lost']} packets lost {direction.replace('_', ' ')}, planted {planted}"


def failed(facts, boot):
    """The differences between the report of a failed boot and the injected fault and the firmware's message."""
    outcome = boot["outcome"]
    if (outcome["verdict"], outcome["reason"]) != ("failed", REASONS[facts["fault"]]):
        yield f"outcome: {outcome['verdict']}, {outcome['reason']}: {outcome['description']}"
    codes = [code["code"] for code in outcome["codes"]]
    # Firmware that refuses an unsigned program shows no PXE code.
    if facts["screen"] and not set(facts["screen"]) & set(codes):
        yield f"codes: the screen shows {facts['screen']}, the answer says {codes}"
    if "duplex" in json.dumps(boot["findings"]):
        yield "a cable is suspected where nothing was sent again"


if __name__ == "__main__":
    main()
