#!/usr/bin/env python3
"""Records network boots (record.py) and checks what onoff says of them.

lab/netboot/check.py ONOFF [OUT]

No time is asserted, but that the delay which is put in is found: order, presence, identities and bytes are.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The DHCP server waits about 3 s for an answer from an address it is about to offer.
ADDRESS_CHECK_NS = 2_500_000_000
RUNS = {"windows": ["--server", "atftpd", "--check-address"], "lockstep": ["--server", "dnsmasq"]}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    onoff = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else folder)
        for name, arguments in RUNS.items():
            subprocess.run([sys.executable, HERE / "record.py", out / name, *arguments], check=True)
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
    print(f"check: {name}: {boot['duration_ns'] / 1e9:.2f} s, {facts['file_bytes']} bytes; found {findings}")


def differences(facts, answer):
    """What the answer says otherwise than the facts."""
    def same(what, expected, found):
        if expected != found:
            yield f"{what}: expected {expected!r}, found {found!r}"

    yield from same("machines that booted", [facts["client_mac"]], [boot["client"]["mac"] for boot in answer["boots"]])
    if len(answer["boots"]) != 1:
        return
    boot = answer["boots"][0]
    yield from same("outcome", "loaded", boot["outcome"]["verdict"])
    yield from same("losses", [], answer["losses"])
    expected = ["dhcp", "size_probe", "boot_program"]
    yield from same("order of the stages", expected, [stage["kind"] for stage in boot["stages"] if stage["kind"] in expected])
    # While the server looks whether the address is in use, the client may ask again.
    messages = [message["kind"] for message in boot["dhcp"][0]["messages"]]
    yield from same("DHCP messages", ["discover", "offer", "request", "ack"], list(dict.fromkeys(messages)))
    windows = facts["server"] == "atftpd"
    transfers = [transfer for transfer in boot["transfers"] if transfer["outcome"] == "complete"]
    yield from same("files", [facts["file"]], [transfer["file"] for transfer in transfers])
    for transfer in transfers:
        blocks = facts["file_bytes"] // transfer["block_size"] + 1
        yield from same("bytes", facts["file_bytes"], transfer["counts"]["bytes"])
        yield from same("blocks", blocks, transfer["counts"]["blocks"])
        yield from same("window asked for", 4, transfer["asked"]["window"])
        yield from same("window granted", 4 if windows else None, transfer["granted"]["window"])
    rules = [finding["rule"] for finding in boot["findings"]]
    yield from same("a finding on the offer's delay", facts["address_checked"], "offer_delay" in rules)
    # With one window in the capture, a larger one is advised only where it helps by both ends of the model's range.
    yield from same("a finding on the window that was refused", not windows, "window_refused" in rules)
    if facts["address_checked"]:
        delay = boot["dhcp"][0]["offer_delay_ns"]
        if delay < ADDRESS_CHECK_NS:
            yield f"the offer's delay: {delay} ns are less than the server waits"


if __name__ == "__main__":
    main()
