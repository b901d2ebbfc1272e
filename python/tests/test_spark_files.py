"""Tests which recordings the Spark data source opens, in local mode. A hook in the reader processes records every task."""

import json
import os
import pathlib
import shutil
import signal
import sys

import pyarrow
import pyarrow.fs
import pytest

import onoff
from onoff._summaries import TABLES

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 4 is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import onoff.spark  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql.datasource import DataSourceReader  # noqa: E402

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"

# Run at the start of every Python process: reader processes record their tasks, and fail on certain file names.
HOOK = """
import sys
if any("onoff._worker" in word for word in getattr(sys, "orig_argv", [])):
    import json, os, signal
    import onoff._worker as worker
    original = worker.answer
    def answer(task):
        with open(os.environ["ONOFF_TEST_TASKS"], "a") as file:
            file.write(json.dumps(task if isinstance(task, dict) else {"files": task, "rows": True}) + "\\n")
        files = task if isinstance(task, list) else task["files"]
        if "killed" in files[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(task)
    worker.answer = answer
"""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    hooks = tmp_path_factory.mktemp("hooks")
    (hooks / "sitecustomize.py").write_text(HOOK)
    python_path = os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])
    changed = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": python_path, "ONOFF_TEST_TASKS": str(hooks / "tasks")}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", python_path)
        .config("spark.executorEnv.ONOFF_TEST_TASKS", str(hooks / "tasks"))
        .config("spark.sql.warehouse.dir", str(hooks / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    onoff.spark.register(session)
    yield session
    session.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture
def tasks(spark):
    """Returns the tasks of reader processes since the last call: kind and file name of each."""
    path = pathlib.Path(os.environ["ONOFF_TEST_TASKS"])
    path.unlink(missing_ok=True)

    def read():
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]

    return read


def analyzed(tasks):
    """Returns the names of the files that were analyzed, sorted."""
    return sorted(os.path.basename(task["files"][0]) for task in tasks if "rows" in task or "table" in task)


def kernel_log(number, computer):
    return f"""[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)
[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.0-13-amd64 root=/dev/sda1 ro quiet number={number}
[    1.{number:06}] Run /init as init process
[    2.000000] systemd[1]: systemd 252.17-1~deb12u1 running in system mode
[    2.100000] systemd[1]: Hostname set to <{computer}>.
[   {9 + number}.000000] systemd[1]: Startup finished in 2.000s (kernel) + {7 + number}.000s (userspace) = {9 + number}.000s.
"""


def write_recordings(folder):
    """Writes six recordings: two of Windows, three kernel logs, and one that cannot be read."""
    for name in ("slow-boot.etl", "slow-shutdown.etl"):
        (folder / name[:-4]).mkdir(parents=True)
        shutil.copy(SAMPLES / name, folder / name[:-4] / name)
    for number in range(3):
        (folder / f"log{number}").mkdir()
        (folder / f"log{number}" / f"log{number}.log").write_text(kernel_log(number, f"host-{number}"))
    (folder / "damaged").mkdir()
    (folder / "damaged" / "damaged.etl").write_bytes((SAMPLES / "slow-boot.etl").read_bytes()[:100])
    for place, path in enumerate(sorted(folder.rglob("*.*"))):
        os.utime(path, (1_700_000_000 + place, 1_700_000_000 + place))
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_recordings(tmp_path / "recordings")


@pytest.fixture(scope="module")
def stable_folder(tmp_path_factory):
    return write_recordings(tmp_path_factory.mktemp("stable") / "recordings")


@pytest.fixture(scope="module")
def unfiltered(spark, stable_folder):
    """The table `recordings` of all files, which Spark alone filters."""
    rows = load(spark, stable_folder, table="recordings").cache()
    assert rows.count() == 6
    return rows


def all_files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def load(spark, folder, **options):
    # A reader process for each partition takes most of the time.
    options["recordings_per_partition"] = "10"
    return spark.read.format("onoff").options(**options).load([str(path) for path in all_files(folder)])


@pytest.mark.skipif(not hasattr(DataSourceReader, "pushFilters"), reason="Spark 4.0 passes no filters")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("path LIKE '%slow-%'", ["slow-boot.etl", "slow-shutdown.etl"]),
        ("path LIKE '%.log' AND path NOT LIKE '%1.log'", ["log0.log", "log2.log"]),
        ("size_bytes < 10000 AND size_bytes > 100", ["log0.log", "log1.log", "log2.log"]),
        ("modified_ns >= 1700000002000000000 AND modified_ns < 1700000003000000000", ["log1.log"]),
        ("computer = 'host-1'", ["damaged.etl", "log1.log"]),
        ("computer IN ('host-0', 'LAPTOP-7F3')", ["damaged.etl", "log0.log", "slow-boot.etl"]),
        ("recorded_utc >= '2026' AND computer <> 'host-1'", None),
        # What a recording with an error may meet is not decided before it is read. Spark does not pass the others.
        ("computer IS NULL", "all"),
        ("NOT (computer <=> 'host-1')", "all"),
        ("path LIKE '%log1%' OR computer = 'LAPTOP-7F3'", "all"),
    ],
)
def test_filters_skip_recordings(spark, stable_folder, unfiltered, tasks, condition, expected):
    rows = {tuple(row) for row in load(spark, stable_folder, table="recordings").where(condition).collect()}
    assert rows == {tuple(row) for row in unfiltered.where(condition).collect()}
    names = analyzed(tasks())
    everyone = sorted(path.name for path in all_files(stable_folder))
    if expected == "all":
        assert names == everyone
    elif expected is None:
        assert {os.path.basename(row[1]) for row in rows} <= set(names) < set(everyone)
    else:
        assert names == expected


