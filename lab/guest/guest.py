#!/usr/bin/env python3
"""Runs a guest under QEMU, without hardware virtualization: turns it on, runs commands in it, and turns it on again when it is off.

lab/guest/guest.py CACHE [--program FILE] COMMAND...    runs commands in the guest, prints their output, and turns the guest off

The host talks to an agent in the guest over a serial port, which needs no network and keeps working after a sleep. To copy files to the
host, the guest writes an archive to a separate disk.
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
    """The guest did not do what was requested."""


class Guest:
    """A virtual machine with its own copy of the disk image.

    `events` lists events of QEMU (SUSPEND, WAKEUP, SHUTDOWN) plus POWER_ON, OFF and UP; `starts` lists the boot ids in order.
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
            # Ends the machine if this program is killed.
            "setpriv", "--pdeathsig", "KILL",
            "qemu-system-x86_64", "-machine", "q35,smm=off", "-accel", "tcg,thread=multi",
            # systemd-boot does not measure times on a machine that identifies itself as virtual.
            "-cpu", "max,-hypervisor", "-smp", str(processors), "-m", str(memory_mib),
            # After a reset, firmware would be ten times slower, because its writes hit pages with translated code of the previous
            # system. A new machine has none.
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
        self._add_event("POWER_ON")
        self.ready = False
        self.agent = self._connect("agent")
        self.qmp = self._connect("qmp")
        self._send(self.qmp, json.dumps({"execute": "qmp_capabilities"}))

    def cut_power(self):
        """Cuts the power without a shutdown."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        self._is_off()

    def power_button(self):
        self._send(self.qmp, json.dumps({"execute": "system_powerdown"}))

    @contextlib.contextmanager
    def pressing_power_button(self, every):
        """Presses the power button every few seconds, because the time of the sleep is unknown. The guest ignores it while awake."""
        stopped = threading.Event()

        def press():
            while not stopped.wait(every):
                self.power_button()

        presser = threading.Thread(target=press, daemon=True)
        presser.start()
        try:
            yield
        finally:
            stopped.set()
            presser.join()

    def wait_for_start(self, limit=900):
        """Waits for the guest's agent. Turns the machine on if it is off."""
        deadline = time.monotonic() + limit
        while not self.ready:
            if self.is_off():
                self.power_on()
            self._listen(deadline, "the guest did not boot")

    def ask(self, command, limit=300):
        """Runs a shell command in the guest and returns its status and output, or None if the machine restarted before it answered.

        Turns the machine on if it is off, because it may have hibernated. A command sent while it is about to hibernate is lost and
        also returns None.
        """
        self.wait_for_start()
        number = next(self.numbers)
        starts, idle_lines = len(self.starts), self.idle_lines
        self._send(self.agent, f"{number} {base64.b64encode(command.encode()).decode()}")
        deadline = time.monotonic() + limit
        while number not in self.answers:
            # One idle line may have been in transit.
            if len(self.starts) > starts or self.idle_lines > idle_lines + 1:
                return None
            if self.is_off():
                self.power_on()
            self._listen(deadline, f"no response to: {command}")
        return self.answers.pop(number)

    def do(self, command, limit=300):
        """Runs a command that must succeed and returns its output."""
        answer = self.ask(command, limit)
        if answer is None:
            raise Failed(f"the machine restarted during: {command}")
        status, output = answer
        if status != 0:
            raise Failed(f"status {status} from: {command}\n{output}")
        return output

    def wait_until(self, command, limit, every=5):
        """Repeats a command until it succeeds, across any number of restarts."""
        deadline = time.monotonic() + limit
        while True:
            answer = self.ask(command, max(deadline - time.monotonic(), 1))
            if answer and answer[0] == 0:
                return answer[1]
            pause = time.monotonic() + every
            while time.monotonic() < pause and not self.is_off():
                self._listen(deadline, f"command did not succeed in time: {command}; last result: {answer}", until=pause)

    def fetch(self, source, target):
        """Copies a folder out of the guest."""
        self.do(f"tar -C {source} -cf - . | dd of=/dev/disk/by-id/virtio-out bs=1M conv=fsync,notrunc status=none", limit=300)
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.out) as archive:
            archive.extractall(target, filter="data")

    def turn_off(self, limit=600):
        """Shuts the guest down."""
        self.ask("systemctl --no-block poweroff", 60)
        deadline = time.monotonic() + limit
        while not self.is_off():
            self._listen(deadline, "the guest did not turn off")

    def console_tail(self):
        return self.console.read_text(errors="replace")[-3000:] if self.console.exists() else ""

    def is_off(self):
        return self.process is None or (self.process.poll() is not None and self._is_off())

    def _is_off(self):
        if self.process:
            self.process.wait()
            self.process = None
            self.ready = False
            self._add_event("OFF")
            for connection in (self.agent, self.qmp):
                self._disconnect(connection)
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

    def _disconnect(self, connection):
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
            raise Failed(f"{complaint}; end of the console log:\n{self.console_tail()}")
        tail = self.console_tail()
        if "Kernel panic" in tail or "You are in emergency mode" in tail:
            raise Failed(f"the guest failed:\n{tail}")
        for key, _ in self.selector.select(max(min(1, (until or deadline) - now), 0)):
            connection = key.fileobj
            try:
                got = connection.recv(1 << 16)
            except OSError:
                got = b""
            if not got:
                self._disconnect(connection)
                continue
            *lines, self.buffers[connection] = (self.buffers[connection] + got).split(b"\n")
            for line in lines:
                (self._on_agent_line if connection is self.agent else self._on_qemu_line)(line.decode(errors="replace").strip())

    def _on_agent_line(self, line):
        words = line.split(" ")
        if words[0] == "ready" and len(words) == 2:
            self.starts.append(words[1])
            self._add_event("UP")
            self.ready = True
        elif words == ["idle"]:
            self.idle_lines += 1
            self.ready = True
        elif len(words) in (2, 3) and words[0].isdigit() and words[1].isdigit():
            output = base64.b64decode(words[2]) if len(words) == 3 else b""
            self.answers[int(words[0])] = (int(words[1]), output.decode(errors="replace"))
            self.ready = True

    def _on_qemu_line(self, line):
        try:
            event = json.loads(line).get("event")
        except ValueError:
            return
        if event:
            self._add_event(event)

    def _add_event(self, event):
        self.events.append(event)
        if event != "RTC_CHANGE":
            print(f"guest: {event} {time.monotonic() - self.began:.0f} s after creation", file=sys.stderr, flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cache", type=pathlib.Path, help="folder for downloads and build results")
    arguments.add_argument("commands", nargs="*", metavar="COMMAND", help="shell command to run in the guest")
    arguments.add_argument("--program", type=pathlib.Path, help="onoff, to be installed in the guest")
    arguments.add_argument("--limit", type=float, default=300, help="timeout per command in seconds")
    arguments = arguments.parse_args()
    image = build.image(arguments.cache)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=arguments.cache) as work, Guest(image, pathlib.Path(work) / "guest") as guest:
        if arguments.program:
            guest.install_program(arguments.program)
        try:
            for command in arguments.commands:
                status, output = guest.ask(command, arguments.limit) or ("none, the machine restarted", "")
                print(f"[{time.monotonic() - began:.1f} s] {command}: status {status}\n{output}", flush=True)
            guest.turn_off()
        except Failed as reason:
            sys.exit(f"guest: {reason}")


if __name__ == "__main__":
    main()
