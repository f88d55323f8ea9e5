# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What tests/bench/budget has measured, as a table, or as a figure if `figure`
# is set. The status says whether the budget `default` keeps its limits.

function share(part, whole)
{
	return whole ? 100 * part / whole : 0
}

# Of single dependencies, and of compound iRoots.
function lost_single(key)
{
	return share(single[key], singles[key])
}

function lost_compound(key)
{
	return share(compound[key], all[name[key]] - singles[key])
}

{
	key = $1 SUBSEP $2
	if (!($1 in seen)) {
		seen[$1] = ++nprograms
		program[nprograms] = $1
	}
	if (!(($2) in known)) {
		known[$2] = ++nsettings
		setting[nsettings] = $2
	}
	name[key] = $1
	candidates[key] = $3
	single[key] = $4
	compound[key] = $5
	fresh[key] = $6
	singles[key] = $7
	events[key] = $8
	seconds[key] = $9
	if ($2 == "all")
		all[$1] = $3
	sum_all[$2] += all[$1]
	sum_singles[$2] += $7
	sum_single[$2] += $4
	sum_compound[$2] += $5
	sum_fresh[$2] += $6
	sum_events[$2] += $8
}

function all_compound(s)
{
	return sum_all[s] - sum_singles[s]
}

function table(    p, s, key)
{
	printf "%-16s %-7s %10s %8s %10s %7s %10s %8s\n", "program", "budget",
		"candidates", "lost: 1", "compound", "new", "events", "seconds"
	for (p = 1; p <= nprograms; p++)
		for (s = 1; s <= nsettings; s++) {
			key = program[p] SUBSEP setting[s]
			printf "%-16s %-7s %10d %7.1f%% %9.1f%% %7d %10d %8.3f\n",
				s == 1 ? program[p] : "", setting[s],
				candidates[key], lost_single(key),
				lost_compound(key), fresh[key], events[key],
				seconds[key]
		}
	for (s = 1; s <= nsettings; s++)
		printf "%-16s %-7s %10d %7.1f%% %9.1f%% %7d\n",
			s == 1 ? "all of them" : "", setting[s],
			sum_all[setting[s]],
			share(sum_single[setting[s]], sum_singles[setting[s]]),
			share(sum_compound[setting[s]],
			      all_compound(setting[s])),
			sum_fresh[setting[s]]
}

# For each program a row of boxes, a budget each, the darker the more is lost.
function draw(    p, s, key, x, y, lost, shade)
{
	print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" " \
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
		150 + 90 * nsettings, 70 + 24 * nprograms
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	print "<text x=\"10\" y=\"20\" font-size=\"14\">Candidates lost, " \
		"in per cent, by budget: single dependencies</text>"
	for (s = 1; s <= nsettings; s++)
		printf "<text x=\"%d\" y=\"44\" text-anchor=\"middle\">%s" \
			"</text>\n", 100 + 90 * s, setting[s]
	for (p = 1; p <= nprograms; p++) {
		y = 64 + 24 * (p - 1)
		printf "<text x=\"10\" y=\"%d\">%s</text>\n", y, program[p]
		for (s = 1; s <= nsettings; s++) {
			key = program[p] SUBSEP setting[s]
			lost = lost_single(key)
			shade = lost / 25
			if (shade > 1)
				shade = 1
			x = 100 + 90 * s
			printf "<rect x=\"%d\" y=\"%d\" width=\"80\" " \
				"height=\"20\" fill=\"#c0392b\" " \
				"fill-opacity=\"%.2f\"/>\n", x - 40, y - 14,
				shade
			printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\"" \
				">%.1f</text>\n", x, y, lost
		}
	}
	print "</svg>"
}

END {
	if (!nprograms) {
		print "budget: nothing was measured" >"/dev/stderr"
		exit 1
	}
	if (figure) {
		draw()
		exit 0
	}
	table()
	s = default
	if (!(s in known)) {
		print "budget: the default was not measured" >"/dev/stderr"
		exit 1
	}
	single_share = share(sum_single[s], sum_singles[s])
	again_share = share(sum_single["again"], sum_singles["again"])
	compound_share = share(sum_compound[s], all_compound(s))
	printf "figure budget.lost %.2f %% single dependencies (idiom 1) that " \
		"the default budget of %d loses, of all candidates of idiom 1 " \
		"that full observation predicts\n", single_share, s
	printf "figure budget.again %.2f %% ... that the same runs lose when " \
		"made once more, in full\n", again_share
	printf "figure budget.lost_compound %.2f %% compound iRoots that the " \
		"default budget loses, of those of full observation\n",
		compound_share
	printf "figure budget.again_compound %.2f %% compound iRoots that the " \
		"same runs lose when made once more, in full\n",
		share(sum_compound["again"], all_compound("all"))
	printf "figure budget.events %.2f %% events recorded with the default " \
		"budget, of all\n", share(sum_events[s], sum_events["all"])
	printf "the default, %d: loses %.1f %% of single dependencies, " \
		"%.1f %% of compound iRoots, and finds %d others\n", s,
		single_share, compound_share, sum_fresh[s]
	exit (single_share > 5 || \
	      (compound_share > 5 && sum_compound[s] > sum_fresh[s]))
}
