# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Reads what grep says of the lines with #include ("lib/plan/plan.c:#include
# <...>"), in the root of the tree. Writes each pair of rooms of which one
# includes the other, and how often: "A B N". A file that none of the folders
# has is the system's.

function there(path,	line) {
	if (!(path in known)) {
		known[path] = (getline line <path) >= 0
		close(path)
	}
	return known[path]
}

# A room is a folder of lib or of the root, once a/../ is gone from the path.
function room(path,	part) {
	while (path ~ /[^\/]+\/\.\.\//)
		sub(/[^\/]+\/\.\.\//, "", path)
	gsub(/(^|\/)\.\//, "/", path)
	sub(/^\/+/, "", path)
	split(path, part, "/")
	return path ~ /^lib\/.*\// ? part[2] : part[1]
}

{
	file = $0
	sub(/:.*/, "", file)
	name = $0
	sub(/^[^<"]*[<"]/, "", name)
	sub(/[>"].*/, "", name)
	folder = file
	sub(/\/[^\/]*$/, "", folder)
	n = split(folder "/" name " lib/" name " lib/include/" name " " name \
		" bpf/" name, path, " ")
	for (i = 1; i <= n && !there(path[i]); i++)
		continue
	if (i <= n && room(file) != room(path[i]))
		count[room(file) " " room(path[i])]++
}

END {
	for (pair in count)
		print pair, count[pair]
}
