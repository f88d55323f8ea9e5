# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A member of the group who speaks mapled's protocol by hand, well or badly.

mapled --protocol says how. Names of messages are as it has them; fields that
are not given are 0 or absent.
"""
import array
import os
import re
import select
import socket
import struct
import subprocess
import time

UID = GID = 54321
GROUP = 54399  # as the tests' mapled.conf has it

PLAIN = {"u32": "I", "u64": "Q", "i64": "q", "f64": "d", "flag": "B"}


def become_member(uid=UID):
    os.setgroups([GROUP])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class Protocol:
    def __init__(self):
        mapled = os.environ["BUILD"] + "/mapled"
        text = subprocess.check_output([mapled, "--protocol"], text=True)
        self.types, self.names = {}, {}
        lines = text.splitlines()
        for head, fields in zip(lines, lines[1:]):
            m = re.match(r"(\d+) ([A-Z_]+) ", head)
            if not m:
                continue
            pairs = re.findall(r"(\w+) (\w+)(?:\[\d+\])?", fields)
            self.types[m[2]] = (int(m[1]), pairs)
            self.names[int(m[1])] = m[2]
        version = subprocess.check_output([mapled, "--version"], text=True)
        self.version = int(version.split()[-1])

    def encode(self, name, values):
        number, fields = self.types[name]
        body = b""
        for kind, field in fields:
            if kind not in PLAIN and kind not in ("text", "list", "bytes", "parts"):
                continue
            value = values.pop(field, None)
            if kind in PLAIN:
                body += struct.pack("=" + PLAIN[kind], value or 0)
                continue
            if isinstance(value, str):
                value = value.encode()
            if kind == "text" and value is not None:
                value += b"\0"
            value = value or b""
            body += struct.pack("=I", len(value)) + value
        assert not values, values
        return number, body

    def decode(self, number, body):
        answer, at = {"type": self.names[number]}, 0
        for kind, field in self.types[self.names[number]][1]:
            if kind in PLAIN:
                answer[field], = struct.unpack_from("=" + PLAIN[kind], body, at)
                at += struct.calcsize("=" + PLAIN[kind])
            elif kind in ("text", "list", "bytes", "parts"):
                size, = struct.unpack_from("=I", body, at)
                value = body[at + 4:at + 4 + size]
                answer[field] = value.rstrip(b"\0").decode() if kind == "text" else value
                at += 4 + size
        return answer


PROTOCOL = Protocol()


class Member:
    """A connection; greets unless it is told not to."""

    def __init__(self, path, hello=True):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(path)
        self.serial, self.left, self.fds = 0, b"", []
        if hello:
            self.welcome = self.ask("HELLO", fds=[os.pidfd_open(os.getpid())],
                                    version=PROTOCOL.version, release="test")

    def send(self, name, /, fds=(), **values):
        number, body = PROTOCOL.encode(name, values)
        self.serial += 1
        data = struct.pack("=IHHII", len(body), number, len(fds), self.serial, 0) + body
        if fds:
            sent = socket.send_fds(self.sock, [data], list(fds))
            data = data[sent:]
        if data:  # or who has been answered already may find nobody
            self.sock.sendall(data)

    def read(self):
        """The next answer; None at the end of the connection."""
        while True:
            if len(self.left) >= 16:
                size, number = struct.unpack_from("=IH", self.left)
                if len(self.left) >= 16 + size:
                    body = self.left[16:16 + size]
                    self.left = self.left[16 + size:]
                    return PROTOCOL.decode(number, body)
            try:
                data, fds, _, _ = socket.recv_fds(self.sock, 65536, 4)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.left += data
            self.fds += fds

    def ask(self, name, /, fds=(), **values):
        """The first answer to a request, or why it was sent away before."""
        try:
            self.send(name, fds, **values)
        except BrokenPipeError:
            answer = self.read()
            if answer is None:
                raise
            return answer
        return self.read()

    def campaign(self, name="0123456789abcdef"):
        """A campaign on a program of its own; its number and the program's."""
        c = self.ask("CAMPAIGN", name=name, argv=b"prog\0", cwd="/",
                     strategy="ranked", version="0")["number"]
        p = self.ask("PROGRAM", campaign=c, build_id="abc" + name, path="/prog")
        return c, p["number"]


def refused(answer, *texts):
    assert answer and answer["type"] == "REFUSED", answer
    for text in texts:
        assert text in answer["text"], answer
    return answer


def granted(answer, name="NUMBER"):
    assert answer and answer["type"] == name, answer
    return answer


def eventually(true, seconds=20):
    """Who is refused at once may find nobody to say HELLO to."""
    until = time.monotonic() + seconds

    def is_so():
        try:
            return true()
        except (BrokenPipeError, ConnectionResetError):
            return False

    while not is_so():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.05)
