# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Which kernels maple.ko is built for and loaded on, and what it says to others.

load common.bash

setup_file() {
	local cache=${MAPLE_QEMU_CACHE:-$ROOT/build/qemu}

	export HEADERS=$cache/$MAPLE_QEMU_KERNEL/headers
	MODULE=$BUILD/module/$(cat "$cache/$MAPLE_QEMU_KERNEL/release")/maple.ko
	export MODULE
}

# Says why maple.ko is not loaded after the commands in $1
refused() { # COMMANDS
	guest --no-module -- sh -c "$1
		! insmod \"\$2\" || exit 9
		dmesg | grep 'maple: not loaded'" - "$BATS_TEST_TMPDIR/one" \
		"$BATS_TEST_TMPDIR/two"
	status_is 0
}

# Five runs of order_demo, in each of which an order is forced.
forced() { # OPTION-OF-GUEST...
	guest -t 300 "$@" -- sh -c 'cd "$BUILD/tests/qemu" && exec ./session "$@"' \
		session -d $((SLOW * 10000)) -n 5 -e -m 1 -i A:w:B:r \
		-- ./order_demo
	status_is 0
	[[ ${lines[-1]} = "5 runs, "*" 0 unclean" ]] || fail "not forced"
}

@test "a work is added by a direct call: no other reaches what IBT has sealed" {
	objdump -d --no-show-raw-insn -r "$MODULE" |
		awk '/^[0-9a-f]+ <.*>:$/ { in_it = /<maple_work_add>:/ }
			in_it' >"$BATS_TEST_TMPDIR/code"
	grep -E 'call|jmp' "$BATS_TEST_TMPDIR/code"
	! grep -E '\*|indirect_thunk' "$BATS_TEST_TMPDIR/code" ||
		fail "an indirect call"
	# and where it is exported, nothing else is asked
	readelf -sW "$MODULE" | grep -E 'WEAK .*UND task_work_add$'
}

@test "where task_work_add is not exported, orders are forced all the same" {
	objcopy --redefine-sym task_work_add=task_work_odd "$MODULE" \
		"$BATS_TEST_TMPDIR/maple.ko"
	forced -m "$BATS_TEST_TMPDIR/maple.ko"
}

# bats test_tags=on:6-1
@test "where it cannot be found either, the module says so and is not loaded" {
	sed 's/task_work_add/task_work_odd/g' "$MODULE" >"$BATS_TEST_TMPDIR/two"
	refused :
	[[ $output = *'neither exports'*kprobes* ]] || fail "it does not say why"
}

# bats test_tags=on:6-1
@test "a kernel that sleeps when it sets priorities is refused" {
	local here=$BATS_TEST_TMPDIR

	ln -s "$ROOT/tests/qemu/sleepy.c" "$here/"
	echo 'obj-m := sleepy.o' >"$here/Kbuild"
	env -u MAKEFLAGS KCFLAGS=-Werror make -s -C "$HEADERS" M="$here" \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	mv "$here/sleepy.ko" "$here/one"
	cp "$MODULE" "$here/two"
	refused 'insmod "$1"'
	[[ $output = *'6.1.50 or later'* ]] || fail "it does not say which to use"
}

# bats test_tags=on:6-12
@test "priorities may stay below any, and above the lowest" {
	guest --no-module -- sh -c '! insmod "$1" top_prio=9 &&
		! insmod "$1" top_prio=86 && dmesg | grep "not loaded"' - "$MODULE"
	status_is 0
	[ "${#lines[@]}" = 2 ]
	forced --module-options top_prio=10
}

# What is loaded is known by its sources: those of "new" are others.
# bats test_tags=on:6-12
@test "an upgraded package changes the module, or says who will" {
	sed 's/srcversion=..../srcversion=0000/' "$MODULE" \
		>"$BATS_TEST_TMPDIR/new"
	cat >"$BATS_TEST_TMPDIR/upgrade" <<-'END'
		PATH=$PATH:/usr/sbin:/sbin
		modules=/lib/modules/$(uname -r)
		mkdir -p "$modules"
		cp "$1" "$modules/maple.ko"
		touch "$modules/modules.order" "$modules/modules.builtin"
		depmod
		loaded() {
			cut -c 1-4 /sys/module/maple/srcversion
		}
		loaded
		(cd "$BUILD/tests/qemu" &&
			exec ./session -q 600000 -- ./spinner forever) &
		until [ "$(cat /sys/module/maple/refcnt)" != 0 ]; do
			kill -0 $! || exit
			sleep 0.1
		done
		sh "$2" configure 0.0 2>&1 || exit
		loaded
		kill -KILL $!
		until [ "$(cat /sys/module/maple/refcnt)" = 0 ]; do
			sleep 0.1
		done
		sh "$2" configure 0.0 2>&1 || exit
		loaded
		sh "$2" configure 0.0 2>&1 || exit
		dmesg | grep -c 'maple: loaded'
	END
	guest -t 300 -- sh "$BATS_TEST_TMPDIR/upgrade" "$BATS_TEST_TMPDIR/new" \
		"$ROOT/packaging/debian/maple-dkms.postinst"
	status_is 0
	[ "${lines[0]}" != 0000 ] || fail "the old is the new one"
	[[ ${lines[1]} = *"has sessions and stays loaded"* ]] || fail "no word"
	[[ ${lines[2]} = *'rmmod maple && modprobe maple'* ]] || fail "no mend"
	[ "${lines[3]}" = "${lines[0]}" ] || fail "it is not the old one"
	[ "${lines[4]}" = 0000 ] || fail "the old one stays"
	[ "${lines[5]}" = 2 ] || fail "not loaded anew once"
}

# The module's sources, changed by a command in them, and one built for this kernel
built() { # COMMAND
	local tree=$BATS_TEST_TMPDIR/tree

	rm -rf "$tree"
	mkdir "$tree"
	cp -rL "${MODULE%/*}"/{Kbuild,kmod,lib} "$tree/"
	find "$tree" -name '*.o' -delete
	(cd "$tree" && eval "$1")
	run env -u MAKEFLAGS KCFLAGS=-g0 make -s -C "$HEADERS" M="$tree" \
		CONFIG_DEBUG_INFO_BTF_MODULES= kmod/main.o
}

not_built() { # TEXT COMMAND
	built "$2"
	[ "$status" != 0 ] || fail "it is built all the same"
	[[ $output = *$1* ]] || fail "it does not say why"
}

# Half of the probes on each kernel, unless MAPLE_FULL=1.
@test "what probes of the kernel do not tell is not guessed" {
	local form forms='uprobe handler newtask'

	[ "$MAPLE_QEMU_KERNEL" = 6.1 ] || forms='filter exit dumpable'
	[ -z "${MAPLE_FULL:-}" ] ||
		forms='uprobe filter handler exit newtask dumpable'
	built :
	[ "$status" = 0 ] || fail "not built as it is"
	for form in $forms; do
		not_built 'the compiler that it was built with' \
			"echo '#error' | tee -a kmod/has/${form}_*.c >/dev/null"
	done
}

# bats test_tags=on:6-1
@test "where priorities are set asleep nothing is built" {
	not_built '6.1.50 or later' "sed -i 's/cpuset_read_lock();//' \
		kmod/has/cpuset_rwsem.c"
}
