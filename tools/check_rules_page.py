#!/usr/bin/env python3
"""Checks that the book's page of rules holds every rule the code has, in the words the program prints."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSITIONS = ROOT / "crates/analysis/src/transition"
CODE = [TRANSITIONS / "boot/phases.rs", TRANSITIONS / "desktop.rs"]
PAGE = ROOT / "docs/src/reference/rules.md"


def main():
    code = "".join(file.read_text().split("#[cfg(test)]")[0] for file in CODE)
    rules = re.findall(r'Rule::(measured|inferred)\(\s*(?:format!\()?"([^"]+)"', code)
    if len(rules) < 16:
        print(f"check_rules_page: {len(rules)} rules found in {' and '.join(file.name for file in CODE)}: is it still the place?", file=sys.stderr)
        return 1
    page = PAGE.read_text().replace("`", "")
    missing = [
        (certainty, phrase)
        for certainty, phrase in rules
        if not re.search(re.escape(phrase.replace("{shell}", "the shell (explorer.exe)")) + rf"[^|]*\| {certainty}", page)
    ]
    for certainty, phrase in missing:
        print(f"check_rules_page: {PAGE.relative_to(ROOT)} lacks: {phrase} ({certainty})", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
