# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The tables of tests/bench/sets. Set from outside: strategies, with commas.

BEGIN {
	FS = "\t"
	nstrategies = split(strategies, strategy, ",")
	NEVER = 1e9
}

$1 == "run" {
	if (!($2 in known)) {
		known[$2] = 1
		program[++nprograms] = $2
	}
	key = $2 SUBSEP $3
	n = ++ncampaigns[key]
	runs[key] += $5
	failed[key] += $6
	first[key, n] = $7 == "-" ? NEVER : $7
	told[key] += $8 != "-"
	violations[key] += $8
	seconds[key] += $9
	alone[key] += $5 * $10
}

$1 == "failure" {
	key = $2 SUBSEP $3
	if (!seen["words", key, $4]++)
		exceptions[key]++
	if (!seen["place", key, $5]++)
		findings[key]++
}

# The median of the seeds, of which the last half may have found none.
function median_first(key,    n, s, i, j, x)
{
	n = ncampaigns[key]
	for (i = 1; i <= n; i++) {
		x = first[key, i]
		for (j = i - 1; j >= 1 && s[j] > x; j--)
			s[j + 1] = s[j]
		s[j + 1] = x
	}
	x = s[int((n + 1) / 2)]
	return x == NEVER ? "-" : x
}

function value(what, key)
{
	if (!ncampaigns[key])
		return "failed"
	if (what == "violations" && told[key] < ncampaigns[key])
		return "-"
	if (what == "violations")
		return sprintf("%.1f", violations[key] / ncampaigns[key])
	if ((what == "fail" && !runs[key]) || (what == "slowdown" && !alone[key]))
		return "-"
	if (what == "fail")
		return sprintf("%.1f", 100 * failed[key] / runs[key])
	if (what == "first")
		return median_first(key)
	if (what == "exceptions")
		return exceptions[key] + 0
	if (what == "findings")
		return findings[key] + 0
	return sprintf("%.1f", seconds[key] / alone[key])
}

function table(what,    s, p)
{
	printf "%-16s", what
	for (s = 1; s <= nstrategies; s++)
		printf "%12s", strategy[s]
	print ""
	for (p = 1; p <= nprograms; p++) {
		printf "%-16s", program[p]
		for (s = 1; s <= nstrategies; s++)
			printf "%12s", value(what,
				program[p] SUBSEP strategy[s])
		print ""
	}
	print ""
}

# Over all programs: the mean of the rates, and whoever found it in most seeds.
function sums(    s, p, key, rate, found, all, i)
{
	for (s = 1; s <= nstrategies; s++) {
		rate = found = all = 0
		for (p = 1; p <= nprograms; p++) {
			key = program[p] SUBSEP strategy[s]
			if (runs[key])
				rate += failed[key] / runs[key]
			for (i = 1; i <= ncampaigns[key]; i++) {
				found += first[key, i] != NEVER
				all++
			}
		}
		printf "%s: %.1f %% of the runs fail, mean of %d programs; " \
			"%d of %d campaigns found a failure\n", strategy[s],
			100 * rate / nprograms, nprograms, found, all
	}
}

END {
	if (!nprograms) {
		print "nothing was measured"
		exit 1
	}
	n = split("violations fail first exceptions findings slowdown", what, " ")
	for (i = 1; i <= n; i++)
		table(what[i])
	sums()
}