def test_only_selected_columns_are_exported(spark, stable_folder, tasks):
    path = str(stable_folder / "slow-boot" / "slow-boot.etl")
    full = pyarrow.table(onoff.open(path).table("context_switches"))
    frame = spark.read.format("onoff").options(table="context_switches", columns="recording_path, new_tid").load(path)
    assert frame.columns == ["recording_path", "new_tid"]
    assert sorted(row.new_tid for row in frame.collect()) == sorted(full["new_tid"].to_pylist())
    [task] = [task for task in tasks() if "table" in task]
    assert task["columns"] == ["new_tid"]
    # No column of the table itself: the rows are counted all the same.
    assert spark.read.format("onoff").options(table="context_switches", columns="recording").load(path).count() == len(full)
    # A schema selects columns, too, and nested tables are columns.
    assert spark.read.schema("path string, transitions array<struct<duration_ns: bigint>>").format("onoff").load(path).columns == ["path", "transitions"]
    with pytest.raises(Exception, match="has no column color; it has recording, "):
        spark.read.format("onoff").options(table="context_switches", columns="color").load(path).count()


def read_in_place(spark, folder, known):
    return onoff.spark.read_files(spark, folder.as_uri(), known=known)


def read_contents(spark, folder, known):
    return onoff.spark.read_files(spark, str(folder), known=known)


def read_with_option(spark, folder, known):
    options = {} if known is None else {"known": str(folder.parent / "out")}
    return load(spark, folder, **options)


