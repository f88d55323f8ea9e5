# SPDX-License-Identifier: GPL-2.0-only OR MIT
# For files about one strategy: how many runs it takes.

CONTROL=$BUILD/tests/control

# Found by STRATEGY within MOST runs, all of them counted, with each of SEEDS, and
# again by its switches, five times of five. also, where the file has it, looks at
# the result as well.
found_by() { # STRATEGY SEEDS MOST PROGRAM [ARG...]
	local seed

	for seed in $2; do
		rm -f "$db"*
		campaign --strategy "$1" --seed $seed --max-runs "$3" -- "${@:4}"
		ended_with 66
		jq -e --argjson most "$3" '.to_first_finding.runs <= $most' \
			"$json" ||
			fail "$(jq .to_first_finding.runs "$json") runs, not $3"
		holds '.runs.controlled > 0 and .runs.enforced == 0'
		holds '.findings[0].confirm.forced == [5, 5]'
		holds '.findings[0] | .plan | fromjson | .policy.switches |
			map(select(.what < 2)) | length > 0'
		[ "$(type -t also)" != function ] || also
	done
}
