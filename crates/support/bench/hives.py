#!/usr/bin/env python3
"""Checks that onoff and regipy read the same services from SYSTEM hives: names, start types, error controls, groups and
dependencies.

    hives.py ONOFF HIVE...

Each HIVE is an uncompressed SYSTEM hive; both apply its logs (HIVE.LOG1, HIVE.LOG2) if present. Exits with 1 if they differ.
Needs regipy (bench/requirements.txt).
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from regipy.recovery import apply_transaction_logs
from regipy.registry import RegistryHive

START = {"boot": 0, "system": 1, "auto": 2, "demand": 3, "disabled": 4, "unknown": None}
ERROR = {"ignore": 0, "normal": 1, "severe": 2, "critical": 3, "unknown": None}


def of_regipy(path, folder):
    logs = [path.with_name(path.name + ending) for ending in (".LOG1", ".LOG2")]
    logs = [str(log) for log in logs if log.exists()]
    if logs:
        restored = pathlib.Path(folder) / path.name
        apply_transaction_logs(str(path), *logs, restored_hive_path=str(restored), verbose=False)
        path = restored
    hive = RegistryHive(str(path))
    current = {value.name: value.value for value in hive.get_key("\\Select").iter_values()}["Current"]
    services = {}
    for key in hive.get_key(f"\\ControlSet{current:03}\\Services").iter_subkeys():
        values = {value.name.lower(): value.value for value in key.iter_values()} if key.values_count else {}
        if "start" in values or "type" in values:
            needed = [name for name in values.get("dependonservice") or [] if name]
            group = values.get("group") or ""
            services[key.name] = (values.get("start"), values.get("errorcontrol"), group, needed)
    return services


def of_onoff(onoff, path):
    answer = subprocess.run([onoff, "image", str(path), "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    services = json.loads(answer)["image"]["services"]
    row = lambda one: (START[one["start"]], ERROR[one["error_control"]], one["group"], one["depends_on_services"])
    return {one["name"]: row(one) for one in services}


def main():
    onoff, *hives = sys.argv[1:]
    differ = False
    for path in map(pathlib.Path, hives):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            theirs = of_regipy(path, folder)
            middle = time.perf_counter()
            ours = of_onoff(onoff, path)
            end = time.perf_counter()
        different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
        differ |= bool(different)
        print(f"{path.name}: {len(ours)} services, {len(different)} differ; regipy {middle - began:.1f} s, onoff {end - middle:.2f} s")
        for name in different[:10]:
            print(f"  {name}: onoff {ours.get(name)}, regipy {theirs.get(name)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
