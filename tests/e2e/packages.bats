#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What 'make deb' left in $BUILD/deb: that it is whole, made as it should be,
# and works when unpacked. 'make check-packages' installs it.

bats_require_minimum_version 1.5.0

setup_file() {
	ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export ROOT BUILD=${BUILD:-$ROOT/build}
	export LIBDIR=usr/lib/x86_64-linux-gnu
	export root=$BATS_FILE_TMPDIR/root
	local package

	for package in mapletest mapled libmaple0 libmaple-dev maple-dkms; do
		dpkg-deb -x "$BUILD"/deb/${package}_*.deb "$root"
	done
	export module=$(echo "$root"/usr/src/maple-*)
}

files() { # FOLDER
	(cd "$1" && find . ! -type d | sed 's/\.gz$//; s,^./lib,./usr/lib,' |
		sort)
}

# Its functions, imported or used.
symbols() { # FILE
	nm -D "$1" | awk '{ print $NF }' | sed 's/@.*//'
}

# bats test_tags=beside:guests
@test "lintian has looked, and found no error and no warning" {
	[ -s "$BUILD/deb/built" ]
	ls "$BUILD"/deb/maple_*.changes
	run grep '^[EW]:' "$BUILD/deb/lintian"
	[ "$status" = 1 ]
}

# bats test_tags=beside:guests
@test "the version: package, pkg-config, header" {
	version=$(dpkg-deb -f "$BUILD"/deb/mapletest_*.deb Version)
	grep -x "#define MAPLE_VERSION \"$version\"" \
		"$root/usr/include/maple/version.h"
	grep -x "Version: $version" "$root/$LIBDIR/pkgconfig/maple.pc"
	grep -x "PACKAGE_VERSION=\"$version\"" "$module/dkms.conf"
}

# bats test_tags=beside:guests
@test "the packages have what make install has, and little besides" {
	make -s -C "$ROOT" O="$BUILD" install PREFIX=/usr LIBDIR=/$LIBDIR \
		DESTDIR="$BATS_TEST_TMPDIR/installed"
	files "$BATS_TEST_TMPDIR/installed" >"$BATS_TEST_TMPDIR/make"
	files "$root" | grep -vE '^./usr/(src/maple-|share/doc/)' \
		>"$BATS_TEST_TMPDIR/debian"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/make")" -ge 20 ]
	diff "$BATS_TEST_TMPDIR/make" "$BATS_TEST_TMPDIR/debian" |
		sed -n 's/^[<>] //p' | grep -vxF -f <(sed -n 's,^usr,./usr,p' \
			"$ROOT/packaging/debian/not-installed") |
		diff - <(cat <<-END
			./etc/mapled/mapled.conf
			./etc/security/limits.d/maple.conf
		END
		)
}

# bats test_tags=beside:guests
@test "hardened, but for the agent, which has flags of its own" {
	for file in "$root/usr/bin/mapletest" "$root/usr/sbin/mapled" \
		"$root/$LIBDIR/libmaple.so.0"; do
		symbols "$file" | grep -x __stack_chk_fail
		symbols "$file" | grep -x '__[a-z]*printf_chk'
		readelf -d "$file" | grep BIND_NOW
	done
	readelf -h "$root/usr/bin/mapletest" | grep 'DYN (Pos'
	agent=$root/$LIBDIR/maple/libmaple-agent.so
	symbols "$agent" | grep -x pthread_create
	nm -D --undefined-only "$agent" >"$BATS_TEST_TMPDIR/wanted"
	grep -q ' dlsym' "$BATS_TEST_TMPDIR/wanted"
	run ! grep '_chk' "$BATS_TEST_TMPDIR/wanted"
	objdump -d "$agent" >"$BATS_TEST_TMPDIR/code"
	grep -q 'xchg' "$BATS_TEST_TMPDIR/code"
	run ! grep -E '%[xyz]mm' "$BATS_TEST_TMPDIR/code"
}

@test "what the packages hold finds the bank account's bug" {
	LD_LIBRARY_PATH=$root/$LIBDIR run --separate-stderr timeout -s KILL 60 \
		"$root/usr/bin/mapletest" run --db :memory: -- \
		"$BUILD/tests/targets/bank_account"
	echo "$stderr"
	[ "$status" = 66 ]
	LD_LIBRARY_PATH=$root/$LIBDIR ldd "$root/usr/bin/mapletest" |
		grep "libmaple.so.0 => $root/"
}

# bats test_tags=beside:guests
@test "the module's source is whole: it builds where it was unpacked" {
	headers=$("$ROOT/tests/qemu/kernels" 6.12)/headers
	cp -r "$module" "$BATS_TEST_TMPDIR/build"
	make -s -j2 -C "$headers" M="$BATS_TEST_TMPDIR/build" KCFLAGS=-Werror \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	modinfo -F parm "$BATS_TEST_TMPDIR/build/maple.ko"
}

