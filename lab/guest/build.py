#!/usr/bin/env python3
"""Builds the guest's disk: a small Debian that boots through UEFI and a boot loader, with swap space for hibernation.

lab/guest/build.py CACHE              prints the path of the disk image, and builds it if it does not exist
lab/guest/build.py CACHE --variant V  the same for another guest (see VARIANTS)

The guest uses the host's Debian release and package sources, so that programs built on the host run in it. Images are kept
in CACHE under the digest of their inputs. Needs root and the packages listed by --missing; mounts nothing.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OVERLAY = HERE / "root"
MODULES = HERE / "module"
BOOT_LOADER = pathlib.Path("/usr/lib/systemd/boot/efi/systemd-bootx64.efi")
FIRMWARE = pathlib.Path("/usr/share/OVMF")

# Required files or commands, with the Debian packages that contain them.
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "sgdisk": "gdisk",
    "mkfs.vfat": "dosfstools",
    "mcopy": "mtools",
    "debugfs": "e2fsprogs",
    "strip": "binutils",
    str(FIRMWARE / "OVMF_CODE_4M.fd"): "ovmf",
    str(BOOT_LOADER): "systemd-boot-efi",
}

PACKAGES = ["systemd", "systemd-sysv", "dbus", "udev", "kmod", "linux-image-amd64", "zstd", "util-linux", "procps", "e2fsprogs"]
# The initramfs generator: Debian's, or dracut, which uses systemd in the initramfs like Fedora, SUSE and others.
MAKERS = {"initramfs-tools": ["initramfs-tools"], "dracut": ["dracut-core", "dracut"]}
# systemd-boot passes the times of firmware and loader to the system; GRUB does not.
LOADERS = {"systemd-boot": ["systemd-boot"], "grub": ["grub-efi-amd64-bin", "grub2-common"]}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A guest: its initramfs generator (MAKERS) and boot loader (LOADERS)."""
    initrd: str = "initramfs-tools"
    loader: str = "systemd-boot"

    @property
    def packages(self):
        return PACKAGES + MAKERS[self.initrd] + LOADERS[self.loader]


VARIANTS = {"debian": Variant(), "dracut": Variant(initrd="dracut"), "grub": Variant(loader="grub")}
# Not needed, and most of the size.
EXCLUDED = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*",
            *(f"/lib/modules/*/kernel/{folder}/*" for folder in
              ("sound", "drivers/media", "drivers/gpu", "drivers/infiniband", "drivers/staging", "drivers/iio", "drivers/isdn",
               "drivers/net/wireless", "drivers/net/ethernet", "drivers/hwmon", "drivers/usb/serial"))]
# Runs before the kernel is installed, so that the initramfs is built once, with only the guest's few drivers: unpacking one
# with all drivers takes seconds per boot on an emulated processor.
INITIAL_FILE_SYSTEM = {
    "initramfs-tools": "; ".join([
        "mkdir -p \"$1/etc/initramfs-tools/conf.d\" \"$1/etc/initramfs-tools/hooks\"",
        "cd \"$1/etc/initramfs-tools\"",
        "echo MODULES=list > conf.d/lab",
        "printf '%s\\n' '#!/bin/sh' '[ \"$1\" = prereqs ] && exit 0' '. /usr/share/initramfs-tools/hook-functions'"
        " 'manual_add_modules virtio_pci virtio_blk ext4' > hooks/lab",
        "chmod 755 hooks/lab",
    ]),
    "dracut": "; ".join([
        "mkdir -p \"$1/etc/dracut.conf.d\"",
        "printf '%s\\n' 'hostonly=no' 'hostonly_cmdline=no' 'compress=zstd' 'dracutmodules=\" systemd systemd-initrd dracut-systemd base"
        " kernel-modules rootfs-block udev-rules fs-lib shutdown \"' 'drivers=\" virtio_pci virtio_blk ext4 \"'"
        " > \"$1/etc/dracut.conf.d/lab.conf\"",
    ]),
}