@pytest.mark.parametrize("read", [read_in_place, read_contents, read_with_option])
def test_known_recordings_are_not_opened(spark, folder, tasks, tmp_path, read):
    (folder / "killed").mkdir()
    (folder / "killed" / "killed.log").write_text(kernel_log(7, "host-7"))
    (folder / "log0" / "log0.log").rename(folder / "log0" / "log[0]*.log")
    out = str(tmp_path / "out")

    def nightly():
        """Adds new rows to the output, and returns the names of the files that were analyzed."""
        known = spark.read.parquet(out) if os.path.exists(out) else None
        tasks()
        read(spark, folder, known).write.mode("append").parquet(out)
        return analyzed(tasks())

    everyone = sorted(path.name for path in all_files(folder))
    assert nightly() == everyone
    # A file that ended its reader is tried again, a damaged one is not.
    assert nightly() == ["killed.log"]
    (folder / "killed" / "killed.log").rename(folder / "killed" / "other.log")
    os.utime(folder / "log1" / "log1.log", (1_700_000_100, 1_700_000_100))
    (folder / "log2" / "log2.log").write_text(kernel_log(9, "host-2"))
    expected = ["log1.log", "log2.log"] + (["other.log"] if read is read_contents else [])
    assert [name for name in nightly() if name in expected] == expected
    assert [name for name in nightly() if "other" not in name] == []
    stored = onoff.spark.latest(spark.read.parquet(out)).collect()
    states = {row.path.rpartition("/")[2]: (row.modified_ns, row.error) for row in stored}
    assert states["log1.log"] == (1_700_000_100_000_000_000, "") and len(stored) == len(states)
    assert "log[0]*.log" in states
    # The fleet uses the same rows as Spark.
    fleet = onoff.fleet(out)
    durations = sorted(run["duration_ns"] for run in fleet.runs())
    assert durations == sorted(entry.duration_ns for row in stored for entry in row.transitions if entry.transition == "boot")
    assert 18_000_000_000 in durations and 11_000_000_000 not in durations


def test_files_that_spark_cannot_pass(spark, stable_folder):
    option = "spark.sql.sources.binaryFile.maxLength"
    expected = {name: ("", (SAMPLES / name).stat().st_size, 1) for name in ("slow-boot.etl", "slow-shutdown.etl")}
    spark.conf.set(option, "10000")
    try:
        # In place, or copied with another file system, they are read.
        for path, filesystem in ((str(stable_folder), None), (str(stable_folder), pyarrow.fs.LocalFileSystem())):
            rows = onoff.spark.read_files(spark, path, filesystem=filesystem, where="size_bytes > 10000").collect()
            assert {row.path.rpartition("/")[2]: (row.error, row.size_bytes, len(row.transitions)) for row in rows} == expected
    finally:
        spark.conf.unset(option)
    # In an object store, each is a row with an error, which the next run tries again.
    reader = onoff.spark.OnoffReader(onoff.spark._Settings.from_options({"table": "recordings"}), ["path", "error", "schema"])
    [batch] = reader.read_file("s3a://fleet/boot.etl", 3 << 30, 7, None, None)
    [row] = batch.to_pylist()
    assert (row["path"], row["schema"]) == ("s3a://fleet/boot.etl", 0) and "3,221,225,472 bytes are too many for Spark" in row["error"]


class Unreliable(pyarrow.fs.FileSystemHandler):
    """A file system that fails a number of times before it opens a file."""

    def __init__(self, failures):
        self.failures = failures
        self.local = pyarrow.fs.LocalFileSystem()

    def get_type_name(self):
        return "local"

    def open_input_stream(self, path):
        if self.failures:
            self.failures -= 1
            raise OSError("connection reset")
        return self.local.open_input_stream(path)

    def _unsupported(self, *_):
        raise NotImplementedError

    normalize_path = get_file_info = get_file_info_selector = create_dir = delete_dir = delete_dir_contents = _unsupported
    delete_root_dir_contents = delete_file = move = copy_file = open_input_file = open_output_stream = open_append_stream = _unsupported


def test_errors_of_a_file_system_are_tried_again(folder, monkeypatch):
    monkeypatch.setattr(onoff.spark, "_RETRY_DELAYS_S", (0.0, 0.0))
    reader = onoff.spark.OnoffReader(onoff.spark._Settings.from_options({"table": "recordings"}), ["path", "computer", "error", "schema"])
    path = folder / "log1" / "log1.log"

    def read(failures):
        batches = reader.read_file(path.as_uri(), 9, 7, None, pyarrow.fs.PyFileSystem(Unreliable(failures)))
        [row] = [row for batch in batches for row in batch.to_pylist()]
        return row

    assert read(2)["computer"] == "host-1"
    row = read(3)
    assert (row["error"], row["schema"], row["path"]) == ("connection reset", 0, path.as_uri())


