#!/usr/bin/env python3
"""Shortens the program's output (from stdin) and writes it into the README.

    onoff boot samples/slow-boot.etl | tools/readme_output.py
"""

import pathlib
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
COMMAND = "$ onoff boot samples/slow-boot.etl\n"
# Paragraphs of the output to keep, by first word. The first paragraph is always kept.
KEPT = ("Phases", "Services", "Drivers", "CPU")


def main():
    paragraphs = sys.stdin.read().strip().split("\n\n")
    lines, has_gap = [], False
    for number, paragraph in enumerate(paragraphs):
        if number in (0, len(paragraphs) - 1) or paragraph.startswith(KEPT):
            lines += ["..."] if has_gap else []
            lines += paragraph.splitlines() + [""]
            has_gap = False
        else:
            has_gap = True
    before, remaining = README.read_text().split(COMMAND)
    after = remaining.split("```", 1)[1]
    README.write_text(before + COMMAND + "\n".join(lines).rstrip() + "\n```" + after)


if __name__ == "__main__":
    main()
