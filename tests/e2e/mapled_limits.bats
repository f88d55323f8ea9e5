#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What one user may have of mapled: each limit of mapled.conf holds, is told by
# its name, and leaves the others alone.

load common.bash
load mapled.bash
load member.bash

limit() { # NAME VALUE...
	printf '%s = %s\n' "$@" >>"$conf"
}

# bats test_tags=beside:guests
@test "every limit is documented, and its default is what the page says" {
	names=$(sed -n '/rows\[/,/^};/s/^\t{ "\([a-z-]*\)".*/\1/p' \
		"$ROOT/daemon/limits/limits.c")
	[ "$(wc -w <<<"$names")" -ge 7 ]
	for name in $names; do
		grep -q "^\.B ${name//-/\\\\-}\$" \
			"$ROOT/packaging/man/mapled.conf.5" || fail "$name: no page"
		grep -q "^# $name = " "$ROOT/packaging/systemd/mapled.conf" ||
			fail "$name: not in mapled.conf"
	done
	# The defaults, without their comment signs, are good settings.
	sed -n 's/^# \([a-z-]* = [0-9]\)/\1/p' \
		"$ROOT/packaging/systemd/mapled.conf" >"$conf"
	run -0 "$BUILD/mapled" --check-config --config "$conf"
	for bad in 'user-in = 0' 'user-in = 1T' 'user-in = 2000G' 'deadline = 1K' \
		'user-sessions = -1' 'lease-time =' 'user-out = 64MB'; do
		echo "$bad" >"$conf"
		run -2 "$BUILD/mapled" --check-config --config "$conf"
		[[ $output == *"$conf:1: ${bad%% *} wants a "* ]] ||
			fail "'$bad': $output"
	done
}

# bats test_tags=beside:guests
@test "connections: one more is refused, and none when one has gone" {
	limit user-clients 3
	start_mapled
	member '
become_member()
kept = [Member(path) for i in range(3)]
refused(Member(path, hello=False).read(), "user 54321", "user-clients")
kept.pop().sock.close()
eventually(lambda: Member(path).welcome["type"] == "WELCOME")
'
	answers # others are not meant
}

# bats test_tags=beside:guests
@test "jobs: one more is refused, and none when one has gone" {
	limit user-jobs 2
	start_mapled
	member '
become_member()
kept = [Member(path) for i in range(2)]
for c in kept:
    granted(c.ask("JOB"))
granted(kept[0].ask("JOB"))
last = Member(path)
refused(last.ask("JOB"), "user 54321", "2 are the most", "jobs --stop",
    "user-jobs")
kept.pop().sock.close()
eventually(lambda: last.ask("JOB")["type"] == "NUMBER")
# Who was one of a mapled before this one is none too many.
again = Member(path)
granted(again.ask("JOB", again=True))
refused(Member(path).ask("JOB"), "user-jobs")
'
}

# bats test_tags=beside:guests
@test "who is refused again and again does not fill the journal" {
	limit user-clients 3
	start_mapled
	member '
become_member()
kept = [Member(path) for i in range(3)]
for i in range(200):
    refused(Member(path, hello=False).read(), "user-clients")
# Nor does what is no request.
for c in kept:
    c.sock.close()
eventually(lambda: Member(path).welcome["type"] == "WELCOME")
for i in range(200):
    c = Member(path, hello=False)
    c.sock.sendall(bytes([255] * 64))
    refused(c.read())
'
	end_mapled # then it tells how much was left out
	lines=$(grep -c "process .* of user 54321: " "$dir/log")
	[ "$lines" = 5 ] || fail "$lines lines"
	lines=$(sed -n 's/.*: \([0-9]*\) lines more about user 54321 .*/\1/p' \
		"$dir/log")
	[ "${lines:-0}" -ge 395 ] || fail "$(tail -n 3 "$dir/log")"
}

