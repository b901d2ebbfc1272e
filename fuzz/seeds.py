#!/usr/bin/env python3
"""Fills fuzz/corpus with seeds: recordings from this repository, the test kit and ONOFF_SAMPLES.

The fuzzer tries many more variants of short inputs than of long ones, so only the first part of a long recording is used.
The corpus is not committed.
"""

import gzip
import hashlib
import json
import lzma
import os
import pathlib
import struct
import tarfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LEN = 128 * 1024
OPENERS = {".xz": lzma.open, ".gz": gzip.open}


def recordings():
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    folders = [ROOT / "samples", *sorted((ROOT / "crates").glob("*/*/tests/found")), pathlib.Path(samples) / "etl"]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (".etl" in path.suffixes or folder.name == "found"):
                yield path


def firmware_tables():
    """Yields firmware tables."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "fpdt").rglob("*.bin")):
        yield path


def firmware_forms():
    """Yields firmware times as text and tables, one seed per format."""
    yield from firmware_tables()
    names = ["ResetEnd", "OsLoaderLoadImageStart", "OsLoaderStartImageStart", "ExitBootServicesEntry", "ExitBootServicesExit"]
    log = "".join(f"FPDT: Boot Performance - {name} = {21 + index}000000\r\n" for index, name in enumerate(names))
    yield (log * 2).encode()
    stamps = [(0, 18886, "1st timestamp"), (1, 18958, "start of romstage"), (2, 46334, "before RAM initialization"),
              (3, 2225788, "after RAM initialization"), (4, 2298974, "end of romstage")]
    yield "".join(f"{number:4}:{name:50} {time:,} ({index})\n" for index, (number, time, name) in enumerate(stamps)).encode()
    yield "".join(f"{number}\t{time}\t{index}\t{name}\n" for index, (number, time, name) in enumerate(stamps)).encode()
    table = struct.pack("<QHHI", 18886, 16, 1, len(stamps))
    yield table + b"".join(struct.pack("<Iq", number, time - 18886) for number, time, _ in stamps)
    raw = "".join(f"{index:5}: {0:16X} {index * 1000000:16X} {(index + 1) * 1000000:16X}  {token:>31}  {'PcdPeim':>31}\r\n"
                  for index, token in enumerate(["SEC", "PEIM", "DB:Start:", "BDS"]))
    heading = "DP Build Version:       2.4\r\nSystem Performance Timer Frequency:      24,000 (KHz)\r\n"
    yield (heading + "\r\n==[ RAW Trace ]========\r\n" + raw).encode()
    yield ("==[ Major Phases ]========\n  SEC Phase Duration:   1127 (us)\n  PEI Phase Duration:   99 (ms)\n\n"
           "==[ Drivers by Handle ]========\n   12:  [ 5C]   FAT File System   DB:Start:   1520\n"
           "==[ PEIMs ]========\n    3:  9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50  PEIM  412\n").encode()
    rows = "".join(f" {number:04X} | {time:7} ms | {1:7} ms | Stage entry point\n" for number, time in [(0x1000, 2), (0x1010, 9), (0x2000, 84)])
    yield ("Loader Performance Info\n Id   | Time (ms)  | Delta (ms) | Description\n" + rows).encode()


def event_logs():
    """Yields an event log and exports of events."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    yield from sorted((pathlib.Path(samples) / "etl").glob("*.evtx"))
    system = (
        "<System><Provider Name='{}'/><EventID>{}</EventID><TimeCreated SystemTime='2024-11-15T14:28:34.8747054Z'/>"
        "<EventRecordID>1</EventRecordID><Channel>{}</Channel><Computer>PC</Computer></System>"
    )
    boot = system.format("Microsoft-Windows-Diagnostics-Performance", 100, "Microsoft-Windows-Diagnostics-Performance/Operational")
    start = system.format("Microsoft-Windows-Kernel-General", 12, "System")
    text = (
        f"<Events><Event>{boot}<EventData><Data Name='BootTime'>38336</Data><Data Name='Name'>R&amp;D &#65;</Data></EventData></Event>"
        f"<Event>{start}<UserData><X><Y>1</Y><Z/></X></UserData></Event><Event>{start}<EventData><Data>a</Data></EventData></Event></Events>"
    )
    yield text.encode()
    yield b"\xff\xfe" + text.encode("utf-16-le")
    columns = "RecordNumber,EventRecordId,TimeCreated,EventId,Level,Provider,Channel,ProcessId,ThreadId,Computer,UserId,Payload"
    data = '{""EventData"":{""Data"":[{""@Name"":""BootTime"",""#text"":""38336""},{""@Name"":""IsGood"",""#text"":""True""}]}}'
    row = "1,1,2024-11-15 14:28:34.8747054,{},Info,{},System,4,8,PC,,\"{}\"\r\n"
    joined = '{""EventData"":{""Data"":""10.00., 19045, 0"",""Binary"":""E8-07""}}'
    rows = row.format(12, "Microsoft-Windows-Kernel-General", data) + row.format(6009, "EventLog", joined)
    yield ("\ufeff" + columns + "\r\n" + rows).encode()


