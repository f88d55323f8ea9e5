# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a process is like, to compare it with itself after it was joined and left.

# How its threads are scheduled, and who traces it.
threads_of() { # PID
	for task in /proc/"$1"/task/*; do
		echo "${task##*/} $(chrt -p "${task##*/}")" \
			"$(grep -E '^(State:.[TtZ]|TracerPid|Cpus_allowed:|Sig(Blk|Ign|Cgt):)' \
				"$task/status")"
	done
	grep 'realtime priority' "/proc/$1/limits"
}

# ... and what it has mapped and opened.
state_of() { # PID
	threads_of "$1"
	# But for what libc has to allocate from: a thread that had not done so
	# before has an arena from then on, at 64 MiB, with a rest that is not
	# used yet.
	awk '
		/\[heap\]/ { next }
		NF == 5 && $1 ~ /^[0-9a-f]+[048c]000000-/ { next }
		NF == 5 && $2 == "---p" { next }
		{ print $1, $2, $3, $4, $5, $6 }' "/proc/$1/maps"
	ls "/proc/$1/fd"
}
