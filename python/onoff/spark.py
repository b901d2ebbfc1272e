"""Data source for Apache Spark (``pip install onoff-perf[spark]``).

>>> import onoff.spark
>>> onoff.spark.register(spark)                                               # doctest: +SKIP
>>> runs = spark.read.format("onoff").load("/mnt/boots")                      # doctest: +SKIP
>>> onoff.spark.tables(runs)["phases"].groupBy("phase").avg("duration_ns")    # doctest: +SKIP
"""

from __future__ import annotations

import atexit
import errno
import glob
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, Optional, TypeVar, Union
from urllib.parse import unquote, urlsplit

from . import _onoff
from ._errors import UsageError, raise_for
from ._process import Reader
from ._recording import _declarations
from ._spark_filters import FILE_COLUMNS, HEADER_COLUMNS, PATH_COLUMNS, can_match, on_columns
from ._stored import IS_UP_TO_DATE, STATE_COLUMNS, up_to_date
from ._summaries import TABLES, arrow_schema, with_identity
from ._worker import content_hash, display_name, failure, stamp, stamp_columns

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
_RETRY_DELAYS_S = (1.0, 4.0)
"""Seconds before a file that could not be opened or copied is tried again."""
_COPY_BYTES = 8 << 20
"""Number of bytes copied at once."""

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
    """Registers ``spark.read.format("onoff")`` with a Spark session. Enables the setting
    ``spark.sql.python.filterPushdown.enabled`` of Spark 4.1, so that filters skip recordings."""
    can_push = hasattr(DataSourceReader, "pushFilters")
    if can_push:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(_FilteringDataSource if can_push else OnoffDataSource)


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


def latest(summaries: Any) -> Any:
    """Returns one row for each path and each recording of a data frame to which several runs appended: the latest state
    of a file, and rows of read errors only if the recording was never read."""
    from pyspark.sql import Window, functions

    order = [functions.expr(text).desc() for text in ("modified_ns", IS_UP_TO_DATE, "schema", "path")]
    for index, column in enumerate(("path", "recording")):
        number = functions.row_number().over(Window.partitionBy(column).orderBy(*order[: 3 + index]))
        summaries = summaries.withColumn("_number", number).where("_number = 1").drop("_number")
    return summaries


def read_files(
    spark: Any,
    path: Union[str, list[str]],
    table: str = "summaries",
    seconds: float = 600.0,
    memory_bytes: int = 0,
    *,
    columns: Optional[list[str]] = None,
    where: Optional[str] = None,
    known: Any = None,
    filesystem: Any = None,
    stream: bool = False,
    options: Optional[Mapping[str, str]] = None,
) -> Any:
    """Reads recordings that Spark lists: from ``s3a://``, ``abfss://``, ``hdfs://`` and other Hadoop file systems.
    ``path`` is a file, a folder (read recursively), a pattern, or a list of them. Each file is one recording; other
    files are ignored.

    ``where`` is a condition on ``path``, ``size_bytes`` and ``modified_ns``. ``known`` is a data frame of stored rows;
    files in it with the same path, size and time are skipped. Both are applied before a file is opened. ``options`` are
    options of Spark's file source, such as ``modifiedAfter`` and ``pathGlobFilter``.

    Files under ``file:`` are opened in place. Others are copied, one at a time, to the temporary folder of the
    executor: through Spark, with its credentials and up to 2 GiB, or with ``filesystem`` (of ``pyarrow.fs``), which
    reads files of any size and tries again after an error.

    With ``stream=True`` the result is a stream, which reads each new file once.
    """
    settings = _Settings.from_options(
        {
            "table": table,
            "seconds": str(seconds),
            "memory_bytes": str(memory_bytes),
            **({"columns": ",".join(columns)} if columns is not None else {}),
        }
    )
    paths = [path] if isinstance(path, str) else list(path)
    if stream and (known is not None or len(paths) != 1):
        raise UsageError("a stream reads one path, and its checkpoint has the known files instead of 'known'")
    is_opened = filesystem is not None or all(name.startswith("file:") for name in paths)
    source = _FileSource(spark, stream, dict(options or {}))
    files = source.files(paths)
    if where is not None:
        files = files.where(where)
    if known is not None:
        stored = known.where(IS_UP_TO_DATE).select(*STATE_COLUMNS).distinct()
        tasks = int(spark.conf.get("spark.sql.shuffle.partitions", "200"))
        # A file is a row of some bytes here, so Spark would read all of them in one task.
        files = files.drop("content").join(stored, list(STATE_COLUMNS), "left_anti").repartition(tasks, "path")
    if is_opened:
        files = files.drop("content")
    elif not stream and (where is not None or known is not None):
        # Spark reads contents before it joins, so list first.
        files = source.files([_escaped(row.path) for row in files.select("path").toLocalIterator()])
    if not is_opened:
        files = source.with_contents(files)
    schema = settings.schema()

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        reader = OnoffReader(settings, schema.names)
        for batch in batches:
            for values in zip(*(batch.column(index) for index in range(batch.num_columns))):
                uri, size, modified = (value.as_py() for value in values[:3])
                content = values[3].as_buffer() if len(values) > 3 else None
                yield from reader.read_file(uri, size, modified, content, filesystem)

    return files.mapInArrow(rows, _spark_type(pyarrow.struct(list(schema))))