def power_reports():
    """Yields a sleep study with data and one with tables, a battery report, system sleep diagnostics and XML forms."""
    session = (
        '{"Type":2,"SessionId":1,"EnterReason":"Lid","ExitReason":"----","EntryTimestamp":"2026-03-01T20:00:00Z",'
        '"Duration":600000000,"OnAc":false,"EntryRemainingCapacity":40000,"EntryFullChargeCapacity":50000,'
        '"ExitRemainingCapacity":39000,"Metadata":{"Values":[{"Key":"Info.SwLowPowerStateTime","Value":12345},'
        "{\"Key\":\"EventLog.BootAppStatus\",\"Value\":'0x0'}]},\"TopBlockers\":[{\"Name\":\"USB\",\"Type\":1,\"ActiveTime\":5}]}"
    )
    yield f'<html><script>var LocalSprData = {{"ScenarioInstances":[{session},]}};</script></html>'.encode()
    row = (
        '<tr><td>1</td><td class="dateTime"><span>2026-03-01 </span>20:00:00</td><td class="hms">1:00:00</td>'
        '<td class="state">Sleep</td></tr>'
    )
    details = '<tr><td class="EntryReason">R&amp;D</td><td class="ExitReason">&#65;</td></tr><tr><td>TargetState</td><td>4</td></tr>'
    yield (
        f'<meta name="ReportUtcOffset" content="-6:00"/><table id="summary-table">{row}</table>'
        f'<a name="connected-standby-session-1"/><table>{details}</table>'
    ).encode()
    usage = "".join(
        f'<tr class="even {mark}"><td class="dateTime"><span>2026-03-01 </span>{hour}:00:00</td><td class="state">{state}</td>'
        f'<td class="acdc">{source}</td><td class="percent">71 %</td><td class="mw">45,620 mWh</td></tr>'
        for mark, hour, state, source in [
            ("dc", 10, "Connected standby", "Battery"),
            ("suspend", 12, "Suspended", ""),
            ("", 20, "Report generated", "AC"),
        ]
    )
    full = '<tr style="height:0.4em;"></tr><tr><td>FULL</td><td>50,000 mWh</td></tr>'
    yield f'<html xmlns:bat="http://schemas.microsoft.com/battery/2012"><table>{full}{usage}</table></html>'.encode()
    cells = ["0:15:00", "Sleeping3", "0", "System Idle", "14", "0", "1"]
    sleep = '<td class="percent">2026-03-01T20:00:00</td>' + "".join(f"<td>{cell}</td>" for cell in cells)
    yield (
        '<html xmlns:ssd="http://schemas.microsoft.com/systemsleepdiagnostics/2016"><table><tr><td>1</td>'
        '<td class="dateTime">2026-03-01 19:00:00</td><td class="hms">2:00:00</td><td>Working</td></tr></table>'
        '<a name="user-not-present-session-1"/><h1>+ a.exe</h1><table><tr><td class="percent">2026-03-01T19:00:00</td>'
        f"<td>1:00:00</td><td>System</td><td>0x1</td></tr></table><table><tr>{sleep}</tr></table></html>"
    ).encode()
    entries = "".join(
        f'<UsageEntry Timestamp="2026-03-01T{hour}:00:00Z" Duration="1" Ac="0" EntryType="{kind}" ChargeCapacity="45620" '
        'FullChargeCapacity="50000"/>'
        for hour, kind in [(10, "ConnectedStandby"), (12, "Suspend"), (20, "ReportGenerated")]
    )
    yield (
        f'<BatteryReport xmlns="http://schemas.microsoft.com/battery/2012"><UtcOffset>+1:00</UtcOffset>{entries}</BatteryReport>'
    ).encode()
    yield (
        '<SleepStudy xmlns="http://schemas.microsoft.com/sleepstudy/2012"><ScenarioInstances><OsStateInstance Type="Sleep" '
        'EntryTimestamp="2026-03-01T20:00:00Z" Duration="6000000000"><OSStateRecord Name="Scenario Instance ID" Value="7"/>'
        '</OsStateInstance><ScenarioInstance Id="7" TimeStamp="2026-03-01T20:00:00Z" Duration="6000000000" '
        'LowPowerStateTime="5"><TopBlocker Name="USB" ScenarioActiveTimePercent="50" ActiveTime="3000000000" '
        'Type="Fx Device"/></ScenarioInstance></ScenarioInstances></SleepStudy>'
    ).encode()


