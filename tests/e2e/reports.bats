#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The forms of report, read by those who are to read them: validators of the
# schemas, junitparser, prove, xmllint. The campaigns are run once, before all.

load common

limit=120

# Stored findings come from a file; one campaign for each form is run.
setup_file() {
	export SHARED=$BATS_FILE_TMPDIR
	local root build

	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=${BUILD:-$root/build}
	cd "$root" || return 1
	"$build/mapletest" memo --all forget --db "$SHARED/stored.db" || return 1
	sqlite3 "$SHARED/stored.db" < tests/data/findings.sql || return 1
	for format in json jsonl junit sarif tap github; do
		timeout -s KILL 90 "$build/mapletest" run --format $format \
			--output "$SHARED/run.$format" --quiet --seed 3 \
			--db "$SHARED/$format.db" \
			-- "$build/tests/targets/bank_account" \
			2> "$SHARED/err.$format" || echo $? > "$SHARED/status.$format"
	done
}

# report FORMAT [ARGS...]: the stored findings, to $BATS_TEST_TMPDIR/out.FORMAT
report() {
	local format=$1

	shift
	out=$BATS_TEST_TMPDIR/out.$format
	(cd "$ROOT" && "$BUILD/mapletest" report --db "$SHARED/stored.db" \
		--format "$format" --output "$out" "$@")
}

sarif() {
	"$ROOT/tests/validate" "$ROOT/tests/data/sarif-2.1.0.schema.json" "$@"
}

ours() {
	"$ROOT/tests/validate" "$ROOT/packaging/schema/maple-report-1.schema.json" "$@"
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$@"
}

# What junitparser reads: tests, failures, errors, skipped, and each case; of
# what strict readers take as well.
junit() {
	xmllint --noout --schema "$ROOT/tests/data/junit.xsd" "$1" || return 1
	/usr/bin/python3 - "$1" <<-'END'
		import sys
		import junitparser
		xml = junitparser.JUnitXml.fromfile(sys.argv[1])
		print(xml.tests, xml.failures, xml.errors,
		      sum(suite.skipped for suite in xml))
		for suite in xml:
		    cases = list(suite)
		    assert suite.tests == len(cases)
		    for case in cases:
		        kinds = [type(r).__name__ for r in case.result] or ["Passed"]
		        assert case.name and case.classname and case.system_out
		        print(*kinds)
	END
}

@test "every form of a campaign with a finding ends with 66" {
	for format in json jsonl junit sarif tap github; do
		[ "$(cat "$SHARED/status.$format")" = 66 ]
		[ -s "$SHARED/run.$format" ]
	done
}

@test "JSON of every command is valid in its own schema" {
	local d=$BATS_TEST_TMPDIR id

	id=$(jq -r '.findings[0].id' "$SHARED/run.json")
	report json
	"$BUILD/mapletest" --version --format json > "$d/version.json"
	"$BUILD/mapletest" memo list --db "$SHARED/stored.db" --format json > "$d/memo.json"
	"$BUILD/mapletest" coverage --db "$SHARED/stored.db" --format json > "$d/coverage.json"
	"$BUILD/mapletest" replay --db "$SHARED/json.db" --format json \
		--output "$d/replay.json" "$id" || [ $? = 1 ]
	"$BUILD/mapletest" report --db "$SHARED/stored.db" --format json nothing > "$d/error.json" || true
	"$BUILD/mapletest" doctor --format json > "$d/doctor.json" || true
	ours "$SHARED/run.json" "$SHARED/run.jsonl" "$out" "$d"/{version,memo,coverage,replay,error,doctor}.json
	# And a schema that takes everything would be none.
	jq '.findings[0].kind = "sorrow"' "$SHARED/run.json" > "$d/bad.json"
	run ours "$d/bad.json"
	[ "$status" != 0 ]
	jq '.more = 1' "$SHARED/run.json" > "$d/more.json"
	"$ROOT/tests/validate" "$ROOT/packaging/schema/maple-report-1.schema.json" "$d/more.json"
	run ours "$d/more.json"
	[ "$status" != 0 ]
}