class _FileSource:
    """Files that Spark lists, with the columns of ``STATE_COLUMNS`` and ``content``."""

    def __init__(self, spark: Any, stream: bool, options: dict[str, str]) -> None:
        self.spark = spark
        self.stream = stream
        self.options = options

    def files(self, paths: list[str]) -> Any:
        """Lists files."""
        reader = self.spark.readStream if self.stream else self.spark.read
        reader = reader.format("binaryFile").schema("path string, modificationTime timestamp, length bigint, content binary")
        reader = reader.option("recursiveFileLookup", "true").options(**self.options)
        if paths:
            files = reader.load(paths[0] if self.stream else paths)
        else:
            files = self.spark.createDataFrame([], "path string, modificationTime timestamp, length bigint, content binary")
        return files.selectExpr("path", "length AS size_bytes", "unix_micros(modificationTime) * 1000 AS modified_ns", "content")

    def with_contents(self, files: Any) -> Any:
        """Selects the contents, or null for files that Spark cannot pass."""
        max_bytes = int(self.spark.conf.get("spark.sql.sources.binaryFile.maxLength", str((1 << 31) - 1)))
        small = files.where(f"size_bytes <= {max_bytes}")
        large = files.drop("content").where(f"size_bytes > {max_bytes}").selectExpr("*", "CAST(NULL AS binary) AS content")
        return small.unionByName(large)


def _escaped(path: str) -> str:
    """Returns a pattern that matches only this path."""
    return "".join("\\" + character if character in "[]{}*?\\" else character for character in path)


