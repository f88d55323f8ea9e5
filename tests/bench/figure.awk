# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The paper's figures 11, 12 and 13 as SVG, the patterns that runs show, and what
# is found over runs; after compare.awk. Set from outside: figure; runs, where the
# X axis ends; seeds.

BEGIN {
	split("#c0392b #7f8c8d #2980b9 #27ae60 #8e44ad #d68910 #16a085 #2c3e50 " \
	      "#e84393 #a0522d #95a5a6 #00a8ff #b2bec3 #6ab04c #f0932b #30336b",
	      colour, " ")
}

function text(x, y, anchor, what, more)
{
	gsub(/&/, "\\&amp;", what)
	gsub(/</, "\\&lt;", what)
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n",
		x, y, anchor, more, what
}

function line(x1, y1, x2, y2, stroke)
{
	printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" " \
		"stroke=\"%s\"/>\n", x1, y1, x2, y2, stroke
}

function open_svg(width, height, title)
{
	print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	print "<!-- SPDX-License-Identifier: GPL-2.0-only OR MIT -->"
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" " \
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
		width, height
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	text(width / 2, 20, "middle", title, " font-size=\"14\"")
}

function legend(x, y,    s)
{
	for (s = 1; s <= nstrategies; s++) {
		printf "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" " \
			"fill=\"%s\"/>\n", x + 90 * (s - 1), y, colour[s]
		text(x + 90 * (s - 1) + 14, y + 9, "start", strategy[s], "")
	}
}

# Bars by program, normalised to maple.
function figure11(    p, s, left, bottom, high, group, own, part, x, wide)
{
	left = 50
	bottom = 300
	high = 200 # of 100 %
	wide = 9
	group = wide * nstrategies + 26
	open_svg(left + group * nprograms + 20, 400,
		 "iRoot coverage at equal time, maple = 100 %")
	legend(left, 34)
	for (part = 0; part <= 1.25; part += 0.25) {
		line(left, bottom - part * high,
		     left + group * nprograms, bottom - part * high, "#ddd")
		text(left - 4, bottom - part * high + 4, "end",
		     100 * part " %", "")
	}
	for (p = 1; p <= nprograms; p++) {
		own = coverage(program[p], "maple", 0)
		for (s = 1; s <= nstrategies; s++) {
			part = own ? coverage(program[p], strategy[s], 0) / own : 0
			if (part > 1.25)
				part = 1.25
			x = left + group * (p - 1) + 13 + wide * (s - 1)
			printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" " \
				"height=\"%.1f\" fill=\"%s\"/>\n", x,
				bottom - part * high, wide - 1, part * high,
				colour[s]
		}
		x = left + group * (p - 0.5)
		text(x, bottom + 12, "end", program[p],
		     sprintf(" transform=\"rotate(-40 %.1f %.1f)\"", x,
			     bottom + 12))
	}
	print "</svg>"
}

# A panel by program: what is exposed over runs.
function panel(p, x, y, width, height,    s, run, most, value, points)
{
	for (s = 1; s <= nstrategies; s++) {
		value = mean_after(program[p], strategy[s], runs)
		most = value > most ? value : most
	}
	most = most ? most : 1
	line(x, y, x, y + height, "#444")
	line(x, y + height, x + width, y + height, "#444")
	text(x + width / 2, y - 6, "middle", program[p], "")
	text(x - 4, y + 8, "end", sprintf("%d", most), "")
	text(x - 4, y + height + 4, "end", "0", "")
	text(x + width, y + height + 14, "end", runs " runs", "")
	for (s = 1; s <= nstrategies; s++) {
		points = ""
		for (run = 0; run <= runs; run++)
			points = points sprintf("%.1f,%.1f ", \
				x + width * run / runs, y + height - height * \
				mean_after(program[p], strategy[s], run) / most)
		printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" " \
			"stroke-width=\"1.5\"/>\n", points, colour[s]
	}
}

