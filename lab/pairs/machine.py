#!/usr/bin/env python3
"""Builds and boots the guest of the pairs: a small Debian whose time does not depend on the host.

The emulator counts instructions for the guest's time and skips the time in which the guest is idle. The guest's files are in memory
that the emulator provides, and a kernel module makes a disk of them, with a latency and a bandwidth by the guest's clock: a disk of
the emulator would take host time.
"""

import gzip
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "guest"))

import build  # noqa: E402

OVERLAY = HERE / "root"
BUSYBOX = pathlib.Path("/bin/busybox")
MIB = 1 << 20
ROOT_BYTES = 640 * MIB
OUT_BYTES = 128 * MIB
MEMORY_MIB = 768
# Addresses of the two disks in the guest's physical memory.
ROOT_ADDRESS, OUT_ADDRESS = 1 << 32, 2 << 32
# A processor of 500 million instructions per second: an instruction takes 2^1 ns.
SHIFT = 1
# Loaded in this order before the guest's files can be mounted.
INITIAL_MODULES = ["lib/crc16", "crypto/crc32c_generic", "fs/mbcache", "fs/jbd2/jbd2", "fs/ext4/ext4"]
# The events of `onoff record boot --trace-flags sched+block+init+signal`: interrupts are most of the others.
TRACE_EVENTS = [
    "sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_process_fork", "sched:sched_process_exec",
    "sched:sched_process_exit",
    "block:block_rq_issue", "block:block_rq_complete", "initcall:initcall_level", "initcall:initcall_start", "initcall:initcall_finish",
    "module:module_load", "module:module_free", "module:module_request", "signal:signal_generate",
]
# `cryptomgr.notests`: the kernel's tests of its ciphers take as long as user space. Blacklisted: drivers that would take the disks'
# memory, and others that the emulated processor does not need.
OPTIONS = ["console=ttyS0,115200", "quiet", "panic=-1", "no_timer_check", "mitigations=off", "cryptomgr.notests",
           "modprobe.blacklist=nfit,nd_pmem,kvm,kvm_amd,powernow_k8", "printk.time=1", "log_buf_len=4M", "trace_clock=mono",
           "trace_buf_size=48M", f"trace_event={','.join(TRACE_EVENTS)}"]
# `lab.enable=TARGET/UNIT` and `lab.remove=PATH` change the guest's files before its service manager starts; `lab.disk=…` has the
# disk's latency and bandwidth.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev /root
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
disk= changes=
for word in $(/bin/busybox cat /proc/cmdline); do
    case $word in
    lab.disk=*) disk=$(echo "${word#lab.disk=}" | /bin/busybox tr , ' ') ;;
    lab.enable=*|lab.remove=*) changes="$changes $word" ;;
    esac
done
for module in MODULES; do /bin/busybox insmod /modules/$module.ko; done
/bin/busybox insmod /modules/onoff_lab_disk.ko DISKS $disk
/bin/busybox mount -t ext4 /dev/lab0 /root
for change in $changes; do
    value=${change#lab.*=}
    case $change in
    lab.enable=*)
        /bin/busybox mkdir -p /root/etc/systemd/system/${value%/*}.wants
        /bin/busybox ln -s /etc/systemd/system/${value#*/} /root/etc/systemd/system/${value%/*}.wants/${value#*/} ;;
    lab.remove=*) /bin/busybox rm /root/$value ;;
    esac
