"""Types: the generated file is current, and the examples of the book pass mypy and pyright in strict mode."""

import importlib.util
import copy
import doctest
import inspect
import keyword
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import onoff
import onoff.types
from onoff._answers import Record

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
PAGES = ("python.md", "fleet.md")


def test_generated_file_is_current():
    subprocess.run([sys.executable, "tools/python_types.py", "--check"], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Returns a folder with the Python examples of each page as a file."""
    folder = tmp_path_factory.mktemp("book")
    for page in PAGES:
        text = (ROOT / "docs/src/how-to" / page).read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        # `make wheel` does not install Ray.
        blocks = [block for block in blocks if ", ray" not in block or importlib.util.find_spec("ray")]
        code = "\n".join("\n".join(example.source for example in doctest.DocTestParser().get_examples(block)) if ">>>" in block else block for block in blocks)
        (folder / f"{page[:-3]}_page.py").write_text(code)
    return folder


def errors_of(command, folder):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def check(tool, folder):
    if tool == "mypy":
        # Dask, DuckDB, Polars, pyarrow and Ray bring no types, or their own errors.
        (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n[mypy-dask.*,duckdb.*,polars.*,pyarrow.*,ray.*]\nignore_missing_imports = true\nfollow_imports = skip\n")
        return errors_of([sys.executable, "-m", "mypy", "."], folder)
    settings = '{"typeCheckingMode": "strict", "reportMissingTypeStubs": false, "reportDuplicateImport": false, "reportUnknownMemberType": false, "reportUnknownVariableType": false, "reportUnknownArgumentType": false, "reportUnusedExpression": false}'
    (folder / "pyrightconfig.json").write_text(settings)
    return errors_of([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], folder)


@pytest.mark.parametrize("tool", ["mypy", "pyright"])
def test_book_examples_are_well_typed(book, tool, tmp_path):
    code, output = check(tool, book)
    assert code == 0, output
    # A misspelt name in the same examples is an error, so the check sees types.
    for page in book.glob("*_page.py"):
        (tmp_path / page.name).write_text(page.read_text().replace("boot.total", "boot.totall"))
    code, output = check(tool, tmp_path)
    assert code != 0 and "totall" in output


def classes():
    return [cls for cls in vars(onoff.types).values() if inspect.isclass(cls) and issubclass(cls, Record) and cls.__module__ == "onoff.types.results"]


def test_no_declared_name_is_hidden():
    """A field that is a method or a keyword has a trailing underscore, and only then."""
    assert len(classes()) > 300
    for cls in classes():
        for base in cls.__mro__[1:]:
            assert not set(cls.__annotations__) & set(vars(base)) - {"onoff", "__slots__"}, cls
        for name in cls.__annotations__:
            assert not keyword.iskeyword(name), (cls, name)
            assert not name.endswith("_") or keyword.iskeyword(name[:-1]) or hasattr(cls, name[:-1]), (cls, name)


def walk(record, path=""):
    """Yields each object with the names that its class does not declare, and the names with a wrong type."""
    yield path, record
    for name, value in record.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Record):
                yield from walk(item, f"{path}.{name}")


DOCUMENTS = {
    "boot": lambda: onoff.boot(SAMPLES / "slow-boot.etl"),
    "linux boot": lambda: onoff.boot(SAMPLES / "linux-boot.tar.xz"),
    "shutdown": lambda: onoff.shutdown(SAMPLES / "slow-shutdown.etl"),
    "suspend": lambda: onoff.suspend(SAMPLES / "slow-sleep.etl"),
    "diagnose": lambda: onoff.open(SAMPLES / "slow-boot.etl").diagnose(),
    "why": lambda: onoff.why(SAMPLES / "slow-boot.etl", service="SoundShaper"),
    "what_if": lambda: onoff.what_if(SAMPLES / "slow-boot.etl", without="SoundShaper"),
    "info": lambda: onoff.info(SAMPLES / "slow-boot.etl"),
    "cpu": lambda: onoff.open(SAMPLES / "slow-boot.etl").list("cpu", by=["process"]),
    "disk": lambda: onoff.open(SAMPLES / "slow-boot.etl").list("disk"),
    "gate": lambda: onoff.gate(SAMPLES / "slow-boot.etl", SAMPLES / "slow-boot.etl", limit="boot.total 5%", include="same-recording"),
    "summary": lambda: onoff.summary(SAMPLES / "slow-boot.etl"),
    "account": lambda: onoff.boot(SAMPLES / "slow-boot.etl").account[0],
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_have_declared_classes(name):
    """Every object of a real document has a class that declares exactly its names and the types of its values."""
    objects = list(walk(DOCUMENTS[name]()))
    assert len(objects) > (5 if name != "account" else 1)
    for path, record in objects:
        cls = type(record)
        assert cls is not Record, path
        declared = cls.__annotations__
        for field, value in record.items():
            attribute = field if field in declared else f"{field}_"
            assert attribute in declared, (path, cls, field)
            assert getattr(record, attribute) is value
            annotation = declared[attribute]
            if value is None:
                assert annotation.startswith("Optional["), (path, field, annotation)
            elif isinstance(value, str) and annotation.startswith("Literal["):
                assert f'"{value}"' in annotation or f"'{value}'" in annotation, (path, field, value)
            elif type(value) in (int, bool, str):
                alternatives = {bool: "bool", int: "int", str: "str"}
                plain = re.sub(r"^Optional\[(.*)\]$", r"\1", annotation)
                assert alternatives[type(value)] in plain or plain == "float" or hasattr(onoff.types, plain), (path, field, annotation)


def test_omitted_fields_are_empty():
    windows, linux = DOCUMENTS["boot"](), DOCUMENTS["linux boot"]()
    assert "password_prompts" not in windows and windows.password_prompts == [] and linux.read_ahead is None
    with pytest.raises(AttributeError, match="available"):
        windows.phasess


def test_total_is_where_the_text_has_it():
    """The totals of the text reports, which are written by other code than the documents."""

    def text(verb, name):
        return subprocess.run([sys.executable, "-m", "onoff", verb, str(SAMPLES / name)], capture_output=True, text=True, check=True).stdout

    [took] = re.findall(r"^The boot took ([\d.]+) s", text("boot", "linux-boot.tar.xz"))
    assert DOCUMENTS["linux boot"]().total.total_seconds() == pytest.approx(float(took), abs=0.05)
    [halves] = re.findall(r"^Sleep: ([\d.]+) s to suspend, ([\d.]+) s to resume", text("suspend", "slow-sleep.etl"))
    assert DOCUMENTS["suspend"]().transitions[0].total.total_seconds() == pytest.approx(sum(map(float, halves)), abs=0.01)
    # The total of a disk report is a field, and the property does not hide it.
    assert DOCUMENTS["disk"]().total.requests > 0


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("name", ["boot", "why", "account"])
def test_copies_are_equal(name, again):
    answer = DOCUMENTS[name]()
    other = again(answer)
    assert type(other) is type(answer) and other.to_dict() == answer.to_dict()
    if name == "boot":
        assert other.findings()[0].subject.name == answer.findings()[0].subject.name


def test_methods_and_attributes_follow_one_rule():
    """A method takes options, is also a function of ``onoff``, or acts (``close``, ``to_…``); everything else is an attribute."""
    for cls in (onoff.Recording, onoff.Transition, onoff.Table, onoff.Fleet if hasattr(onoff, "Fleet") else onoff.Recording):
        for name, member in inspect.getmembers(cls):
            if name.startswith("_") or not inspect.isfunction(member):
                continue
            takes_options = len(inspect.signature(member).parameters) > 1
            acts = name == "close" or name.startswith("to_") or name in ("keys", "values", "items", "get")
            assert takes_options or acts or hasattr(onoff, name), (cls, name)
