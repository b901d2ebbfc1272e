#!/usr/bin/env python3
"""Checks that the book's page of rules has every rule of the code, in the words that the program prints."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSITIONS = ROOT / "crates/answers/transitions/src"
CODE = [TRANSITIONS / "boot/phases.rs", TRANSITIONS / "desktop.rs"]
PHRASES = ROOT / "crates/answers/evidence/src/rule/phrase.rs"
PAGE = ROOT / "docs/src/reference/rules.md"


def phrase(rule, phrases):
    """Returns the text that the program prints for a rule."""
    first_start = re.fullmatch(r'first_start\("?([\w.]+)"?\)', rule)
    if first_start:
        return f"the first start of {first_start[1].replace('shell', 'the shell (explorer.exe)')}"
    if rule.startswith("Rule::WindowsAccount"):
        return "its field in Windows' own account of the boot"
    second_start = re.match(r'Rule::ProcessStarts \{ process: "([\w.]+)"\.to_owned\(\), ordinal: 2', rule)
    return f"the second start of {second_start[1]}" if second_start else phrases[rule.removeprefix("Rule::")]


def main():
    phrases = dict(re.findall(r'Self::(\w+) => (?:\{\s*)?"([^"]+)"', PHRASES.read_text()))
    code = "".join(file.read_text().split("#[cfg(test)]")[0] for file in CODE)
    searches = re.findall(r"Search::(measured|inferred)\(\s*(first_start\([^)]*\)|Rule::\w+(?: \{[^}]*\})?)", code)
    rules = [(certainty, phrase(rule, phrases)) for certainty, rule in searches]
    if len(rules) < 16:
        print(f"check_rules_page: {len(rules)} rules found in {' and '.join(file.name for file in CODE)}; update CODE if the rules moved", file=sys.stderr)
        return 1
    page = PAGE.read_text().replace("`", "")
    missing = [
        (certainty, words)
        for certainty, words in rules
        if not re.search(re.escape(words) + rf"[^|]*\| {certainty}", page)
    ]
    for certainty, words in missing:
        print(f"check_rules_page: {PAGE.relative_to(ROOT)} is missing: {words} ({certainty})", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
