# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A tree of our own, in which a benchmark changes a source and builds again.
# Set before: root, build, work.

tree=$work/tree

# One that make finds nothing to do in; without what others build.
own_tree()
{
	mkdir -p "$tree/build"
	(cd "$root" && git ls-files -z | xargs -0 cp -a --parents -t "$tree") &&
		(cd "$build" && find . -mindepth 1 -maxdepth 1 ! -name qemu \
			! -name module ! -name deb ! -name asan ! -name trap \
			! -name tsan ! -name clang ! -name bench \
			-exec cp -a -t "$tree/build" {} +)
}

# FILE EXPRESSION: sed -E changes it, or nothing was to be changed: an error.
change()
{
	sed -Ei "$2" "$tree/$1"
	if cmp -s "$root/$1" "$tree/$1"; then
		echo "$1: nothing is changed by $2" >&2
		return 1
	fi
}

# FILE: as it was
change_back()
{
	cp "$root/$1" "$tree/$1"
}

# [TARGET...]
build_tree()
{
	make -s -C "$tree" -j2 all "$@" >"$work/make" 2>&1 || {
		cat "$work/make" >&2
		return 1
	}
}
