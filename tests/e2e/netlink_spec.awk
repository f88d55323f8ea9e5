# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Turns kmod/maple.yaml into a C program of static assertions about
# <maple/uapi.h>, or with -v list=names | list=policies into what the tests
# compare with the sources.

function upper(s) { gsub(/-/, "_", s); return toupper(s) }
function lower(s) { gsub(/-/, "_", s); return s }
function field(key,    s) {
	if (!match($0, "[{ ]" key ": [^,}]*"))
		return ""
	s = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
	sub(/ +$/, "", s)
	return s
}
function say(s) { if (!list) print "static_assert(" s ", \"\");"; asserts++ }
function name_of(s) { if (list == "names") print s }
function bytes(type, len) {
	if (type == "binary")
		return len
	return substr(type, 2) / 8
}
function end_struct() {
	if (kind == "struct" && struct)
		say("sizeof(struct maple_" lower(struct) ") == " total)
	struct = ""
}

BEGIN {
	if (!list)
		print "#include <stddef.h>\n#include <maple/uapi.h>"
}
/^[a-z-]+:/ { end_struct(); section = $1 }
section == "definitions:" && /^    name: / { end_struct(); def = $2; n = 0 }
section == "definitions:" && /^    type: / {
	kind = $2
	total = 0
	if (kind == "struct")
		struct = def
}
section == "definitions:" && /^      - \{ name: / {
	name = field("name")
	if (kind == "struct") {
		s = "struct maple_" lower(def)
		say("offsetof(" s ", " lower(name) ") == " total)
		total += bytes(field("type"), field("len"))
		say("sizeof(((" s " *)0)->" lower(name) ") == " \
			bytes(field("type"), field("len")))
		if (field("type") != "binary")
			say("((__typeof__(((" s " *)0)->" lower(name) "))-1 < 0) == " \
				(field("type") ~ /^s/))
	} else {
		value = kind == "flags" ? 2 ^ n : n
		say("MAPLE_" upper(def) "_" upper(name) " == " value)
		name_of("MAPLE_" upper(def) "_" upper(name))
	}
	n++
}
section == "attribute-sets:" && /^    name: / { def = $2; n = 0 }
section == "attribute-sets:" && /^      - \{ name: / {
	n++
	attr = "MAPLE_A_" upper(field("name"))
	type["" field("name")] = field("type")
	say(attr " == " n)
	name_of(attr)
	attrs = n
}
section == "operations:" && /^      name: / {
	op = "MAPLE_CMD_" upper($2)
	ops++
	say(op " == " ops)
	name_of(op)
}
section == "operations:" && /^        request: / && list == "policies" {
	sub(/.*\[/, "")
	sub(/\].*/, "")
	count = split($0, all, /, */)
	for (i = 1; i <= count; i++)
		print op, "MAPLE_A_" upper(all[i]), type[all[i]]
}
END {
	say("MAPLE_A_MAX == " attrs)
	say("MAPLE_CMD_MAX == " ops)
	if (!list)
		print "int asserts = " asserts ";"
}