MIB = 1 << 20
SECTOR = 512
# Partitions (first byte, length): the guest's files, its recordings, and swap space for hibernation.
ESP = (1 * MIB, 255 * MIB)
ROOT = (256 * MIB, 3072 * MIB)
SWAP = (3328 * MIB, 2048 * MIB)
DISK_BYTES = 5378 * MIB
ROOT_UUID = "6f6e6f66-662d-4c61-8b2d-726f6f740000"

# `no_timer_check`: on a busy host the emulated timer may not tick during the kernel's check, which would then fail.
# `mitigations=off`: mitigations are slow on an emulated processor, and there is nothing to protect.
OPTIONS = "console=ttyS0,115200 quiet no_timer_check mitigations=off resume=LABEL=swap"
ENTRY = f"""title Debian
linux /debian/vmlinuz
initrd /debian/initrd.img
options root=LABEL=root ro {OPTIONS}
"""

# Embedded configuration of GRUB on the boot partition; the menu and its other files are on the root partition.
GRUB_FINDS_ITS_FOLDER = f"""search --no-floppy --fs-uuid --set=root {ROOT_UUID}
set prefix=($root)/boot/grub
"""
GRUB_MODULES = ["part_gpt", "fat", "ext2", "search", "search_fs_uuid", "normal", "configfile", "linux", "boot", "gzio", "echo", "test", "all_video"]
# The menu of the first boot. The guest then generates its own with Debian's tools, which need to see the disks.
GRUB_FIRST_MENU = """set timeout=0
menuentry 'Debian' {
    linux /boot/KERNEL root=LABEL=root ro OPTIONS
    initrd /boot/INITRD
}
"""
# Settings for Debian's menu generator.
GRUB_DEFAULTS = f"""GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT=""
GRUB_CMDLINE_LINUX="{OPTIONS}"
GRUB_TERMINAL=console
GRUB_DISABLE_OS_PROBER=true
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cache", type=pathlib.Path, nargs="?", help="cache folder for downloads and builds")
    arguments.add_argument("--variant", choices=VARIANTS, default="debian", help="variant of the guest")
    arguments.add_argument("--missing", action="store_true", help="only print the packages that are missing")
    arguments = arguments.parse_args()
    if arguments.missing:
        print(*missing())
        return
    if not arguments.cache:
        sys.exit("build: name a cache folder: build.py CACHE")
    print(image(arguments.cache, arguments.variant))


def missing():
    """The required packages that are not installed."""
    return sorted({package for what, package in NEEDED.items() if not shutil.which(what) and not pathlib.Path(what).exists()})


def image(cache, name="debian"):
    """The path of the disk image of a variant."""
    variant = VARIANTS[name]
    if absent := missing():
        sys.exit(f"build: packages are missing; run apt-get install --no-install-recommends {' '.join(absent)}")
    if os.geteuid() != 0:
        sys.exit("build: run as root, which is needed to create files of other owners")
    cache.mkdir(parents=True, exist_ok=True)
    with only_one(cache):
        sources = package_sources()
        tree_key = digest(sources, variant.packages, EXCLUDED, INITIAL_FILE_SYSTEM[variant.initrd])
        image_key = digest(tree_key, pathlib.Path(__file__).read_text(),
                           [(str(path.relative_to(OVERLAY)), path.stat().st_mode, path.read_text())
                            for path in sorted(OVERLAY.rglob("*")) if path.is_file()])
        disk = cache / f"guest-{name}-{image_key}.img"
        if not disk.exists():
            keep_only(cache, f"guest-{name}-*", disk)
            make_disk(tree(cache, tree_key, sources, name), disk, variant.loader)
        return disk


def installed(cache, name="debian"):
    """The files of a variant as Debian's packages install them. The caller locks the cache."""
    variant = VARIANTS[name]
    sources = package_sources()
    return tree(cache, digest(sources, variant.packages, EXCLUDED, INITIAL_FILE_SYSTEM[variant.initrd]), sources, name)


