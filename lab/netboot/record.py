#!/usr/bin/env python3
"""Records a network boot of firmware (OVMF) under QEMU, with DHCP and TFTP by dnsmasq or atftpd, in a network namespace.

lab/netboot/record.py OUT --server atftpd    OUT/capture.pcap, OUT/serial.log, OUT/facts.json

The boot program is a Linux kernel with an initramfs that prints a message and powers off, built from Debian's packages.
Needs root and several packages, which are listed if missing. Everything that is set up is removed at the end.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Several recordings may run at once.
NAMESPACE = f"onoff-lab-{os.getpid()}"
SERVER_ADDRESS = "192.168.77.1"
SERVER_ADDRESS_6 = "fd77::1"
CLIENT_MAC = "52:54:00:77:00:01"
BOOT_PROGRAM = "boot.efi"
DEAD_SERVER = "192.168.77.200"
RELAY = pathlib.Path(__file__).resolve().parent / "pairs.py"
# Seconds to record after the firmware gave up: long enough to distinguish silence from a truncated capture.
AFTER_THE_END = 8
UP = "onoff-lab: up"
# What the firmware prints when it gives up a program.
FAILED = r"PXE-E\d\d|Access Denied|Security Violation|Image verification failed"
FIRMWARE = pathlib.Path("/usr/share/OVMF")
STUB = pathlib.Path("/usr/lib/systemd/boot/efi/linuxx64.efi.stub")

# Required files or commands, with the Debian packages that contain them.
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "dnsmasq": "dnsmasq-base",
    "tcpdump": "tcpdump",
    "busybox": "busybox-static",
    "objcopy": "binutils",
    "cpio": "cpio",
    "ip": "iproute2",
    str(FIRMWARE / "OVMF_CODE_4M.fd"): "ovmf",
    str(STUB): "systemd-boot-efi",
    "/usr/lib/x86_64-linux-gnu/libwrap.so.0": "libwrap0",
}

INIT = f"""#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
echo "{UP} $(/bin/busybox cut -d' ' -f1 /proc/uptime)" > /dev/ttyS0
/bin/busybox poweroff -f
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path, nargs="?", help="output folder")
    arguments.add_argument("--missing", action="store_true", help="only print the packages that are missing")
    arguments.add_argument("--server", choices=["atftpd", "dnsmasq", "own"], default="atftpd",
                           help="TFTP server: atftpd supports windows over IPv4 only; dnsmasq does not; own (tftpd.py) supports them over both")
    arguments.add_argument("--check-address", action="store_true",
                           help="let the DHCP server check that an address is unused before offering it (about 3 s)")
    arguments.add_argument("--fault", choices=["missing-file", "dead-server", "secure-boot", "restarted-server"],
                           help="make the boot fail: DHCP names a missing file, or a server that does not exist; the firmware refuses the unsigned "
                                "program; the TFTP server is restarted within the file")
    arguments.add_argument("--https", action="store_true", help="boot over HTTP in TLS (HTTPClient) instead of TFTP")
    arguments.add_argument("--delay", type=float, default=0.0, metavar="MS", help="delay each frame on the client's side of the capture")
    arguments.add_argument("--loss", type=float, default=0.0, metavar="PERCENT", help="lose packets of files on the client's side of the capture")
    arguments.add_argument("--both", action="store_true", help="capture at the client's port, too: OUT/client.pcap")
    arguments.add_argument("--window", type=int, default=0, metavar="N", help="with --server own, grant at most N blocks")
    arguments.add_argument("--drop", type=int, default=0, metavar="N", help="drop every Nth block on the client's side of the capture")
    arguments.add_argument("--everywhere", action="store_true",
                           help="capture on every interface (tcpdump -i any): the bridge and its port show each frame twice")
    arguments.add_argument("--ipv6", action="store_true", help="boot over IPv6, and only over it")
    arguments.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "onoff-lab",
                           help="cache folder for downloads and builds")
    arguments.add_argument("--limit", type=float, default=180, help="time limit of a boot, in seconds")
    arguments = arguments.parse_args()
    missing = sorted({package for what, package in NEEDED.items() if not shutil.which(what) and not pathlib.Path(what).exists()})
    if arguments.missing:
        print(*missing)
        return
    if not arguments.out:
        sys.exit("record: name an output folder: record.py OUT")
    if missing:
        sys.exit(f"record: packages are missing; run apt-get install --no-install-recommends {' '.join(missing)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    program = boot_program(arguments.cache)
    with tempfile.TemporaryDirectory() as work, network():
        facts = record(arguments, program, pathlib.Path(work))
    (arguments.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"record: {facts['end']} {facts['end_after_s']:.1f} s after power-on; {facts['capture_bytes']} bytes captured")


def package(name, cache):
    """Unpacks a Debian package without installing it, because some start a service when installed."""
    unpacked = cache / name
    if not unpacked.exists():
        with tempfile.TemporaryDirectory(dir=cache) as download:
            subprocess.run(["apt-get", "download", "-q", name], cwd=download, check=True, stdout=subprocess.DEVNULL)
            [archive] = pathlib.Path(download).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, f"{unpacked}.new"], check=True)
        pathlib.Path(f"{unpacked}.new").rename(unpacked)
    return unpacked