def packet_events():
    """Yields all kinds of packet events: two bytes select the kind, one is the length."""
    for path in captures():
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            data = file.read(MAX_LEN)
        if data[:4] != b"\xd4\xc3\xb2\xa1":
            continue
        offset, frames = 24, []
        while offset + 16 <= len(data) and len(frames) < 64:
            length = struct.unpack_from("<I", data, offset + 8)[0]
            frames.append(data[offset + 16:offset + 16 + length][:200])
            offset += 16 + length
        yield b"".join(bytes([0, 3, len(frame) + 12]) + struct.pack("<III", 1, 1, len(frame)) + frame for frame in frames)
        monitored = (struct.pack("<QHHHHHHHIIHH", offset, 1, 1, 1, 1, 1, 1, 0, 0, 0, len(frame), len(frame)) + frame for frame in frames)
        yield b"".join(bytes([2, 0, len(event)]) + event for event in monitored)


def captures():
    """Yields network captures."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "netboot").rglob("*.pcap*")):
        if path.is_file():
            yield path


def linux_parts(names):
    """Yields the first part of each file in the Linux recordings whose name ends with one of `names`."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "linux").glob("*.tar.xz")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.size > 0 and member.name.endswith(names):
                    yield archive.extractfile(member).read(MAX_LEN // 4)


def traces():
    """Yields Linux tracer text and files."""
    yield from linux_parts((".trace.txt", ".trace.dat"))


def linux():
    """Yields parts of Linux recordings, each after the byte that selects its name."""
    names = (".trace.txt", "dmesg.txt", "dmesg.json", "show-units.txt", "show-manager.txt", "analyze-dump.txt")
    # bootchart samples.
    stat = "1 (init) S 0 1 1 0 -1 4194560 272 0 15 0 0 98 0 0 20 0 1 0 266 3227648 594\n"
    yield b"\0" + f"1261\n{stat}\n1281\n{stat}{stat.replace('1 (init)', '700 (udevd)')}".encode()
    for part in linux_parts((*names, "journal.export", "journal.json", "FBPT.bin", "clock.txt")):
        yield b"\0" + part


def journals():
    """Yields small synthetic journal files, because journald writes large sparse files, in all formats and compressions."""
    for compact in (False, True):
        for flag, pack in ((0, None), (1, lzma.compress), (2, lz4_literals), (4, None)):
            yield journal(compact, flag, pack or (lambda field: field))


def lz4_literals(field):
    """Returns an LZ4 block with only literals, preceded by its length."""
    length = len(field)
    header = bytes([0xF0]) + b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])
    return struct.pack("<Q", length) + header + field


