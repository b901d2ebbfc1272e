#!/usr/bin/env python3
"""Checks that the book's page of rules lists every rule in the code, with the text that the program prints."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSITIONS = ROOT / "crates/answers/transitions/src"
CODE = [TRANSITIONS / "boot/phases.rs", TRANSITIONS / "desktop.rs"]
PHRASES = ROOT / "crates/answers/evidence/src/rule/phrase.rs"
PAGE = ROOT / "docs/src/reference/rules.md"


def phrase(rule, phrases):
    """The text that the program prints for a rule."""
    started = re.fullmatch(r'first_start\("?([\w.]+)"?\)', rule)
    if started:
        return f"the first start of {started[1].replace('shell', 'the shell (explorer.exe)')}"
    process = re.match(r'Rule::ProcessStarts \{ process: "([\w.]+)"\.to_owned\(\), ordinal: 2', rule)
    return f"the second start of {process[1]}" if process else phrases[rule.removeprefix("Rule::")]


def main():
    phrases = dict(re.findall(r'Self::(\w+) => (?:\{\s*)?"([^"]+)"', PHRASES.read_text()))
    code = "".join(file.read_text().split("#[cfg(test)]")[0] for file in CODE)
    named = re.findall(r"Search::(measured|inferred)\(\s*(first_start\([^)]*\)|Rule::\w+(?: \{[^}]*\})?)", code)
    rules = [(certainty, phrase(rule, phrases)) for certainty, rule in named]
    if len(rules) < 16:
        print(f"check_rules_page: {len(rules)} rules found in {' and '.join(file.name for file in CODE)}: have they moved?", file=sys.stderr)
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