@test "requests that are not all there take so many bytes, then no more" {
	limit user-in 1M
	start_mapled
	member '
become_member()
a, b = Member(path), Member(path)
head = struct.pack("=IHHII", 4 << 20, PROTOCOL.types["LEARN"][0], 0, 9, 0)
a.sock.sendall(head + bytes(900000))
time.sleep(0.5)
try:
    b.sock.sendall(head + bytes(900000))
except (BrokenPipeError, ConnectionResetError):
    pass
refused(b.read(), "user-in")
a.sock.close()
# What the other one had is free again.
def again():
    c = Member(path)
    c.sock.sendall(head + bytes(900000))
    time.sleep(0.5)
    c.sock.setblocking(False)
    try:
        c.sock.recv(1)
    except BlockingIOError:
        return True
eventually(again)
'
}

# bats test_tags=beside:guests
@test "an answer that is too much to keep is refused, not kept" {
	limit user-out 64K
	start_mapled
	member '
become_member()
a = Member(path)
campaign, program = a.campaign()
classes = b"".join(PROTOCOL.encode("CLASS", {"name": "idiom %d" % i})[1]
    for i in range(1, 7))
for i in range(400):
    run = a.ask("RUN", campaign=campaign, kind="profile")["number"]
    granted(a.ask("SAMPLE", run=run, classes=classes))
a.send("SAMPLES", program=program)
seen = []
while not seen or seen[-1]["type"] == "COUNTS":
    seen.append(a.read())
refused(seen[-1], "user-out")
granted(a.ask("COVERAGE", program=program), "COUNTS")
'
	grep -q "no answer to SAMPLES for process .*user-out" "$dir/log"
}

# bats test_tags=beside:guests
@test "real-time priorities: no more than targets need, and back afterwards" {
	# Bit 24 is CAP_SYS_RESOURCE, without which no limit can be raised;
	# tests/qemu/limits.bats has it.
	caps=$((0x$(sed -n 's/^CapEff:\t//p' /proc/self/status)))
	[ $((caps >> 24 & 1)) = 1 ] || skip "no CAP_SYS_RESOURCE here"
	limit realtime 100
	start_mapled
	member '
import resource
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_NICE, (7, 7))
become_member()
names = resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE, resource.RLIMIT_RTTIME
own = [resource.getrlimit(n) for n in names]
a = Member(path)
granted(a.ask("REALTIME"))
granted(a.ask("REALTIME"))
lent = [resource.getrlimit(n) for n in names]
assert lent == [(85, 85), (40, 40), (100000000, 100000000)], lent
a.sock.close()
eventually(lambda: [resource.getrlimit(n) for n in names] == own)
'
}

# What a member cannot take away once it is there. Who has a real-time priority is
# waited for.
@test "what a client has joined is not reset on fork when the client is gone" {
	start_mapled
	member '
OTHER, FIFO, RESET = os.SCHED_OTHER, os.SCHED_FIFO, os.SCHED_RESET_ON_FORK
def put(pid, policy):
    os.sched_setscheduler(pid, policy | RESET, os.sched_param(policy == FIFO))
def sleeper(policy, user=UID):
    pid = subprocess.Popen(["sleep", "100"], user=user, group=user,
                           extra_groups=[]).pid
    put(pid, policy)
    return pid
def joins(pid, spared=b""):
    client = os.fork()
    if not client:
        become_member()
        answer = Member(path).ask("JOINED", [os.pidfd_open(pid)], spared=spared)
        os._exit(answer["type"] != "NUMBER")
    return os.waitpid(client, 0)[1] == 0
now = os.sched_getscheduler
plain, forced, spared, other = (sleeper(OTHER), sleeper(FIFO), sleeper(OTHER),
                                sleeper(OTHER, 0))
assert joins(plain) and joins(forced)
assert joins(spared, struct.pack("=I", spared))
assert not joins(other) and not joins(plain, b"odd")
eventually(lambda: now(plain) == OTHER)
time.sleep(1)
assert now(forced) == FIFO | RESET
put(forced, OTHER)
eventually(lambda: now(forced) == OTHER)
assert now(spared) == now(other) == OTHER | RESET
for pid in plain, forced, spared, other:
    os.kill(pid, 9)
'
}

