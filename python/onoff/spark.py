"""Many recordings on a cluster: a data source for Apache Spark (``pip install onoff-perf[spark]``).

>>> import onoff.spark
>>> onoff.spark.register(spark)                                               # doctest: +SKIP
>>> runs = spark.read.format("onoff").load("/mnt/boots")                      # doctest: +SKIP
>>> onoff.spark.tables(runs)["phases"].groupBy("phase").avg("duration_ns")    # doctest: +SKIP
"""

from __future__ import annotations

import atexit
import glob
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, Optional, Union
from urllib.parse import unquote, urlsplit

from . import _onoff
from ._errors import UsageError, raise_for
from ._process import Reader
from ._recording import _declarations
from ._summaries import TABLES, named, schema_of
from ._worker import content_hash, failure, shown

try:
    import pyarrow
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ImportError:
    raise UsageError("A data source for Spark needs PySpark 4 and pyarrow: pip install 'onoff-perf[spark]'") from None

SUMMARIES = "summaries"
"""What is read unless the option ``table`` says otherwise: a row for each recording, with the rows of all other tables of
``onoff.summaries`` in it."""

_MOST_GROUPS = 64
"""Up to so many recordings each is a partition; of more, neighbors are one."""
_MOST_RECORDINGS = 64
"""Recordings of a partition, at most."""
_MOST_BYTES = 256 << 20
"""Bytes of a partition's recordings after which it takes no other."""
_BATCH_ROWS = 1 << 16
"""Rows that are handed to Spark together, at most."""
_BATCH_RECORDINGS = 16
"""Rows with everything about a recording that are handed to Spark together, at most."""

# Spark has no numbers without a sign: the next larger type holds them all.
_COLUMN_TYPES = {
    "boolean": pyarrow.bool_(),
    "int8": pyarrow.int8(),
    "int16": pyarrow.int16(),
    "int32": pyarrow.int32(),
    "int64": pyarrow.int64(),
    "uint8": pyarrow.int16(),
    "uint16": pyarrow.int32(),
    "uint32": pyarrow.int64(),
    "uint64": pyarrow.decimal128(20, 0),
    "float64": pyarrow.float64(),
    "text": pyarrow.string(),
    "code": pyarrow.string(),
    "addresses": pyarrow.list_(pyarrow.field("element", pyarrow.decimal128(20, 0))),
}
_IDENTITY = (("recording", pyarrow.string()),)
_ORIGIN = (("recording_path", pyarrow.string()), ("recording_error", pyarrow.string()))


def register(spark: Any) -> None:
    """Makes ``spark.read.format("onoff")`` known to a session of Spark."""
    spark.dataSource.register(OnoffDataSource)


def tables(summaries: Any) -> dict[str, Any]:
    """The tables of ``onoff.summaries`` in a data frame that was read without the option ``table``: a data frame for each.

    Each of them reads the recordings anew, unless the data frame given was written or cached before.
    """
    from pyspark.sql import functions

    found = {"recordings": summaries.select("recording", *TABLES["recordings"])}
    for name in TABLES:
        if name != "recordings":
            rows = summaries.select("recording", functions.explode(name).alias("row"))
            found[name] = rows.select("recording", *(functions.col(f"row.{column}").alias(column) for column in TABLES[name]))
    return found


def read_files(
    spark: Any, path: Union[str, list[str]], table: str = "summaries", seconds: float = 600.0, memory_bytes: int = 0
) -> Any:
    """The same data frame of recordings that Spark itself lists and reads: of ``s3a://``, ``abfss://``, ``hdfs://`` and whatever else its
    Hadoop knows, with the credentials that it has. ``path`` is a file, a folder with all that is in it, a pattern, or several of them.

    Each file is a recording; files that are none are left out. One at a time is copied into the folder for temporary files of its executor,
    read there, and deleted. A file of 2 GiB or more is more than Spark hands over.
    """
    question = _Question.of({"table": table, "seconds": str(seconds), "memory_bytes": str(memory_bytes)})
    schema = _schema(table)

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        reader = OnoffReader(question, schema.names)
        for batch in batches:
            for uri, content in zip(*batch.columns):
                with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary()) as folder:
                    local = os.path.join(folder, os.path.basename(uri.as_py()) or "recording")
                    with open(local, "wb") as file:
                        file.write(content.as_buffer())
                    # A folder of logs would be one recording, called by the folder's name.
                    recordings = [[local] for _ in _recordings([folder])]
                    for found in reader.read(_Group(recordings)):
                        yield _about_original(found, local, uri.as_py())

    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path).select("path", "content")
    return files.mapInArrow(rows, _spark_type(pyarrow.struct(list(schema))))


