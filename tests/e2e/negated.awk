# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Reads bats files and writes "FILE:LINE: COMMAND" for each command that begins with
# '!' and is followed by no '||'. bats goes on after it whatever it says, since bash
# takes no inverted status for a failure. What stands in quotes, scripts for a guest
# and such, and what if, while and until ask, is passed over.

# The line without its comment, and with "Q" for what is quoted or escaped. What is
# open at its end stays in open: quotes, and the brackets of "$()".
function bare(line,	out, c, i, top) {
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		top = substr(open, length(open))
		if (c == "\\" && top != "'") {
			if (++i > length(line)) # goes on in the next line
				return out "\\"
		} else if (open != "" && c == (top == "(" ? ")" : top))
			open = substr(open, 1, length(open) - 1)
		else if (top != "'" && c == "\"" || top != "'" && top != "\"" &&
			 c == "'" || top == "(" && c == "(")
			open = open c
		else if (top == "\"" && substr(line, i, 2) == "$(") {
			open = open "("
			i++
		} else if (open == "" && c == "#" &&
			   (i == 1 || substr(line, i - 1, 1) ~ /[ \t]/))
			break
		else if (open == "") {
			out = out c
			continue
		}
		out = out "Q"
	}
	return out
}

function judge(	text, rest) {
	text = command
	command = ""
	if (text ~ /^[ \t]*(if|elif|while|until)[ \t]/ &&
	    !sub(/^.*;[ \t]*(then|do)[ \t]/, "; ", text))
		return
	while (match(text, /(^|&&|\|\||[;({]|[ \t](then|do|else))[ \t]*![ \t]/)) {
		rest = substr(text, RSTART + RLENGTH)
		if (rest !~ /\|\|/) {
			gsub(/^[ \t]+/, "", shown)
			print FILENAME ":" first ": " shown
			return
		}
		text = rest
	}
}

# A quote that a test leaves open would hide all that follows.
function closed(file) {
	if (open != "" || ends != "")
		print file ": not understood, before line " FNR
	open = ends = command = ""
}

FNR == 1 || /^@test / { closed(FNR == 1 ? before : FILENAME) }
FNR == 1 { before = FILENAME }
END { closed(before) }

ends != "" {
	line = $0
	gsub(/^\t+/, "", line)
	if (line == ends)
		ends = ""
	next
}

{
	if (command == "" && open == "") {
		first = FNR
		shown = $0
	}
	was = open
	line = bare($0)
	if (was == "" && match($0, /(^|[^<])<<-?['"\\]?[A-Z]+/)) {
		ends = substr($0, RSTART, RLENGTH)
		gsub(/[^A-Z]/, "", ends)
	}
	goes_on = sub(/\\$/, "", line) || open != "" ||
		line ~ /(\||&&|\|\|)[ \t]*$/
	command = command line " "
	if (!goes_on)
		judge()
}
