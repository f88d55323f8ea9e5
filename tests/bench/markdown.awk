# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Runs to the first failure as a table in Markdown, and how the default stands to
# the best of the others; after compare.awk. "-": fewer than half of the seeds
# found it; in brackets how many, if not all.

function cell(p, s,    key, runs_of, n)
{
	key = program[p] SUBSEP strategy[s]
	n = nfirst[key]
	if (!n)
		return ""
	runs_of = number(median(first_runs, key, n), "%d")
	return found[key] < n && runs_of != "-" \
		? runs_of " (" found[key] " of " n ")" : runs_of
}

function ahead(    p, s, i, own, best, runs_of, ratio, worst, which, n, late, sum, \
	       last, seed)
{
	for (p = 1; p <= nprograms; p++) {
		own = best = NEVER
		for (s = 1; s <= nstrategies; s++) {
			runs_of = median(first_runs, program[p] SUBSEP strategy[s],
					 nfirst[program[p], strategy[s]])
			if (strategy[s] == "auto")
				own = runs_of
			else if (runs_of < best)
				best = runs_of
		}
		if (own >= NEVER || best >= NEVER)
			continue
		best = best < 1 ? 1 : best
		ratio = own / best
		sum += log(ratio > 0 ? ratio : 1)
		late += ratio > 1.5
		n++
		for (i = 1; i <= nfirst[program[p], "auto"]; i++) {
			runs_of = first_runs[program[p] SUBSEP "auto", i]
			last = runs_of > last ? runs_of : last
			seed = runs_of / best > seed ? runs_of / best : seed
		}
		if (ratio > worst) {
			worst = ratio
			which = program[p]
		}
	}
	if (n)
		printf "\nauto over the best of the others, by medians: %.2f in " \
			"the geometric mean, over 1.5 on %d of %d programs, " \
			"%.1f at most (%s); its worst seed %.1f, its last " \
			"one after %d runs\n",
			exp(sum / n), late, n, worst, which, seed, last
}

END {
	printf "| |"
	for (s = 1; s <= nstrategies; s++)
		printf " %s |", strategy[s]
	printf "\n| --- |"
	for (s = 1; s <= nstrategies; s++)
		printf " ---: |"
	for (p = 1; p <= nprograms; p++) {
		printf "\n| %s |", program[p]
		for (s = 1; s <= nstrategies; s++)
			printf " %s |", cell(p, s)
	}
	print ""
	ahead()
}
