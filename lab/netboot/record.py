#!/usr/bin/env python3
"""Records a real network boot: firmware (OVMF) under QEMU, DHCP and TFTP by dnsmasq or atftpd, in a separate network namespace.

lab/netboot/record.py OUT --server atftpd    OUT/capture.pcap, OUT/serial.log, OUT/facts.json

The boot program is a Linux kernel with an initramfs that prints a line and powers off; it is built from Debian packages. Requires root
and the packages that --missing lists. Removes everything it sets up.
"""

import argparse
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

NAMESPACE = "onoff-lab"
SERVER_ADDRESS = "192.168.77.1"
SERVER_ADDRESS_6 = "fd77::1"
CLIENT_MAC = "52:54:00:77:00:01"
BOOT_PROGRAM = "boot.efi"
DEAD_SERVER = "192.168.77.200"
RELAY = pathlib.Path(__file__).resolve().parent / "pairs.py"
# How long to record after the firmware has failed, in seconds: long enough to tell silence from the end of the capture.
DELAY_AFTER_FAILURE_S = 8
UP = "onoff-lab: up"
FIRMWARE = pathlib.Path("/usr/share/OVMF")
STUB = pathlib.Path("/usr/lib/systemd/boot/efi/linuxx64.efi.stub")

# Required files and commands, and the Debian packages that contain them.
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
    arguments.add_argument("out", type=pathlib.Path, nargs="?", help="folder for the recording")
    arguments.add_argument("--missing", action="store_true", help="only print the missing packages")
    arguments.add_argument("--server", choices=["atftpd", "dnsmasq", "own"], default="atftpd",
                           help="TFTP server: atftpd supports windows over IPv4 only, dnsmasq does not support them, own (tftpd.py) supports them over both")
    arguments.add_argument("--check-address", action="store_true",
                           help="make the DHCP server check that an address is free before it offers it, which takes about 3 s")
    arguments.add_argument("--fault", choices=["missing-file", "dead-server"],
                           help="make the boot fail: DHCP names a file that does not exist, or an unused server address")
    arguments.add_argument("--drop", type=int, default=0, metavar="N", help="drop every Nth block between the capture and the client")
    arguments.add_argument("--everywhere", action="store_true",
                           help="capture on all interfaces (tcpdump -i any), which records each frame twice, on the bridge and on its port")
    arguments.add_argument("--ipv6", action="store_true", help="boot over IPv6 only")
    arguments.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "onoff-lab",
                           help="folder for downloads and build results")
    arguments.add_argument("--limit", type=float, default=180, help="boot timeout in seconds")
    arguments = arguments.parse_args()
    missing = sorted({package for file, package in NEEDED.items() if not shutil.which(file) and not pathlib.Path(file).exists()})
    if arguments.missing:
        print(*missing)
        return
    if not arguments.out:
        sys.exit("record: no output folder; usage: record.py OUT")
    if missing:
        sys.exit(f"record: missing packages: apt-get install --no-install-recommends {' '.join(missing)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    program = boot_program(arguments.cache)
    with tempfile.TemporaryDirectory() as work, network():
        facts = record(arguments, program, pathlib.Path(work))
    (arguments.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"record: {facts['end']} {facts['end_after_s']:.1f} s after power-on; {facts['capture_bytes']} bytes captured")


def package(name, cache):
    """Downloads and unpacks a Debian package without installing it: some would start a service, and only the files are needed."""
    unpacked = cache / name
    if not unpacked.exists():
        with tempfile.TemporaryDirectory(dir=cache) as download:
            subprocess.run(["apt-get", "download", "-q", name], cwd=download, check=True, stdout=subprocess.DEVNULL)
            [archive] = pathlib.Path(download).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, f"{unpacked}.new"], check=True)
        pathlib.Path(f"{unpacked}.new").rename(unpacked)
    return unpacked


def boot_program(cache):
    """Builds a unified kernel image: an EFI program with a kernel and an initramfs."""
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
    # The addresses are those in the stub's documentation.
    sections = {".osrel": (pathlib.Path("/etc/os-release"), 0x20000), ".cmdline": (command_line, 0x30000),
                ".linux": (kernel, 0x2000000), ".initrd": (initrd, 0x4000000)}
    flags = [flag for name, (path, address) in sections.items()
             for flag in ("--add-section", f"{name}={path}", "--change-section-vma", f"{name}={address:#x}")]
    subprocess.run(["objcopy", *flags, STUB, f"{program}.new"], check=True)
    pathlib.Path(f"{program}.new").rename(program)
    return program


