#!/usr/bin/env python3
"""Records TFTP downloads of the same two files with window sizes of 1 to 64 blocks, for the latency model.

lab/netboot/pairs.py OUT [--client shell|u-boot|grub|ipxe] [--delay MS]    OUT/capture.pcap, OUT/serial.log

The client is the one of the firmware's shell (OVMF) or of a boot loader: U-Boot and iPXE have their own network stacks, GRUB
uses the firmware's driver. GRUB and iPXE do not support windows: they load each file block by block. With --delay every frame
to and from the guest is held back so long, one way, on the client's side of the capture. Where the host has other work, its times
are those of the host unless this runs before the others: `chrt --fifo 20 lab/netboot/pairs.py OUT`.
Needs root and the packages that record.py needs, and mtools, dosfstools, and u-boot-qemu, grub-efi-amd64-signed or ipxe.
"""

import argparse
import heapq
import json
import os
import pathlib
import random
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
import fcntl

NAMESPACE = "onoff-pairs"
WINDOWS = (1, 4, 8, 16, 32, 64)
FILES = {"a.bin": 8_222_656, "b.bin": 3_000_001}
BLOCKS = {"a.bin": 1468, "b.bin": 1024}
DONE = "LAB done"
# Loaders that the firmware's shell starts from disk.
PROGRAMS = {"grub": pathlib.Path("/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed"), "ipxe": pathlib.Path("/usr/lib/ipxe/ipxe.efi")}
# Longer frames contain a block.
LONG = 400


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--client", choices=["shell", "u-boot", *PROGRAMS], default="shell", help="the TFTP client")
    arguments.add_argument("--program", type=pathlib.Path, help="path of the loader, if not the one in its package")
    arguments.add_argument("--u-boot", default="/usr/lib/u-boot/qemu-x86_64/u-boot.rom", help="U-Boot for QEMU")
    arguments.add_argument("--rounds", type=int, default=1, help="number of rounds")
    arguments.add_argument("--delay", type=float, default=0.0, help="one-way delay in ms")
    arguments.add_argument("--atftpd", default="atftpd", help="the server program")
    arguments.add_argument("--limit", type=float, default=400)
    arguments = arguments.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = arguments.out.resolve()
    with tempfile.TemporaryDirectory() as work:
        record(arguments, out, pathlib.Path(work))


def loads(rounds):
    """Round, file, block size and window of each load, round by round, so that a slower host affects all window sizes."""
    return [(number, name, block, window) for number in range(rounds) for name, block in BLOCKS.items() for window in WINDOWS]


def script(rounds):
    lines = ["echo LAB start", "connect -r", "ifconfig -s eth0 static 192.168.77.60 255.255.255.0 192.168.77.1", "stall 3000000", "fs0:"]
    for _, name, block, window in loads(rounds):
        option = f"-w {window} " if window > 1 else ""
        lines.append(f"tftp -s {block} {option}192.168.77.1 {name} x.bin")
    return "\r\n".join([*lines, f"echo {DONE}", "reset -s", ""])


def grub(rounds):
    """GRUB's configuration. It reads each file completely before it finds that it is not a program."""
    lines = ["net_add_addr lab efinet0 192.168.77.60"]
    lines += [f"chainloader (tftp,192.168.77.1)/{name}" for _ in range(rounds) for name in FILES]
    return "\n".join([*lines, f"echo {DONE}", "halt", ""])


def ipxe(rounds):
    """iPXE's script, loaded from the server like a boot program."""
    lines = ["#!ipxe"]
    for _ in range(rounds):
        for name in FILES:
            lines += [f"imgfetch tftp://192.168.77.1/{name}", f"imgfree {name}"]
    return "\n".join([*lines, f"echo {DONE}", "exit", ""])


def commands(rounds):
    """The commands for U-Boot."""
    lines = ["setenv autoload no", "setenv ipaddr 192.168.77.60", "setenv netmask 255.255.255.0", "setenv serverip 192.168.77.1"]
    for _, name, block, window in loads(rounds):
        lines += [f"setenv tftpblocksize {block}", f"setenv tftpwindowsize {window}", f"tftpboot 0x2000000 {name}"]
    return [*lines, f"echo {DONE}"]


