# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table of tests/bench/patterns; after compare.awk. Set from outside:
# strategies, the first of which is held against those of them that draw.

function draws(who)
{
	return who == "rw" || who == "pos" || who == "surw" || who == "pct"
}

# Whether the first strategy is level with the best one that draws, after @run.
function level(name, run,    s, value, best)
{
	for (s = 2; s <= nstrategies; s++) {
		value = draws(strategy[s]) ? mean_after(name, strategy[s], run) : 0
		best = value > best ? value : best
	}
	return mean_after(name, strategy[1], run) >= best
}

END {
	npoints = split("5 10 20 50", point, " ")
	print "Patterns shown after 5, 10, 20, 50 controlled runs; mean over " \
		"the seeds"
	printf "%-16s", ""
	for (s = 1; s <= nstrategies; s++)
		printf "%25s", strategy[s]
	print ""
	for (p = 1; p <= nprograms; p++) {
		always = 1
		printf "%-16s", program[p]
		for (s = 1; s <= nstrategies; s++) {
			printf " "
			for (i = 1; i <= npoints; i++)
				printf "%6.1f", mean_after(program[p],
					strategy[s], point[i])
		}
		for (i = 1; i <= npoints; i++)
			if (level(program[p], point[i]))
				ahead[i]++
			else
				always = 0
		all += always
		print always ? "" : "  behind"
	}
	for (i = 1; i <= npoints; i++)
		printf "after %d runs %s has shown as many as the best that " \
			"draws on %d of %d\n", point[i], strategy[1], ahead[i],
			nprograms
	printf "after all of these: on %d of %d\n", all, nprograms
}