class OnoffDataSource(DataSource):  # type: ignore[misc] # PySpark is not type-checked here.
    """``spark.read.format("onoff").load(paths)``; the documentation lists the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.settings = _Settings.from_options(options)

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "onoff"

    def schema(self) -> Any:
        """Returns the columns, which depend on the options ``table`` and ``columns``."""
        return _spark_type(pyarrow.struct(list(self.settings.schema())))

    def reader(self, schema: Any) -> OnoffReader:
        """Creates a reader of the columns in ``schema``, which may be a subset."""
        return OnoffReader(self.settings, list(schema.fieldNames()))


class _FilteringDataSource(OnoffDataSource):
    """The same with filters. Spark refuses it if its setting for filters is disabled."""

    def reader(self, schema: Any) -> OnoffReader:
        """Creates a reader that takes filters."""
        return _FilteringReader(self.settings, list(schema.fieldNames()))


class _Settings(NamedTuple):
    """Parsed options."""

    paths: list[str]
    table: str
    seconds: float
    memory_bytes: int
    max_recordings: int
    max_bytes: int
    columns: Optional[list[str]]
    known: Optional[str]

    def schema(self) -> Any:
        """Returns the Arrow schema of the selected columns."""
        full_schema = _schema(self.table)
        if self.columns is None:
            return full_schema
        unknown = [column for column in self.columns if column not in full_schema.names]
        if unknown:
            raise UsageError(f"the table {self.table} has no column {', '.join(unknown)}; it has {', '.join(full_schema.names)}")
        return pyarrow.schema([full_schema.field(column) for column in self.columns])

    @staticmethod
    def from_options(options: MutableMapping[str, str]) -> _Settings:
        known = ("path", "paths", "table", "seconds", "memory_bytes", "recordings_per_partition", "bytes_per_partition", "columns", "known")
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
            [column.strip() for column in options["columns"].split(",")] if "columns" in options else None,
            _local_path(options["known"]) if "known" in options else None,
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


class _Origin(NamedTuple):
    """Where a recording comes from, if its files are a copy."""

    copy: str
    columns: Mapping[str, Any]
    """Values of ``STATE_COLUMNS`` and ``stamp``."""

    def original(self, message: str) -> str:
        """Replaces the path of the copy in a message."""
        return message.replace(self.copy, str(self.columns["path"]))


class OnoffReader(DataSourceReader):  # type: ignore[misc] # As above.
    """Lists recordings on the driver and reads them on the executors."""

    def __init__(self, settings: _Settings, columns: list[str]) -> None:
        self.settings = settings._replace(columns=columns)
        self.requested_schema = self.settings.schema()
        self.filters: list[Any] = []

    def partitions(self) -> list[Any]:
        """Groups neighboring recordings, limited in number and size. Leaves out those that filters or the option
        ``known`` exclude."""
        known = up_to_date(self.settings.known) if self.settings.known is not None else set()
        filters = on_columns(self.filters, FILE_COLUMNS)
        recordings = []
        for files in _recordings(self.settings.paths):
            values = _state(files)
            if tuple(values.get(column) for column in STATE_COLUMNS) not in known and can_match(filters, values):
                recordings.append((files, values.get("size_bytes") or 0))
        limit = self.settings.max_recordings or min(_MAX_RECORDINGS, -(-len(recordings) // _TARGET_PARTITIONS) or 1)
        groups: list[Any] = []
        group: list[list[str]] = []
        total_size = 0
        for files, size in recordings:
            group.append(files)
            total_size += size
            if len(group) >= limit or total_size >= self.settings.max_bytes:
                groups.append(_Group(group))
                group, total_size = [], 0
        if group:
            groups.append(_Group(group))
        return groups

    def read(self, partition: Any) -> Iterator[Any]:
        """Reads the rows of a partition."""
        # Spark passes an empty partition if there are no recordings.
        if not isinstance(partition, _Group):
            return
        yield from self._batches((files, None) for files in partition.recordings if self._meets_filters(files))

    def read_file(self, uri: str, size: int, modified_ns: int, content: Any, filesystem: Any) -> Iterator[Any]:
        """Reads the rows of a file that Spark listed, which may not be a recording."""
        columns = {"path": uri, "size_bytes": size, "modified_ns": modified_ns, "stamp": f"{size}:{modified_ns}:0"}
        is_local = content is None and filesystem is None and uri.startswith("file:")
        with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary_folder()) as folder:
            path = _hadoop_path(uri) if is_local else os.path.join(folder, os.path.basename(uri) or "recording")
            origin = _Origin(path, columns)
            try:
                if content is not None:
                    with open(path, "wb") as file:
                        file.write(content)
                elif filesystem is not None:
                    _retry(lambda: _copy(filesystem, _path_in(filesystem, uri), path))
                elif not is_local:
                    raise OSError(f"{uri}: {size:,} bytes are too many for Spark's file source; read_files needs 'filesystem' for it")
            except OSError as error:
                yield from self._batches([([path], origin)], str(error))
                return
            if _onoff.is_recording(path):
                yield from self._batches([([path], origin)])

    def _meets_filters(self, files: list[str]) -> bool:
        """Returns false if the description of a recording excludes it."""
        filters = on_columns(self.filters, HEADER_COLUMNS)
        try:
            if not filters or _special_file(files) is not None:
                return True
        except OSError:
            return True
        values = _reader(self.settings).run({"files": files})
        # The analysis reports an error.
        return isinstance(values, str) or can_match(filters, values)

    def _batches(self, sources: Iterable[tuple[list[str], Optional[_Origin]]], error: Optional[str] = None) -> Iterator[Any]:
        if self.settings.table in (SUMMARIES, *TABLES):
            batches = self._summaries(sources, error)
        else:
            batches = self._tables(sources, error)
        return (batch for batch in batches if batch.num_rows)

    def _summaries(self, sources: Iterable[tuple[list[str], Optional[_Origin]]], error: Optional[str]) -> Iterator[Any]:
        table = self.settings.table
        rows: list[dict[str, Any]] = []
        pending = 0
        for files, origin in sources:
            digest, tables = self._summarize(files, origin, error)
            recording = tables["recordings"][0]
            if table == "recordings":
                rows.append(recording)
            elif table == SUMMARIES:
                # Same as `onoff.summaries`, but nested rows do not repeat the recording.
                rows += [{**recording, **{name: tables.get(name, []) for name in TABLES if name != "recordings"}}]
            else:
                read_error = recording["error"] if _is_unreadable(tables) else None
                columns = {"recording_path": recording["path"], "recording_error": read_error}
                rows += [{**row, **columns} for row in tables.get(table, [])]
                if read_error:
                    rows.append({"recording": digest, **columns})
            pending += 1
            if pending >= _BATCH_RECORDINGS:
                yield _batch(rows, self.requested_schema)
                rows, pending = [], 0
        yield _batch(rows, self.requested_schema)

    def _summarize(self, files: list[str], origin: Optional[_Origin], error: Optional[str]) -> tuple[str, Mapping[str, list[dict[str, Any]]]]:
        """Returns the hash of a recording, and its rows as in `onoff.summaries`."""
        digest, error = _hash(files, origin, error)
        rows = failure(error, transient=True) if error is not None else _reader(self.settings).run(files)
        if isinstance(rows, str):
            rows = failure(rows, transient=True)
        if origin is not None:
            [recording] = rows["recordings"]
            rows["recordings"] = [{**recording, **origin.columns, "error": origin.original(recording["error"])}]
        return digest, with_identity(rows, digest, files)

    def _tables(self, sources: Iterable[tuple[list[str], Optional[_Origin]]], error: Optional[str]) -> Iterator[Any]:
        names = [column.name for column in _declarations()[self.settings.table].columns]
        # Read at least one column, for the number of rows.
        columns = [name for name in self.requested_schema.names if name in names] or names[:1]
        for files, origin in sources:
            name = display_name(files) if origin is None else origin.columns["path"]
            digest, read_error = _hash(files, origin, error)
            # Export the entire table first, so that a crash yields a row with the error instead of a partial table.
            with tempfile.TemporaryDirectory(prefix="onoff-", dir=_temporary_folder()) as folder:
                exported = os.path.join(folder, "table")
                if read_error is None:
                    task = {"files": files, "table": self.settings.table, "columns": columns, "file": exported}
                    answer = _reader(self.settings).run(task)
                    read_error = answer if isinstance(answer, str) else answer.get("error")
                if read_error is not None:
                    message = read_error if origin is None else origin.original(read_error)
                    row = {"recording": digest, "recording_path": name, "recording_error": message}
                    yield _batch([row], self.requested_schema)
                    continue
                with pyarrow.OSFile(exported) as file:
                    for batch in pyarrow.ipc.open_stream(file):
                        for start in range(0, batch.num_rows, _BATCH_ROWS):
                            yield _convert(batch.slice(start, _BATCH_ROWS), self.requested_schema, digest, name)


class _FilteringReader(OnoffReader):
    """Reader that takes filters of Spark 4.1."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        """Keeps the filters that skip recordings. Returns all: Spark evaluates them again."""
        columns = _FILTER_COLUMNS if self.settings.table in (SUMMARIES, "recordings") else PATH_COLUMNS[1:]
        self.filters = on_columns(filters, columns)
        return filters


_FILTER_COLUMNS = (*(column for column in FILE_COLUMNS if column != "recording_path"), *HEADER_COLUMNS)


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


def _hadoop_path(uri: str) -> str:
    """Returns the path of a local file. Hadoop does not encode special characters.

    >>> _hadoop_path("file:/boots/50%25 [a].etl"), _hadoop_path("file:///boots/a.etl")
    ('/boots/50%25 [a].etl', '/boots/a.etl')
    """
    path = uri[len("file:") :]
    return path[2:] if path.startswith("///") else path


def _path_in(filesystem: Any, uri: str) -> str:
    """Returns the name of a file in a file system of ``pyarrow.fs``.

    >>> class S3: type_name = "s3"
    >>> _path_in(S3, "s3a://fleet/boots/a.etl")
    'fleet/boots/a.etl'
    >>> class Azure: type_name = "abfs"
    >>> _path_in(Azure, "abfss://boots@fleet.dfs.core.windows.net/a.etl")
    'boots/a.etl'
    """
    scheme, _, rest = uri.partition(":")
    if not rest.startswith("//"):
        return rest
    authority, _, path = rest[2:].partition("/")
    if scheme == "file" or filesystem.type_name in ("hdfs", "local"):
        return f"/{path}"
    return f"{authority.split('@')[0]}/{path}"


def _copy(filesystem: Any, path: str, copy: str) -> None:
    with filesystem.open_input_stream(path) as source, open(copy, "wb") as file:
        while block := source.read(_COPY_BYTES):
            file.write(block)


_T = TypeVar("_T")


def _retry(action: Callable[[], _T]) -> _T:
    """Tries an action again after errors that may be temporary."""
    for delay in _RETRY_DELAYS_S:
        try:
            return action()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            raise
        except OSError:
            time.sleep(delay)
    return action()


def _state(files: list[str]) -> dict[str, Any]:
    """Returns the name of a recording and the state of its files, with the columns of ``recordings``."""
    name = display_name(files)
    try:
        return {"path": name, "recording_path": name, **stamp_columns(stamp(files))}
    except OSError:
        # The reader reports the error.
        return {"path": name, "recording_path": name}


def _special_file(files: list[str]) -> Optional[str]:
    """Returns an error message if one of the files is a pipe or a device, because reading it may block forever."""
    for path in files:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return f"{display_name([path])}: neither a file nor a folder"
    return None


def _hash(files: list[str], origin: Optional[_Origin], error: Optional[str]) -> tuple[str, Optional[str]]:
    """Returns the identifier of a recording, and an error message if it cannot be opened."""
    path_id = f"path:{display_name(files) if origin is None else origin.columns['path']}"
    if error is not None:
        return path_id, error
    try:
        special_file = _retry(lambda: _special_file(files))
        if special_file is not None:
            return path_id, special_file
        if all(os.path.isfile(path) and os.path.getsize(path) == 0 for path in files):
            return path_id, str(OSError(errno.ENODATA, "the file is empty", files[0]))
        return _retry(lambda: content_hash(files)), None
    except OSError as problem:
        return path_id, str(problem)


def _is_unreadable(tables: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Returns whether the recording could not be read; a readable recording has all tables, even if they are empty."""
    return set(tables) == {"recordings"}


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