@contextlib.contextmanager
def network():
    """Creates a network namespace with a bridge for the servers and a port for the guest."""
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
    named = "missing.efi" if arguments.fault == "missing-file" else BOOT_PROGRAM
    server = DEAD_SERVER if arguments.fault == "dead-server" else SERVER_ADDRESS
    dhcp = ["dnsmasq", "-d", "--conf-file=/dev/null", "--no-hosts", "--no-resolv", "--port=0", "--interface=br0", "--bind-interfaces",
            "--log-dhcp", "--user=root", f"--dhcp-leasefile={work}/leases", f"--pid-file={work}/pid"]
    if arguments.ipv6:
        dhcp += ["--enable-ra", "--dhcp-range=fd77::50,fd77::99,64,1h", f"--dhcp-option=option6:59,tftp://[{SERVER_ADDRESS_6}]/{named}"]
    else:
        dhcp += ["--dhcp-range=192.168.77.50,192.168.77.99,255.255.255.0,1h", f"--dhcp-boot={named},,{server}"]
    if not arguments.check_address:
        dhcp.append("--no-ping")
    servers = {"dnsmasq": dhcp}
    if arguments.server == "dnsmasq":
        dhcp += ["--enable-tftp", f"--tftp-root={files}"]
    elif arguments.server == "own":
        address = SERVER_ADDRESS_6 if arguments.ipv6 else SERVER_ADDRESS
        servers["own"] = [sys.executable, RELAY.with_name("tftpd.py"), address, files]
    else:
        atftpd = package("atftpd", arguments.cache) / "usr/sbin/atftpd"
        servers["atftpd"] = [atftpd, "--daemon", "--no-fork", "--verbose=7", "--user", "root.root", "--logfile", "-",
                             "--bind-address", SERVER_ADDRESS, files]
    interface = "any" if arguments.everywhere else "tap0"
    servers["tcpdump"] = ["tcpdump", "-i", interface, "-s", "0", "-U", "-w", capture.resolve(), "--time-stamp-precision=nano"]
    network_device = ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no"]
    if arguments.drop:
        servers["relay"] = [sys.executable, RELAY, "relay", "0", str(arguments.drop)]
        network_device = ["-netdev", "socket,id=n0,udp=127.0.0.1:7711,localaddr=127.0.0.1:7712"]
    guest = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max,-hypervisor", "-m", "512", "-display", "none",
             "-no-user-config", "-nodefaults", "-no-reboot",
             "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={FIRMWARE}/OVMF_CODE_4M.fd",
             "-drive", f"if=pflash,format=raw,unit=1,file={work}/vars.fd",
             *network_device,
             "-device", f"virtio-net-pci,netdev=n0,mac={CLIENT_MAC},bootindex=0,romfile=", "-device", "virtio-rng-pci",
             "-serial", f"file:{serial.resolve()}"]
    if arguments.ipv6:
        guest += ["-fw_cfg", "name=opt/org.tianocore/IPv4Support,string=no"]
    inside = ["ip", "netns", "exec", NAMESPACE]
    processes = {}
    with contextlib.ExitStack() as running:
        for name, command in servers.items():
            log = running.enter_context((arguments.out / f"{name}.log").open("wb"))
            processes[name] = subprocess.Popen([*inside, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            running.callback(stop, processes[name])
        time.sleep(1)
        for name, process in processes.items():
            if process.poll() is not None:
                sys.exit(f"record: {name} did not start: {text(arguments.out / f'{name}.log')[-500:]}")
        begin = time.monotonic()
        machine = subprocess.Popen([*inside, *guest], stdin=subprocess.DEVNULL)
        running.callback(stop, machine)
        ended = re.compile(r"PXE-E\d\d" if arguments.fault else re.escape(UP))
        while not ended.search(text(serial)):
            if machine.poll() is not None or time.monotonic() - begin > arguments.limit:
                sys.exit(f"record: no {ended.pattern} within {arguments.limit:.0f} s; end of the guest's console:\n{text(serial)[-2000:]}")
            time.sleep(0.1)
        end_after = time.monotonic() - begin
        time.sleep(DELAY_AFTER_FAILURE_S if arguments.fault else 1)
    screen = re.findall(r"PXE-E\d\d", text(serial))
    return {"server": arguments.server, "server_address": SERVER_ADDRESS, "client_mac": CLIENT_MAC, "file": BOOT_PROGRAM,
            "file_bytes": program.stat().st_size, "address_checked": arguments.check_address, "fault": arguments.fault,
            "dropped_every": arguments.drop, "ip_version": 6 if arguments.ipv6 else 4, "everywhere": arguments.everywhere, "screen": screen[:1],
            "end": "failed" if arguments.fault else "up", "end_after_s": round(end_after, 3),
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