@test "SARIF is valid, with a flow a thread in executed order" {
	report sarif
	sarif "$SHARED/run.sarif" "$out"
	jq '.runs[0].results[0].codeFlows[0].threadFlows[0].locations[0].executionOrder = "first"' \
		"$out" > "$BATS_TEST_TMPDIR/bad.sarif"
	run sarif "$BATS_TEST_TMPDIR/bad.sarif"
	[ "$status" != 0 ]
	json=$SHARED/run.sarif
	holds '.runs | length == 1'
	holds '.runs[0].invocations[0] | .executionSuccessful and .exitCode == 66'
	holds '.runs[0].results | length == 1'
	report sarif 'b3022b31c82d'
	json=$out
	holds '.runs[0] | .tool.driver.rules[.results[0].ruleIndex].id == .results[0].ruleId'
	holds '.runs[0].results[0] | .ruleId == "maple/signal" and .level == "error"'
	holds '.runs[0].results[0].locations[0].physicalLocation |
		.artifactLocation.uri == "tests/targets/bank_account.c" and
		.artifactLocation.uriBaseId == "SRCROOT" and .region.startLine > 0'
	holds '.runs[0].results[0].codeFlows[0].threadFlows |
		(map(.id) | unique | length) == length and length >= 2'
	holds '[.runs[0].results[0].codeFlows[0].threadFlows[].locations[].executionOrder] |
		sort == [range(1; length + 1)]'
	holds '.runs[0].results[0].stacks[0].frames | length >= 1'
	holds '.runs[0].results[0] | .partialFingerprints["mapleFinding/v1"] == .properties.finding.id'
	# The finding in it is that of the schema.
	jq '{schema: .runs[0].properties.schema, findings: [.runs[0].results[].properties.finding]}' \
		"$json" > "$BATS_TEST_TMPDIR/inside.json"
	ours "$BATS_TEST_TMPDIR/inside.json"
	report sarif
	holds '[.runs[0].results[].ruleId] | sort == ["maple/deadlock", "maple/signal"]'
	holds '.runs[0].results[] | select(.ruleId == "maple/deadlock") |
		[.codeFlows[0].threadFlows[].locations[].executionOrder] | sort == [1, 2, 3, 4]'
}

@test "junitparser reads the JUnit form" {
	[ "$(junit "$SHARED/run.junit")" = "$(printf '1 1 0 0\nFailure')" ]
	xmllint --noout "$SHARED/run.junit"
	report junit
	[ "$(junit "$out")" = "$(printf '2 2 0 0\nFailure\nFailure')" ]
	grep -q "bank_account.c:[0-9]" "$out" # in words: no schema has it
}

@test "prove reads the TAP form" {
	run prove -e cat "$SHARED/run.tap"
	[ "$status" = 1 ]
	[[ "$output" == *"Failed 1/1 subtests"* ]]
	[[ "$output" != *"Parse errors"* ]]
	report tap
	run prove -e cat "$out"
	[ "$status" = 1 ]
	[[ "$output" == *"Failed 2/2 subtests"* && "$output" != *"Parse errors"* ]]
	/usr/bin/python3 - "$out" <<-'END'
		import re, sys, yaml
		text = open(sys.argv[1]).read()
		blocks = re.findall(r"^  ---\n(.*?)^  \.\.\.$", text, re.S | re.M)
		assert len(blocks) == 2
		for block in blocks:
		    assert {"id", "kind", "message", "replay"} <= set(yaml.safe_load(block))
	END
}

