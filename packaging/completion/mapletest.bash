# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Completion of mapletest for bash. Commands and options are read from the
# tool's own help, so that they are those of the version that is called.

# Prints the help of a command, a line an option: --name META text
_mapletest_options() # TOOL COMMAND
{
	"$1" ${2:+"$2"} --help 2>/dev/null | awk '
		/^options:/ { on = 1; next }
		/^$/ { on = 0 }
		!on { next }
		/^  --/ { if (line) print line; line = $0; next }
		{ line = line " " $0 }
		END { if (line) print line }' | sed 's/  */ /g; s/^ //'
}

_mapletest_commands() # TOOL
{
	"$1" --help 2>/dev/null |
		sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# What may follow an option; the words of a list "a, b or c" in its help.
_mapletest_values() # TOOL COMMAND OPTION CURRENT
{
	local words

	case $3 in
	--format | --backend)
		words=$(_mapletest_options "$1" "$2" |
			sed -n "s/^$3 [A-Z]* //p" | sed 's/[;(].*//; s/,/ /g; s/ or / /g')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$4")
		;;
	--order)
		mapfile -t COMPREPLY < <(compgen -W 'ranked paper' -- "$4")
		;;
	--heap-fill)
		mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$4")
		;;
	--until)
		mapfile -t COMPREPLY < <(compgen -W 'covered' -- "$4")
		;;
	--strategy)
		mapfile -t COMPREPLY < <(compgen -W 'auto maple native pctlarge randdelay rw pos surw pct pctvb pcr rank chess delay rankchecker grey maptest meet' \
			-- "$4")
		;;
	--db | --socket | --output | --html | --suppressions | --expect-output | --exe | \
		--include | --exclude)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$4")
		;;
	--oracle | --setup | --teardown | --between)
		mapfile -t COMPREPLY < <(compgen -c -- "$4")
		;;
	*)
		COMPREPLY=()
		;;
	esac
}

# The words that stand at the end of a command without being options.
_mapletest_words() # TOOL COMMAND CURRENT
{
	case $2 in
	run | doctor)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$3"; compgen -f -- "$3")
		;;
	attach)
		mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$3")
		;;
	replay | report)
		mapfile -t COMPREPLY < <(compgen -W "$("$1" report 2>/dev/null |
			sed -n 's/^\([0-9a-f]*\)  .*/\1/p')" -- "$3")
		;;
	memo)
		mapfile -t COMPREPLY < <(compgen -W 'list forget merge export' -- "$3")
		;;
	coverage)
		mapfile -t COMPREPLY < <(compgen -W "$("$1" memo list 2>/dev/null |
			sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p')" -- "$3")
		;;
	jobs)
		mapfile -t COMPREPLY < <(compgen -W "$("$1" jobs 2>/dev/null |
			sed -n 's/^ *\([0-9][0-9]*\)  .*/\1/p')" -- "$3")
		;;
	help)
		mapfile -t COMPREPLY < <(compgen -W "$(_mapletest_commands "$1")" -- "$3")
		;;
	esac
}

_mapletest()
{
	local tool=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local i word

	COMPREPLY=()
	# '--format=x' comes as three words.
	if [ "$current" = = ]; then
		current=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [ "$COMP_CWORD" = 1 ]; then
		case $current in
		-*)
			mapfile -t COMPREPLY < <(compgen -W "$(_mapletest_options "$tool" '' |
				sed 's/[[ ].*//')" -- "$current")
			;;
		*)
			mapfile -t COMPREPLY < <(compgen -W "$(_mapletest_commands "$tool")" \
				-- "$current")
			;;
		esac
		return
	fi
	# Behind '--' everything is the program's.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
			return
		fi
	done
	word=$(_mapletest_options "$tool" "$command" |
		grep -E "^$before [A-Z]+ " | head -n 1)
	case $before:$word:$current in
	--*:--*:*)
		_mapletest_values "$tool" "$command" "$before" "$current"
		;;
	*:-*)
		mapfile -t COMPREPLY < <(compgen -W "$(_mapletest_options "$tool" \
			"$command" | sed 's/[[ ].*//')" -- "$current")
		;;
	*)
		_mapletest_words "$tool" "$command" "$current"
		;;
	esac
}

complete -F _mapletest mapletest
