#!/usr/bin/env python3
"""Runs commands in a guest under QEMU with an emulated processor, and restarts the guest when it is off.

lab/guest/guest.py CACHE [--program FILE] COMMAND...    prints the output of each command, then shuts the guest down

The agent in the guest uses a serial port, which needs no network and keeps working after a sleep. To copy files out, the
guest writes an archive to a separate disk.
"""

import argparse
import base64
import contextlib
import itertools
import json
import os
import pathlib
import selectors
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import build

OUT_BYTES = 1 << 30
# Path of onoff in the guest.
PROGRAM = "/usr/local/bin/onoff"


class Failed(Exception):
    """The guest failed to run a command."""


class Guest:
    """A machine with its own copy of the disk image.

    `events` holds what QEMU tells (SUSPEND, WAKEUP, SHUTDOWN), POWER_ON, OFF and UP; `starts` the identities of the boots, in order.
    """

    def __init__(self, image, work, processors=2, memory_mib=1536):
        self.work = work
        work.mkdir(parents=True)
        self.console = work / "console.log"
        self.disk = work / "disk.img"
        self.out = work / "out.raw"
        subprocess.run(["cp", "--sparse=always", image, self.disk], check=True)
        shutil.copy(build.FIRMWARE / "OVMF_VARS_4M.fd", work / "vars.fd")
        with self.out.open("wb") as out:
            out.truncate(OUT_BYTES)
        self.command = [
            # QEMU ends with this program, even if it is killed.
            "setpriv", "--pdeathsig", "KILL",
            "qemu-system-x86_64", "-machine", "q35,smm=off", "-accel", "tcg,thread=multi",
            # systemd-boot records no times on a machine that identifies as virtual.
            "-cpu", "max,-hypervisor", "-smp", str(processors), "-m", str(memory_mib),
            # After a reset the firmware takes ten times as long, because it writes to pages with translated code of the previous
            # system. A new QEMU process has no such pages.
            "-no-reboot",
            "-display", "none", "-no-user-config", "-nodefaults",
            "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={build.FIRMWARE}/OVMF_CODE_4M.fd",
            "-drive", f"if=pflash,format=raw,unit=1,file={work}/vars.fd",
            "-global", "ICH9-LPC.disable_s3=0", "-global", "ICH9-LPC.disable_s4=0",
            "-drive", f"if=none,id=d0,format=raw,file={self.disk},cache=unsafe,discard=unmap", "-device", "virtio-blk-pci,drive=d0,bootindex=0",
            "-drive", f"if=none,id=d1,format=raw,file={self.out},cache=unsafe", "-device", "virtio-blk-pci,drive=d1,serial=out",
            "-device", "virtio-rng-pci",
            "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
            "-chardev", f"socket,id=agent,path={work}/agent,server=on,wait=off", "-serial", "chardev:agent",
            "-qmp", f"unix:{work}/qmp,server=on,wait=off"]
        self.began = time.monotonic()
        self.process = None
        self.selector = selectors.DefaultSelector()
        self.buffers = {}
        self.numbers = itertools.count(1)
        self.answers = {}
        self.events = []
        self.starts = []
        self.ready = False
        self.idle_lines = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut_power()

    def install_program(self, program):
        """Installs onoff in the guest, without debug information."""
        stripped = self.work / "onoff"
        subprocess.run(["strip", "-o", stripped, program], check=True)
        self.install(stripped, PROGRAM)

    def install(self, source, target, mode=0o755):
        """Writes a file to the guest's disk while the guest is off."""
        folder, name = os.path.split(target)
        commands = f"cd {folder}\nrm {name}\nwrite {source} {name}\nset_inode_field {name} mode 0{0o100000 | mode:o}\n"
        filesystem = f"{self.disk}?offset={build.ROOT[0]}"
        done = subprocess.run(["debugfs", "-w", "-f", "-", filesystem], input=commands, capture_output=True, text=True, check=True)
        if "Allocated inode" not in done.stdout + done.stderr:
            raise Failed(f"debugfs did not write {target}: {done.stdout}{done.stderr}")

    def power_on(self):
        for name in ("agent", "qmp"):
            (self.work / name).unlink(missing_ok=True)
        with (self.work / "qemu.log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._happened("POWER_ON")
        self.ready = False
        self.agent = self._connect("agent")
        self.qmp = self._connect("qmp")
        self._send(self.qmp, json.dumps({"execute": "qmp_capabilities"}))

    def cut_power(self):
        """Cuts the power."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        self._is_off()

    def power_button(self):
        self._send(self.qmp, json.dumps({"execute": "system_powerdown"}))

    @contextlib.contextmanager
    def pressing_the_button(self, every):
        """Presses the button repeatedly, because the time until the guest sleeps varies. An awake guest ignores the button."""
        over = threading.Event()

        def press():
            while not over.wait(every):
                self.power_button()

        hand = threading.Thread(target=press, daemon=True)
        hand.start()
        try:
            yield
        finally:
            over.set()
            hand.join()

    def wait_for_start(self, limit=900):
        """Waits for the guest's agent. Turns the machine on if it is off."""
        deadline = time.monotonic() + limit
        while not self.ready:
            if self.is_off():
                self.power_on()
            self._listen(deadline, "it did not come up")

    def ask(self, command, limit=300):
        """Status and output of a shell command in the guest; None if the machine restarted before the command finished.

        A machine that is off is turned on: it may have been asked to sleep to the disk. What is asked while it is about to do so
        is lost, and None too.
        """
        self.wait_for_start()
        number = next(self.numbers)
        starts, idle_lines = len(self.starts), self.idle_lines
        self._send(self.agent, f"{number} {base64.b64encode(command.encode()).decode()}")
        deadline = time.monotonic() + limit
        while number not in self.answers:
            # One idle line of the agent may have been in transit.
            if len(self.starts) > starts or self.idle_lines > idle_lines + 1:
                return None
            if self.is_off():
                self.power_on()
            self._listen(deadline, f"it did not answer: {command}")
        return self.answers.pop(number)

    def do(self, command, limit=300):
        """The output of a command that must succeed."""
        answer = self.ask(command, limit)
        if answer is None:
            raise Failed(f"the machine restarted during: {command}")
        status, output = answer
        if status != 0:
            raise Failed(f"status {status} of: {command}\n{output}")
        return output

    def wait_until(self, command, limit, every=5):
        """Waits until a command succeeds, across any number of restarts."""
        deadline = time.monotonic() + limit
        while True:
            answer = self.ask(command, max(deadline - time.monotonic(), 1))
            if answer and answer[0] == 0:
                return answer[1]
            pause = time.monotonic() + every
            while time.monotonic() < pause and not self.is_off():
                self._listen(deadline, f"this did not succeed: {command}; last answer: {answer}", until=pause)

    def fetch(self, source, target):
        """Copies a folder out of the guest."""
        self.do(f"tar -C {source} -cf - . | dd of=/dev/disk/by-id/virtio-out bs=1M conv=fsync,notrunc status=none", limit=300)
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.out) as archive:
            archive.extractall(target, filter="data")

    def turn_off(self, limit=600):
        """Shuts the guest down cleanly."""
        self.ask("systemctl --no-block poweroff", 60)
        deadline = time.monotonic() + limit
        while not self.is_off():
            self._listen(deadline, "it did not turn off")

    def last_words(self):
        return self.console.read_text(errors="replace")[-3000:] if self.console.exists() else ""

    def is_off(self):
        return self.process is None or (self.process.poll() is not None and self._is_off())

    def _is_off(self):
        if self.process:
            self.process.wait()
            self.process = None
            self.ready = False
            self._happened("OFF")
            for connection in (self.agent, self.qmp):
                self._forget(connection)
        return True

    def _connect(self, name):
        deadline = time.monotonic() + 30
        connection = socket.socket(socket.AF_UNIX)
        while True:
            try:
                connection.connect(str(self.work / name))
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"QEMU did not start: {(self.work / 'qemu.log').read_text(errors='replace')[-1000:]}") from None
                time.sleep(0.05)
        self.selector.register(connection, selectors.EVENT_READ)
        self.buffers[connection] = b""
        return connection

    def _forget(self, connection):
        if connection in self.buffers:
            self.selector.unregister(connection)
            del self.buffers[connection]
            connection.close()

    @staticmethod
    def _send(connection, line):
        connection.sendall(line.encode() + b"\n")

    def _listen(self, deadline, complaint, until=None):
        now = time.monotonic()
        if now > deadline:
            raise Failed(f"{complaint}. Last lines of its console:\n{self.last_words()}")
        words = self.last_words()
        if "Kernel panic" in words or "You are in emergency mode" in words:
            raise Failed(f"the guest gave up:\n{words}")
        for key, _ in self.selector.select(max(min(1, (until or deadline) - now), 0)):
            connection = key.fileobj
            try:
                got = connection.recv(1 << 16)
            except OSError:
                got = b""
            if not got:
                self._forget(connection)
                continue
            *lines, self.buffers[connection] = (self.buffers[connection] + got).split(b"\n")
            for line in lines:
                (self._heard if connection is self.agent else self._told)(line.decode(errors="replace").strip())

    def _heard(self, line):
        words = line.split(" ")
        if words[0] == "ready" and len(words) == 2:
            self.starts.append(words[1])
            self._happened("UP")
            self.ready = True
        elif words == ["idle"]:
            self.idle_lines += 1
            self.ready = True
        elif len(words) in (2, 3) and words[0].isdigit() and words[1].isdigit():
            output = base64.b64decode(words[2]) if len(words) == 3 else b""
            self.answers[int(words[0])] = (int(words[1]), output.decode(errors="replace"))
            self.ready = True

    def _told(self, line):
        try:
            event = json.loads(line).get("event")
        except ValueError:
            return
        if event:
            self._happened(event)

    def _happened(self, event):
        self.events.append(event)
        if event != "RTC_CHANGE":
            print(f"guest: {event} {time.monotonic() - self.began:.0f} s after its creation", file=sys.stderr, flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cache", type=pathlib.Path, help="cache folder for downloads and builds")
    arguments.add_argument("commands", nargs="*", metavar="COMMAND", help="shell commands to run in the guest")
    arguments.add_argument("--program", type=pathlib.Path, help="onoff, to install in the guest")
    arguments.add_argument("--limit", type=float, default=300, help="time limit for one command, in seconds")
    arguments = arguments.parse_args()
    image = build.image(arguments.cache)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=arguments.cache) as work, Guest(image, pathlib.Path(work) / "guest") as guest:
        if arguments.program:
            guest.install_program(arguments.program)
        try:
            for command in arguments.commands:
                status, output = guest.ask(command, arguments.limit) or ("none: the machine restarted", "")
                print(f"[{time.monotonic() - began:.1f} s] {command}: status {status}\n{output}", flush=True)
            guest.turn_off()
        except Failed as reason:
            sys.exit(f"guest: {reason}")


if __name__ == "__main__":
    main()