def _about_original(batch: Any, copy: str, original: str) -> Any:
    """Rows about a copy as rows about what it is a copy of."""
    for name in ("path", "error", "recording_path", "recording_error"):
        if name in batch.schema.names:
            number = batch.schema.get_field_index(name)
            about = [None if text is None else text.replace(copy, original) for text in batch.column(number).to_pylist()]
            batch = batch.set_column(number, batch.schema.field(number), pyarrow.array(about, pyarrow.string()))
    return batch


class OnoffDataSource(DataSource):  # type: ignore[misc] # Spark's classes are looked at by no type checker here.
    """``spark.read.format("onoff").load(paths)``; the options are listed in the book, under *On a cluster, by Spark*."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.question = _Question.of(options)

    @classmethod
    def name(cls) -> str:
        """What it is called in ``format``."""
        return "onoff"

    def schema(self) -> Any:
        """The columns, which depend on the option ``table`` only."""
        return _spark_type(pyarrow.struct(list(_schema(self.question.table))))

    def reader(self, schema: Any) -> OnoffReader:
        """Who reads the columns of ``schema``, which may be some of them."""
        return OnoffReader(self.question, list(schema.fieldNames()))


class _Question(NamedTuple):
    """What is asked, from the options."""

    paths: list[str]
    table: str
    seconds: float
    memory_bytes: int
    most_recordings: int
    most_bytes: int

    @staticmethod
    def of(options: MutableMapping[str, str]) -> _Question:
        known = ("path", "paths", "table", "seconds", "memory_bytes", "recordings_per_partition", "bytes_per_partition")
        unknown = sorted(name for name in options if name.lower() not in known)
        if unknown:
            raise UsageError(f"no option is called {', '.join(unknown)}; there are {', '.join(known[2:])}")
        listed = json.loads(options["paths"]) if "paths" in options else []
        if "path" in options:
            listed.append(options["path"])
        table = options.get("table", SUMMARIES)
        if table != SUMMARIES and table not in TABLES and table not in _declarations():
            names = [SUMMARIES, *TABLES, *_declarations()]
            raise UsageError(f"no table is called {table!r}; there are {', '.join(names)}")
        return _Question(
            listed,
            table,
            _number(options, "seconds", 600.0, 0.001),
            int(_number(options, "memory_bytes", 0, 0)),
            int(_number(options, "recordings_per_partition", 0, 1)),
            int(_number(options, "bytes_per_partition", _MOST_BYTES, 1)),
        )


def _number(options: MutableMapping[str, str], name: str, default: float, least: float) -> float:
    if name not in options:
        return default
    try:
        number = float(options[name])
    except ValueError:
        number = least - 1
    if not least <= number < 2.0**63:
        raise UsageError(f"{name}: {options[name]!r} is no number from {least:g} up")
    return number


class _Group(InputPartition):  # type: ignore[misc] # As above.
    """Recordings that are read one after the other by one task."""

    def __init__(self, recordings: list[list[str]]) -> None:
        super().__init__(None)
        self.recordings = recordings


class OnoffReader(DataSourceReader):  # type: ignore[misc] # As above.
    """Lists recordings where the driver is, and reads them where the executors are."""

    def __init__(self, question: _Question, columns: list[str]) -> None:
        self.question = question
        whole = _schema(question.table)
        unknown = [column for column in columns if column not in whole.names]
        if unknown:
            raise UsageError(f"the table {question.table} has no column {', '.join(unknown)}; it has {', '.join(whole.names)}")
        self.columns = columns

    def partitions(self) -> list[Any]:
        """Groups of neighboring recordings, bounded in number and bytes."""
        found = _recordings(self.question.paths)
        most = self.question.most_recordings or min(_MOST_RECORDINGS, -(-len(found) // _MOST_GROUPS) or 1)
        groups: list[Any] = []
        group: list[list[str]] = []
        size = 0
        for files in found:
            group.append(files)
            size += _size(files)
            if len(group) >= most or size >= self.question.most_bytes:
                groups.append(_Group(group))
                group, size = [], 0
        if group:
            groups.append(_Group(group))
        return groups

    def read(self, partition: Any) -> Iterator[Any]:
        """The rows about a group of recordings."""
        # Without any recording Spark makes a partition of nothing.
        if not isinstance(partition, _Group):
            return
        schema = _schema(self.question.table)
        wanted = pyarrow.schema([schema.field(name) for name in self.columns])
        if self.question.table in (SUMMARIES, *TABLES):
            batches = self._summaries(partition.recordings, schema)
        else:
            batches = self._tables(partition.recordings, schema)
        for batch in batches:
            if batch.num_rows:
                yield pyarrow.RecordBatch.from_arrays([batch.column(name) for name in self.columns], schema=wanted)

    def _summaries(self, recordings: list[list[str]], schema: Any) -> Iterator[Any]:
        table = self.question.table
        rows: list[dict[str, Any]] = []
        held = 0
        for files in recordings:
            digest, about = self._about(files)
            if table == "recordings":
                rows += about["recordings"]
            elif table == SUMMARIES:
                # As `onoff.summaries` has them, but that each row says only once of which recording it is.
                rows += [{**about["recordings"][0], **{name: about.get(name, []) for name in TABLES if name != "recordings"}}]
            else:
                error = about["recordings"][0]["error"] if _is_unread(about) else None
                origin = {"recording_path": about["recordings"][0]["path"], "recording_error": error}
                rows += [{**row, **origin} for row in about.get(table, [])]
                if error:
                    rows.append({"recording": digest, **origin})
            held += 1
            if held >= _BATCH_RECORDINGS:
                yield _batch(rows, schema)
                rows, held = [], 0
        yield _batch(rows, schema)

    def _about(self, files: list[str]) -> tuple[str, Mapping[str, list[dict[str, Any]]]]:
        """The hash of a recording, and its rows as in `onoff.summaries`."""
        digest, said = _hash(files)
        if said is not None:
            return digest, named(failure(said, transient=True), digest, files)
        rows = _reader(self.question).ask(files)
        return digest, named(failure(rows, transient=True) if isinstance(rows, str) else rows, digest, files)

    def _tables(self, recordings: list[list[str]], schema: Any) -> Iterator[Any]:
        for files in recordings:
            digest, said = _hash(files)
            if said is not None:
                yield _batch([_unread(digest, files, said)], schema)
                continue
            # Written whole before any row is handed on: what ends its reader half way through leaves a row with the error, and no half of a table.
            with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary()) as folder:
                task = {"files": files, "table": self.question.table, "folder": os.path.join(folder, "tables")}
                answer = _reader(self.question).ask(task)
                said = answer if isinstance(answer, str) else answer.get("error")
                if said is not None:
                    yield _batch([_unread(digest, files, said)], schema)
                    continue
                with pyarrow.OSFile(answer["file"]) as file:
                    parts = pyarrow.ipc.open_file(file)
                    for number in range(parts.num_record_batches):
                        part = parts.get_batch(number)
                        for start in range(0, part.num_rows, _BATCH_ROWS):
                            yield _converted(part.slice(start, _BATCH_ROWS), schema, digest, shown(files))


def _recordings(paths: list[str]) -> list[list[str]]:
    """The recordings in files, folders and patterns."""
    listed: list[str] = []
    for path in paths:
        path = _local(path)
        if glob.has_magic(path) and not os.path.lexists(path):
            matching = sorted(glob.glob(path))
            if not matching:
                raise UsageError(f"{path}: nothing has such a name")
            listed += matching
        else:
            listed.append(path)
    if not listed:
        raise UsageError('no recording was named: spark.read.format("onoff").load(…)')
    try:
        found, _ = _onoff.recordings([os.path.abspath(path) for path in listed])
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    return [[os.fspath(path) for path in files] for files in found]


def _local(path: str) -> str:
    if path.startswith("file:"):
        return unquote(urlsplit(path).path)
    if "://" in path or path.startswith("dbfs:"):
        raise UsageError(
            f"{path}: only files of a file system that is mounted on all computers are read by that name; "
            "what Spark itself lists and reads, onoff.spark.read_files reads"
        )
    return path


def _size(files: list[str]) -> int:
    total = 0
    for path in files:
        try:
            total += os.stat(path).st_size
        except OSError:
            # Who reads it will say so.
            continue
    return total


def _hash(files: list[str]) -> tuple[str, Optional[str]]:
    """What the recording is known by, and why it cannot be read, as far as that is known now."""
    unnamed = f"path:{shown(files)}"
    try:
        for path in files:
            mode = os.stat(path).st_mode
            # Reading a pipe or a device may never end.
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                return unnamed, f"{shown([path])}: this is neither a file nor a folder"
        return content_hash(files), None
    except OSError as error:
        return unnamed, str(error)


def _is_unread(about: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Whether nothing of the recording could be read; one without a transition was read, and has no rows."""
    return set(about) == {"recordings"}


