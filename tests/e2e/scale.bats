#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# packaging/scale: many tasks with one memo, at a PostgreSQL that the test starts.
# Slurm and GNU parallel are Debian's and run here, on one node and as two slots
# of this machine. There is no Kubernetes: the manifest is held to a schema of the
# fields that it has, and what it wants of a node is tried as far as a process can
# have it. No image is built: what the Containerfile hands a capability on by is.

load common
load postgres

SCALE=$ROOT/packaging/scale
SUITES=$E2E/suites

teardown() {
	[ ! -d "${slurm:-}" ] || {
		"$ROOT/tests/slurm" stop "$slurm"
		rm -rf "$slurm"
	}
}

# An empty database is $MAPLE_MEMO; mapletest is the build's; we are in a folder
# of the test's own.
tasks_with() { # NAME
	name=$1
	MAPLE_MEMO=$(postgres database "$name")
	export MAPLE_MEMO PATH=$BUILD:$PATH
	cd "$BATS_TEST_TMPDIR" || return
}

# Each of these cases, by its last argument, has had one campaign, and no other.
each_once() { # ARGUMENT...
	sql 'SELECT argv FROM maple.campaigns' |
		jq -r '.[-1]' | sort >campaigns
	printf '%s\n' "$@" | sort | diff - campaigns
}

