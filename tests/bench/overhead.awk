# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The table of tests/bench/overhead.

BEGIN {
	FS = "\t"
	paper["pbzip2"] = 1.96
	paper["fft"] = 2.22
	paper["lu"] = 1.96
	paper["radix"] = 1.78
	form = "%-10s %9s %7s %7s %11s  %s\n"
	printf form, "", "native", "meet", "asleep", "ColFinder", ""
}

function know(name)
{
	if (!(name in known)) {
		known[name] = 1
		program[++n] = name
	}
}

$1 == "time" && ($3 == "native" || $3 == "little" || $3 == "meet") {
	know($2)
	seconds[$2, $3, ++count[$2, $3]] = $3 == "meet" && $5 != "-" ? $5 : $4
}
$1 == "asleep" {
	know($2)
	let_go[$2] = $5
	if ($3 > 0)
		asleep[$2] = $4 / $3
	else if (!$5)
		bad[++nbad] = $2 ": no controlled run came to its end"
}
$1 == "absent" { absent[++nabsent] = $2 }
$1 == "fail" { bad[++nbad] = $2 " " $3 ": " $4 }

function median(name, kind,    m, i, j, x, s)
{
	m = count[name, kind]
	for (i = 1; i <= m; i++) {
		x = seconds[name, kind, i]
		for (j = i - 1; j >= 1 && s[j] > x; j--)
			s[j + 1] = s[j]
		s[j + 1] = x
	}
	return m ? (s[int((m + 1) / 2)] + s[int(m / 2) + 1]) / 2 : 0
}

function figure(name, value, text)
{
	printf "figure overhead.%s %.2f times %s\n", name, value, text
}

END {
	for (i = 1; i <= n; i++) {
		p = program[i]
		native = median(p, "native")
		met = median(p, "meet")
		little = median(p, "little")
		if (!native || !little || !met) {
			bad[++nbad] = p ": it was not measured"
			continue
		}
		meet[p] = met / native
		still[p] = asleep[p] / little
		printf form, p, sprintf("%.3f s", native),
			sprintf("%.2f", meet[p]),
			asleep[p] ? sprintf("%.2f", still[p]) : "-",
			p in paper ? sprintf("%.2f", paper[p]) : "-",
			let_go[p] ? let_go[p] " let go" : ""
	}
	print ""
	for (i = 1; i <= n; i++) {
		p = program[i]
		if (p in meet)
			figure(p "_meet", meet[p], "a run of " p " in which two" \
				" threads are to meet, over native" \
				(p in paper ? sprintf("; ColFinder %.2f",
				paper[p]) : ""))
		if (p in meet && asleep[p])
			figure(p "_asleep", still[p], "a controlled run of " p \
				" without real-time priorities, over native" \
				" on all CPUs")
	}
	for (i = 1; i <= nabsent; i++)
		print "left out: " absent[i] " is not installed"
	for (i = 1; i <= nbad; i++)
		print "failed: " bad[i]
	for (p in meet)
		if (meet[p] > 1.3) {
			printf "missed: %s: meet %.2f, at most 1.3\n", p, meet[p]
			missed++
		}
	exit nbad || missed || !n
}
