#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# One user cannot take mapled from the others: not by many requests, not by
# long ones, not by ones that never end.

load common.bash
load mapled.bash

setup() {
	[ "$(id -u)" = 0 ] || skip "becoming another user takes root"
	open_folder
	echo "group = 54399" >"$conf"
	start_mapled
}

teardown() {
	end_mapled KILL
	rm -rf "$dir"
}

# Python with two members of the group in it: what enemy() and member() are
# given is run by a process of theirs.
members() {
	run --separate-stderr timeout -s KILL 100 python3 - "$socket" "$dir" <<-END
		import sys, traceback
		sys.path.insert(0, "$BATS_TEST_DIRNAME")
		from member import *
		path, dir = sys.argv[1:]
		mapled = int(open(dir + "/pid").read())
		def as_user(uid, do):
		    child = os.fork()
		    if not child:
		        try:
		            become_member(uid)
		            do()
		            os._exit(0)
		        except BaseException:
		            traceback.print_exc()
		            os._exit(1)
		    return child
		def well(child):
		    assert os.waitpid(child, 0)[1] == 0
		$1
	END
	[ "$status" = 0 ] || fail "status $status: $stderr $(tail -5 "$dir/log")"
}

# A memo that takes a while to be read.
fill_memo() { # ROWS
	sqlite3 "$memo" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1
		FROM n WHERE i < $1) INSERT INTO images(build_id, path)
		SELECT printf('%064d', i), printf('%0300d', i) FROM n"
}

# bats test_tags=beside:guests
@test "users have turns, not connections: many requests wait behind each other" {
	members '
ready, go = os.pipe(), os.pipe()
def enemy():
    all = []
    for i in range(8):
        c = Member(path)
        c.number = c.campaign("%016d" % i)[0]
        all.append(c)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    for c in all:
        for i in range(40):
            c.send("RUN", campaign=c.number, kind="profile")
    os.write(ready[1], b"x")
    for c in all:
        for i in range(40):
            granted(c.read())
def member():
    c = Member(path)
    number = c.campaign()[0]
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    for i in range(20):
        c.send("RUN", campaign=number, kind="profile")
    os.write(ready[1], b"x")
    ids = [granted(c.read())["number"] for i in range(20)]
    # Of what was done meanwhile no more than half was others'"'"'.
    assert ids[-1] - ids[0] <= 2 * len(ids), ids
    assert ids[0] <= 4, ids
children = [as_user(54331, enemy)]
os.read(ready[0], 1)
children.append(as_user(54332, member))
os.read(ready[0], 1)
# All is there before mapled looks, the enemy first.
os.kill(mapled, 19)
os.write(go[1], b"x")
os.read(ready[0], 1)
os.write(go[1], b"x")
os.read(ready[0], 1)
os.kill(mapled, 18)
for child in children:
    well(child)
'
}

@test "who asks for much at a time has to pause, while others are there" {
	members '
def event(offset):
    return PROTOCOL.encode("EVENT", {"build_id": "b" * 40, "image": "/i",
        "offset": offset, "kind": ord("W")})[1]
lessons = b"".join(PROTOCOL.encode("LESSON", {"class": "idiom 1", "marks": 1,
    "events": event(i) + event(i + 1)})[1] for i in range(1000))
def enemy():
    all = [Member(path) for i in range(4)]
    programs = [c.campaign("%016d" % i)[1] for i, c in enumerate(all)]
    for c, program in zip(all, programs):
        c.send("LEARN", program=program, lessons=lessons)
    for done in range(10000):
        c = all[done % 4]
        granted(c.read(), "LEARNT")
        open(dir + "/done", "w").write(str(done + 1))
        c.send("LEARN", program=programs[done % 4], lessons=lessons)
def member():
    c = Member(path)
    number = c.campaign("fedcba9876543210")[0]
    for i in range(400):
        granted(c.ask("RUN", campaign=number, kind="profile"))
os.chmod(dir, 0o777)
e = as_user(54331, enemy)
eventually(lambda: os.path.exists(dir + "/done") and open(dir + "/done").read())
well(as_user(54332, member))
done = int(open(dir + "/done").read())
os.kill(e, 9)
assert done < 200, done
'
}

