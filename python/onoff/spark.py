"""Data source for Apache Spark (``pip install onoff-perf[spark]``).

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
from ._summaries import TABLES, arrow_schema, with_identity
from ._worker import content_hash, failure, display_name

try:
    import pyarrow
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ImportError:
    raise UsageError("The Spark data source requires PySpark 4 and pyarrow: pip install 'onoff-perf[spark]'") from None

SUMMARIES = "summaries"
"""Default of the option ``table``: one row per recording, with the rows of all other tables of ``onoff.summaries``
nested in it."""

_TARGET_PARTITIONS = 64
"""Recordings are grouped into partitions if there are more than this."""
_MAX_RECORDINGS = 64
"""Maximum number of recordings per partition."""
_MAX_BYTES = 256 << 20
"""A partition is complete once its recordings reach this size."""
_BATCH_ROWS = 1 << 16
"""Maximum number of rows per batch."""
_BATCH_RECORDINGS = 16
"""Maximum number of recordings per batch."""

# Spark has no unsigned integers, so use the next larger signed type.
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
    """Registers ``spark.read.format("onoff")`` with a Spark session."""
    spark.dataSource.register(OnoffDataSource)


def tables(summaries: Any) -> dict[str, Any]:
    """Splits a data frame that was read without the option ``table`` into the tables of ``onoff.summaries``.

    Each resulting data frame reads the recordings again, unless ``summaries`` was cached or written to storage.
    """
    from pyspark.sql import functions

    frames = {"recordings": summaries.select("recording", *TABLES["recordings"])}
    for name in TABLES:
        if name != "recordings":
            rows = summaries.select("recording", functions.explode(name).alias("row"))
            frames[name] = rows.select("recording", *(functions.col(f"row.{column}").alias(column) for column in TABLES[name]))
    return frames


def read_files(
    spark: Any, path: Union[str, list[str]], table: str = "summaries", seconds: float = 600.0, memory_bytes: int = 0
) -> Any:
    """Reads recordings through Spark's own file access: ``s3a://``, ``abfss://``, ``hdfs://`` and other Hadoop file
    systems, with Spark's credentials. ``path`` is a file, a folder (read recursively), a pattern, or a list of them.

    Each file is one recording; other files are ignored. Each recording is copied to the temporary folder of its
    executor, read, and deleted. Files of 2 GiB or more are not supported by Spark.
    """
    settings = _Settings.from_options({"table": table, "seconds": str(seconds), "memory_bytes": str(memory_bytes)})
    schema = _schema(table)

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        reader = OnoffReader(settings, schema.names)
        for batch in batches:
            for uri, content in zip(*batch.columns):
                with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary_folder()) as folder:
                    copy = os.path.join(folder, os.path.basename(uri.as_py()) or "recording")
                    with open(copy, "wb") as file:
                        file.write(content.as_buffer())
                    # Use only the number of recordings, because a folder of logs is one recording with the folder's name.
                    recordings = [[copy] for _ in _recordings([folder])]
                    for rows_batch in reader.read(_Group(recordings)):
                        yield _with_original_path(rows_batch, copy, uri.as_py())

    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path).select("path", "content")
    return files.mapInArrow(rows, _spark_type(pyarrow.struct(list(schema))))


def _with_original_path(batch: Any, copy: str, original: str) -> Any:
    """Replaces the path of a temporary copy with the original path."""
    for name in ("path", "error", "recording_path", "recording_error"):
        if name in batch.schema.names:
            index = batch.schema.get_field_index(name)
            texts = [None if text is None else text.replace(copy, original) for text in batch.column(index).to_pylist()]
            batch = batch.set_column(index, batch.schema.field(index), pyarrow.array(texts, pyarrow.string()))
    return batch


class OnoffDataSource(DataSource):  # type: ignore[misc] # PySpark is not type-checked here.
    """``spark.read.format("onoff").load(paths)``; the documentation lists the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.settings = _Settings.from_options(options)

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "onoff"

    def schema(self) -> Any:
        """Returns the columns, which depend only on the option ``table``."""
        return _spark_type(pyarrow.struct(list(_schema(self.settings.table))))

    def reader(self, schema: Any) -> OnoffReader:
        """Creates a reader of the columns in ``schema``, which may be a subset."""
        return OnoffReader(self.settings, list(schema.fieldNames()))


class _Settings(NamedTuple):
    """Parsed options."""

    paths: list[str]
    table: str
    seconds: float
    memory_bytes: int
    max_recordings: int
    max_bytes: int

    @staticmethod
    def from_options(options: MutableMapping[str, str]) -> _Settings:
        known = ("path", "paths", "table", "seconds", "memory_bytes", "recordings_per_partition", "bytes_per_partition")
        unknown = sorted(name for name in options if name.lower() not in known)
        if unknown:
            raise UsageError(f"unknown option {', '.join(unknown)}; available: {', '.join(known[2:])}")
        paths = json.loads(options["paths"]) if "paths" in options else []
        if "path" in options:
            paths.append(options["path"])
        table = options.get("table", SUMMARIES)
        if table != SUMMARIES and table not in TABLES and table not in _declarations():
            names = [SUMMARIES, *TABLES, *_declarations()]
            raise UsageError(f"unknown table {table!r}; available: {', '.join(names)}")
        return _Settings(
            paths,
            table,
            _number(options, "seconds", 600.0, 0.001),
            int(_number(options, "memory_bytes", 0, 0)),
            int(_number(options, "recordings_per_partition", 0, 1)),
            int(_number(options, "bytes_per_partition", _MAX_BYTES, 1)),
        )