def journal(compact, flag, pack):
    """Returns a journal with eight entries in two lists; the fourth field of each entry is compressed."""
    header_length = 264
    out = bytearray(header_length)

    def add_object(kind, body, flags=0):
        offset = len(out)
        out.extend(struct.pack("<BB6xQ", kind, flags, 16 + len(body)) + body)
        out.extend(bytes(-len(out) % 8))
        return offset

    def data(field, flags=0):
        return add_object(1, bytes(56 if compact else 48) + field, flags)

    offset_format = "<I" if compact else "<Q"
    boot = bytes(range(16))
    unit, entries = data(b"UNIT=a.service"), []
    for index in range(8):
        text = b"MESSAGE=Started a.service %d " % index + b"words " * 40
        items = [unit, data(b"_PID=%d" % index), data(pack(text), flag)]
        pack_item = (lambda offset: struct.pack("<I", offset)) if compact else (lambda offset: struct.pack("<QQ", offset, 7))
        times = struct.pack("<QQQ", index + 1, 1_700_000_000_000_000 + index, index * 1000)
        entries.append(add_object(3, times + boot + bytes(8) + b"".join(map(pack_item, items))))
    second_list = add_object(6, bytes(8) + b"".join(struct.pack(offset_format, offset) for offset in [*entries[4:], 0, 0]))
    first_list = add_object(6, struct.pack("<Q", second_list) + b"".join(struct.pack(offset_format, offset) for offset in entries[:4]))
    flags = {0: 0, 1: 1, 2: 2, 4: 8}[flag] | (16 if compact else 0)
    struct.pack_into("<8sII", out, 0, b"LPKSHHRH", 0, flags)
    struct.pack_into("<QQ", out, 88, header_length, len(out) - header_length)
    struct.pack_into("<Q", out, 152, len(entries))
    struct.pack_into("<Q", out, 176, first_list)
    return bytes(out)


def file_operations():
    """Yields file operations: the first part of real recordings, and a few lines of each other format."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "fileio").rglob("*")):
        if path.suffix == ".zz":
            yield zlib.decompress(path.read_bytes())[: MAX_LEN // 4]
        elif path.suffix in (".txt", ".log", ".iolog"):
            yield path.read_bytes()[: MAX_LEN // 16]
    yield b"time,pid,process,file,operation,offset,length\n0.5,7,app,a.dat,read,0,4\n"
    yield b"  8,0    3        1     0.000000000   697  Q   R 1000 + 8 [reader]\n  8,0 3 5 0.0007 0 C R 1000 + 8 [0]\n"
    yield b"# DXT, file_id: 1, file_name: /a\n X_POSIX 0 read 0 0 4096 0.1 0.2\n"
    yield b"7 0.000123 read(3</a>,  <unfinished ...>\n7 0.000001 <... read resumed>\"x\", 4) = 1 <0.000004>\n"


def xpress_huffman_literals(plain):
    """Compresses by XPRESS Huffman without matches: each byte is its own 8-bit code, with the first byte of a pair in
    the upper half."""
    padded = plain + b"\0" * (len(plain) % 2)
    pairs = b"".join(bytes(reversed(padded[index : index + 2])) for index in range(0, len(padded), 2))
    return b"\x88" * 128 + b"\0" * 128 + pairs + b"\0" * 4


def ready_boot(inner):
    packed = xpress_huffman_literals(inner)
    return struct.pack("<4sII", b"PfB\xe3", len(inner), len(packed)) + packed


def prefetch():
    """Yields prefetch files, and a ReadyBoot trace, Layout.ini and Superfetch database from the same folder."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "prefetch").rglob("*.pf")):
        yield path

    def name(parent, text):
        return struct.pack("<IH", parent, len(text)) + text.encode("utf-16-le")

    folder = name(0xFFFFFFFF, "Windows")
    names = folder + name(0, "a.dll")
    read = struct.pack("<IIQIIIIII", 1, 2, 4096, len(folder), 402, 512, 1000, 1, 0)
    disk = b"DMIO:ID:" + bytes(range(16))
    trace = struct.pack("<4sIIII", b"xFcE", 1, 2, 0, len(names)) + struct.pack("<H", len(disk)) + disk + read * 2 + names
    yield ready_boot(trace)
    yield ready_boot(struct.pack("<4sIII", b"iLdR", 1, len(names), 0) + names)
    yield b"\xff\xfe" + "[OptimalLayoutFile]\r\nVersion=1\r\nC:\\Windows\\a.dll\r\nC:\\b.dll\r\n".encode("utf-16-le")
    header = struct.pack("<17I", 14, 128, 104, 1, *range(13)) + b"\0" * 60
    yield header
    yield b"MAM\x04" + struct.pack("<I", len(header)) + xpress_huffman_literals(header)