# The ten cases of a test program, of which one has a bug that is found.
ten_cases() {
	local cases

	mapfile -t cases < <("$BUILD/mapletest" run --each-test --max-runs 4 \
		--db :memory: --format json -- "$SUITES/gtest" |
		jq -r '.cases[].argv[-1]')
	[ ${#cases[@]} = 10 ]
	each_once "${cases[@]}"
	"$BUILD/mapletest" report --db "$MAPLE_MEMO" --format json >report
	jq -e '.findings | length >= 1 and
		all(.[]; .argv[-1] == "--gtest_filter=Account.HasAll")' report || {
		cat report
		false
	}
}

# bats test_tags=beside:guests
@test "the scripts are the shell's, and install where the documents say" {
	local file

	for file in "$SCALE"/*.sh; do
		bash -n "$file"
		[ -x "$file" ]
		# It is not of what the tests need; who has it gets its word.
		! command -v shellcheck >/dev/null || shellcheck "$file"
	done
	for file in "$SCALE"/*; do
		[ "$(wc -l <"$file")" -le 45 ]
		grep -qF "$(basename "$file")" "$ROOT/docs/scale.md"
	done
	make -s -C "$ROOT" O="$BUILD" install PREFIX=/usr \
		DESTDIR="$BATS_TEST_TMPDIR"
	diff -r "$SCALE" "$BATS_TEST_TMPDIR/usr/share/maple/scale"
	[ -x "$BATS_TEST_TMPDIR/usr/share/maple/scale/slurm.sh" ]
}

@test "GNU parallel: two slots here, each case once" {
	tasks_with parallel
	# Two slots are half of four CPUs.
	run timeout 400 "$SCALE/parallel.sh" 3 4/: --seed 3 \
		--max-runs 60 -- "$SUITES/gtest"
	echo "$output"
	[ "$status" = 0 ]
	ten_cases
	# Three tasks, of which one had 66, which is no failure.
	[ "$(awk 'NR > 1 { print $7 }' maple-*.joblog | xargs)" = "0 0 0" ]
}

@test "GNU parallel: what fails is said, and has its turn again" {
	tasks_with again
	export MAPLE_JOBLOG=log
	run timeout 300 "$SCALE/parallel.sh" 2 4/: --max-runs 4 \
		--each-test='echo "{} *"; echo fails' -- "$SUITES/by_number" {}
	echo "$output"
	[ "$status" = 1 ]
	[ "$(awk 'NR > 1 { print $1, $7 }' log | sort | xargs)" = "1 0 2 125" ]
	each_once "{} *" fails
	run timeout 300 "$SCALE/parallel.sh" 2 4/: --max-runs 4 \
		--each-test='echo "{} *"; echo 2' -- "$SUITES/by_number" {}
	echo "$output"
	[ "$status" = 0 ]
	each_once "{} *" fails 2
}

# bats test_tags=beside:guests
@test "without a memo each script says what is missing" {
	unset MAPLE_MEMO
	run "$SCALE/parallel.sh" 2 : -- true
	[ "$status" != 0 ]
	[[ $output = *"MAPLE_MEMO: is the memo, as postgresql://"* ]]
	run "$SCALE/slurm.sh" -- true
	[ "$status" != 0 ]
	[[ $output = *"MAPLE_MEMO: is the memo, as postgresql://"* ]]
}

slurm_starts() {
	slurm=$(mktemp -d /tmp/maple-slurm-XXXXXX)
	SLURM_CONF=$("$ROOT/tests/slurm" start "$slurm")
	export SLURM_CONF
}

# Submits $job, and returns when it has ended: sbatch --wait looks more and more
# seldom, half a minute late after all.
submit() { # ARGUMENT-OF-SBATCH...
	local try

	run timeout 60 sbatch --parsable "$@"
	[ "$status" = 0 ] || fail "$output"
	job=$output
	for ((try = 0; try < 2000; try++)); do
		[ -n "$(timeout 60 squeue -h -j "$job" || echo none)" ] || return 0
		sleep 0.2
	done
	fail "it does not end: $(squeue) $(scontrol show job "$job")"
}

# The state of a job that has ended, and its exit status: COMPLETED 0:0
state_of() { # JOB
	scontrol show job -o "$1" |
		sed 's/.*JobState=\([A-Z]*\) .*ExitCode=\([0-9:]*\) .*/\1 \2/'
}

@test "Slurm: an array of four tasks, each case once" {
	local job

	tasks_with slurm
	slurm_starts
	# Slurm has minutes.
	submit --array=1-4 --time=00:05:00 \
		"$SCALE/slurm.sh" --seed 3 --max-runs 60 -- "$SUITES/gtest"
	cat maple-*.log
	ten_cases
	[ "$(ls maple-"$job"_[1-4].log | wc -l)" = 4 ]
	# A finding is no failure.
	[ "$(state_of "$job" | sort | uniq -c | tr -s ' ')" = ' 4 COMPLETED 0:0' ]
	[ "$(scontrol show job -o "$job" |
		grep -c ' Requeue=1 .* NumTasks=1 CPUs/Task=2 ')" = 4 ]
	[ "$(grep -h '^maple: task' maple-*.log | grep -c 'status 66$')" = 1 ]
	[ "$(grep -h '^maple: task' maple-*.log | grep -c 'status 0$')" = 3 ]
	# The node had no part in it.
	for try in {1..300}; do
		[ "$(sinfo -h -o %t)" != idle ] || break
		sleep 0.1
	done
	[ "$(sinfo -h -o %t)" = idle ]
}

# Both at once, since the number of an array's last task is that of the array.
@test "Slurm: two at once, and the time that --max-time follows" {
	local job task log time

	tasks_with asks
	slurm_starts
	mkdir bin
	printf '#!/bin/sh\nprintf "%%s\\n" "$@"\nsleep 5\nexit 125\n' \
		>bin/mapletest
	chmod 755 bin/mapletest
	PATH=$PWD/bin:$PATH submit --array=7-8 \
		--cpus-per-task=1 --time=00:10:00 "$SCALE/slurm.sh" -- ./tests 'a  b'
	cat maple-*.log
	# What is not the work's own result is a failure.
	[ "$(state_of "$job" | sort -u)" = 'FAILED 125:0' ]
	for task in 7 8; do
		log=maple-${job}_$task.log
		[ "$(sed -n '/^--share$/{n;p}' "$log")" = 2 ]
		[ "$(tail -n 4 "$log" | head -n 3)" = "--
./tests
a  b" ]
		# Nine tenths of ten minutes, less what has gone by.
		time=$(sed -n '/^--max-time$/{n;s/s$//;p}' "$log")
		[ "$time" -le 540 ]
		[ "$time" -gt 480 ]
	done
	scontrol show job -o "$job" >jobs
	# The last one to begin did so before the first one's end.
	[[ $(grep -o ' StartTime=[^ ]*' jobs | cut -d = -f 2 | sort | tail -n 1) < \
		$(grep -o ' EndTime=[^ ]*' jobs | cut -d = -f 2 | sort | head -n 1) ]]
}

# ---- one program in eight tasks, and one long campaign beside them ----

# task.sh is what a task does, one.db the memo of a campaign with as many runs, and
# the seed of the first task.
eight_tasks_on() { # PROG
	local runs=30
	local -a campaign=(mapletest run --strategy auto --seed 5 --keep-going
		--confirm 0 --quiet)

	[ "$(nproc)" -gt 1 ] || skip "two tasks at once need two CPUs"
	printf '#!/bin/sh\n%s || [ $? = 66 ]\n' "$(printf '%q ' \
		"${campaign[@]}" --db "$MAPLE_MEMO" --share 8 --max-runs $runs \
		-- "$1")" >task.sh
	chmod 755 task.sh
	run timeout 300 "${campaign[@]}" --db one.db --max-runs $((8 * runs)) \
		-- "$1"
	ended_with 0 66
}

# How many goals a memo knows to have been exposed.
shown() { # DB
	sqlite3 "$1" 'SELECT count(DISTINCT goal) FROM memo
		WHERE exposed OR observed OR broke'
}

# How many runs a campaign took at least until one failed.
first_failure() { # DB
	sqlite3 "$1" "SELECT min((SELECT count(*) FROM runs
		WHERE campaign = r.campaign AND id <= r.id)) FROM runs r
		WHERE verdict NOT IN ('pass', 'stopped', 'unjudged')"
}