def play(guest, lines, serial, limit):
    """Types each line when the loader's prompt is there; until the last is done, s."""
    begin, said, written = time.monotonic(), b"", 0
    os.set_blocking(guest.stdout.fileno(), False)
    with serial.open("wb") as log:
        while lines and guest.poll() is None and time.monotonic() - begin < limit:
            select.select([guest.stdout], [], [], 0.2)
            part = guest.stdout.read() or b""
            log.write(part)
            log.flush()
            said += part
            if b"any key" in said and not written:
                guest.stdin.write(b"\n")
                guest.stdin.flush()
                written, said = 1, b""
            elif written and said.rstrip(b" ").endswith(b"=>"):
                line, lines = lines[0], lines[1:]
                guest.stdin.write(line.encode() + b"\n")
                guest.stdin.flush()
                said = b""
        if not lines:
            time.sleep(1)
            log.write(guest.stdout.read() or b"")


def record(arguments, out, work):
    files = work / "tftp"
    files.mkdir()
    for name, size in FILES.items():
        (files / name).write_bytes(os.urandom(size))
    programs = arguments.client in PROGRAMS
    (work / "startup.nsh").write_text("connect -r\r\nfs0:\r\nloader.efi\r\nreset -s\r\n" if programs else script(arguments.rounds))
    disk = work / "fat.img"
    with disk.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.vfat", "-F", "32", disk], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mcopy", "-i", disk, work / "startup.nsh", "::startup.nsh"], check=True)
    if programs:
        subprocess.run(["mcopy", "-i", disk, arguments.program or PROGRAMS[arguments.client], "::loader.efi"], check=True)
        (work / "grub.cfg").write_text(grub(arguments.rounds))
        subprocess.run(["mmd", "-i", disk, "::grub"], check=True)
        subprocess.run(["mcopy", "-i", disk, work / "grub.cfg", "::grub/grub.cfg"], check=True)
        (files / "load.ipxe").write_text(ipxe(arguments.rounds))
    (work / "vars.fd").write_bytes(pathlib.Path("/usr/share/OVMF/OVMF_VARS_4M.fd").read_bytes())
    serial = out / "serial.log"
    serial.write_bytes(b"")
    subprocess.run(["ip", "netns", "del", NAMESPACE], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    inside = ["ip", "netns", "exec", NAMESPACE]
    running = []
    try:
        for command in ("link set lo up", "link add br0 type bridge", "link set br0 up", "addr add 192.168.77.1/24 dev br0",
                        "tuntap add tap0 mode tap", "link set tap0 master br0 up"):
            subprocess.run(["ip", "-n", NAMESPACE, *command.split()], check=True)
        log = (out / "server.log").open("wb")
        running.append(subprocess.Popen([*inside, arguments.atftpd, "--daemon", "--no-fork", "--user", "root.root",
                                         "--bind-address", "192.168.77.1", "--logfile", "-", files], stdout=log, stderr=log))
        if arguments.client == "ipxe":
            running.append(subprocess.Popen([*inside, "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=br0", "--bind-interfaces",
                                             "--dhcp-range=192.168.77.60,192.168.77.70", "--no-ping", "--leasefile-ro",
                                             "--dhcp-boot=load.ipxe,lab,192.168.77.1"], stdout=log, stderr=log))
        running.append(subprocess.Popen([*inside, "tcpdump", "-i", "tap0", "-s", "96", "-U", "-B", "16384", "-w", out / "capture.pcap",
                                         "--time-stamp-precision=nano"], stdout=log, stderr=log))
        time.sleep(1)
        if arguments.delay > 0:
            network = ["-netdev", "socket,id=n0,udp=127.0.0.1:7711,localaddr=127.0.0.1:7712"]
            running.append(subprocess.Popen([*inside, sys.executable, __file__, "relay", str(arguments.delay)]))
            time.sleep(0.5)
        else:
            network = ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no"]
        machine = [*inside, "qemu-system-x86_64", "-machine", "q35,smm=off", "-accel", "tcg", "-cpu", "max,-hypervisor",
                   "-m", "512", "-display", "none", "-no-user-config", "-nodefaults", *network, "-device", "virtio-rng-pci"]
        card = "netdev=n0,mac=52:54:00:77:00:01,romfile="
        if arguments.client == "u-boot":
            machine += ["-bios", arguments.u_boot, "-device", f"e1000,{card}", "-serial", "stdio"]
            guest = subprocess.Popen(machine, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            running.append(guest)
            play(guest, commands(arguments.rounds), serial, arguments.limit)
        else:
            machine += ["-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
                        "-drive", f"if=pflash,format=raw,unit=1,file={work}/vars.fd", "-device", f"virtio-net-pci,{card}",
                        "-serial", f"file:{serial}",
                        "-drive", f"if=none,id=fat,format=raw,file={disk}", "-device", "virtio-blk-pci,drive=fat,bootindex=0"]
            guest = subprocess.Popen(machine, stdin=subprocess.DEVNULL)
            running.append(guest)
            begin = time.monotonic()
            while guest.poll() is None and time.monotonic() - begin < arguments.limit and DONE not in serial.read_text(errors="replace"):
                time.sleep(0.5)
        time.sleep(1)
    finally:
        for process in reversed(running):
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)
    if DONE not in serial.read_text(errors="replace"):
        sys.exit(f"pairs: the shell did not finish; see {serial}")


def relay(delay_s, drop_every=0, loss_percent=0.0):
    """Forwards frames between QEMU's datagrams and the bridge with a delay; drops every Nth long frame to the guest, or a
    share of all TFTP packets in both directions, and counts them (`lost.json`)."""
    chance, lost = random.Random(1), {"to_client": 0, "to_server": 0}
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", b"tap0", 0x1002))
    os.set_blocking(tap, False)
    guest = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    guest.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    guest.bind(("127.0.0.1", 7711))
    guest.setblocking(False)
    queue, number, long = [], 0, 0
    while True:
        wait = max(0.0, min(0.05, queue[0][0] - time.monotonic())) if queue else 0.05
        readable, _, _ = select.select([tap, guest], [], [], wait)
        now = time.monotonic()
        for source in readable:
            for _ in range(64):
                try:
                    frame = os.read(tap, 65536) if source == tap else guest.recv(65536)
                except BlockingIOError:
                    break
                number += 1
                long += source == tap and len(frame) > LONG
                if drop_every and source == tap and len(frame) > LONG and long % drop_every == 0:
                    continue
                # Lost addresses would only add timeouts of seconds: what is lost are packets of files.
                if loss_percent and is_of_file(frame) and chance.random() * 100 < loss_percent:
                    lost["to_client" if source == tap else "to_server"] += 1
                    with open("lost.json", "w", encoding="ascii") as out:
                        json.dump(lost, out)
                    continue
                heapq.heappush(queue, (now + delay_s, number, source == tap, frame))
        while queue and queue[0][0] <= time.monotonic():
            _, _, to_guest, frame = heapq.heappop(queue)
            try:
                if to_guest:
                    guest.sendto(frame, ("127.0.0.1", 7712))
                else:
                    os.write(tap, frame)
            except OSError:
                pass


def is_of_file(frame):
    """True for the blocks of a TFTP transfer and their acknowledgments: IPv4, UDP, no well-known port."""
    if len(frame) < 46 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return False
    source, destination = struct.unpack_from("!HH", frame, 34)
    return min(source, destination) > 1023 and frame[42:44] in (b"\0\3", b"\0\4")


if __name__ == "__main__":
    if sys.argv[1:2] == ["relay"]:
        relay(float(sys.argv[2]) / 1e3, int(sys.argv[3]) if len(sys.argv) > 3 else 0,
              float(sys.argv[4]) if len(sys.argv) > 4 else 0.0)
    else:
        main()
