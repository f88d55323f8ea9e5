# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Prints what bash offers for a command line: bash completion.bash FILE WORD...
# The last word is the one that is being typed.
source "$1" || exit
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_mapletest
[ "${#COMPREPLY[@]}" = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