@test "GitHub gets an annotation, a group, and the summary page" {
	local summary=$BATS_TEST_TMPDIR/summary

	grep -qE '^::error .*title=maple%3A SIGABRT in .*::SIGABRT in .*Replay: ' \
		"$SHARED/run.github"
	GITHUB_STEP_SUMMARY=$summary report github
	[ "$(grep -c '^::error file=' "$out")" = 2 ]
	grep -qE '^::error file=tests/targets/bank_account.c,line=33,title=maple%3A SIGABRT in .*::SIGABRT in .*%0A1. thread .*%0AReplay: ' "$out"
	[ "$(grep -c '^::group::' "$out")" = "$(grep -c '^::endgroup::' "$out")" ]
	# Each group's text stands between a word and the same word, once used.
	[ "$(grep -o '^::stop-commands::.*' "$out" | sort -u | wc -l)" = 2 ]
	for word in $(sed -n 's/^::stop-commands:://p' "$out"); do
		[ ${#word} = 32 ]
		grep -qx "::$word::" "$out"
	done
	grep -q '^### ❌' "$summary"
	grep -q '^BUG: maple: ' "$summary"
	[ "$(grep -c '^````*' "$summary")" = 4 ]
	# No page where none is asked for, none but with this form.
	GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/none report tap
	[ ! -e "$BATS_TEST_TMPDIR/none" ]
	# Sources are named from the checkout's root, wherever we stand.
	(cd / && GITHUB_WORKSPACE=$ROOT "$BUILD/mapletest" report --format github \
		--db "$SHARED/stored.db") | grep -q '^::error file=tests/targets/'
}

@test "what delivered nothing is an error in every form" {
	local out

	for format in json jsonl junit sarif tap github; do
		out=$BATS_TEST_TMPDIR/none.$format
		GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/summary \
			mapletest run --format $format --output "$out" \
			--db "$db" --max-runs 1 --quiet -- true
		ended_with 125
	done
	ours "$BATS_TEST_TMPDIR"/none.json*
	jq -e '.verdict == "undelivered"' "$BATS_TEST_TMPDIR/none.json"
	[ "$(junit "$BATS_TEST_TMPDIR/none.junit")" = "$(printf '1 0 1 0\nError')" ]
	sarif "$BATS_TEST_TMPDIR/none.sarif"
	jq -e '.runs[0] | (has("results") | not) and
		(.invocations[0] | .executionSuccessful == false and
		.toolExecutionNotifications[0].level == "error")' \
		"$BATS_TEST_TMPDIR/none.sarif"
	run prove -e cat "$BATS_TEST_TMPDIR/none.tap"
	[ "$status" != 0 ]
	grep -q '^::error title=.*nothing was tested' "$BATS_TEST_TMPDIR/none.github"
	grep -q '^### ⚠️' "$BATS_TEST_TMPDIR/summary"
}

@test "what cannot be done is an error in every form" {
	for format in json jsonl junit sarif tap github; do
		status=0
		"$BUILD/mapletest" run --format $format --db "$db" \
			-- "$BATS_TEST_TMPDIR/none" \
			> "$BATS_TEST_TMPDIR/gone.$format" || status=$?
		ended_with 127
	done
	ours "$BATS_TEST_TMPDIR/gone.json"
	sarif "$BATS_TEST_TMPDIR/gone.sarif"
	jq -e '.runs[0] | (has("results") | not) and
		.invocations[0].executionSuccessful == false' \
		"$BATS_TEST_TMPDIR/gone.sarif"
	[ "$(junit "$BATS_TEST_TMPDIR/gone.junit")" = "$(printf '1 0 1 0\nError')" ]
	run prove -e cat "$BATS_TEST_TMPDIR/gone.tap"
	[ "$status" != 0 ]
	grep -q '^::error title=' "$BATS_TEST_TMPDIR/gone.github"
}

@test "asked to skip, it is skipped in every form, and neither passes nor fails" {
	for format in junit sarif tap github; do
		mapletest run --format $format --skip-unsupported --db "$db" \
			--max-runs 1 --quiet -- "$E2E/status" 77
		ended_with 77
		cat <<<"$output" > "$BATS_TEST_TMPDIR/skip.$format"
	done
	[ "$(junit "$BATS_TEST_TMPDIR/skip.junit")" = "$(printf '1 0 0 1\nSkipped')" ]
	sarif "$BATS_TEST_TMPDIR/skip.sarif"
	jq -e '.runs[0] | has("results") | not' "$BATS_TEST_TMPDIR/skip.sarif"
	grep -q '^ok 1 - .*status 77 # SKIP ' "$BATS_TEST_TMPDIR/skip.tap"
	grep -q '^::warning ' "$BATS_TEST_TMPDIR/skip.github"
}

@test "a clean campaign passes in every form" {
	for format in junit sarif tap github; do
		mapletest run --format $format --db "$db" --max-runs 3 --quiet \
			--seed 3 --output "$BATS_TEST_TMPDIR/clean.$format" \
			-- "$TARGETS/clean/mutex_counter"
		ended_with 0
	done
	[ "$(junit "$BATS_TEST_TMPDIR/clean.junit")" = "$(printf '1 0 0 0\nPassed')" ]
	sarif "$BATS_TEST_TMPDIR/clean.sarif"
	jq -e '.runs[0] | .results == [] and .invocations[0].executionSuccessful' \
		"$BATS_TEST_TMPDIR/clean.sarif"
	prove -e cat "$BATS_TEST_TMPDIR/clean.tap"
	[ "$(grep -c '^::error' "$BATS_TEST_TMPDIR/clean.github")" = 0 ]
}

@test "replay and doctor in the forms of test runners follow their status" {
	local id d=$BATS_TEST_TMPDIR was

	id=$(jq -r '.findings[0].id' "$SHARED/run.json")
	for format in junit sarif tap; do
		mapletest replay --format $format --db "$SHARED/json.db" \
			--output "$d/replay.$format" "$id"
		ended_with 0 1
		[ "$status" = 1 ] || was+=" $format"
	done
	# Found by force it comes again; one that came by itself need not.
	case $was in
	*junit*) [ "$(junit "$d/replay.junit")" = "$(printf '1 0 0 0\nPassed')" ] ;;
	*) [ "$(junit "$d/replay.junit")" = "$(printf '1 1 0 0\nFailure')" ] ;;
	esac
	sarif "$d/replay.sarif"
	case $was in
	*sarif*) jq -e '.runs[0].results[0].kind == "fail"' "$d/replay.sarif" ;;
	*) jq -e '.runs[0].results[0].kind == "pass"' "$d/replay.sarif" ;;
	esac
	run prove -e cat "$d/replay.tap"
	[ "$status" = "$([[ $was == *tap* ]] && echo 0 || echo 1)" ]
	for format in junit sarif tap; do
		status=0
		"$BUILD/mapletest" doctor --format $format > "$d/doctor.$format" || status=$?
		ended_with 0 125
	done
	sarif "$d/doctor.sarif"
	junit "$d/doctor.junit" > "$d/cases"
	[ "$(wc -l < "$d/cases")" -ge 4 ]
	prove -e cat "$d/doctor.tap" || [ "$status" = 125 ]
}

