# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table of tests/bench/programs, of what slowdown printed. Set from
# outside: markdown, for the README.

BEGIN {
	FS = "\t"
	ncolumns = split("one CPU,profile,forked,executed,all,enforced," \
			 "forked,tsan,helgrind,drd", title, ",")
	split("pinned,profile,profile,executed,all,enforced,enforced,tsan," \
	      "helgrind,drd", kind, ",")
	split("1,2,1,1,2,2,1,1,1,1", field, ",") # 1: in all, 2: its own
	split("fft,lu,radix", names, ",")
	for (i in names)
		kernel[names[i]] = 1
}

function know(name)
{
	if (!(name in known)) {
		known[name] = 1
		program[++nprograms] = name
	}
}

$1 == "time" {
	know($2)
	n = ++count[$2, $3]
	value[$2, $3, 1, n] = $4
	value[$2, $3, 2, n] = $5
	if ($3 == "profile")
		lost += $7
	if ($3 == "all" && $7 + $8) {
		all_lost[$2] += $7 / ($7 + $8)
		nall[$2]++
	}
}

$1 == "over" {
	know($2)
	over[$2, $3] = $4
}

$1 == "fail" {
	know($2)
	failed[$2, $3] = 1
	failures[++nfailures] = $2 ", " $3 ": " $4
	if ($3 == "native" || $3 == "warm" || $3 == "first")
		broken[$2] = 1
}

$1 == "absent" {
	absent[++nabsent] = $2 ": " $3
}

function median(name, what, which,    n, i, j, x, s)
{
	n = count[name, what]
	for (i = 1; i <= n; i++) {
		x = value[name, what, which, i]
		if (x == "-")
			return 0
		for (j = i - 1; j >= 1 && s[j] > x + 0; j--)
			s[j + 1] = s[j]
		s[j + 1] = x + 0
	}
	if (!n)
		return 0
	return n % 2 ? s[(n + 1) / 2] : (s[n / 2] + s[n / 2 + 1]) / 2
}

# A ratio to @base, native or pinned; 0 where there is none.
function ratio(name, c, base,    of)
{
	of = median(name, base, 1)
	if (!of || failed[name, base] || failed[name, kind[c]])
		return 0
	return median(name, kind[c], field[c]) / of
}

function two(x)
{
	return sprintf(x < 9.995 ? "%.2f" : x < 99.5 ? "%.1f" : "%.0f", x)
}

function cell(name, c,    x)
{
	if (failed[name, kind[c]])
		return "failed"
	if ((name, kind[c]) in over)
		return "> " two(over[name, kind[c]] / median(name, "native", 1))
	x = ratio(name, c, "native")
	return x ? two(x) : "-"
}

function start(text)
{
	printf markdown ? "| %s" : "%-16s", text
}

function put(text)
{
	printf markdown ? " | %s" : "%10s", text
}

function finish()
{
	print markdown ? " |" : ""
}

function row(name,    c)
{
	start(name)
	if (broken[name]) {
		put("failed")
	} else {
		put(sprintf("%.2f s", median(name, "native", 1)))
	}
	for (c = 1; c <= ncolumns; c++)
		put(broken[name] ? "" : cell(name, c))
	finish()
}

# The geometric mean of column @c over the real programs or over the kernels.
function mean(c, base, ours,    p, x, sum, n)
{
	for (p = 1; p <= nprograms; p++) {
		if (broken[program[p]] || (program[p] in kernel) != ours)
			continue
		x = ratio(program[p], c, base)
		if (x) {
			sum += log(x)
			n++
		}
	}
	return n ? exp(sum / n) : 0
}

function means(text, base, ours,    c, x)
{
	start(text)
	put("")
	for (c = 1; c <= ncolumns; c++) {
		x = kind[c] ~ /tsan|helgrind|drd/ ? 0 : mean(c, base, ours)
		put(x ? two(x) : "")
	}
	finish()
}

function figure(name, x, text)
{
	if (x)
		printf "figure programs.%s %.3f times %s\n", name, x, text
}

function limit(what, x, most)
{
	if (!x)
		return
	if (x > most) {
		printf "missed: %s: %.2f, at most %.2f\n", what, x, most
		missed++
	}
}

function table(    c, p)
{
	start(markdown ? "program" : "")
	put("native")
	for (c = 1; c <= ncolumns; c++)
		put(title[c])
	finish()
	if (markdown) {
		printf "| --- "
		for (c = 0; c <= ncolumns; c++)
			printf "| ---: "
		print "|"
	}
	for (p = 1; p <= nprograms; p++)
		row(program[p])
	means(markdown ? "*real programs, geometric mean*" : "real, mean",
	      "native", 0)
	means(markdown ? "*... over one CPU*" : "... over one CPU",
	      "pinned", 0)
	means(markdown ? "*kernels, geometric mean*" : "kernels, mean",
	      "native", 1)
	means(markdown ? "*... over one CPU*" : "... over one CPU",
	      "pinned", 1)
}

function figures()
{
	figure("profile", mean(2, "native", 0),
	       "profile run, from main(), over native, real programs")
	figure("profile_forked", mean(3, "native", 0),
	       "profile run, forked, over native, real programs")
	figure("profile_executed", mean(4, "native", 0),
	       "profile run, executed, over native, real programs")
	figure("all", mean(5, "native", 0),
	       "profile run without budgets, over native, real programs")
	figure("enforced", mean(6, "native", 0),
	       "enforced run, from main(), over native, real programs")
	figure("enforced_forked", mean(7, "native", 0),
	       "enforced run, forked, over native, real programs")
	figure("profile_one", mean(2, "pinned", 0),
	       "profile run, from main(), over one CPU, real programs")
	figure("all_one", mean(5, "pinned", 0),
	       "profile run without budgets, over one CPU, real programs")
	figure("enforced_one", mean(6, "pinned", 0),
	       "enforced run, from main(), over one CPU, real programs")
}

# Programs count alike, as in the means.
function dropped(    p, sum, n)
{
	for (p = 1; p <= nprograms; p++)
		if (nall[program[p]] && !(program[p] in kernel)) {
			sum += all_lost[program[p]] / nall[program[p]]
			n++
		}
	if (n)
		printf "figure all.dropped %.1f %% events that find no room, " \
			"since they come faster than they are read, in runs " \
			"without budgets; mean of the real programs\n",
			100 * sum / n
}

function limits(    p, x, tsan)
{
	limit("profile", mean(2, "native", 0), 1.3)
	limit("profile, executed", mean(4, "native", 0), 2)
	limit("all", mean(5, "native", 0), 4)
	limit("enforced", mean(6, "native", 0), 1.05)
	for (p = 1; p <= nprograms; p++) {
		if (broken[program[p]])
			continue
		x = ratio(program[p], 6, "native")
		limit(program[p] ": enforced", x, 1.5)
		tsan = ratio(program[p], 8, "native")
		if (tsan)
			limit(program[p] ": profile, below tsan's",
			      ratio(program[p], 4, "native"), tsan)
	}
}

END {
	table()
	if (markdown)
		exit 0
	if (lost)
		print lost " events lost in profile runs with default budgets"
	figures()
	dropped()
	for (i = 1; i <= nabsent; i++)
		print "left out: " absent[i]
	for (i = 1; i <= nfailures; i++)
		print "failed: " failures[i]
	limits()
	if (!nprograms)
		print "nothing was measured"
	exit nfailures || missed || !nprograms
}
