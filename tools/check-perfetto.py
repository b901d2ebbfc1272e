#!/usr/bin/env python3
"""Checks traces written by 'onoff export --format perfetto' against Perfetto's schema.

The schema comes from the package 'perfetto' (PyPI), which is generated from Perfetto's protocol buffers. Errors are unknown
fields, tracks without a descriptor, ends without a start, and times that decrease.

    tools/check-perfetto.py FILE...
"""

import sys
from collections import Counter, defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


def unknown_fields(message, path="Trace"):
    """Yields the paths of fields that the schema does not have."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    for field in UnknownFieldSet(message):
        yield f"{path}: field {field.field_number} is not in the schema"
    for descriptor, value in message.ListFields():
        if descriptor.type != descriptor.TYPE_MESSAGE:
            continue
        values = value if isinstance(value, (list, tuple)) or hasattr(value, "add") else [value]
        for item in values:
            yield from unknown_fields(item, f"{path}.{descriptor.name}")


def errors(trace):
    """Yields one line per error in a trace."""
    event_type = schema.TrackEvent.Type
    described, parents, counters = set(), {}, set()
    open_slices = defaultdict(list)
    last_ns = {}
    flows_out, flows_in = Counter(), Counter()
    for number, packet in enumerate(trace.packet):
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.uuid in described:
                yield f"packet {number}: track {track.uuid} is described twice"
            described.add(track.uuid)
            if track.HasField("parent_uuid"):
                parents[track.uuid] = track.parent_uuid
            if track.HasField("counter"):
                counters.add(track.uuid)
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if not packet.HasField("timestamp"):
            yield f"packet {number}: an event without a time"
        if not packet.trusted_packet_sequence_id:
            yield f"packet {number}: an event without a sequence"
        if event.track_uuid not in described:
            yield f"packet {number}: no track {event.track_uuid}"
        if packet.timestamp < last_ns.get(event.track_uuid, 0):
            yield f"packet {number}: time runs backwards on track {event.track_uuid}"
        last_ns[event.track_uuid] = packet.timestamp
        is_counter = event.type == event_type.TYPE_COUNTER
        if is_counter != (event.track_uuid in counters):
            yield f"packet {number}: a counter on a track of slices, or a slice on a track of counters"
        if event.type in (event_type.TYPE_SLICE_BEGIN, event_type.TYPE_INSTANT) and not (event.name or event.name_iid):
            yield f"packet {number}: a slice without a name"
        if event.type == event_type.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append(packet.timestamp)
        elif event.type == event_type.TYPE_SLICE_END:
            if not open_slices[event.track_uuid]:
                yield f"packet {number}: an end without a start on track {event.track_uuid}"
            else:
                open_slices[event.track_uuid].pop()
        flows_out.update(event.flow_ids)
        flows_in.update(event.terminating_flow_ids)
    for track, parent in parents.items():
        if parent not in described:
            yield f"track {track}: its parent {parent} is not described"
    for track, starts in open_slices.items():
        if starts:
            yield f"track {track}: {len(starts)} slices do not end"
    for flow in set(flows_in) - set(flows_out):
        yield f"flow {flow} ends but does not start"


def main(paths):
    failed = False
    for path in paths:
        trace = schema.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        messages = list(unknown_fields(trace)) + list(errors(trace))
        kinds = Counter(packet.track_event.type for packet in trace.packet if packet.HasField("track_event"))
        names = {number: name for name, number in schema.TrackEvent.Type.items()}
        events = ", ".join(f"{count} {names[kind]}" for kind, count in sorted(kinds.items()))
        tracks = sum(packet.HasField("track_descriptor") for packet in trace.packet)
        print(f"{path}: {len(trace.packet)} packets, {tracks} tracks, {events}: {len(messages)} errors")
        for message in messages[:20]:
            print(f"  {message}")
        failed |= bool(messages) or not kinds
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    sys.exit(main(sys.argv[1:]))