@test "the control, replay --flip, says in every form that it was one" {
	local id d=$BATS_TEST_TMPDIR said

	# One found by force: reversed, it is not to fail.
	id=$(jq -r '[.findings[] | select(.plan | fromjson.kind == "enforced")][0].id' \
		"$SHARED/run.json")
	[ "$id" != null ] || {
		campaign --seed 3 --keep-going --max-runs 12 -- "$TARGETS/bank_account"
		ended_with 66
		id=$(jq -r '[.findings[] | select(.plan | fromjson.kind == "enforced")][0].id' \
			"$json")
		cp "$db" "$SHARED/json.db"
	}
	for format in json jsonl junit sarif tap github; do
		mapletest replay --flip --times 2 --format $format \
			--db "$SHARED/json.db" --output "$d/flip.$format" "$id"
		ended_with 0 1
		echo "$status" > "$d/status.$format"
	done
	ours "$d/flip.json" "$d/flip.jsonl"
	for format in json jsonl; do
		jq -e --argjson s "$(cat "$d/status.$format")" '.flipped and
			.fails[1] == 2 and (.fails[0] == 0) == ($s == 1)' "$d/flip.$format"
	done
	said='SIGABRT in .*: reversed [0-2]/2 fails'
	grep -qE "<system-out>$said</system-out>" "$d/flip.junit"
	xmllint --noout "$d/flip.junit"
	case $(cat "$d/status.junit") in
	0) [ "$(junit "$d/flip.junit")" = "$(printf '1 0 0 0\nPassed')" ] ;;
	1) [ "$(junit "$d/flip.junit")" = "$(printf '1 1 0 0\nFailure')" ] ;;
	esac
	sarif "$d/flip.sarif"
	jq -e --argjson s "$(cat "$d/status.sarif")" '.runs[0] |
		(.results | length == 1) and .invocations[0].exitCode == $s and
		(.results[0].kind == "pass") == ($s == 1)' "$d/flip.sarif"
	grep -qE "ok 1 - replay of $id: $said" "$d/flip.tap"
	run prove -e cat "$d/flip.tap"
	[ "$status" = "$(cat "$d/status.tap")" ]
	[[ "$output" != *"Parse errors"* ]]
	grep -qE "^::group::$said" "$d/flip.github"
	[ "$(grep -c '^::error' "$d/flip.github")" = "$(cat "$d/status.github")" ]
	# The control does what controls are for.
	[ "$(cat "$d"/status.* | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')" = 1 ]
}