# ---- the memo ----

@test "a user fills so much of the memo, and has room again when he forgets" {
	limit user-memo 64K
	start_mapled
	member '
become_member()
a = Member(path)
campaign, program = a.campaign()
def fill(c, number):
    for i in range(200):
        answer = c.ask("RUN", campaign=number, kind="profile", plan="x" * 1000)
        if answer["type"] == "REFUSED":
            return i, answer
n, answer = fill(a, campaign)
assert 40 <= n <= 60, n
refused(answer, "user 54321", "user-memo", "65536")
refused(a.ask("LEARN", program=program, lessons=b"x" * 8000), "user-memo")
# What has begun can end; others are not meant.
granted(a.ask("RUN_END", run=n, verdict="pass"))
granted(a.ask("END", campaign=campaign, outcome="clean"))
granted(a.ask("FORGET", program=program))
campaign, program = a.campaign("another-campaign")
assert abs(fill(a, campaign)[0] - n) <= 1
'
	mapletest run --socket "$socket" --max-runs 2 -- "$TARGETS/bank_account"
	[[ $output$stderr != *user-memo* ]] || fail "root has no limit"
}

# bats test_tags=beside:guests
@test "the last tenth of the memo is for findings, and what has begun can end" {
	limit max-memo 1M
	start_mapled
	member '
become_member()
a = Member(path)
campaign, program = a.campaign()
for n in range(1000):
    answer = a.ask("RUN", campaign=campaign, kind="profile", plan="x" * 4000)
    if answer["type"] == "REFUSED":
        break
refused(answer, "as big as it may be", "max-memo")
assert n > 20, n
refused(a.ask("LEARN", program=program, lessons=b"x" * 8000), "max-memo")
for run in range(1, n + 1):
    granted(a.ask("RUN_END", run=run, verdict="pass"))
granted(a.ask("END", campaign=campaign, outcome="clean"))
granted(a.ask("FORGET", program=program))
a.campaign("f" * 16)
'
	pages=$(sqlite3 "$memo" "PRAGMA page_count")
	((pages * 4096 <= 1024 * 1024 * 95 / 100)) || fail "$pages pages"
}

@test "a campaign for which the memo has no room has its verdict all the same" {
	for limits in 'user-memo 8K' 'user-memo 1' 'max-memo 1'; do
		echo "group = 54399" >"$conf"
		limit $limits
		start_mapled
		run --separate-stderr setpriv --reuid 54321 --regid 54321 \
			--groups 54399 --inh-caps=+sys_nice \
			--ambient-caps=+sys_nice env HOME="$dir" \
			MAPLE_NO_DAEMON= timeout 200 "$BUILD/mapletest" run \
			--socket "$socket" --seed 3 -- "$TARGETS/bank_account"
		[ "$status" = 66 ] || fail "$limits: no finding"
		[ "$(grep -c 'no more of it is kept' <<<"$stderr")" = 1 ] ||
			fail "$limits: told once"
		grep -q "${limits% *}" <<<"$stderr" || fail "$limits: not named"
		id=$(sqlite3 "$memo" 'SELECT id FROM findings')
		[ -n "$id" ] || grep -q 'is in this report alone' <<<"$stderr" ||
			fail "$limits: lost without a word"
		end_mapled
		rm -f "$memo"*
	done
}

# ---- CPUs ----

# Claims that no campaign outside of the test has a part in. Nothing is run on the
# CPUs that are lent here.
own_claims() {
	mkdir "$dir/mapled"
	export RUNTIME_DIRECTORY=$dir/mapled
}

@test "a CPU's sign that a stranger puts up keeps nobody from the CPU" {
	own_claims
	start_mapled
	member '
kept = []
for cpu in range(os.cpu_count()):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        s.bind("\0maple-cpu-%d" % cpu)
    except OSError:
        pass
    kept.append(s)
become_member()
a = Member(path)
granted(a.ask("LEASE", held=-1, cpus=b"\xff" * 128), "LEASED")
'
}