@contextlib.contextmanager
def only_one(cache):
    """Locks the folder against concurrent builds."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def modules(cache):
    """Paths of the kernel modules for the guest, built for its kernel."""
    kernel = next(cache.glob("tree-*/boot/vmlinuz-*")).name.removeprefix("vmlinuz-")
    headers = pathlib.Path("/lib/modules") / kernel / "build"
    if not headers.exists() or not shutil.which("make"):
        sys.exit(f"build: the kernel headers are missing; run apt-get install linux-headers-{kernel} make")
    key = digest(kernel, [(path.name, path.read_text()) for path in sorted(MODULES.iterdir())])
    folder = cache / f"modules-{key}"
    if not folder.exists():
        keep_only(cache, "modules-*", folder)
        new = cache / f"modules-{key}.new"
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(MODULES, new)
        run("make", "-s", "-C", headers, f"M={new.resolve()}", "modules")
        new.rename(folder)
    return sorted(folder.glob("*.ko"))


def digest(*what):
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def keep_only(cache, pattern, wanted):
    for path in cache.glob(pattern):
        if path == wanted:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def package_sources():
    """The host's package sources that are Debian archives, without third-party ones."""
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"]
    for _ in range(2):
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        if lines:
            return sorted(set(lines))
        subprocess.run(["apt-get", "update", "-qq"], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    sys.exit("build: no Debian archive among the apt sources")


def tree(cache, key, sources, name):
    """The guest's files as installed by Debian's packages."""
    variant = VARIANTS[name]
    root = cache / f"tree-{name}-{key}"
    if root.exists():
        return root
    keep_only(cache, f"tree-{name}-*", root)
    suites = [line.split()[2] for line in sources]
    release = next(suite for suite in suites if "-" not in suite)
    new = cache / f"tree-{name}-{key}.new"
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=directory",
               "--aptopt=Acquire::Languages \"none\"", *(f"--dpkgopt=path-exclude={path}" for path in EXCLUDED),
               f"--essential-hook={INITIAL_FILE_SYSTEM[variant.initrd]}", f"--include={','.join(variant.packages)}", release, new, *sources]
    for attempt in (1, 2, 3):
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0:
            new.rename(root)
            return root
        print(f"build: attempt {attempt} failed", file=sys.stderr)
        shutil.rmtree(new, ignore_errors=True)
    sys.exit("build: mmdebstrap failed to create the guest's files")


