# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a module does wrong must be noticed: faulty.ko does one thing at a time.
#
# bats file_tags=on:6-1

load common.bash

# faulty.ko for the kernel that the tests run on.
setup_file() {
	export FAULTY=$BATS_FILE_TMPDIR/faulty
	local cache=${MAPLE_QEMU_CACHE:-$ROOT/build/qemu}

	mkdir "$FAULTY"
	ln -s "$ROOT/tests/qemu/faulty.c" "$FAULTY/"
	echo 'obj-m := faulty.o' >"$FAULTY/Kbuild"
	env -u MAKEFLAGS KCFLAGS=-Werror make -s \
		-C "$cache/$MAPLE_QEMU_KERNEL/headers" M="$FAULTY" \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
}

faulty() { # FAULT ARGUMENT...
	local fault=$1

	shift
	guest -m "$FAULTY/faulty.ko" --module-options "fault=$fault" "$@" \
		-- true
}

@test "a module that is well" {
	faulty none
	status_is 0
}

@test "a warning, an oops" {
	faulty warn
	# on KCSAN's kernel no panic, but a failure
	status_is $([ "$MAPLE_QEMU_KERNEL" = kcsan ] && echo 113 || echo 111)
	says 'WARNING: .*faulty_init'
	faulty oops
	status_is 111
	says 'Oops: |KASAN: ' # whichever comes first
}

@test "not all that was created is destroyed" {
	faulty account
	status_is 113
	says 'created 3, destroyed 2'
	faulty silent
	status_is 113
	says 'no account'
}

@test "it does not unload" {
	faulty busy
	status_is 113
	says 'does not unload'
}

# FAULT, STATUS and what is said, of the faults that only this kernel sees
only_here() {
	case $MAPLE_QEMU_KERNEL in
	debug)
		echo after_free 111 KASAN: .*use-after-free
		echo 'leak 113 unreferenced object|new suspected memory leaks'
		echo inversion 113 possible circular locking
		echo sleep 111 scheduling while atomic ;;
	kcsan)
		echo race 113 KCSAN: data-race in race
		echo sleep 113 scheduling while atomic ;;
	esac
}

@test "what a debug kernel is there for" {
	local fault wanted regex

	while read -r fault wanted regex <&3; do
		faulty "$fault"
		status_is "$wanted"
		says "$regex"
	done 3< <(only_here)
}