# They have divided the tries, shown as much as the one campaign, but for what runs
# show by chance, and the first of them to fail did so in no later run.
as_good_as_one() {
	local one all both

	[ "$(sql 'SELECT count(*) FROM maple.campaigns
		WHERE outcome IS NOT NULL')" = 8 ]
	tries_are_divided
	mapletest memo merge --db tasks.db "$MAPLE_MEMO"
	cp one.db both.db
	mapletest memo merge --db both.db tasks.db
	one=$(shown one.db) all=$(shown tasks.db) both=$(shown both.db)
	echo "shown: one campaign $one, eight tasks $all, both $both"
	echo "failed in run: $(first_failure one.db), $(first_failure tasks.db)"
	[ "$one" -gt 20 ]
	[ "$all" -ge $((one - one / 10)) ]
	[ $((both - all)) -le $((one / 10)) ]
	[ "$(first_failure tasks.db)" -le "$(first_failure one.db)" ]
}

@test "Slurm: an array of eight tasks on one program is as good as a long campaign" {
	local job

	tasks_with eight
	eight_tasks_on "$TARGETS/stop_pool"
	slurm_starts
	submit --array=1-8 --cpus-per-task=1 --time=00:05:00 \
		--output=task-%a.log task.sh
	cat task-*.log
	[ "$(state_of "$job" | sort | uniq -c | tr -s ' ')" = ' 8 COMPLETED 0:0' ]
	as_good_as_one
}

@test "GNU parallel: eight tasks on one program are as good as a long campaign" {
	tasks_with eight_lines
	eight_tasks_on "$TARGETS/stop_pool"
	for _ in {1..8}; do
		echo "taskset -c \$((PARALLEL_JOBSLOT - 1)) ./task.sh"
	done >lines
	run timeout 400 parallel --jobs 2 <lines
	[ "$status" = 0 ] || fail "$output"
	as_good_as_one
}

# The manifest as JSON, and what a program of jq's says of it.
manifest() { # FILTER
	python3 -c 'import json, sys, yaml
json.dump(yaml.safe_load(sys.stdin), sys.stdout)' <"$SCALE/job.yaml" |
		jq -e "$@"
}

# bats test_tags=beside:guests
@test "Kubernetes: the manifest keeps to the schema, and has what it needs" {
	local schema=$ROOT/tests/data/kubernetes-job.schema.json
	local file=$BATS_TEST_TMPDIR/job.json

	manifest . >"$file"
	"$ROOT/tests/validate" --strict "$schema" "$file"
	# As many tasks as pods; the share is the one that the index is of.
	manifest '.spec.template.spec.containers[0].args as $args |
		($args | index("--share")) as $at |
		$args[$at + 1] == (.spec.completions | tostring)'
	# Guaranteed: the same amounts twice.
	manifest '.spec.template.spec.containers[0].resources |
		.requests == .limits'
	# The first rule that has 66 takes it for good; 125 has another chance.
	manifest '[.spec.podFailurePolicy.rules[] | select(.onExitCodes) |
		select(.onExitCodes.values | index(66)) | .action] == ["FailIndex"]'
	manifest '[.spec.podFailurePolicy.rules[].onExitCodes.values[]?] |
		index(125) == null'
	manifest '.spec.podFailurePolicy.rules[0] | .action == "Ignore"'
	# The schema refuses what would not do.
	refused '.spec.completionMode = "NonIndexed"'
	refused '.spec.template.spec.restartPolicy = "OnFailure"'
	refused '.spec.template.spec.containers[0].resources.limits.cpu = "1500m"'
	refused '.spec.template.spec.containers[0].env[1] =
		{name: "MAPLE_MEMO", value: "postgresql://me:secret@db/maple"}'
	refused '.spec.podFailurePolicy.rules[1].action = "Succeed"'
	refused '.spec.podFailurePolicies = {}'
}