def make_disk(root, disk, loader):
    """One disk with a partition table: boot loader and kernels, files, swap space."""
    kernel = next((root / "boot").glob("vmlinuz-*")).name
    initrd = kernel.replace("vmlinuz", "initrd.img")
    new = disk.with_suffix(".new")
    new.unlink(missing_ok=True)
    with new.open("wb") as out:
        out.truncate(DISK_BYTES)
    parts = {"ESP": (ESP, "EF00"), "root": (ROOT, "8304"), "swap": (SWAP, "8300")}
    flags = []
    for number, (name, ((first, length), kind)) in enumerate(parts.items(), start=1):
        flags += ["-n", f"{number}:{first // SECTOR}:{(first + length) // SECTOR - 1}", "-t", f"{number}:{kind}", "-c", f"{number}:{name}"]
    run("sgdisk", *flags, new)

    files = disk.with_suffix(".tree")
    shutil.rmtree(files, ignore_errors=True)
    # Hard links are safe: changed files come from the overlay, which replaces the link.
    run("cp", "-a", "--link", root, files)
    for path in sorted(OVERLAY.rglob("*")):
        target = files / path.relative_to(OVERLAY)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif path.is_file():
            target.unlink(missing_ok=True)
            shutil.copy(path, target)
            os.chown(target, 0, 0)
    finish(files)
    if loader == "grub":
        grub_program = put_grub(files, kernel, initrd)
    run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-U", ROOT_UUID, "-d", files,
        "-E", f"offset={ROOT[0]},lazy_itable_init=1", new, f"{ROOT[1] // 1024}k")

    esp = f"{new}@@{ESP[0]}"
    run("mformat", "-i", esp, "-F", "-v", "ESP", "-T", str(ESP[1] // SECTOR), "-h", "255", "-s", "63", "::")
    for folder in ("EFI", "EFI/BOOT"):
        run("mmd", "-i", esp, f"::{folder}")
    if loader == "grub":
        run("mcopy", "-i", esp, grub_program, "::EFI/BOOT/BOOTX64.EFI")
    else:
        put_systemd_boot(esp, root / "boot" / kernel, root / "boot" / initrd)

    write_swap_header(new)
    shutil.rmtree(files)
    new.rename(disk)


def put_systemd_boot(esp, kernel, initrd):
    """Installs systemd-boot, its entry and the kernel on the boot partition."""
    for folder in ("EFI/systemd", "loader", "loader/entries", "debian"):
        run("mmd", "-i", esp, f"::{folder}")
    copies = {"EFI/BOOT/BOOTX64.EFI": BOOT_LOADER, "EFI/systemd/systemd-bootx64.efi": BOOT_LOADER, "debian/vmlinuz": kernel,
              "debian/initrd.img": initrd}
    for target, source in copies.items():
        run("mcopy", "-i", esp, source, f"::{target}")
    for name, text in {"loader.conf": "timeout 0\ndefault debian.conf\n", "entries/debian.conf": ENTRY}.items():
        run("mcopy", "-i", esp, "-", f"::loader/{name}", given=text)


def put_grub(files, kernel, initrd):
    """Installs GRUB and its menu in the guest's files, with the guest's tools. Returns the path of the GRUB image."""
    folder = files / "boot/grub"
    shutil.copytree(files / "usr/lib/grub/x86_64-efi", folder / "x86_64-efi", dirs_exist_ok=True)
    menu = GRUB_FIRST_MENU.replace("KERNEL", kernel).replace("INITRD", initrd).replace("OPTIONS", OPTIONS)
    replace(folder / "grub.cfg", menu, mode=0o600)
    replace(files / "etc/default/grub", GRUB_DEFAULTS, mode=0o644)
    (folder / "find.cfg").write_text(GRUB_FINDS_ITS_FOLDER)
    run("chroot", files, "grub-editenv", "/boot/grub/grubenv", "create")
    run("chroot", files, "grub-mkimage", "--format", "x86_64-efi", "--output", "/boot/grub/bootx64.efi", "--prefix", "/boot/grub",
        "--config", "/boot/grub/find.cfg", *GRUB_MODULES)
    return folder / "bootx64.efi"


def finish(files):
    """Changes that overlay files cannot express."""
    wants = files / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "onoff-lab-agent.service").symlink_to("../onoff-lab-agent.service")
    for folder in ("boot/efi", "var/log/journal"):
        (files / folder).mkdir(parents=True, exist_ok=True)
    replace(files / "etc/machine-id", hashlib.md5(b"onoff lab guest").hexdigest() + "\n")
    shadow = files / "etc/shadow"
    replace(shadow, re.sub(r"^root:[^:]*:", "root::", shadow.read_text(), flags=re.MULTILINE), mode=0o640)
    for cached in [*files.glob("var/cache/apt/*.bin"), *files.glob("var/lib/apt/lists/*_*")]:
        cached.unlink()


def replace(path, text, mode=0o444):
    """Replaces the file, which may be a hard link into the cached tree."""
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(mode)


def write_swap_header(disk):
    """Writes a swap header like mkswap, which has no offset option: one page with version, last page, label and signature."""
    page = bytearray(4096)
    page[1024:1028] = (1).to_bytes(4, "little")
    page[1028:1032] = (SWAP[1] // 4096 - 1).to_bytes(4, "little")
    page[1036:1052] = hashlib.md5(b"onoff lab swap").digest()
    page[1052:1056] = b"swap"
    page[4086:4096] = b"SWAPSPACE2"
    with disk.open("r+b") as out:
        out.seek(SWAP[0])
        out.write(page)


def run(*command, given=None):
    done = subprocess.run([str(word) for word in command], input=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=None if given is not None else subprocess.DEVNULL, env={**os.environ, "MTOOLS_SKIP_CHECK": "1"})
    if done.returncode:
        sys.exit(f"build: {command[0]} failed:\n{done.stdout}")


if __name__ == "__main__":
    main()