done
/bin/busybox umount /proc
exec /bin/busybox switch_root /root /sbin/init
"""


class Failed(Exception):
    """The guest did not boot."""


def prepare(cache):
    """Builds kernel, initramfs and files in `cache`, and returns their paths."""
    if absent := build.missing() + ([] if BUSYBOX.exists() else ["busybox-static"]):
        sys.exit(f"pairs: packages are missing; run apt-get install --no-install-recommends {' '.join(absent)}")
    if os.geteuid() != 0:
        sys.exit("pairs: run as root, which is needed to create files of other owners")
    cache.mkdir(parents=True, exist_ok=True)
    with build.only_one(cache):
        tree = build.installed(cache)
        modules = build.modules(cache)
        overlay = [(str(path.relative_to(OVERLAY)), path.read_text()) for path in sorted(OVERLAY.rglob("*")) if path.is_file()]
        key = build.digest(tree.name, pathlib.Path(__file__).read_text(), overlay, [path.parent.name for path in modules])
        folder = cache / f"pairs-{key}"
        if not folder.exists():
            build.keep_only(cache, "pairs-*", folder)
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(tree, modules, new)
            new.rename(folder)
    return folder / "vmlinuz", folder / "initrd", folder / "root.img"


def make(tree, modules, folder):
    kernel = next((tree / "boot").glob("vmlinuz-*"))
    version = kernel.name.removeprefix("vmlinuz-")
    shutil.copy(kernel, folder / "vmlinuz")
    files = folder / "files"
    build.run("cp", "-a", "--link", tree, files)
    for path in sorted(OVERLAY.rglob("*")):
        target = files / path.relative_to(OVERLAY)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.unlink(missing_ok=True)
            shutil.copy(path, target)
            os.chown(target, 0, 0)
    wants = files / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "onoff-pair-collect.service").symlink_to("../onoff-pair-collect.service")
    build.replace(files / "etc/machine-id", build.digest("onoff lab pair") * 2 + "\n")
    build.replace(files / "etc/hostname", "onoff-lab\n")
    build.replace(files / "etc/modules-load.d/onoff-lab.conf", "onoff_lab_module\n")
    (files / "etc/systemd/system/e2scrub_reap.service").symlink_to("/dev/null")
    (files / "var/log/journal").mkdir(parents=True, exist_ok=True)
    for path in (files / "boot").iterdir():
        path.unlink() if path.is_file() else None
    for cached in [*files.glob("var/cache/apt/*.bin"), *files.glob("var/lib/apt/lists/*_*")]:
        cached.unlink()
    stripped = {}
    for path in modules:
        stripped[path.stem] = folder / path.name
        build.run("strip", "--strip-debug", "-o", stripped[path.stem], path)
    extra = files / "lib/modules" / version / "extra"
    extra.mkdir()
    shutil.copy(stripped["onoff_lab_module"], extra)
    for name in ("modules.dep", "modules.dep.bin", "modules.alias", "modules.alias.bin", "modules.symbols", "modules.symbols.bin",
                 "modules.softdep", "modules.devname", "modules.builtin.bin", "modules.builtin.alias.bin"):
        (files / "lib/modules" / version / name).unlink(missing_ok=True)
    build.run("chroot", files, "depmod", version)
    with (folder / "root.img").open("wb") as image:
        image.truncate(ROOT_BYTES)
    build.run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-d", files, folder / "root.img")
    shutil.rmtree(files)
    initial = {path.rsplit("/", 1)[-1]: tree / "lib/modules" / version / "kernel" / f"{path}.ko" for path in INITIAL_MODULES}
    write_initrd(folder / "initrd", initial, stripped["onoff_lab_disk"])
    for path in stripped.values():
        path.unlink()


def write_initrd(target, modules, disk):
    """Writes an initramfs (the kernel's `newc` format) that mounts the guest's files."""
    disks = f"address={ROOT_ADDRESS},{OUT_ADDRESS} size={ROOT_BYTES},{OUT_BYTES}"
    init = INIT.replace("MODULES", " ".join(modules)).replace("DISKS", disks)
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "modules", "dev", "proc", "root")]
    entries += [("init", stat.S_IFREG | 0o755, init.encode()), ("bin/busybox", stat.S_IFREG | 0o755, BUSYBOX.read_bytes())]
    entries += [(f"modules/{name}.ko", stat.S_IFREG | 0o644, path.read_bytes()) for name, path in modules.items()]
    entries += [("modules/onoff_lab_disk.ko", stat.S_IFREG | 0o644, disk.read_bytes()), ("TRAILER!!!", 0, b"")]
    with gzip.open(target, "wb", compresslevel=1) as out:
        for number, (name, mode, contents) in enumerate(entries, start=1):
            fields = [number, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(name) + 1, 0]
            head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
            for part in (head, contents):
                out.write(part + b"\0" * (-len(part) % 4))


def boot(paths, work, options=(), shift=SHIFT, processors=1, limit=3600):
    """Boots the guest with kernel options until it has turned itself off. Returns the folder with its recording.

    Several processors need the host's time: the emulator runs counted processors in turn, so that together they are as fast as one.
    """
    clock = ["-accel", "tcg,thread=single", "-icount", f"shift={shift},sleep=off"] if processors == 1 else ["-accel", "tcg,thread=multi"]
    kernel, initrd, root = paths
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    out = work / "out.raw"
    with out.open("wb") as file:
        file.truncate(OUT_BYTES)
    memory = "memory-backend-file,id={0},mem-path={1},size={2},share={3}"
    command = [
        "setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-machine", "q35,nvdimm=on", *clock,
        "-cpu", "max", "-smp", str(processors), "-m", f"{MEMORY_MIB}M,slots=2,maxmem=16G",
        "-display", "none", "-no-user-config", "-nodefaults", "-no-reboot",
        "-object", memory.format("m0", root, ROOT_BYTES, "off"), "-device", f"nvdimm,memdev=m0,id=d0,addr={ROOT_ADDRESS}",
        "-object", memory.format("m1", out, OUT_BYTES, "on"), "-device", f"nvdimm,memdev=m1,id=d1,addr={OUT_ADDRESS}",
        "-serial", f"file:{work}/console.log", "-kernel", str(kernel), "-initrd", str(initrd), "-append", " ".join([*OPTIONS, *options]),
    ]
    with (work / "qemu.log").open("wb") as log:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=limit, check=True)
        except subprocess.SubprocessError as error:
            console = (work / "console.log").read_text(errors="replace")[-2000:]
            raise Failed(f"{error}\n{(work / 'qemu.log').read_text(errors='replace')[-500:]}\n{console}") from None
    with tarfile.open(out) as archive:
        archive.extractall(work, filter="data")
    out.unlink()
    return work / "boot"


if __name__ == "__main__":
    sys.exit(__doc__)
