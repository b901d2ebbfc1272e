#!/usr/bin/env python3
"""Checks that onoff and a script on the package evtx find the same boots in Windows event logs, with the same durations, and
compares their times.

    event_logs.py ONOFF FOLDER...

Each FOLDER has the event logs of one computer. The script does what published ones do: it reads every record of the channel
Diagnostics-Performance and takes the fields of event 100 by name. onoff reads all channels, finds boots that have no such event,
and assigns everything else to its boot; it summarizes every boot. Exits with 1 if the durations differ. Needs evtx
(bench/requirements.txt).
"""

import json
import pathlib
import resource
import subprocess
import sys
import time

from evtx import PyEvtxParser


def seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def of_script(files):
    """Returns the boots in these logs by start, each with its duration in milliseconds, and the number of records read."""
    boots, records = {}, 0
    for path in files:
        for record in PyEvtxParser(str(path)).records_json():
            records += 1
            event = json.loads(record["data"])["Event"]
            identity = event["System"]["EventID"]
            if isinstance(identity, dict):
                identity = identity["#text"]
            provider = event["System"]["Provider"]["#attributes"].get("Name")
            if provider == "Microsoft-Windows-Diagnostics-Performance" and identity == 100:
                data = event["EventData"]
                start = data["BootStartTime"][:19].replace("-", "").replace(":", "") + "Z"
                boots[start] = data["BootTime"]
    return boots, records


def of_onoff(onoff, folder):
    answer = subprocess.run([onoff, "summary", str(folder), "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    rows = json.loads(answer)["rows"]
    return {row["boot"]: row["duration_ns"] // 1_000_000 for row in rows if row["transition"] == "boot" and row["duration_ns"]}


def main():
    onoff, *folders = sys.argv[1:]
    differ = False
    for folder in map(pathlib.Path, folders):
        files = sorted(folder.glob("*.evtx"))
        account_logs = [path for path in files if "Diagnostics-Performance" in path.name]
        began = time.process_time()
        theirs, _ = of_script(account_logs)
        middle = time.process_time()
        _, records = of_script(files)
        script_all = time.process_time() - middle
        before = seconds_of_children()
        ours = of_onoff(onoff, folder)
        onoff_all = seconds_of_children() - before
        different = sorted(start for start in ours.keys() | theirs.keys() if ours.get(start) != theirs.get(start))
        differ |= bool(different)
        print(
            f"{folder.name}: {len(files)} logs, {records:,} records; {len(theirs)} boots with an account, {len(different)} differ; "
            f"CPU: script {middle - began:.2f} s for the accounts and {script_all:.2f} s for all logs, onoff {onoff_all:.2f} s for all logs"
        )
        for start in different[:10]:
            print(f"  {start}: onoff {ours.get(start)}, script {theirs.get(start)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
