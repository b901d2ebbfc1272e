#!/usr/bin/env python3
"""Checks that every test that the book refers to as `file::function` exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs/src/reference/linux-coverage.md"]
# `file::function`, as in `linux_text::what_systemd_analyze_prints_is_read`.
NAMED = re.compile(r"`(\w+)::(\w+)`")
TEST = re.compile(r"#\[test\](?:\s*#\[[^\]]*\])*\s*fn (\w+)\(")


def main():
    tests = {
        (file.stem, name)
        for file in ROOT.glob("crates/**/*.rs")
        if "target" not in file.parts
        for name in TEST.findall(file.read_text())
    }
    faults = 0
    for page in PAGES:
        named = NAMED.findall(page.read_text())
        if not named:
            print(f"check_named_tests: {page.relative_to(ROOT)} refers to no test", file=sys.stderr)
            faults += 1
        for test in named:
            if test not in tests:
                print(f"check_named_tests: {page.relative_to(ROOT)} refers to {'::'.join(test)}, which is not a test", file=sys.stderr)
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
