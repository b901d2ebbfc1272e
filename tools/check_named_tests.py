#!/usr/bin/env python3
"""Checks that every test that the book names as `file::function` exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs/src/reference/linux-coverage.md"]
# `file::function`, such as `linux_text::what_systemd_analyze_prints_is_read`.
TEST_REFERENCE = re.compile(r"`(\w+)::(\w+)`")
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
        names = TEST_REFERENCE.findall(page.read_text())
        if not names:
            print(f"check_named_tests: {page.relative_to(ROOT)} names no tests", file=sys.stderr)
            faults += 1
        for test in names:
            if test not in tests:
                print(f"check_named_tests: {page.relative_to(ROOT)} names the test {'::'.join(test)}, which does not exist", file=sys.stderr)
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
