#!/usr/bin/env python3
"""Writes python/LICENSES.txt: the licenses of onoff and of all crates that are linked into the Python package, for its wheels.

tools/python_licenses.py            write the file
tools/python_licenses.py --check    fail if it is out of date
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "python/LICENSES.txt"
OWN = ("LICENSE-MIT", "LICENSE-APACHE")
NAMES = re.compile(r"^(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
RULE = "=" * 80


def linked_crates():
    """Returns the crates of other authors that the package links, on any system, in order of name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", "python/Cargo.toml"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    linked, pending = set(), [metadata["resolve"]["root"]]
    while pending:
        current = pending.pop()
        if current in linked:
            continue
        linked.add(current)
        for dependency in nodes[current]["deps"]:
            # Build scripts, macros' own tests and the like are not linked.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                pending.append(dependency["pkg"])
    crates = [packages[crate] for crate in linked if packages[crate]["source"] is not None]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def texts(crate):
    """Returns the texts of the license files of a crate."""
    folder = pathlib.Path(crate["manifest_path"]).parent
    files = [file for file in folder.iterdir() if file.is_file() and NAMES.match(file.name)]
    files += [file for sub in ("LICENSES", "licenses", "license") if (folder / sub).is_dir() for file in (folder / sub).iterdir() if file.is_file()]
    if crate.get("license_file"):
        files.append(folder / crate["license_file"])
    found = [file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip() for file in sorted(set(files))]
    return [text for text in dict.fromkeys(found) if len(text) > 100]


def words(text):
    """Returns the words of a text, to find texts that differ only in their layout."""
    return " ".join(re.findall(r"\w+", text.lower()))


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    crates = linked_crates()
    users, first_text, without = {}, {}, []
    for crate in crates:
        found = texts(crate)
        if not found:
            without.append(crate)
        for text in found:
            users.setdefault(words(text), []).append(f"{crate['name']} {crate['version']}")
            first_text.setdefault(words(text), text)
    parts = ["onoff is licensed under MIT or Apache-2.0. Its Python package contains these libraries:", ""]
    parts += [f"{crate['name']} {crate['version']}: {crate['license'] or 'see its text'}" for crate in crates]
    if without:
        parts += ["", "Without a license file in the published crate (the license is that named above):", ""]
        parts += [f"{crate['name']} {crate['version']}: {', '.join(crate['authors']) or crate['repository'] or ''}" for crate in without]
    for name in OWN:
        text = (ROOT / name).read_text(encoding="utf-8").strip()
        users.setdefault(words(text), []).insert(0, "onoff")
        first_text[words(text)] = text
    for key, names in users.items():
        parts += ["", RULE, ", ".join(names), RULE, "", first_text[key]]
    text = "\n".join(line.rstrip() for line in "\n".join(parts).splitlines()) + "\n"
    if not sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print("python/LICENSES.txt is out of date: run tools/python_licenses.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
