# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Prints what zsh's _arguments is told for a command line, a specification a
# line: zsh -f completion.zsh FILE WORD...
_arguments() { print -rl -- "$@" }
source $1 || exit
shift
words=("$@")
CURRENT=$#words
_mapletest