def boot_program(cache):
    """A unified kernel image: an EFI program with kernel and initramfs."""
    program = cache / BOOT_PROGRAM
    if program.exists():
        return program
    depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], check=True, capture_output=True, text=True).stdout
    names = [word for word in depends.split() if word.startswith("linux-image-") and word != "linux-image-amd64"]
    if not names:
        sys.exit("record: apt-cache cannot resolve linux-image-amd64; run apt-get update")
    kernel = next((package(names[0], cache) / "boot").glob("vmlinuz-*"))
    root = cache / "root"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "dev", "proc"):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    init = root / "init"
    init.write_text(INIT)
    init.chmod(0o755)
    initrd = cache / "initrd"
    listing = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with initrd.open("wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=listing.encode(), stdout=out, check=True)
    command_line = cache / "command-line"
    command_line.write_text("console=ttyS0 quiet\0")
    # The section addresses follow the stub's documentation.
    sections = {".osrel": (pathlib.Path("/etc/os-release"), 0x20000), ".cmdline": (command_line, 0x30000),
                ".linux": (kernel, 0x2000000), ".initrd": (initrd, 0x4000000)}
    flags = [flag for name, (path, address) in sections.items()
             for flag in ("--add-section", f"{name}={path}", "--change-section-vma", f"{name}={address:#x}")]
    subprocess.run(["objcopy", *flags, STUB, f"{program}.new"], check=True)
    pathlib.Path(f"{program}.new").rename(program)
    return program


@contextlib.contextmanager
def network():
    """A namespace with a bridge for the servers and a port for the guest."""
    commands = ["link set lo up", "link add br0 type bridge", "link set br0 up", f"addr add {SERVER_ADDRESS}/24 dev br0", f"-6 addr add {SERVER_ADDRESS_6}/64 dev br0 nodad",
                "tuntap add tap0 mode tap", "link set tap0 master br0 up"]
    subprocess.run(["ip", "netns", "del", NAMESPACE], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        for command in commands:
            subprocess.run(["ip", "-n", NAMESPACE, *command.split()], check=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


def record(arguments, program, work):
    files = work / "tftp"
    files.mkdir()
    shutil.copy(program, files / BOOT_PROGRAM)
    shutil.copy(FIRMWARE / "OVMF_VARS_4M.fd", work / "vars.fd")
    serial = arguments.out / "serial.log"
    capture = arguments.out / "capture.pcap"
    serial.unlink(missing_ok=True)
    secure = arguments.fault == "secure-boot"
    if secure:
        shutil.copy(FIRMWARE / "OVMF_VARS_4M.ms.fd", work / "vars.fd")
    named = "missing.efi" if arguments.fault == "missing-file" else BOOT_PROGRAM
    server = DEAD_SERVER if arguments.fault == "dead-server" else SERVER_ADDRESS
    dhcp = ["dnsmasq", "-d", "--conf-file=/dev/null", "--no-hosts", "--no-resolv", "--port=0", "--interface=br0", "--bind-interfaces",
            "--log-dhcp", "--user=root", f"--dhcp-leasefile={work}/leases", f"--pid-file={work}/pid"]
    if arguments.ipv6:
        dhcp += ["--enable-ra", "--dhcp-range=fd77::50,fd77::99,64,1h", f"--dhcp-option=option6:59,tftp://[{SERVER_ADDRESS_6}]/{named}"]
    else:
        dhcp += ["--dhcp-range=192.168.77.50,192.168.77.99,255.255.255.0,1h"]
        if arguments.https:
            dhcp += ["--dhcp-vendorclass=set:http,HTTPClient", "--dhcp-option-force=tag:http,60,HTTPClient",
                     f"--dhcp-boot=tag:http,https://{SERVER_ADDRESS}/{named}",
                     # PXE, which the firmware tries first, gets no answer: the shortest way to give it up.
                     "--dhcp-ignore=tag:!http"]
        else:
            dhcp += [f"--dhcp-boot={named},,{server}"]
    if not arguments.check_address:
        dhcp.append("--no-ping")
    servers = {"dnsmasq": dhcp}
    if arguments.server == "dnsmasq":
        dhcp += ["--enable-tftp", f"--tftp-root={files}"]
    elif arguments.server == "own":
        address = SERVER_ADDRESS_6 if arguments.ipv6 else SERVER_ADDRESS
        servers["own"] = [sys.executable, RELAY.with_name("tftpd.py"), address, files, str(arguments.window)]
    else:
        atftpd = package("atftpd", arguments.cache) / "usr/sbin/atftpd"
        servers["atftpd"] = [atftpd, "--daemon", "--no-fork", "--verbose=7", "--user", "root.root", "--logfile", "-",
                             "--bind-address", SERVER_ADDRESS, files]
    if arguments.https:
        servers["https"] = [sys.executable, RELAY.with_name("https.py"), SERVER_ADDRESS, files, work]
    interface = "any" if arguments.everywhere else "tap0"
    servers["tcpdump"] = ["tcpdump", "-i", interface, "-s", "0", "-U", "-w", capture.resolve(), "--time-stamp-precision=nano"]
    network_device = ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no"]
    if arguments.drop or arguments.delay or arguments.loss:
        servers["relay"] = [sys.executable, RELAY, "relay", str(arguments.delay), str(arguments.drop), str(arguments.loss)]
        network_device = ["-netdev", "socket,id=n0,udp=127.0.0.1:7711,localaddr=127.0.0.1:7712"]
    code = "OVMF_CODE_4M.secboot.fd" if secure else "OVMF_CODE_4M.fd"
    machine = ["q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"] if secure else ["q35"]
    guest = ["qemu-system-x86_64", "-machine", *machine, "-accel", "tcg", "-cpu", "max,-hypervisor", "-m", "512", "-display", "none",
             "-no-user-config", "-nodefaults", "-no-reboot",
             "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={FIRMWARE}/{code}",
             "-drive", f"if=pflash,format=raw,unit=1,file={work}/vars.fd",
             *network_device,
             "-device", f"virtio-net-pci,netdev=n0,mac={CLIENT_MAC},bootindex=0,romfile=", "-device", "virtio-rng-pci",
             "-serial", f"file:{serial.resolve()}"]
    if arguments.both:
        guest += ["-object", f"filter-dump,id=dump0,netdev=n0,file={(arguments.out / 'client.pcap').resolve()}"]
    if arguments.https:
        guest += ["-fw_cfg", f"name=etc/edk2/https/cacerts,file={work}/cacerts",
                  "-fw_cfg", "name=opt/org.tianocore/IPv6Support,string=no"]
    if arguments.ipv6:
        guest += ["-fw_cfg", "name=opt/org.tianocore/IPv4Support,string=no"]
    inside = ["ip", "netns", "exec", NAMESPACE]
    processes = {}
    with contextlib.ExitStack() as running:
        for name, command in servers.items():
            log = running.enter_context((arguments.out / f"{name}.log").open("wb"))
            processes[name] = subprocess.Popen([*inside, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=work)
            running.callback(stop, processes[name])
        time.sleep(1)
        for name, process in processes.items():
            if process.poll() is not None:
                sys.exit(f"record: {name} did not start: {text(arguments.out / f'{name}.log')[-500:]}")
        while arguments.https and not (work / "cacerts").exists():
            time.sleep(0.1)
        begin = time.monotonic()
        machine = subprocess.Popen([*inside, *guest], stdin=subprocess.DEVNULL)
        running.callback(stop, machine)
        ended = re.compile(FAILED if arguments.fault else re.escape(UP))
        restarts = arguments.fault == "restarted-server"
        while not ended.search(text(serial)):
            if machine.poll() is not None or time.monotonic() - begin > arguments.limit:
                sys.exit(f"record: no {ended.pattern} within {arguments.limit:.0f} s. Last console output:\n{text(serial)[-2000:]}")
            # A quarter of the file has passed: its transfer ends with the process, and the next one knows nothing of it.
            if restarts and capture.exists() and capture.stat().st_size > program.stat().st_size / 4:
                restarts = False
                stop(processes["own"])
                log = running.enter_context((arguments.out / "own-again.log").open("wb"))
                again = subprocess.Popen([*inside, *servers["own"]], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
                running.callback(stop, again)
            time.sleep(0.1)
        end_after = time.monotonic() - begin
        time.sleep(AFTER_THE_END if arguments.fault else 1)
    screen = re.findall(r"PXE-E\d\d", text(serial))
    return {"server": arguments.server, "server_address": SERVER_ADDRESS, "client_mac": CLIENT_MAC, "file": BOOT_PROGRAM,
            "file_bytes": program.stat().st_size, "address_checked": arguments.check_address, "fault": arguments.fault,
            "dropped_every": arguments.drop, "delay_ms": arguments.delay, "loss_percent": arguments.loss, "https": arguments.https,
            "both": arguments.both,
            "lost": json.loads((work / "lost.json").read_text()) if (work / "lost.json").exists() else None,
            "window": arguments.window, "ip_version": 6 if arguments.ipv6 else 4, "everywhere": arguments.everywhere, "screen": screen[:1],
            "end": "gave up" if arguments.fault else "up", "end_after_s": round(end_after, 3),
            "capture_bytes": capture.stat().st_size}


def text(path):
    return path.read_text(errors="replace") if path.exists() else ""


def stop(process):
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