@test "the page is well-formed, loads nothing, and has what there is to see" {
	local page=$BATS_TEST_TMPDIR/page.html id

	(cd "$ROOT" && "$BUILD/mapletest" report --db "$SHARED/stored.db" --html "$page") \
		> "$BATS_TEST_TMPDIR/out"
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
	xmllint --noout "$page"
	# The namespace is the only address, and nobody fetches it.
	[ "$(grep -o 'https\{0,1\}://[^"]*' "$page" | sort -u)" = http://www.w3.org/1999/xhtml ]
	[ "$(grep -ciE '<(script|img|link|iframe)|url\(|@import' "$page")" = 0 ]
	count() {
		xmllint --xpath "count(//*[local-name() = '$1'][$2])" "$page"
	}
	[ "$(count article "true()")" = 2 ]
	[ "$(count li 'parent::*[@class="list"]')" = 2 ]
	[ "$(count svg '@class="arrows"')" = 2 ]
	[ "$(count div 'starts-with(@class, "step ")')" -ge 6 ]
	# The deadlock has two arrows.
	[ "$(count svg '@aria-label="step 1 before step 3, step 2 before step 4"')" = 1 ]
	[ "$(count polyline '@class="had"')" = 2 ]
	[ "$(count section 'contains(., "iRoots exposed")')" = 2 ]
	id=b3022b31c82d
	grep -q "replay $id" "$page"
	grep -q 'bank_account.c:33' "$page"
	# One finding: its program alone.
	mapletest report --db "$SHARED/stored.db" --html "$page" "$id"
	ended_with 0
	[ "$(count article "true()")" = 1 ]
	[ "$(count section "true()")" = 1 ]
	mapletest report --db "$SHARED/stored.db" --html "$BATS_TEST_TMPDIR/no/page"
	ended_with 125
	says "no/page"
}

@test "names of the worst kind break no form" {
	local d=$BATS_TEST_TMPDIR bad

	cp "$SHARED/stored.db" "$db"
	bad='</pre><script>alert(1)</script>]]>&amp;\"\u0001\u001b[2J\n::error::x\n# ok 7\u202e`````'
	sqlite3 "$db" "UPDATE findings SET json =
		replace(replace(json, 'withdraw', '$bad'), 'to_left', '$bad')"
	[ "$(sqlite3 "$db" "SELECT count(*) FROM findings WHERE json LIKE '%alert(1)%'")" = 2 ]
	for format in json junit sarif tap github; do
		mapletest report --db "$db" --format $format --output "$d/bad.$format"
		ended_with 0
	done
	mapletest report --db "$db" --html "$d/bad.html"
	ended_with 0
	ours "$d/bad.json"
	sarif "$d/bad.sarif"
	xmllint --noout "$d/bad.html"
	[ "$(grep -c '<script' "$d/bad.html")" = 0 ]
	[ "$(junit "$d/bad.junit")" = "$(printf '2 2 0 0\nFailure\nFailure')" ]
	run prove -e cat "$d/bad.tap"
	[[ "$output" == *"Failed 2/2 subtests"* && "$output" != *"Parse errors"* ]]
	[ "$(grep -vcE '^(::(error|group|stop-commands|endgroup|[0-9a-f]{32}))' \
		<(grep '^ *::' "$d/bad.github"))" = 0 ]
}

