# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A file on a file system that stops answering once the file is open.

Served over /dev/fuse without libfuse, in a mount namespace of the caller's own,
by a child; when that is killed, whoever hangs gets an error.
"""
import ctypes
import os
import struct

LOOKUP, FORGET, OPEN, INIT, STATFS, OPENDIR = 1, 2, 14, 26, 17, 27
HEAD = struct.Struct("=IIQQIIII")  # length, opcode, unique, nodeid, ids
ATTR = struct.Struct("=6Q10I")
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attributes(node):
    mode = 0o100644 if node == 2 else 0o40755
    return ATTR.pack(node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def serve(device):
    while True:
        data = os.read(device, 1 << 20)
        _, opcode, unique, _, _, _, _, _ = HEAD.unpack_from(data)
        if opcode == INIT:
            major, minor, ahead, _ = struct.unpack_from("=4I", data, HEAD.size)
            body = struct.pack("=IIIIHHIIHHI28x", 7, min(minor, 31), ahead, 0, 1,
                               1, 4096, 1, 1, 0, 0)
        elif opcode == LOOKUP:
            body = struct.pack("=4Q2I", 2, 0, 3600, 0, 0, 0) + attributes(2)
        elif opcode == OPEN:
            body = struct.pack("=QII", 1, 0, 0)
        else:
            continue  # for ever
        os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)


def open_hung(folder):
    """A descriptor of the file, and the number of the process that serves."""
    check(libc.unshare(0x20000))
    check(libc.mount(b"none", b"/", None, 0x44000, None))
    device = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
    check(libc.mount(b"hung", folder.encode(), b"fuse", 0, options.encode()))
    server = os.fork()
    if not server:
        serve(device)
    os.close(device)
    return os.open(folder + "/file", os.O_RDONLY), server