def _unread(digest: str, files: list[str], said: str) -> dict[str, Any]:
    return {"recording": digest, "recording_path": shown(files), "recording_error": said}


def _temporary() -> Optional[str]:
    """The folder for temporary files of Spark's executor, which is emptied with it."""
    for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(","):
        if folder and os.path.isdir(folder):
            return folder
    return None


_readers: dict[tuple[float, int, int], Reader] = {}


def _reader(question: _Question) -> Reader:
    """The process that reads recordings for this one, which serves one task after the other."""
    limits = (question.seconds, question.memory_bytes, os.getpid())
    if limits not in _readers:
        # Others belong to another task's question, or to the process that this is a copy of.
        for (_, _, owner), other in list(_readers.items()):
            if owner == os.getpid():
                other.close()
        _readers.clear()
        _readers[limits] = Reader(question.seconds, question.memory_bytes)
        atexit.register(_readers[limits].close)
    return _readers[limits]


def _schema(table: str) -> Any:
    """The columns of a table, as Arrow has them in Spark. All may be null: in a row that says why a recording was not read, they are."""
    if table == SUMMARIES:
        others = [(name, pyarrow.list_(pyarrow.field("element", pyarrow.struct(_summary_columns(name))))) for name in TABLES if name != "recordings"]
        return pyarrow.schema([*_IDENTITY, *_summary_columns("recordings"), *others])
    if table == "recordings":
        return pyarrow.schema([*_IDENTITY, *_summary_columns(table)])
    if table in TABLES:
        return pyarrow.schema([*_IDENTITY, *_summary_columns(table), *_ORIGIN])
    columns = [(column.name, _COLUMN_TYPES[column.type]) for column in _declarations()[table].columns]
    return pyarrow.schema([*_IDENTITY, *columns, *_ORIGIN])


def _summary_columns(table: str) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in schema_of(table) if field.name != "recording"]


def _spark_type(kind: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    if pyarrow.types.is_struct(kind):
        return StructType([StructField(field.name, _spark_type(field.type), True) for field in kind])
    if pyarrow.types.is_list(kind):
        from pyspark.sql.types import ArrayType

        return ArrayType(_spark_type(kind.value_type), True)
    return from_arrow_type(kind)


def _batch(rows: list[dict[str, Any]], schema: Any) -> Any:
    return pyarrow.RecordBatch.from_pylist(rows, schema=schema)


def _converted(part: Any, schema: Any, digest: str, path: str) -> Any:
    """Rows of a table in Spark's types, with the recording that they are of."""
    constant = {"recording": digest, "recording_path": path, "recording_error": None}
    columns = []
    for field in schema:
        if field.name in constant and field.name not in part.schema.names:
            columns.append(pyarrow.repeat(pyarrow.scalar(constant[field.name], field.type), part.num_rows))
        else:
            columns.append(part.column(field.name).cast(field.type))
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
