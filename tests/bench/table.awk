# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The tables of tests/bench/compare; after compare.awk.

# 1: maple is ahead of all others, 0: level with the best one, -1: behind.
function rank(own, best, less)
{
	if (own == best)
		return 0
	return (own < best) == less ? 1 : -1
}

function first_failures(    p, s, key, n, own, best, runs_of, place)
{
	print "First failure: runs, seconds, seeds that found it; " \
		"median over the seeds"
	printf "%-16s", ""
	for (s = 1; s <= nstrategies; s++)
		printf "%20s", strategy[s]
	print ""
	for (p = 1; p <= nprograms; p++) {
		printf "%-16s", program[p]
		own = best = NEVER
		for (s = 1; s <= nstrategies; s++) {
			key = program[p] SUBSEP strategy[s]
			n = nfirst[key]
			runs_of = median(first_runs, key, n)
			printf "%7s %8s %3d", number(runs_of, "%d"),
				number(median(first_seconds, key, n), "%.2f"),
				found[key]
			if (strategy[s] == "maple")
				own = runs_of
			else if (runs_of < best)
				best = runs_of
		}
		print ""
		place[rank(own, best, 1)]++
	}
	printf "maple needs fewer runs than every other strategy on %d of %d, " \
		"as many as the best on %d\n\n", place[1], nprograms, place[0]
}

function coverages(    p, s, i, own, best, all, whole, place, used)
{
	print "iRoots exposed at equal time, maple's; median over the seeds"
	printf "%-16s %-10s", "", ""
	for (i = 1; i <= IDIOMS; i++)
		printf "%9s", idiom[i]
	printf "%9s %9s\n", "all", "in " time " s"
	for (p = 1; p <= nprograms; p++) {
		own = best = 0
		for (s = 1; s <= nstrategies; s++) {
			printf "%-16s %-10s", s == 1 ? program[p] : "",
				strategy[s]
			for (i = 1; i <= IDIOMS; i++)
				printf "%9d", coverage(program[p],
						       strategy[s], i)
			all = coverage(program[p], strategy[s], 0)
			whole = coverage(program[p], strategy[s], 0, 1)
			printf "%9d %9d\n", all, whole
			if (strategy[s] == "maple")
				own = all
			else if (all > best)
				best = all
		}
		place[rank(own, best, 0)]++
	}
	printf "maple exposes more than every other strategy on %d of %d, " \
		"as many as the best on %d\n", place[1], nprograms, place[0]
}

END {
	first_failures()
	if (time > 0)
		coverages()
}