def _number(options: MutableMapping[str, str], name: str, default: float, minimum: float) -> float:
    if name not in options:
        return default
    try:
        number = float(options[name])
    except ValueError:
        number = minimum - 1
    if not minimum <= number < 2.0**63:
        raise UsageError(f"{name}: {options[name]!r} is not a number of at least {minimum:g}")
    return number


class _Group(InputPartition):  # type: ignore[misc] # As above.
    """Partition: recordings read sequentially by one task."""

    def __init__(self, recordings: list[list[str]]) -> None:
        super().__init__(None)
        self.recordings = recordings


class OnoffReader(DataSourceReader):  # type: ignore[misc] # As above.
    """Lists recordings on the driver and reads them on the executors."""

    def __init__(self, settings: _Settings, columns: list[str]) -> None:
        self.settings = settings
        full_schema = _schema(settings.table)
        unknown = [column for column in columns if column not in full_schema.names]
        if unknown:
            raise UsageError(f"the table {settings.table} has no column {', '.join(unknown)}; it has {', '.join(full_schema.names)}")
        self.columns = columns

    def partitions(self) -> list[Any]:
        """Groups neighboring recordings, limited in number and size."""
        recordings = _recordings(self.settings.paths)
        limit = self.settings.max_recordings or min(_MAX_RECORDINGS, -(-len(recordings) // _TARGET_PARTITIONS) or 1)
        groups: list[Any] = []
        group: list[list[str]] = []
        size = 0
        for files in recordings:
            group.append(files)
            size += _size(files)
            if len(group) >= limit or size >= self.settings.max_bytes:
                groups.append(_Group(group))
                group, size = [], 0
        if group:
            groups.append(_Group(group))
        return groups

    def read(self, partition: Any) -> Iterator[Any]:
        """Reads the rows of a partition."""
        # Spark passes an empty partition if there are no recordings.
        if not isinstance(partition, _Group):
            return
        schema = _schema(self.settings.table)
        requested_schema = pyarrow.schema([schema.field(name) for name in self.columns])
        if self.settings.table in (SUMMARIES, *TABLES):
            batches = self._summaries(partition.recordings, schema)
        else:
            batches = self._tables(partition.recordings, schema)
        for batch in batches:
            if batch.num_rows:
                yield pyarrow.RecordBatch.from_arrays([batch.column(name) for name in self.columns], schema=requested_schema)

    def _summaries(self, recordings: list[list[str]], schema: Any) -> Iterator[Any]:
        table = self.settings.table
        rows: list[dict[str, Any]] = []
        pending = 0
        for files in recordings:
            digest, tables = self._summarize(files)
            if table == "recordings":
                rows += tables["recordings"]
            elif table == SUMMARIES:
                # Same as `onoff.summaries`, but nested rows do not repeat the recording.
                rows += [{**tables["recordings"][0], **{name: tables.get(name, []) for name in TABLES if name != "recordings"}}]
            else:
                error = tables["recordings"][0]["error"] if _is_unreadable(tables) else None
                origin = {"recording_path": tables["recordings"][0]["path"], "recording_error": error}
                rows += [{**row, **origin} for row in tables.get(table, [])]
                if error:
                    rows.append({"recording": digest, **origin})
            pending += 1
            if pending >= _BATCH_RECORDINGS:
                yield _batch(rows, schema)
                rows, pending = [], 0
        yield _batch(rows, schema)

    def _summarize(self, files: list[str]) -> tuple[str, Mapping[str, list[dict[str, Any]]]]:
        """Returns the hash of a recording, and its rows as in `onoff.summaries`."""
        digest, error = _hash(files)
        if error is not None:
            return digest, with_identity(failure(error, transient=True), digest, files)
        rows = _reader(self.settings).run(files)
        return digest, with_identity(failure(rows, transient=True) if isinstance(rows, str) else rows, digest, files)

    def _tables(self, recordings: list[list[str]], schema: Any) -> Iterator[Any]:
        for files in recordings:
            digest, error = _hash(files)
            if error is not None:
                yield _batch([_error_row(digest, files, error)], schema)
                continue
            # Export the entire table first, so that a crash yields a row with the error instead of a partial table.
            with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary_folder()) as folder:
                task = {"files": files, "table": self.settings.table, "folder": os.path.join(folder, "tables")}
                answer = _reader(self.settings).run(task)
                error = answer if isinstance(answer, str) else answer.get("error")
                if error is not None:
                    yield _batch([_error_row(digest, files, error)], schema)
                    continue
                with pyarrow.OSFile(answer["file"]) as file:
                    reader = pyarrow.ipc.open_file(file)
                    for index in range(reader.num_record_batches):
                        batch = reader.get_batch(index)
                        for start in range(0, batch.num_rows, _BATCH_ROWS):
                            yield _convert(batch.slice(start, _BATCH_ROWS), schema, digest, display_name(files))


def _recordings(paths: list[str]) -> list[list[str]]:
    """Finds the recordings in files, folders and patterns."""
    expanded: list[str] = []
    for path in paths:
        path = _local_path(path)
        if glob.has_magic(path) and not os.path.lexists(path):
            matches = sorted(glob.glob(path))
            if not matches:
                raise UsageError(f"{path}: no file matches")
            expanded += matches
        else:
            expanded.append(path)
    if not expanded:
        raise UsageError('no recording specified: spark.read.format("onoff").load(…)')
    try:
        recordings, _ = _onoff.recordings([os.path.abspath(path) for path in expanded])
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    return [[os.fspath(path) for path in files] for files in recordings]


def _local_path(path: str) -> str:
    if path.startswith("file:"):
        return unquote(urlsplit(path).path)
    if "://" in path or path.startswith("dbfs:"):
        raise UsageError(
            f"{path}: only file systems mounted on all computers are supported here; "
            "use onoff.spark.read_files to read through Spark"
        )
    return path


def _size(files: list[str]) -> int:
    total = 0
    for path in files:
        try:
            total += os.stat(path).st_size
        except OSError:
            # The reader reports the error.
            continue
    return total


def _hash(files: list[str]) -> tuple[str, Optional[str]]:
    """Returns the identifier of a recording, and an error message if it cannot be opened."""
    path_id = f"path:{display_name(files)}"
    try:
        for path in files:
            mode = os.stat(path).st_mode
            # Reading a pipe or a device may block forever.
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                return path_id, f"{display_name([path])}: neither a file nor a folder"
        return content_hash(files), None
    except OSError as error:
        return path_id, str(error)


def _is_unreadable(tables: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Returns whether the recording could not be read; a readable recording has all tables, even if they are empty."""
    return set(tables) == {"recordings"}


def _error_row(digest: str, files: list[str], error: str) -> dict[str, Any]:
    return {"recording": digest, "recording_path": display_name(files), "recording_error": error}


def _temporary_folder() -> Optional[str]:
    """Returns the temporary folder of the Spark executor, which Spark cleans up."""
    for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(","):
        if folder and os.path.isdir(folder):
            return folder
    return None


_readers: dict[tuple[float, int, int], Reader] = {}


def _reader(settings: _Settings) -> Reader:
    """Returns the reader process of this Python worker, which runs tasks sequentially."""
    limits = (settings.seconds, settings.memory_bytes, os.getpid())
    if limits not in _readers:
        # Other readers have different options or belong to the process from which this one was forked.
        for (_, _, owner), reader in list(_readers.items()):
            if owner == os.getpid():
                reader.close()
        _readers.clear()
        _readers[limits] = Reader(settings.seconds, settings.memory_bytes)
        atexit.register(_readers[limits].close)
    return _readers[limits]


def _schema(table: str) -> Any:
    """Returns the Arrow schema of a table. All columns are nullable: they are null in rows with a read error."""
    if table == SUMMARIES:
        nested = [(name, pyarrow.list_(pyarrow.field("element", pyarrow.struct(_summary_columns(name))))) for name in TABLES if name != "recordings"]
        return pyarrow.schema([*_IDENTITY, *_summary_columns("recordings"), *nested])
    if table == "recordings":
        return pyarrow.schema([*_IDENTITY, *_summary_columns(table)])
    if table in TABLES:
        return pyarrow.schema([*_IDENTITY, *_summary_columns(table), *_ORIGIN])
    columns = [(column.name, _COLUMN_TYPES[column.type]) for column in _declarations()[table].columns]
    return pyarrow.schema([*_IDENTITY, *columns, *_ORIGIN])


def _summary_columns(table: str) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in arrow_schema(table) if field.name != "recording"]


def _spark_type(arrow_type: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    if pyarrow.types.is_struct(arrow_type):
        return StructType([StructField(field.name, _spark_type(field.type), True) for field in arrow_type])
    if pyarrow.types.is_list(arrow_type):
        from pyspark.sql.types import ArrayType

        return ArrayType(_spark_type(arrow_type.value_type), True)
    return from_arrow_type(arrow_type)


def _batch(rows: list[dict[str, Any]], schema: Any) -> Any:
    return pyarrow.RecordBatch.from_pylist(rows, schema=schema)


def _convert(batch: Any, schema: Any, digest: str, path: str) -> Any:
    """Converts rows to Spark types and adds the columns that identify the recording."""
    constants = {"recording": digest, "recording_path": path, "recording_error": None}
    columns = []
    for field in schema:
        if field.name in constants and field.name not in batch.schema.names:
            columns.append(pyarrow.repeat(pyarrow.scalar(constants[field.name], field.type), batch.num_rows))
        else:
            columns.append(batch.column(field.name).cast(field.type))
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
