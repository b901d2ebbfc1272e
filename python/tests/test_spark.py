"""Tests the Spark data source on a local cluster of two executors."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pyarrow
import pytest

import onoff
from onoff._summaries import TABLES

pytest.importorskip("pyspark.sql.datasource", reason="PySpark 4 is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import onoff.spark  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql.functions import col  # noqa: E402

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
NAMES = ("slow-boot.etl", "slow-shutdown.etl", "linux-boot.tar.xz")
# More recordings measure the speed better: pytest's `record_property` has both times.
RECORDINGS = int(os.environ.get("ONOFF_SPARK_RECORDINGS", "600"))
POISONED = 10

# Run at the start of every Python process on the cluster: reader processes crash or hang on certain file names.
POISON = """
import sys
if any("onoff._worker" in word for word in getattr(sys, "orig_argv", [])):
    import os, time
    import onoff._worker as worker
    original = worker.rows
    def rows(paths):
        if "crash" in paths[0]:
            os.abort()
        if "hang" in paths[0]:
            time.sleep(600)
        return original(paths)
    worker.rows = rows
"""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    hooks = tmp_path_factory.mktemp("hooks")
    (hooks / "sitecustomize.py").write_text(POISON)
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", str(hooks))
        .config("spark.sql.warehouse.dir", str(hooks / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    onoff.spark.register(session)
    yield session
    session.stop()


def kernel_log(number):
    """Returns a unique kernel log of a boot."""
    kernel = 1.5 + number % 700 / 1000
    return f"""[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)