# What dkms.conf says of a kernel whose headers are in FOLDER
dkms() { # VARIABLE FOLDER
	kernel_source_dir=$2 dkms_tree=/var/lib/dkms \
		bash -c '. "$1"; echo "${!2}"' - "$module/dkms.conf" "$1"
}

# bats test_tags=beside:guests
@test "dkms builds it for the kernels it can be used on, by their compiler" {
	local release regex headers=$BATS_TEST_TMPDIR/headers

	regex=$(dkms BUILD_EXCLUSIVE_KERNEL "$headers")
	for release in 6.1.0-56-amd64 6.1.50 6.1.192-own 6.5.0-1-generic \
		6.12.95+deb12-amd64 6.16-rc1 7.3.4+deb13-rt-amd64; do
		[[ $release =~ $regex ]] || { echo "not $release"; false; }
	done
	for release in 5.15.0-1 6.0.12 6.1.5 6.1.49 6.2.0-39-generic 6.4.16; do
		[[ ! $release =~ $regex ]] || { echo "$release"; false; }
	done
	mkdir -p "$headers/include/config"
	echo CONFIG_CC_IS_GCC=y >"$headers/include/config/auto.conf"
	[[ $(dkms MAKE "$headers") != *LLVM* ]]
	echo CONFIG_CC_IS_CLANG=y >"$headers/include/config/auto.conf"
	[[ $(dkms MAKE "$headers") = *' LLVM=1 '* ]]
}

# bats test_tags=beside:guests
@test "maple(4) and modinfo tell the same of the parameters" {
	PATH=$PATH:/usr/sbin:/sbin
	ko=$(ls "$BUILD"/module/6.*/maple.ko | head -1)
	modinfo -F parm "$ko" | sed 's/\([^:]*\):\(.*\) (\(.*\))/\1 \3 \2/' | sort \
		>"$BATS_TEST_TMPDIR/modinfo"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/modinfo")" -ge 4 ]
	sed -n '/^\.SH PARAMETERS/,/^\.SH FILES/p' \
		"$ROOT/packaging/man/maple.4" | grep -A1 '^\.BR .*(.*, .*)"$' |
		sed 's/^\.BR //; s/ "*(\(.*\), .*)"/ \1/; /^--$/d' |
		tr -d '"' | paste -d ' ' - - | tr -s ' ' | sort |
		diff "$BATS_TEST_TMPDIR/modinfo" -
}

# bats test_tags=beside:guests
@test "Build-Depends has what tools/deps installs for a build" {
	sed -n "/^build='/,/'$/p" "$ROOT/tools/deps" | tr -d "'" |
		sed 's/^build=//' | xargs -n1 | grep -vx build-essential | sort \
		>"$BATS_TEST_TMPDIR/deps"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/deps")" -ge 10 ]
	sed -n '/^Build-Depends:/,/^[^ ]*-Version:/p' \
		"$ROOT/packaging/debian/control" | sed 's/^Build-Depends://' |
		tr ',' '\n' | awk 'NF { print $1 }' | sort |
		comm -23 "$BATS_TEST_TMPDIR/deps" - | diff /dev/null -
}

# bats test_tags=beside:guests
@test "debian/copyright says of each file what the file says" {
	cd "$ROOT"
	python3 - packaging/debian/copyright <<-'END'
	import fnmatch, re, subprocess, sys
	stanzas = []
	for text in open(sys.argv[1]).read().split("\n\n"):
	    field = dict(re.findall(r"(?ms)^(\w+): (.*?)(?=^\w+:|\Z)", text))
	    if "Files" in field:
	        stanzas.append((field["Files"].split(), field["License"].strip()))
	said = {"GPL-2.0-only": "GPL-2.0-only",
	        "MIT": "Expat",
        "GPL-2.0-only OR MIT": "GPL-2.0-only or Expat",
	        "(GPL-2.0-only WITH Linux-syscall-note) OR MIT":
	        "GPL-2.0-only with Linux-syscall-note exception or Expat"}
	seen, bad = set(), 0
	for file in subprocess.check_output(["git", "ls-files"], text=True).split():
	    head = "".join(open(file, errors="replace").readlines()[:5])
	    spdx = re.search(r"SPDX-License-Identifier: "
                     r"((?:\(.+?\)|[\w.-]+)(?: OR \w+)?)", head)
	    if not spdx:
	        continue
	    wanted = said[spdx[1]]
	    for globs, licence in reversed(stanzas):
	        if any(fnmatch.fnmatchcase(file, g) for g in globs):
	            break
	    seen.add(licence)
	    if licence != wanted:
	        bad += 1
	        print(f"{file}: {wanted}, but debian/copyright: {licence}")
	sys.exit(bad != 0 or len(seen) != len(said))
	END
}
