# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table of tests/bench/controlled. Set from outside: markdown, for the
# README.

BEGIN {
	FS = "\t"
	split("pos pct", policies, " ")
}

$1 == "absent" { absent[++nabsent] = $2 }
$1 == "fail" { bad[++nbad] = $2 " by " $3 ": " $4 }

$1 == "run" {
	if (!($2 in native)) {
		native[$2] = $4
		program[++nprograms] = $2
	}
	let_go[$2, $3] = $7
	if ($5 != "clean")
		bad[++nbad] = $2 " by " $3 ": the verdict is " $5
	if (!$8) {
		bad[++nbad] = $2 " by " $3 ": no run came to its end"
		next
	}
	points[$2, $3] = $9 / $8
	open[$2, $3] = $10 / $8
	switches[$2, $3] = $11 / $8
	times[$2, $3] = $4 > 0 ? $12 / $8 / $4 : 0
	sum[$3] += log(times[$2, $3])
	n[$3]++
}

function put(text)
{
	printf markdown ? " | %s" : "%10s", text
}

function start(text)
{
	printf markdown ? "| %s" : "%-16s", text
}

function row(name,    i, p)
{
	start(name)
	put(sprintf("%.2f s", native[name]))
	for (i = 1; i <= 2; i++) {
		p = policies[i]
		if (!((name, p) in points)) {
			put("failed"); put(""); put(""); put("")
		} else {
			put(sprintf("%.0f", points[name, p]))
			put(sprintf("%.0f", open[name, p]))
			put(sprintf("%.0f", switches[name, p]))
			put(sprintf("%.2f", times[name, p]))
		}
		put(let_go[name, p] + 0)
	}
	print markdown ? " |" : ""
}

function head(    i)
{
	start(markdown ? "program" : "")
	put("one CPU")
	for (i = 1; i <= 2; i++) {
		put(policies[i] ": points"); put("choice"); put("switches")
		put("times"); put("let go")
	}
	print markdown ? " |" : ""
	if (!markdown)
		return
	printf "| --- | ---:"
	for (i = 1; i <= 10; i++)
		printf " | ---:"
	print " |"
}

function mean(p)
{
	return n[p] ? exp(sum[p] / n[p]) : 0
}

END {
	head()
	for (i = 1; i <= nprograms; i++)
		row(program[i])
	for (i = 1; i <= 2; i++) {
		p = policies[i]
		if (!markdown && n[p])
			printf "figure controlled.%s %.2f times a controlled " \
				"run by %s, from main() to its end, over one " \
				"CPU; mean of the real programs\n",
				p, mean(p), p
	}
	if (markdown)
		exit 0
	for (i = 1; i <= nabsent; i++)
		print "left out: " absent[i] " is not installed"
	for (i = 1; i <= nbad; i++)
		print "failed: " bad[i]
	for (i = 1; i <= 2; i++) {
		p = policies[i]
		if (mean(p) > 2.5) {
			printf "missed: mean by %s: %.2f, at most 2.5\n", p,
				mean(p)
			missed++
		}
		for (k = 1; k <= nprograms; k++)
			if (times[program[k], p] > 5) {
				printf "missed: %s by %s: %.2f, at most 5\n",
					program[k], p, times[program[k], p]
				missed++
			}
	}
	exit nbad || missed || !nprograms
}