[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.0-13-amd64 root=/dev/sda1 ro quiet number={number}
[    0.000000] DMI: Fabrikam X{number % 3}/Board, BIOS 1.{number % 5} 04/01/2014
[    {kernel - 0.5:.6f}] Freeing unused kernel image (initmem) memory: 2796K
[    {kernel:.6f}] Run /init as init process
[    {kernel + 1:.6f}] systemd[1]: systemd 252.17-1~deb12u1 running in system mode
[   {kernel + 9:.6f}] systemd[1]: Startup finished in {kernel + 1:.3f}s (kernel) + 8.000s (userspace) = {kernel + 9:.3f}s.
"""


# What depends on where a file is, and on whether its contents or its path were given.
FILE_COLUMNS = ("path", "size_bytes", "modified_ns", "stamp")


def tables_of(summaries):
    """Returns the sorted rows of each table of a data frame, which Spark reads only once."""
    columns = {name: [column for column in TABLES[name] if column not in FILE_COLUMNS] for name in TABLES}
    rows_by_table = {name: [] for name in TABLES}
    for row in summaries.collect():
        for name in TABLES:
            entries = [row] if name == "recordings" else row[name]
            rows_by_table[name] += [(row.recording, *(entry[column] for column in columns[name])) for entry in entries]
    return {name: sorted(rows, key=repr) for name, rows in rows_by_table.items()}


def tables_split_by_spark(summaries):
    """Returns the same from `onoff.spark.tables`."""
    rows_by_table = {}
    for name, frame in onoff.spark.tables(summaries).items():
        frame = frame.select("recording", *TABLES[name]).drop(*FILE_COLUMNS)
        rows_by_table[name] = sorted((tuple(row) for row in frame.collect()), key=repr)
    return rows_by_table


def tables_in(out):
    """Returns the sorted rows of each table in a folder written by `onoff.summaries`."""
    rows_by_table = {}
    for name in TABLES:
        columns = ", ".join(column for column in ("recording", *TABLES[name]) if column not in FILE_COLUMNS)
        parts = list((out / name).glob("*.parquet"))
        rows = duckdb.sql(f"SELECT {columns} FROM read_parquet('{out}/{name}/*.parquet')").fetchall() if parts else []
        rows_by_table[name] = sorted(rows, key=repr)
    return rows_by_table


def test_rows_match_summaries_including_errors(spark, tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(SAMPLES / name, folder / name)
    (folder / "damaged.etl").write_bytes((SAMPLES / "slow-boot.etl").read_bytes()[:100])
    onoff.summaries(folder, tmp_path / "out")
    summaries = spark.read.format("onoff").load(str(folder)).cache()
    actual, expected = tables_split_by_spark(summaries), tables_in(tmp_path / "out")
    assert {name: len(rows) for name, rows in actual.items()} == {name: len(rows) for name, rows in expected.items()}
    assert actual == expected
    assert len(actual["recordings"]) == 4 and len(actual["transitions"]) == 3
    errors = {row.path: row.error for row in summaries.select("path", "error").collect() if row.error}
    assert list(errors) == [str(folder / "damaged.etl")]
    # A single table, with columns that identify the recording.
    phases = spark.read.format("onoff").option("table", "phases").load(str(folder)).where(col("recording_error").isNull())
    assert phases.count() == len(expected["phases"])
    # Spark can read what it has written.
    summaries.write.parquet(str(tmp_path / "parquet"))
    assert tables_of(spark.read.parquet(str(tmp_path / "parquet"))) == expected


def arrow(path, table):
    return pyarrow.table(onoff.open(path).table(table))


def test_tables_have_all_rows_and_types(spark, tmp_path):
    paths = [str(SAMPLES / name) for name in NAMES]
    frame = spark.read.format("onoff").option("table", "processes").load(paths)
    counts = {row.recording_path: row["count"] for row in frame.groupBy("recording_path").count().collect()}
    assert counts == {path: len(arrow(path, "processes")) for path in paths}
    expected = arrow(paths[0], "processes").to_pylist()
    actual = [row.asDict() for row in frame.where(col("recording_path") == paths[0]).select("pid", "start_ns", "image").collect()]
    key = lambda row: (row["pid"], row["start_ns"] or -1)  # noqa: E731
    assert sorted(actual, key=key) == sorted(({name: row[name] for name in ("pid", "start_ns", "image")} for row in expected), key=key)
    # Large unsigned numbers become decimals; missing tables have no rows.
    stacks = spark.read.format("onoff").option("table", "stacks").load(paths[0])
    assert stacks.schema["stack"].dataType.simpleString() == "array<decimal(20,0)>"
    assert stacks.count() == len(arrow(paths[0], "stacks"))
    assert spark.read.format("onoff").option("table", "name_lookups").load(paths[0]).count() == 0
    # An unreadable recording becomes a row with an error.
    pipe = tmp_path / "pipe.etl"
    os.mkfifo(pipe)
    [row] = spark.read.format("onoff").option("table", "processes").load(str(pipe)).collect()
    assert row.pid is None and "neither a file nor a folder" in row.recording_error


def test_reads_files_with_undecodable_names(spark, tmp_path):
    folder = os.fsencode(tmp_path / "recordings")
    os.mkdir(folder)
    shutil.copy(SAMPLES / "slow-boot.etl", os.path.join(folder, b"boot\xff.etl"))
    os.mkfifo(os.path.join(folder, b"pipe\xff.etl"))
    paths = [os.fsdecode(os.path.join(folder, name)) for name in (b"boot\xff.etl", b"pipe\xff.etl")]
    assert [len(paths) for paths in onoff.spark._recordings(paths)] == [1, 1]
    for table in ("summaries", "phases", "processes"):
        reader = onoff.spark.OnoffReader(onoff.spark._Settings.from_options({"table": table}), ["recording"])
        digests = [digest for batch in reader.read(onoff.spark._Group([[path] for path in paths])) for digest in batch["recording"].to_pylist()]
        assert digests[-1] == f"path:{tmp_path}/recordings/pipe?.etl" and len(set(digests)) == 2, table
    [row] = spark.read.format("onoff").load(str(tmp_path / "recordings" / "boot*")).collect()
    assert (row.path, row.error, len(row.transitions)) == (f"{tmp_path}/recordings/boot?.etl", "", 1)


def test_two_names_of_one_recording(spark, tmp_path):
    for name in ("a.etl", "b.etl"):
        shutil.copy(SAMPLES / "slow-boot.etl", tmp_path / name)
    frame = spark.read.format("onoff").load(str(tmp_path))
    assert (frame.count(), frame.dropDuplicates(["recording"]).count()) == (2, 1)


@pytest.mark.parametrize("is_in_place", [True, False])
def test_read_files_matches_summaries(spark, tmp_path, is_in_place):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(SAMPLES / name, folder / name)
    (folder / "damaged.etl").write_bytes((SAMPLES / "slow-boot.etl").read_bytes()[:100])
    (folder / "notes.txt").write_text("not a recording")
    onoff.summaries(folder, tmp_path / "out")
    (folder / "notebooks").mkdir()
    shutil.move(folder / NAMES[0], folder / "notebooks" / NAMES[0])
    # Hadoop's local file system replaces an object store: without `file:`, Spark passes the contents.
    root = folder.as_uri() if is_in_place else str(folder)
    summaries = onoff.spark.read_files(spark, root).cache()
    actual, expected = tables_of(summaries), tables_in(tmp_path / "out")
    # Errors contain file names, which differ here.
    assert len(actual.pop("recordings")) == len(expected.pop("recordings")) == 4
    assert actual == expected
    paths = {row.path: row.error for row in summaries.select("path", "error").collect()}
    assert sorted(pathlib.Path(path).name for path in paths) == sorted(("damaged.etl", *NAMES))
    assert all(path.startswith("file:/") for path in paths) and not any("/onoff-" in path + error for path, error in paths.items())
    processes = onoff.spark.read_files(spark, f"{root}/notebooks/slow-boot.etl", table="processes")
    assert processes.count() == len(arrow(SAMPLES / "slow-boot.etl", "processes"))


def test_writes_delta_tables(spark, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    runs = spark.read.format("onoff").option("table", "transitions").load([str(SAMPLES / name) for name in NAMES])
    for mode in ("error", "append"):
        deltalake.write_deltalake(str(tmp_path / "transitions"), runs.toArrow(), mode=mode)
    written = deltalake.DeltaTable(str(tmp_path / "transitions")).to_pyarrow_table()
    assert written.num_rows == 2 * 3 and set(written["transition"].to_pylist()) == {"boot", "shutdown"}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"table": "process"}, "unknown table 'process'"), ({"color": "red"}, "unknown option color"), ({"seconds": "-1"}, "seconds")],
)
def test_rejects_unknown_options(spark, options, message):
    with pytest.raises(Exception, match=message):
        spark.read.format("onoff").options(**options).load(str(SAMPLES / NAMES[0])).count()


def test_rejects_remote_paths_with_hint(spark):
    for path in ("s3a://fleet/boots/a.etl", "dbfs:/Volumes/boots/a.etl"):
        with pytest.raises(Exception, match="onoff.spark.read_files"):
            spark.read.format("onoff").load(path).count()


def executors():
    """Returns the process ids of the executors."""
    listing = subprocess.run(["ps", "-ewwo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
    return [int(pid) for pid, _, words in rows if "CoarseGrainedExecutorBackend" in words and "java" in words.split()[0]]


@contextlib.contextmanager
def executor_killed(spark):
    """Kills an executor while the block is running; fails if the block finishes first."""
    killed = []
    finished = threading.Event()

    def kill_one():
        tracker = spark.sparkContext.statusTracker()
        while not finished.wait(0.05):
            for stage in tracker.getActiveStageIds():
                information = tracker.getStageInfo(stage)
                if information and information.numCompletedTasks > information.numTasks // 4:
                    killed.append(executors()[0])
                    os.kill(killed[0], signal.SIGKILL)
                    return

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
    assert killed, "no executor was killed while the recordings were read"


def expected_error(name):
    """Returns the expected error of a file that crashes or hangs its reader."""
    return f"signal {int(signal.SIGABRT)}" if "crash" in name else "timed out after 5 s"


def test_load_survives_reader_and_executor_loss(spark, tmp_path, record_property):
    folder = tmp_path / "recordings"
    names = [f"{number:06}" for number in range(RECORDINGS)]
    names += [f"{kind}-{number}" for kind in ("crash", "hang") for number in range(POISONED // 2)]
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        (folder / name / "kernel.log").write_text(kernel_log(number))
    start = time.monotonic()
    summary = onoff.summaries([folder / name for name in names[:RECORDINGS]], tmp_path / "out", workers=2)
    pool_seconds = time.monotonic() - start
    assert (summary.read, summary.failed) == (RECORDINGS, 0)

    paths = [str(folder / name) for name in names]
    # Spark needs about a second for each partition.
    summaries = spark.read.format("onoff").options(seconds="5", recordings_per_partition=str(max(20, RECORDINGS // 64))).load(paths)
    with executor_killed(spark):
        start = time.monotonic()
        summaries.write.parquet(str(tmp_path / "parquet"))
        cluster_seconds = time.monotonic() - start

    written = spark.read.parquet(str(tmp_path / "parquet")).cache()
    errors = {pathlib.Path(row.path).name: row.error for row in written.select("path", "error").collect() if row.error}
    assert sorted(errors) == sorted(names[RECORDINGS:])
    assert all(expected_error(name) in message for name, message in errors.items()), errors
    assert written.count() == written.select("path").distinct().count() == RECORDINGS + POISONED
    assert tables_of(written.where(col("error") == "")) == tables_in(tmp_path / "out")
    measured = {"recordings": RECORDINGS, "pool_s": round(pool_seconds, 1), "cluster_s": round(cluster_seconds, 1)}
    record_property("measured", json.dumps(measured))
    print(measured)


def test_read_files_survives_reader_and_executor_loss(spark, tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    names = [f"{number:03}" for number in range(200)]
    poisoned = ["crash-0", "hang-0"]
    for number, name in enumerate(names + poisoned):
        (folder / name).mkdir()
        (folder / name / f"{name}.log").write_text(kernel_log(number))
    onoff.summaries([folder / name for name in names], tmp_path / "out", workers=2)
    # Use small partitions, so that some are finished when an executor is killed. Spark passes the contents.
    option = "spark.sql.files.maxPartitionBytes"
    default = spark.conf.get(option)
    spark.conf.set(option, str(64 << 20))
    try:
        summaries = onoff.spark.read_files(spark, str(folder), seconds=5)
        with executor_killed(spark):
            summaries.write.parquet(str(tmp_path / "parquet"))
    finally:
        spark.conf.set(option, default)
    written = spark.read.parquet(str(tmp_path / "parquet")).cache()
    errors = {pathlib.Path(row.path).stem: row.error for row in written.select("path", "error").collect() if row.error}
    assert sorted(errors) == poisoned and all(expected_error(name) in message for name, message in errors.items()), errors
    assert written.count() == written.select("path").distinct().count() == len(names) + len(poisoned)
    assert tables_of(written.where(col("error") == "")) == tables_in(tmp_path / "out")
