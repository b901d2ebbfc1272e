#!/usr/bin/env python3
"""A TFTP server for the lab with windows over IPv4 and IPv6, which no server in Debian supports. Read-only, one file at a time.

lab/netboot/tftpd.py ADDRESS FOLDER [WINDOW]

Grants at most WINDOW blocks per acknowledgment.
"""

import pathlib
import select
import socket
import struct
import sys

READ, DATA, ACKNOWLEDGMENT, ERROR, OPTIONS = 1, 3, 4, 5, 6
WAIT_S = 1.0
TRIES = 5


def main():
    address, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    max_window = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] != "0" else 65535
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    door = socket.socket(family, socket.SOCK_DGRAM)
    door.bind((address, 69))
    while True:
        request, client = door.recvfrom(2048)
        if struct.unpack_from("!H", request)[0] == READ:
            with socket.socket(family, socket.SOCK_DGRAM) as link:
                link.bind((address, 0))
                link.connect(client)
                try:
                    serve(link, request, folder, max_window)
                except OSError:
                    pass


def serve(link, request, folder, max_window):
    name, _, *rest = [part.decode(errors="replace") for part in request[2:].split(b"\0")][:-1]
    asked = {key.lower(): int(value) for key, value in zip(rest[::2], rest[1::2]) if value.isdigit()}
    path = (folder / name.lstrip("/")).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        link.send(struct.pack("!HH", ERROR, 1) + b"File not found\0")
        return
    content = path.read_bytes()
    block_size = min(max(asked.get("blksize", 512), 8), 65464)
    window = min(max(asked.get("windowsize", 1), 1), max_window)
    values = {"blksize": block_size, "windowsize": window, "tsize": len(content)}
    granted = b"".join(f"{key}\0{values[key]}\0".encode() for key in asked if key in values)
    blocks = len(content) // block_size + 1

    def send(first):
        """Sends the window that starts at a block, or the options before the first block."""
        if first == 0:
            link.send(struct.pack("!H", OPTIONS) + granted)
            return
        for block in range(first, min(first + window, blocks + 1)):
            data = content[(block - 1) * block_size:block * block_size]
            link.send(struct.pack("!HH", DATA, block & 0xFFFF) + data)

    following, tries, is_resent = (0 if granted else 1), 0, False
    send(following)
    while following <= blocks and tries < TRIES:
        if not select.select([link], [], [], WAIT_S)[0]:
            tries, is_resent = tries + 1, False
            send(following)
            continue
        answer = link.recv(2048)
        kind, number = struct.unpack_from("!HH", answer)
        if kind == ERROR:
            return
        # Block numbers wrap around: take the nearest block before the last one sent.
        gone = (number - (following - 1)) & 0xFFFF if following else (1 if number == 0 else 0)
        if kind == ACKNOWLEDGMENT and (following == 0 or gone <= window):
            # A window is sent again once until a timeout: each copy of an acknowledgment would double the traffic
            # (Sorcerer's Apprentice, RFC 1123).
            is_repeated = following > 0 and gone == 0
            if is_repeated and is_resent:
                continue
            is_resent = is_repeated
            following, tries = (1 if following == 0 else following + gone), 0
            if following <= blocks:
                send(following)


if __name__ == "__main__":
    main()
