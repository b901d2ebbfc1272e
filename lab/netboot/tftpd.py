#!/usr/bin/env python3
"""A TFTP server for the lab that supports windows over IPv6, unlike the servers in Debian. Read-only, one file at a time.

lab/netboot/tftpd.py ADDRESS FOLDER
"""

import pathlib
import select
import socket
import struct
import sys

READ, DATA, ACKNOWLEDGMENT, ERROR, OPTIONS = 1, 3, 4, 5, 6
TIMEOUT_S = 1.0
MAX_TRIES = 5


def main():
    address, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_DGRAM)
    listener.bind((address, 69))
    while True:
        request, client = listener.recvfrom(2048)
        if struct.unpack_from("!H", request)[0] == READ:
            with socket.socket(family, socket.SOCK_DGRAM) as link:
                link.bind((address, 0))
                link.connect(client)
                try:
                    serve(link, request, folder)
                except OSError:
                    pass


def serve(link, request, folder):
    name, _, *rest = [part.decode(errors="replace") for part in request[2:].split(b"\0")][:-1]
    requested = {key.lower(): int(value) for key, value in zip(rest[::2], rest[1::2]) if value.isdigit()}
    path = (folder / name.lstrip("/")).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        link.send(struct.pack("!HH", ERROR, 1) + b"File not found\0")
        return
    content = path.read_bytes()
    block_size = min(max(requested.get("blksize", 512), 8), 65464)
    window = max(requested.get("windowsize", 1), 1)
    values = {"blksize": block_size, "windowsize": window, "tsize": len(content)}
    granted = b"".join(f"{key}\0{values[key]}\0".encode() for key in requested if key in values)
    blocks = len(content) // block_size + 1

    def send(first):
        """Sends a window of blocks from `first` on, or the options if `first` is 0."""
        if first == 0:
            link.send(struct.pack("!H", OPTIONS) + granted)
            return
        for block in range(first, min(first + window, blocks + 1)):
            data = content[(block - 1) * block_size:block * block_size]
            link.send(struct.pack("!HH", DATA, block & 0xFFFF) + data)

    following, tries = (0 if granted else 1), 0
    send(following)
    while following <= blocks and tries < MAX_TRIES:
        if not select.select([link], [], [], TIMEOUT_S)[0]:
            tries += 1
            send(following)
            continue
        packet = link.recv(2048)
        kind, number = struct.unpack_from("!HH", packet)
        if kind == ERROR:
            return
        # Block numbers wrap around; count the acknowledged blocks modulo 2^16.
        acknowledged = (number - (following - 1)) & 0xFFFF if following else (1 if number == 0 else 0)
        if kind == ACKNOWLEDGMENT and (following == 0 or acknowledged <= window):
            following, tries = (1 if following == 0 else following + acknowledged), 0
            if following <= blocks:
                send(following)


if __name__ == "__main__":
    main()