@test "nobody has a CPU by a claim that mapled has not given him" {
	own_claims
	start_mapled
	member '
become_member()
a = Member(path)
cpu = granted(a.ask("LEASE", held=-1, cpus=b"\xff" * 128), "LEASED")["cpu"]
claim = a.fds[0]
sign = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
try:
    sign.bind("\0maple-cpu-%d" % cpu)
except OSError:
    pass
stream = socket.socket(socket.AF_UNIX)
b = Member(path)
for proof in (sign.fileno(), stream.fileno(), claim, os.open("/dev/null", 0)):
    refused(b.ask("LEASE", [proof], held=cpu), "no claim on CPU")
a.ask("GIVE_BACK")
# Given back, it is none any more, for its last owner either.
for c in (a, b):
    refused(c.ask("LEASE", [claim], held=cpu), "no claim on CPU")
granted(b.ask("LEASE", held=-1, cpus=b"\xff" * 128), "LEASED")
assert os.read(claim, 100).startswith(b"54321 ")
try:
    os.open("/proc/self/fd/%d" % claim, os.O_WRONLY)
    assert False, "it is not to be written"
except PermissionError:
    pass
'
}

@test "a claim outlives mapled: its owner goes on, others wait for their turn" {
	own_claims
	echo "cpus = $(($(nproc) - 1))" >>"$conf"
	start_mapled
	member '
import subprocess
first = os.fork()
if not first:
    become_member()
    a = Member(path)
    cpu = granted(a.ask("LEASE", held=-1, cpus=b"\xff" * 128), "LEASED")["cpu"]
    claim = a.fds[0]
    assert a.read() is None
    def back(): # not the one that is dying
        try:
            return Member(path).welcome
        except OSError:
            return None
    eventually(back)
    b, c = Member(path), Member(path)
    b.send("LEASE", held=-1, cpus=b"\xff" * 128)
    granted(b.read(), "QUEUED")
    granted(c.ask("LEASE", [claim], held=cpu), "LEASED")
    refused(Member(path).ask("LEASE", [claim], held=cpu), "no claim")
    c.ask("GIVE_BACK")
    granted(b.read(), "LEASED")
    os._exit(0)
mapled = int(open(os.path.dirname(path) + "/pid").read())
log = os.path.dirname(path) + "/log"
eventually(lambda: "is lent" in open(log).read())
gone = os.pidfd_open(mapled)
os.kill(mapled, 9)
select.select([gone], [], [])
again = subprocess.Popen([os.environ["BUILD"] + "/mapled", "--socket", path,
    "--db", os.path.dirname(path) + "/memo.db",
    "--config", os.path.dirname(path) + "/mapled.conf"], stderr=open(log, "a"))
status = os.waitpid(first, 0)[1]
again.kill()
assert status == 0, status
'
}

@test "who has had a CPU for long loses it to who waits, and what runs there" {
	own_claims
	echo "cpus = $(($(nproc) - 1))" >>"$conf"
	limit lease-time 1
	start_mapled
	member '
become_member()
target = os.fork()
if not target:
    time.sleep(100)
    os._exit(0)
a = Member(path)
cpu = granted(a.ask("LEASE", held=-1, cpus=b"\xff" * 128), "LEASED")["cpu"]
granted(a.ask("TARGET", [os.pidfd_open(target)], processes=1))
time.sleep(2.5)
granted(a.ask("PROGRAMS")) # nobody waits
b = Member(path)
b.send("LEASE", held=-1, cpus=b"\xff" * 128)
granted(b.read(), "QUEUED")
assert a.read() is None
granted(b.read(), "LEASED")
assert os.waitpid(target, 0)[1] == 9
refused(Member(path).ask("LEASE", [a.fds[0]], held=cpu), "no claim")
'
	grep -q "longer than lease-time" "$dir/log"
}