def hives():
    """Yields the first part of real registry hives, without a log."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "hives").glob("*.xz")):
        with lzma.open(path) as file:
            yield b"\0\0" + file.read(32 * 1024)


def comparisons():
    """Yields limits, a study and two baselines, joined by the record separator."""
    limits = "boot.total 5% and 500ms\nboot.phase.*Init 10% or 2s\nboot.service.* 3\n"
    study = """transition = "boot"
[[configuration]]
name = "off"
files = ["off"]
factors = { release = "2019", filter = "off" }
[[configuration]]
name = "on"
files = ["on"]
factors = { release = "2019", filter = "on" }
[[table]]
title = "Filter"
measures = ["boot.total"]
labels = ["Total"]
rows = "release"
columns = "filter"
reduction_of = "boot.total"
unit = "s"
decimals = 1
"""

    def measure(key, category, value, unit="ns"):
        return {"key": key, "category": category, "unit": unit, "value": value, "phase": None, "since_phase_ns": None, "doubtful": False}

    def baseline(totals):
        runs = [
            {
                "name": f"{index}.etl",
                "transition": "boot",
                "kind": "cold",
                "exclusions": [],
                "measures": [
                    measure("boot.total", "total", total),
                    measure("boot.phase.WinLogonInit", "phase", total // 3),
                    measure("boot.service.Slow", "service", total // 7),
                ],
            }
            for index, total in enumerate(totals)
        ]
        return json.dumps({"format": "onoff-baseline", "version": 2, "transition": "boot", "runs": runs})

    second = 1_000_000_000
    slow = baseline([34 * second, 35 * second, 36 * second])
    for totals in ([31 * second, 31 * second + 5, 32 * second], [0], [7, 7, 7, 7]):
        yield "\x1e".join([limits, study, baseline(totals), slow]).encode()
        yield "\x1e".join(["boot.* 1%", "", baseline(totals)]).encode()


# Seeds of targets that do not read Event Trace Logs.
SEEDS = {
    "capture": captures,
    "comparison": comparisons,
    "event_log": event_logs,
    "fileio": file_operations,
    "firmware": firmware_tables,
    "firmware_forms": firmware_forms,
    "ftrace": traces,
    "hive": hives,
    "journal": journals,
    "linux": linux,
    "prefetch": prefetch,
    "packet_events": packet_events,
    "power_report": power_reports,
}


def main():
    for target in sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs")):
        corpus = ROOT / "fuzz" / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        count = 0
        for seed in SEEDS.get(target, recordings)():
            data = seed
            if isinstance(seed, pathlib.Path):
                with OPENERS.get(seed.suffix, open)(seed, "rb") as file:
                    data = file.read(MAX_LEN)
            (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
            count += 1
        print(f"seeds: {count} for {target} in {corpus.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
