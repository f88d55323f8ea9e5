# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Reads what tests/bench/compare measured; table.awk and figure.awk show it.
# Set from outside: strategies, a list with commas.

BEGIN {
	FS = "\t"
	nstrategies = split(strategies, strategy, ",")
	split("1 2 3 4 5 6 deadlock", idiom, " ")
	IDIOMS = 7
	NEVER = 1e9
}

function seen(name)
{
	if (!(name in known)) {
		known[name] = 1
		program[++nprograms] = name
	}
}

$1 == "first" {
	seen($2)
	key = $2 SUBSEP $3
	i = ++nfirst[key]
	first_runs[key, i] = $5 == "-" ? NEVER : $5
	found[key] += $5 != "-"
	first_seconds[key, i] = $6 == "-" ? NEVER : $6
}

$1 == "run" {
	seen($2)
	key = $2 SUBSEP $3 SUBSEP $4
	n = ++nruns[key]
	at[key, n] = $6
	for (i = 1; i <= IDIOMS; i++)
		exposed[key, n, i] = $(6 + i)
}

$1 == "end" {
	seed[$2, $3, ++nseeds[$2, $3]] = $4
	ended[$2, $3, $4] = $6
}

# The median of v[key, 1 ... n].
function median(v, key, n,    s, i, j, x)
{
	for (i = 1; i <= n; i++) {
		x = v[key, i]
		for (j = i - 1; j >= 1 && s[j] > x; j--)
			s[j + 1] = s[j]
		s[j + 1] = x
	}
	return n ? s[int((n + 1) / 2)] : NEVER
}

# How many runs of the campaign were over at @seconds.
function runs_at(key, seconds,    low, high, middle)
{
	low = 0
	high = nruns[key]
	while (low < high) {
		middle = int((low + high + 1) / 2)
		if (at[key, middle] <= seconds)
			low = middle
		else
			high = middle - 1
	}
	return low
}

function exposed_after(key, run,    i, sum)
{
	for (i = 1; i <= IDIOMS; i++)
		sum += exposed[key, run, i]
	return sum + 0
}

# The mean over the seeds after @run runs.
function mean_after(name, who, run,    i, n, key, last, sum)
{
	n = nseeds[name, who]
	for (i = 1; i <= n; i++) {
		key = name SUBSEP who SUBSEP seed[name, who, i]
		last = run < nruns[key] ? run : nruns[key]
		sum += exposed_after(key, last)
	}
	return n ? sum / n : 0
}

# Coverage of @name by @who in the time that maple took with the same seed, or
# in all the time there was, the median over seeds: of idiom @which, 0 for all.
function coverage(name, who, which, whole,    i, n, key, until, run, v)
{
	n = nseeds[name, who]
	for (i = 1; i <= n; i++) {
		key = name SUBSEP who SUBSEP seed[name, who, i]
		until = ended[name, "maple", seed[name, who, i]]
		run = whole || !until ? nruns[key] : runs_at(key, until)
		if (which)
			v["v", i] = exposed[key, run, which] + 0
		else
			v["v", i] = exposed_after(key, run)
	}
	return n ? median(v, "v", n) : 0
}

function number(value, format)
{
	return value >= NEVER ? "-" : sprintf(format, value)
}
