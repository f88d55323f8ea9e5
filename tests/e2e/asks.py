# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Asks a server without a pause over a unix socket, for who joins it:
#
#	asks.py memcached|http SOCKET FILE
#
# Four connections, each with a question at a time, of which the answer is known.
# FILE says how many answers were right, how many wrong, late by a minute or a
# connection that was closed, and 0.
import os
import socket
import sys
import threading

kind, path, to = sys.argv[1:]
right = [0] * 4
wrong = [0] * 4
BODY = b"0123456789abcdef" * 4096


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(path)
    return s, s.makefile("rb")


def memcached(s, f, me, n):
    text = b"%d" % n
    s.sendall(b"set k%d 0 0 %d\r\n%s\r\nget k%d\r\nincr sum%d 1\r\n"
              % (me, len(text), text, me, me))
    said = [f.readline() for _ in range(5)]
    return said[0] == b"STORED\r\n" and said[2] == text + b"\r\n" and \
        said[3] == b"END\r\n" and said[4] == b"%d\r\n" % n


def http(s, f, me, n):
    s.sendall(b"GET /file HTTP/1.1\r\nHost: it\r\n\r\n")
    length = 0
    first = line = f.readline()
    while line not in (b"\r\n", b""):
        line = f.readline()
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return first == b"HTTP/1.1 200 OK\r\n" and f.read(length) == BODY


def ask(me):
    s, f = connect()
    if kind == "memcached":
        s.sendall(b"set sum%d 0 0 1\r\n0\r\n" % me)
        f.readline()
    n = 0
    while True:
        n += 1
        try:
            good = globals()[kind](s, f, me, n)
        except OSError:
            good = False
        right[me] += good
        wrong[me] += not good
        if not good:
            n = 0
            s, f = connect()


for i in range(4):
    threading.Thread(target=ask, args=(i,), daemon=True).start()
out = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
while True:
    threading.Event().wait(0.05)
    os.pwrite(out, b"%12d %12d %12d\n" % (sum(right), sum(wrong), 0), 0)
