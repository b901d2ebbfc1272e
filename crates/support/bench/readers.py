#!/usr/bin/env python3
"""Runs one of the two public readers on a recording, and prints the result as one line of JSON.

    readers.py dissect.etl|etl-parser headers|fields FILE

`headers` reads the records; `fields` also decodes the payload of each record. `wall` and `cpu` are the seconds of that
loop; they exclude loading the reader (etl-parser needs over a second for its schemas).
"""

import json
import sys
import time


def since(began):
    """Wall and CPU seconds."""
    return time.perf_counter() - began[0], time.process_time() - began[1]


def dissect(path, fields):
    from dissect.etl import ETL

    events = decoded = 0
    began = time.perf_counter(), time.process_time()
    error = None
    try:
        with open(path, "rb") as file:
            for record in ETL(file):
                events += 1
                # `event` decodes the payload if there is a definition; its own `event_values()` raises with
                # the dissect.cstruct that pip installs beside it.
                if fields:
                    try:
                        decoded += record.event._struct is not None
                    except Exception:  # a payload it cannot take: counted as not decoded
                        pass
    except Exception as raised:  # what a reader cannot do is a result here
        error = f"{type(raised).__name__}: {raised}"
    return events, decoded, since(began), error


def etl_parser(path, fields):
    from etl.error import GuidNotFound
    from etl.etl import IEtlFileObserver, build_from_stream
    from etl.parsers.etw import core as _etw  # noqa: F401, loads the schemas
    from etl.parsers.kernel import core as _kernel  # noqa: F401

    def no_layout(_event):
        raise NotImplementedError

    class Counter(IEtlFileObserver):
        events = decoded = 0

        def count(self, record, decode):
            self.events += 1
            if fields:
                try:
                    decode(record)
                    self.decoded += 1
                except Exception:  # no layout for this kind: counted as not decoded
                    pass

        def on_event_record(self, event):
            def decode(event):
                try:
                    event.parse_etw()
                except GuidNotFound:
                    event.parse_tracelogging()

            self.count(event, decode)

        def on_perfinfo_trace(self, obj):
            self.count(obj, lambda o: o.get_mof())

        def on_system_trace(self, obj):
            self.count(obj, lambda o: o.get_mof())

        def on_trace_record(self, event):
            self.count(event, no_layout)

        def on_win_trace(self, obj):
            self.count(obj, lambda o: o.parse_etw())

    counter = Counter()
    began = time.perf_counter(), time.process_time()
    error = None
    try:
        with open(path, "rb") as file:
            build_from_stream(file.read()).parse(counter)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return counter.events, counter.decoded, since(began), error


def main():
    reader, depth, path = sys.argv[1:]
    drive = {"dissect.etl": dissect, "etl-parser": etl_parser}[reader]
    events, decoded, (wall, cpu), error = drive(path, depth == "fields")
    print(json.dumps({"events": events, "decoded": decoded, "wall": wall, "cpu": cpu, "error": error}))


if __name__ == "__main__":
    main()
