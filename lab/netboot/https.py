#!/usr/bin/env python3
"""A server of files over HTTP in TLS for the lab, with its own certificate, which the firmware is given.

lab/netboot/https.py ADDRESS FOLDER WORK    WORK/cacerts: the list of certificates for OVMF (fw_cfg etc/edk2/https/cacerts)
"""

import functools
import http.server
import pathlib
import ssl
import struct
import subprocess
import sys
import uuid

# EFI_CERT_X509_GUID, and an owner that means nothing.
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
OWNER = uuid.UUID("12345678-1234-1234-1234-123456789abc")


def main():
    address, folder, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    key, certificate, der = work / "key.pem", work / "certificate.pem", work / "certificate.der"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "3650",
                    "-subj", f"/CN={address}", "-addext", f"subjectAltName=IP:{address}"], check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-in", certificate, "-outform", "DER", "-out", der], check=True)
    data = der.read_bytes()
    # An EFI signature list with one certificate: type, sizes of list, header and signature, owner, data.
    header = X509.bytes_le + struct.pack("<III", 28 + 16 + len(data), 0, 16 + len(data))
    (work / "cacerts.new").write_bytes(header + OWNER.bytes_le + data)
    (work / "cacerts.new").rename(work / "cacerts")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The firmware's TLS offers ciphers that today's defaults refuse.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.load_cert_chain(certificate, key)
    # The firmware asks for the size and the file on one connection.
    http.server.SimpleHTTPRequestHandler.protocol_version = "HTTP/1.1"
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    server = http.server.ThreadingHTTPServer((address, 443), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