@test "a suppressed finding is counted and shown, and does not count" {
	local s=$BATS_TEST_TMPDIR/suppressions

	printf '# known\nrace:bank_account.c\ndeadlock:nothing\n' > "$s"
	campaign --suppressions "$s" --seed 3 --max-runs 8 --verbose \
		-- "$TARGETS/bank_account"
	ended_with 0
	holds '.verdict == "clean" and .findings == []'
	holds '.suppressed | length >= 1 and all(.suppressed == "race:bank_account.c")'
	holds '[.suppressed[].confirm.forced[1]] | all(. == 0)'
	ours "$json"
	says "$s:3: suppression 'deadlock:nothing' was not used"
	says "suppressed by race:bank_account.c: SIGABRT"
	mapletest report --db "$db"
	ended_with 0
	[[ "$output" == *", suppressed by race:bank_account.c"* ]]
	mapletest report --db "$db" --format tap
	grep -q '^ok 1 .*# SKIP suppressed by race:bank_account.c' <<<"$output"
	# Another file, another view of what is stored.
	echo race:nothing > "$s"
	mapletest report --db "$db" --format tap --suppressions "$s"
	ended_with 0
	grep -q '^not ok 1 ' <<<"$output"
	[ -z "$stderr" ]
	# One that matches nothing leaves the finding a finding.
	db=$BATS_TEST_TMPDIR/other.db campaign --suppressions "$s" --seed 3 \
		--max-runs 8 -- "$TARGETS/bank_account"
	ended_with 66
	holds '.suppressed == []'
	echo race > "$s"
	mapletest run --suppressions "$s" --db "$db" -- true
	ended_with 2
	says "$s:1: 'race' is no suppression"
}

# What a terminal of so many columns gets of a campaign, raw.
on_terminal() { # COLUMNS [VARIABLE=VALUE...]
	local columns=$1

	shift
	TERM=xterm timeout -s KILL 60 env "$@" script -qec "stty cols $columns; \
		'$BUILD/mapletest' run --max-runs 1 --db '$db' -- sleep 0.5" \
		"$BATS_TEST_TMPDIR/typescript" < /dev/null > /dev/null || true
	tr '\r' '\n' < "$BATS_TEST_TMPDIR/typescript"
}

@test "the live line fits the terminal, also a narrow one" {
	local columns widest before=0

	unset CI GITHUB_ACTIONS
	for columns in 10 24 40 120; do
		on_terminal $columns > "$BATS_TEST_TMPDIR/lines"
		sed -n 's/\x1b\[K$//p' "$BATS_TEST_TMPDIR/lines" |
			grep -v '^$' > "$BATS_TEST_TMPDIR/live"
		[ "$(wc -l < "$BATS_TEST_TMPDIR/live")" -ge 3 ]
		widest=$(wc -L < "$BATS_TEST_TMPDIR/live")
		echo "$columns columns: $widest"
		[ "$widest" -lt "$columns" ]
		[ "$widest" -ge "$before" ]
		before=$widest
		# What stays begins on a line that was cleared.
		grep -q $'^\x1b\[Kundelivered: ' "$BATS_TEST_TMPDIR/lines"
	done
	[ "$before" -gt 24 ]
	on_terminal 80 CI=true > "$BATS_TEST_TMPDIR/lines"
	[ "$(grep -c $'\x1b\[K' "$BATS_TEST_TMPDIR/lines")" = 0 ]
}

# The files that a CI example keeps for the next job, by its cache's patterns;
# GitHub's are the same where they are taken and where they are put.
cached() { # FILE
	/usr/bin/python3 - "$ROOT/packaging/ci/$1.yml" <<-'END'
		import glob, sys, yaml
		doc = yaml.safe_load(open(sys.argv[1]))
		if "jobs" in doc:
		    steps = {s["uses"]: s for s in doc["jobs"]["maple"]["steps"] if "uses" in s}
		    take = steps["actions/cache/restore@v4"]["with"]
		    put = steps["actions/cache/save@v4"]
		    assert take["path"] == put["with"]["path"]
		    assert take["key"] == put["with"]["key"]
		    assert "github.ref_name" in take["key"] and "run_id" in take["key"]
		    for key in take["restore-keys"].split("\n")[:-1]:
		        assert key.startswith("maple-${{") and key.endswith("-")
		    assert "!cancelled()" in put["if"]
		    paths = take["path"].split()
		else:
		    cache = doc["maple"]["cache"]
		    assert cache["when"] == "always"
		    assert "$CI_COMMIT_REF_SLUG" in cache["key"] and cache["fallback_keys"]
		    paths = cache["paths"]
		print(*[name for path in paths for name in glob.glob(path)])
	END
}

