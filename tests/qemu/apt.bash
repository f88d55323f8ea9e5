# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What kernels, headers and debug-kernel share: the cache, and an apt that works
# on a configuration and state of its own, so that the machine's sources and
# lists stay as they are. Sourced.

cache=${MAPLE_QEMU_CACHE:-$(cd "$(dirname "$0")/../.." && pwd)/build/qemu}
mirror=${MAPLE_QEMU_MIRROR:-http://deb.debian.org}
key=/usr/share/keyrings/debian-archive-keyring.gpg
PATH=$PATH:/usr/sbin:/sbin

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# The cache is ours alone until we end.
cache_open()
{
	mkdir -p "$cache" || die "cannot write to $cache"
	cache=$(cd "$cache" && pwd)
	exec 9>"$cache/lock"
	flock 9 || die "cannot lock $cache"
}

# What is read last wins, so the options go in by -c; hooks of the machine's
# own apt (command-not-found, PackageKit) are none of our business.
apt_setup()
{
	[ -e $key ] || die "$key is not there: install debian-archive-keyring"
	mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial" ||
		die "cannot write to $cache"
	cat >"$cache/apt/sources.list" <<-END
	deb [arch=amd64 signed-by=$key] $mirror/debian bookworm main
	deb [arch=amd64 signed-by=$key] $mirror/debian bookworm-backports main
	deb [arch=amd64 signed-by=$key] $mirror/debian-security bookworm-security main
	END
	cat >"$cache/apt/apt.conf" <<-END
	Dir::State "$cache/apt";
	Dir::State::lists "$cache/apt/lists";
	Dir::State::status "/dev/null";
	Dir::Cache "$cache/apt";
	Dir::Etc::sourcelist "$cache/apt/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	APT::Architecture "amd64";
	APT::Sandbox::User "root";
	Acquire::Retries "3";
	#clear APT::Update::Pre-Invoke;
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	END
}

apt() # apt-get|apt-cache ARGUMENT...
{
	local program=$1

	shift
	LC_ALL=C "$program" -c "$cache/apt/apt.conf" -q "$@"
}

# An update that fails leaves old lists or none, and apt-get says so by its
# status only with Error-Mode.
apt_update()
{
	apt apt-get update -o APT::Update::Error-Mode=any \
		>"$cache/apt/log" 2>&1 && return
	cat "$cache/apt/log" >&2
	die "no package lists from $mirror: is there a network?" \
		"(MAPLE_QEMU_MIRROR names another mirror)"
}

# The metapackage's newest version of that series, and what it stands for.
newest() # SERIES PACKAGE
{
	apt apt-cache madison "$2" | awk -v s="$1." \
		'index($3, s) == 1 { print $3 }' | sort -V | tail -1
}

apt_download() # FOLDER PACKAGE...
{
	local folder=$1

	shift
	echo "  APT    $*" >&2
	(cd "$folder" && apt apt-get download "$@") >"$cache/apt/log" 2>&1 &&
		return
	cat "$cache/apt/log" >&2
	die "cannot download $* from $mirror"
}

# The kernel's own packages of that KIND that PACKAGE[=VERSION] depends on
needs() # KIND PACKAGE
{
	apt apt-cache depends --no-recommends --no-suggests \
		--no-conflicts --no-breaks --no-replaces --no-enhances "$2" |
		sed -nE "s/^ *\|?Depends: (linux-($1)-[^ ]*)\$/\1/p"
}

# The headers' Makefile includes the common one by its absolute path, and there
# are such links too. Both become relative, so that the folder can be moved.
relocate() # ROOT
{
	local root=$1 link to
	local here='$(dir $(realpath $(lastword $(MAKEFILE_LIST))))'

	find "$root"/usr/src/*/Makefile -type f -print0 |
		xargs -0 sed -i "s|^include /usr/src/|include $here../|"
	find "$root/usr" "$root/lib" -type l -lname '/*' |
		while read -r link; do
			to=$(readlink "$link")
			[ ! -e "$root$to" ] || ln -srfn "$root$to" "$link"
		done
}
