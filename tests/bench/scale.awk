# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table and the drawing of tests/bench/scale. Set from outside: figure, and
# seconds, how long each point lasted.
#
#   empty    BYTES
#   program  PROG RUNS SECONDS REST
#   point    PROG WORKERS DATABASES NAME-VALUE...

BEGIN {
	FS = "\t"
	split("#c0392b #2980b9 #27ae60 #8e44ad", colour, " ")
}

$1 == "empty" {
	empty = $2
}

$1 == "program" {
	program[++nprograms] = $2
	number[$2] = nprograms
	run[nprograms] = $4
	rest[nprograms] = $5
}

$1 == "point" {
	p = number[$2]
	n = split($5, word, " ")
	for (i = 1; i < n; i += 2)
		got[word[i]] = word[i + 1]
	k = ++npoints[p]
	workers[p, k] = $3
	databases[p, k] = $4
	for (i = 1; i < n; i += 2)
		value[p, k, word[i]] = word[i + 1]
	value[p, k, "offered"] = $3 / (run[p] + rest[p])
	value[p, k, "run"] = (got["bytes"] - $4 * empty) / got["rows"]
}

function table(    p, k, twice)
{
	for (p = 1; p <= nprograms; p++) {
		printf "\n`%s`: a run takes %.1f ms, and %.1f ms are between " \
			"two: %.1f runs a second.\n\n", program[p],
			run[p] * 1000, rest[p] * 1000, 1 / (run[p] + rest[p])
		print "| campaigns | databases | runs a second by themselves |" \
			" runs a second | claims a second |" \
			" the server's CPU ms a run | ms of a claim (95 %) |" \
			" ms of a run's end (95 %) | ms to news (95 %) |" \
			" bytes a run | MB a day | waited in vain |"
		print "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |" \
			" ---: | ---: | ---: | ---: | ---: |"
		for (k = 1; k <= npoints[p]; k++) {
			printf "| %d | %d | %.0f | %.1f | %.1f", workers[p, k],
				databases[p, k], value[p, k, "offered"],
				value[p, k, "runs_s"], value[p, k, "claims_s"]
			printf " | %.2f", 1e3 * value[p, k, "server"] / \
				(value[p, k, "runs_s"] * seconds)
			printf " | %.1f (%.1f) | %.1f (%.1f) | %.0f (%.0f)",
				value[p, k, "claim50"], value[p, k, "claim95"],
				value[p, k, "write50"], value[p, k, "write95"],
				value[p, k, "news50"], value[p, k, "news95"]
			printf " | %.0f | %.0f | %d |\n", value[p, k, "run"],
				value[p, k, "run"] * value[p, k, "runs_s"] * \
				86400 / 1e6, value[p, k, "busy"]
			twice += value[p, k, "twice"]
			if (!value[p, k, "heard"])
				silent++
		}
	}
	printf "\ngoals exposed by two campaigns: %d\n", twice
	# Then claims do not do what they are for; or nobody heard of anything.
	return twice > 0 || silent > 0
}

# ---- the drawing: both axes logarithmic ----

function log10(x)
{
	return log(x) / log(10)
}

function text(x, y, anchor, what, more)
{
	gsub(/&/, "\\&amp;", what)
	gsub(/</, "\\&lt;", what)
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n",
		x, y, anchor, more, what
}

function at_x(x)
{
	return left + wide * log10(x) / 3
}

# From 10 to the power of low on, over so many decades.
function at_y(y, low, decades)
{
	y = y > 0 ? log10(y) - low : 0
	return bottom - high * (y < 0 ? 0 : y > decades ? decades : y) / decades
}

function axes(title, unit, low, decades,    i)
{
	text(left, bottom - high - 14, "start", title, " font-size=\"13\"")
	for (i = 0; i <= decades; i++) {
		y = at_y(10 ^ (low + i), low, decades)
		printf "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" " \
			"stroke=\"#ddd\"/>\n", left, y, left + wide, y
		text(left - 6, y + 4, "end", 10 ^ (low + i), "")
	}
	for (i = 0; i <= 3; i++)
		text(at_x(10 ^ i), bottom + 16, "middle", 10 ^ i, "")
	text(left + wide, bottom + 30, "end", "campaigns", "")
	text(left - 6, bottom - high - 14, "end", unit, "")
}

function curve(p, name, low, decades, stroke, dashed,    k, points)
{
	for (k = 1; k <= npoints[p]; k++) {
		x = at_x(workers[p, k])
		y = at_y(value[p, k, name], low, decades)
		if (databases[p, k] == 1)
			points = points sprintf("%.1f,%.1f ", x, y)
		else if (!dashed) {
			printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" " \
				"fill=\"none\" stroke=\"%s\" " \
				"stroke-width=\"1.5\"/>\n", x, y, stroke
			text(x + 8, y + 4, "start", databases[p, k] \
			     " databases", "")
		}
	}
	printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" " \
		"stroke-width=\"%s\"%s/>\n", points, stroke,
		dashed ? 1 : 2, dashed ? " stroke-dasharray=\"4 4\"" : ""
}

function drawing(    p)
{
	print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	print "<!-- SPDX-License-Identifier: GPL-2.0-only OR MIT -->"
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" " \
		"height=\"360\" font-family=\"sans-serif\" font-size=\"11\">"
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	for (p = 1; p <= nprograms; p++) {
		printf "<rect x=\"60\" y=\"%d\" width=\"10\" height=\"10\" " \
			"fill=\"%s\"/>\n", 16 * p - 4, colour[p]
		text(76, 16 * p + 5, "start", \
		     sprintf("campaigns of %.1f runs a second by themselves, " \
			     "simulated; dashed: as many as they would have", \
			     1 / (run[p] + rest[p])), "")
	}
	wide = 300
	high = 220
	bottom = 310
	left = 60
	axes("runs a second at one server", "", 0, 5)
	for (p = 1; p <= nprograms; p++) {
		curve(p, "offered", 0, 5, colour[p], 1)
		curve(p, "runs_s", 0, 5, colour[p], 0)
	}
	left = 510
	axes("ms until another campaign has heard of it, median", "", 0, 4)
	for (p = 1; p <= nprograms; p++)
		curve(p, "news50", 0, 4, colour[p], 0)
	print "</svg>"
}

END {
	if (figure == "drawing")
		drawing()
	else
		exit table()
}
