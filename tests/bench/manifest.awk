# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table of tests/bench/manifest.

BEGIN {
	FS = "\t"
	form = "%-14s %8s %8s %8s %9s %10s %8s %9s\n"
	printf form, "", "native", "first", "forced", "control", "without: 1st",
		"forced", "control"
	ways[4] = "with priorities"
	ways[7] = "without"
	most["paper"] = 10
	most["targets"] = 60
	most["buffers"] = 1000
}

function miss(text)
{
	missed[++nmissed] = text
}

# @at: the column of the way's first run
function hold(at)
{
	if ($at == "-" || $at == "?") {
		miss($2 " " ways[at] ": " ($at == "-" ? "not found" : "no end"))
		return
	}
	sum[$1, at] += $(at + 1)
	n[$1, at]++
	if ($at > most[$1])
		miss($2 " " ways[at] ": found in run " $at ", at most " most[$1])
	if ($1 == "paper" && $(at + 1) < 95)
		miss($2 " " ways[at] ": forced " $(at + 1) " %, at least 95")
	if ($(at + 2) != 0)
		miss($2 " " ways[at] ": its control fails, " $(at + 2) " %")
}

{
	printf form, $2, $3, $4, $5, $6, $7, $8, $9
	if ($1 == "buffers" && $3 != 0)
		miss($2 ": natively it fails as well")
	native[$1] += $3
	programs[$1]++
	if ($1 != "buffers")
		hold(4)
	hold(7)
}

function figure(name, group, at, text)
{
	if (n[group, at])
		printf "figure manifest.%s %.1f %% %s, natively %.1f %%\n", name,
			sum[group, at] / n[group, at], text,
			native[group] / programs[group]
}

END {
	print ""
	figure("paper", "paper", 4, "of replays of what ColFinder's other nine" \
		" programs fail by do so; mean")
	figure("paper_asleep", "paper", 7,
		"of those without real-time priorities; mean")
	figure("targets", "targets", 4,
		"of replays of what 11 targets fail by do so; mean")
	figure("targets_asleep", "targets", 7,
		"of those without real-time priorities; mean")
	figure("meet", "buffers", 7,
		"of meetings that show what store buffers do fail; mean")
	for (at = 4; at <= 7; at += 3)
		if (n["targets", at] &&
		    sum["targets", at] < 90 * n["targets", at])
			miss("the targets " ways[at] ": forced less than 90 %" \
				" in the mean")
	for (i = 1; i <= nmissed; i++)
		print "missed: " missed[i]
	exit nmissed || !NR
}