function over_runs(title,    p, columns, rows)
{
	columns = nprograms < 4 ? nprograms : 4
	rows = int((nprograms + columns - 1) / columns)
	open_svg(240 * columns < 520 ? 520 : 240 * columns + 20,
		 70 + 190 * rows, title)
	legend(40, 34)
	for (p = 1; p <= nprograms; p++)
		panel(p, 50 + 240 * ((p - 1) % columns),
		      80 + 190 * int((p - 1) / columns), 180, 120)
	print "</svg>"
}

# NAME INPUT SECONDS-WITHOUT SECONDS-WITH
figure == 13 && NF == 4 && $3 > 0 {
	seen($1)
	if ($2 > inputs)
		inputs = $2
	share[$1, $2] = $4 / $3
	sum[$2] += $4 / $3
	count[$2]++
}

function curve13(name, stroke, wide,    i, y, points)
{
	for (i = 1; i <= inputs; i++) {
		if (name != "" && !((name, i) in share) || !count[i])
			continue
		y = name == "" ? sum[i] / count[i] : share[name, i]
		points = points sprintf("%.1f,%.1f ", 60 + 60 * (i - 1), \
					300 - 200 * (y < 1.2 ? y : 1.2))
	}
	printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" " \
		"stroke-width=\"%s\"/>\n", points, stroke, wide
}

function figure13(    p, i)
{
	open_svg(60 * inputs + 60, 340,
		 "Test time with memo, without = 100 %")
	for (i = 0; i <= 4; i++) {
		line(60, 300 - 50 * i, 60 * inputs, 300 - 50 * i, "#ddd")
		text(54, 304 - 50 * i, "end", 25 * i " %", "")
	}
	for (i = 1; i <= inputs; i++)
		text(60 * i, 318, "middle", "input " i, "")
	for (p = 1; p <= nprograms; p++)
		curve13(program[p], "#bbb", 1)
	curve13("", "#c0392b", 2.5)
	print "</svg>"
}

# How many of all campaigns of strategy @s have failed within @run runs.
function found_within(s, run,    p, i, key, n)
{
	for (p = 1; p <= nprograms; p++) {
		key = program[p] SUBSEP strategy[s]
		for (i = 1; i <= nfirst[key]; i++)
			n += first_runs[key, i] <= run
	}
	return n / (nprograms * seeds)
}

# The share of programs and seeds whose bug is found, over runs, by logarithm.
# A seed that was not asked has not found it.
function found_over_runs(    s, i, run, x, y, step, points, left, top, wide, high)
{
	left = 60
	top = 50
	wide = 640
	high = 360
	open_svg(left + wide + 120, top + high + 60,
		 "bugs found, of " nprograms " programs with " seeds " seeds each")
	for (i = 0; i <= 4; i++) {
		y = top + high * (1 - i / 4)
		line(left, y, left + wide, y, "#ddd")
		text(left - 6, y + 4, "end", 25 * i " %", "")
	}
	step = wide / log(runs)
	for (run = 1; run <= runs; run *= 10) {
		x = left + step * log(run)
		line(x, top, x, top + high, "#ddd")
		text(x, top + high + 16, "middle", run, "")
	}
	text(left + wide / 2, top + high + 40, "middle",
	     "runs of a campaign, all counted", "")
	for (s = 1; s <= nstrategies; s++) {
		points = ""
		for (x = 0; x <= wide; x += 4) {
			run = int(exp(x / step) + 1e-6)
			points = points sprintf("%.1f,%.1f ", left + x,
				top + high * (1 - found_within(s, run)))
		}
		printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" " \
			"stroke-width=\"%s\"/>\n", points, colour[s],
			strategy[s] == "auto" ? 3 : 1.5
		y = top + 8 + 18 * s
		line(left + wide + 14, y - 4, left + wide + 34, y - 4, colour[s])
		text(left + wide + 40, y, "start", strategy[s], "")
	}
	print "</svg>"
}

END {
	if (figure == 11)
		figure11()
	else if (figure == 12)
		over_runs("iRoots exposed over runs")
	else if (figure == "found")
		found_over_runs()
	else if (figure == "patterns")
		over_runs("patterns shown over controlled runs")
	else
		figure13()
}
