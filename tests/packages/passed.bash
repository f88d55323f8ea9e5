# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a check in the guest has said, from $said.

passed() { # NAME
	# what was written since the check before
	awk -v name="$1" '/^(pass|fail) / { if ($2 == name) print text $0
		text = ""; next } { text = text $0 "\n" }' "$said"
	grep "^pass $1 " "$said" || {
		tail -n 5 "$said"
		return 1
	}
}