def test_stream_reads_each_new_file_once(spark, folder, tasks, tmp_path):
    def update():
        tasks()
        stream = onoff.spark.read_files(spark, folder.as_uri(), stream=True, options={"maxFilesPerTrigger": "2"})
        query = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start(str(tmp_path / "out")).awaitTermination()
        return analyzed(tasks())

    everyone = sorted(path.name for path in all_files(folder))
    assert update() == everyone
    assert update() == []
    (folder / "new").mkdir()
    (folder / "new" / "new.log").write_text(kernel_log(5, "host-5"))
    (folder / "new" / "notes.txt").write_text("not a recording")
    assert update() == ["new.log"]
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.path.rpartition("/")[2] for row in rows) == sorted([*everyone, "new.log"])
    assert onoff.fleet(tmp_path / "out").runs()[0]["duration_ns"] > 0
    with pytest.raises(onoff.UsageError, match="a stream reads one path"):
        onoff.spark.read_files(spark, folder.as_uri(), stream=True, known=spark.range(1))


def test_survives_killed_python_worker(spark, stable_folder, tmp_path):
    marker = tmp_path / "killed"
    settings = onoff.spark._Settings.from_options({"table": "recordings"})
    files = onoff.spark._FileSource(spark, False, {}).files([stable_folder.as_uri()]).drop("content")
    schema = settings.schema()

    def rows(batches):
        reader = onoff.spark.OnoffReader(settings, schema.names)
        for batch in batches:
            for values in zip(*(batch.column(index).to_pylist() for index in range(3))):
                yield from reader.read_file(*values, None, None)
                if not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

    spark_schema = onoff.spark._spark_type(pyarrow.struct(list(schema)))
    # Local mode has no retries, so a killed worker fails the job; no partial result remains.
    with pytest.raises(Exception, match="(?i)python worker"):
        files.mapInArrow(rows, spark_schema).write.parquet(str(tmp_path / "out"))
    assert marker.exists() and not list((tmp_path / "out").glob("*.parquet"))
    files.mapInArrow(rows, spark_schema).write.mode("overwrite").parquet(str(tmp_path / "out"))
    assert spark.read.parquet(str(tmp_path / "out")).count() == 6


def test_fleet_from_tables_in_memory(spark, stable_folder, tmp_path):
    runs = load(spark, stable_folder)
    assert isinstance(runs, DataFrame)
    runs.write.parquet(str(tmp_path / "out"))
    frames = onoff.spark.tables(onoff.spark.latest(spark.read.parquet(str(tmp_path / "out"))))
    tables = {name: frame.toArrow() for name, frame in frames.items()}
    expected = onoff.fleet(tmp_path / "out")
    for given in (tables, {name: table.to_pandas() for name, table in tables.items() if name in ("recordings", "transitions")}):
        fleet = onoff.fleet(given)
        assert [run["duration_ns"] for run in fleet.runs()] == [run["duration_ns"] for run in expected.runs()] != []
    assert onoff.fleet(tables).phases() == expected.phases()
    # Spark writes the same tables to folders; the fleet and SQL open them as they open the folder of `onoff.summaries`.
    for name, frame in frames.items():
        frame.write.parquet(str(tmp_path / "tables" / name))
    assert onoff.fleet(tmp_path / "tables").phases() == expected.phases()
    assert onoff.sql("SELECT count(*) FROM recordings", tmp_path / "tables").fetchall() == [(6,)]
    with pytest.raises(onoff.UsageError, match="unknown table runs"):
        onoff.fleet({**tables, "runs": tables["recordings"]})
    with pytest.raises(onoff.UsageError, match="'recordings' is missing"):
        onoff.fleet({"transitions": tables["transitions"]})
    spark.range(3).write.parquet(str(tmp_path / "other"))
    with pytest.raises(onoff.UsageError, match="not the rows of recordings"):
        onoff.fleet(tmp_path / "other")
    assert set(TABLES) == set(tables)
