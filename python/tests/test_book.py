"""Runs the commands and examples of the documentation about Python and databases."""

import doctest
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["python.md", "tables.md"])
def test_page_examples(page, tmp_path, monkeypatch):
    text = (ROOT / "docs/src/how-to" / page).read_text()
    shutil.copy(ROOT / "samples/slow-boot.etl", tmp_path / "boot.etl")
    monkeypatch.chdir(tmp_path)
    for command in re.findall(r"^onoff export .*parquet.*$", text, re.MULTILINE):
        program, *arguments = shlex.split(command)
        subprocess.run([sys.executable, "-m", program, *arguments], check=True, stdout=subprocess.DEVNULL)
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(blocks, {}, page, page, 0)
    assert examples.examples
    results = doctest.DocTestRunner().run(examples)
    assert results.failed == 0
    assert os.getcwd() == str(tmp_path)


def test_readme_example(monkeypatch):
    """The README shows no results, so only check that there are some."""
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```python\n(.*?)```", pathlib.Path("README.md").read_text(), re.DOTALL)
    namespace: dict = {}
    calls = [line.split("#")[0].strip() for line in block.splitlines() if line.startswith(("trace.", "onoff."))]
    exec("".join(line + "\n" for line in block.splitlines() if line.startswith(("import", "trace ="))), namespace)
    assert [len(eval(call, namespace)) > 0 for call in calls] == [True, True]