@test "a check of the memo keeps nobody waiting" {
	fill_memo 400000
	members '
def both():
    a, b = Member(path), Member(path)
    a.send("CHECK")
    time.sleep(0.01)
    for i in range(10):
        granted(b.ask("GIVE_BACK"))
    assert not select.select([a.sock], [], [], 0)[0], "CHECK was served first"
    granted(a.read())
well(as_user(54331, both))
'
}

# bats test_tags=beside:guests
@test "a dump that is not read keeps nobody waiting, and ends with its client" {
	fill_memo 2000
	members '
def is_pipe(file):
    try:
        return os.readlink(file).startswith("pipe:")
    except FileNotFoundError:  # closed since it was listed
        return False
def readers():
    fds = "/proc/%d/fd/" % mapled
    return sum(is_pipe(fds + n) for n in os.listdir(fds))
usual = readers()
def enemy():
    a, b = Member(path), Member(path)
    granted(a.ask("DUMP"))
    granted(b.ask("GIVE_BACK"))
    b.send("CHECK")  # one at a time
    assert not select.select([a.sock, b.sock], [], [], 1)[0]
    os._exit(0)
def other():
    granted(Member(path).ask("CHECK"))
    a = Member(path)
    granted(a.ask("DUMP"))
    with open(a.fds[0]) as dump:
        assert "images" in dump.read()
    granted(a.read())
e = as_user(54331, enemy)
eventually(lambda: readers() > usual)
well(as_user(54332, other))
well(e)
eventually(lambda: readers() == usual)
'
}

@test "a file on a file system that does not answer hangs nobody but its owner" {
	[ -c /dev/fuse ] || skip "no /dev/fuse here"
	mkdir "$dir/hung"
	members '
from hung_fuse import open_hung
os.chmod(dir, 0o777)
def enemy():
    a = Member(path)
    for i in range(10):
        a.ask("MODULE", [file], command=3, session=1)
        a.ask("LEASE", [file], held=1)
        a.ask("TARGET", [file, file], processes=1)
    Member(path, hello=False).send("HELLO", [file], version=PROTOCOL.version)
    b = Member(path)
    try: # more than may come
        b.send("TARGET", [file] * 9)
    except BrokenPipeError:
        pass
    assert b.read() is None
    # There is an end to it.
    for i in range(100):
        b = Member(path)
        if b.welcome["type"] == "REFUSED":
            break
        b.ask("TARGET", [file, file], processes=1)
    # However often.
    for i in range(1500):
        b = Member(path, hello=False)
        try:
            b.send("HELLO", [file, file], version=PROTOCOL.version)
            refused(b.read(), "cannot be closed")
        except BrokenPipeError:
            pass
def member():
    granted(Member(path).ask("GIVE_BACK"))
# Nobody else has it, since who has it cannot end.
e = os.fork()
if not e:
    file, server = open_hung(dir + "/hung")
    print(server, file=open(dir + "/server", "w"))
    become_member(54331)
    wrong = ""
    try:
        enemy()
    except BaseException:
        wrong = traceback.format_exc()
    with open(dir + "/wrong.new", "w") as told:
        told.write(wrong)
    os.rename(told.name, dir + "/wrong")
    os.kill(os.getpid(), 9)
try:
    while not os.path.exists(dir + "/wrong"):
        well(as_user(54332, member))
        time.sleep(0.05)
finally:
    os.kill(int(open(dir + "/server").read()), 9)
os.waitpid(e, 0)
assert not open(dir + "/wrong").read(), open(dir + "/wrong").read()
'
	answers
}