refused() { # CHANGE
	manifest "$1" >"$BATS_TEST_TMPDIR/changed.json"
	run ! "$ROOT/tests/validate" --strict \
		"$ROOT/tests/data/kubernetes-job.schema.json" \
		"$BATS_TEST_TMPDIR/changed.json"
}

# The pod's command is mapletest's own.
@test "Kubernetes: a pod's command does a share of the cases" {
	local args

	tasks_with pod
	mapfile -t args < <(manifest -r '.spec.template.spec.containers[0].args[]')
	args=("${args[@]/#'$(MAPLE_MEMO)'/"$MAPLE_MEMO"}")
	args=("${args[@]/#'./tests'/"$SUITES/by_number"}")
	[ "${args[0]}" = mapletest ]
	JOB_COMPLETION_INDEX=15 mapletest "${args[@]:1:6}" \
		--each-test='seq 1 17' --max-runs 4 "${args[@]:7}"
	ended_with 0
	each_once 16
}

# An ordinary user in a container has the capability within bounds alone.
@test "the container's way to real-time priorities, for an ordinary user" {
	local nice entry

	[ "$(id -u)" = 0 ] || skip "only root puts a capability on a file"
	in_public "$TARGETS/bank_account"
	nice=$public/maple-nice
	cp /usr/bin/setpriv "$nice"
	PATH=$PATH:/usr/sbin setcap "$(sed -n \
		's/.*setcap \([^ ]*\) .*/\1/p' "$SCALE/Containerfile")" "$nice"
	mapfile -t entry < <(sed -n 's/^ENTRYPOINT //p' "$SCALE/Containerfile" |
		jq -r '.[]')
	[ "${entry[0]}" = maple-nice ]
	run --separate-stderr timeout -s KILL 180 setpriv --reuid=10001 \
		--regid=10001 --clear-groups --bounding-set=-all,+sys_nice \
		--inh-caps=-all --ambient-caps=-all -- \
		prlimit --rtprio=0 --nice=0 -- "$nice" "${entry[@]:1}" \
		"$public/mapletest" run --seed 1 --max-runs 60 --format json \
		--output "$public/state/result.json" -- "$public/bank_account"
	json=$public/state/result.json
	ended_with 66
	holds '.real_time_priorities and .runs.enforced > 0'
}

# bats test_tags=beside:guests
@test "the container has the packages that are built, and what a server takes" {
	local package

	for package in $(grep -oE '[a-z0-9]+_\*' "$SCALE/Containerfile" |
		tr -d '_*' | sort -u); do
		grep -qx "Package: $package" "$ROOT/packaging/debian/control"
	done
	grep -q libpq5 "$SCALE/Containerfile"
	grep -qx 'USER [1-9][0-9]*' "$SCALE/Containerfile"
	# mapletest brings the group, and useradd makes none that is there.
	grep -q '^g maple ' "$ROOT/packaging/systemd/mapletest.sysusers"
	grep -q 'useradd .*-g maple ' "$SCALE/Containerfile"
	# The user of the image is that of the manifest.
	manifest ".spec.template.spec.containers[0].securityContext.runAsUser == \
		$(sed -n 's/^USER //p' "$SCALE/Containerfile")"
}