@test "the jobs of the CI examples do what they say" {
	local line kept

	mkdir -p "$BATS_TEST_TMPDIR/job/build" "$BATS_TEST_TMPDIR/bin"
	ln -s "$BUILD/mapletest" "$BATS_TEST_TMPDIR/bin/mapletest"
	cp "$TARGETS/bank_account" "$BATS_TEST_TMPDIR/job/build/my-test"
	cd "$BATS_TEST_TMPDIR/job"
	for file in gitlab github; do
		rm -f maple.*
		grep -o 'mapletest \(run\|report\) .*' "$ROOT/packaging/ci/$file.yml" |
			sed 's/--max-time 10m/--max-time 20s --max-runs 12/' > calls
		[ "$(wc -l < calls)" -ge 2 ]
		while read -r line; do
			echo "$file: $line"
			status=0
			PATH=$BATS_TEST_TMPDIR/bin:$PATH MAPLE_OPTIONS='--seed 3' \
				timeout -s KILL 120 bash -c "$line" < /dev/null > out 2> err ||
				status=$?
			if [[ $line == "mapletest run"* ]]; then
				ended_with 66
			else
				ended_with 0
			fi
		done < calls
		xmllint --noout maple.html
		# The next job has what the cache kept, and goes on from there.
		kept=$(cached $file)
		[ -n "$kept" ]
		rm -rf "$BATS_TEST_TMPDIR/next"
		mkdir "$BATS_TEST_TMPDIR/next"
		cp $kept "$BATS_TEST_TMPDIR/next"
		cp -r build "$BATS_TEST_TMPDIR/next"
		line=$(grep 'mapletest run' calls)
		(cd "$BATS_TEST_TMPDIR/next" && PATH=$BATS_TEST_TMPDIR/bin:$PATH \
			MAPLE_OPTIONS='--seed 4' timeout -s KILL 120 bash -c "$line" \
			< /dev/null > out 2> err) || [ $? = 66 ]
		"$BUILD/mapletest" memo list --db "$BATS_TEST_TMPDIR/next/maple.db" \
			--format json | jq -e '.programs | length == 1 and .[0].campaigns == 2'
	done
	sarif maple.sarif
	jq -e '.runs[0].results | length >= 1' maple.sarif
}

@test "what was not observed of the program is said in every form" {
	campaign --max-runs 4 --exclude 'mutex_*' -- "$TARGETS/clean/mutex_counter"
	holds '.unobserved == "mutex_counter"'
	campaign --max-runs 4 -- /bin/sh -c "$TARGETS/clean/mutex_counter; true"
	holds '.unobserved | test("threads of .*mutex_counter, which it started")'
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	grep -q 'Not observed: mutex_counter.<' "$BATS_TEST_TMPDIR/page.html" ||
		fail "not on the page"
	mapletest run --db "$db" --max-runs 4 --exclude 'mutex_*' -- \
		"$TARGETS/clean/mutex_counter"
	says '^not observed: mutex_counter$'
	# Threads have numbers, main() is the first of 1,024.
	campaign --max-runs 4 --backend agent -- "$E2E/many_threads" 1100
	holds '.unobserved == "77 threads of a run, beyond its first 1024"'
	# Where there is nothing to say, nothing is said.
	campaign --max-runs 20 -- "$TARGETS/clean/mutex_counter"
	holds '.unobserved == null'
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	! grep -q 'Not observed: mutex' "$BATS_TEST_TMPDIR/page.html" ||
		fail "still on the page"
}
