#!/usr/bin/env python3
"""Inserts the program's output, read from stdin and shortened, into the README's example.

    onoff boot samples/slow-boot.etl | tools/readme_output.py
"""

import pathlib
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
FIRST = "$ onoff boot samples/slow-boot.etl\n"
# Paragraphs to show, by first word. The first paragraph, with the result, is always shown.
SHOWN = ("Phases", "Services", "Drivers", "Processors")


def main():
    paragraphs = sys.stdin.read().strip().split("\n\n")
    lines, dots = [], False
    for number, paragraph in enumerate(paragraphs):
        if number in (0, len(paragraphs) - 1) or paragraph.startswith(SHOWN):
            lines += ["..."] if dots else []
            lines += paragraph.splitlines() + [""]
            dots = False
        else:
            dots = True
    before, rest = README.read_text().split(FIRST)
    after = rest.split("```", 1)[1]
    README.write_text(before + FIRST + "\n".join(lines).rstrip() + "\n```" + after)


if __name__ == "__main__":
    main()
