#!/usr/bin/env bats
# sbx-exec --raw --tty: a person at a terminal, played through tmux. On the mechanism under test.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

terminals=0

# A server for each terminal: one that was told to end may still take what is meant for the next. Its
# socket is not removed by it.
tm()
{
	command tmux -S "$TEST_DIR/tmux.$terminals" -f /dev/null "$@"
}

# in_terminal COMMAND - run it by a shell in a new terminal of 90 columns and 30 lines, stty before and
# after; then wait for a key.
in_terminal()
{
	skip_unless 'no tmux here' command -v tmux
	{
		printf 'export PATH=%q SBX_LIBEXEC=%q SBX_STATE=%q TERM=xterm-256color\n' "$PATH" \
			"$SBX_LIBEXEC" "$SBX_STATE"
		printf 'cd %q\nstty -a >before\n%s\necho "status $?."\nstty -a >after\ntouch over\nread -r _\n' \
			"$TEST_DIR" "$1"
	} >"$TEST_DIR/script"
	terminals=$((terminals + 1))
	tm new-session -d -x 90 -y 30 "bash $TEST_DIR/script" </dev/null 3>&-
}

keys()
{
	tm send-keys "$@"
}

# sees TEXT - until the terminal shows a line that matches.
sees()
{
	for ((i = 0; i < 150; i++)); do
		tm capture-pane -p >"$TEST_DIR/screen"
		grep -qE "$1" "$TEST_DIR/screen" && return
		sleep 0.1
	done
	printf 'never seen: %s\n' "$1"
	return 1
}

# answers COMMAND TEXT - the shell does it. A key that interrupts makes it forget what it has read but
# not done, so it is asked again.
answers()
{
	for ((n = 0; n < 5; n++)); do
		keys "$1" Enter
		for ((i = 0; i < 30; i++)); do
			tm capture-pane -p >"$TEST_DIR/screen"
			! grep -qE "$2" "$TEST_DIR/screen" || return 0
			sleep 0.1
		done
	done
	printf 'never seen: %s\n' "$2"
	return 1
}

is_over()
{
	for ((i = 0; i < 200; i++)); do
		[ ! -e "$TEST_DIR/over" ] || return 0
		sleep 0.1
	done
	tm capture-pane -p
	return 1
}

teardown()
{
	tm kill-server 2>/dev/null || :
	sbx_teardown
}

@test "tty: a shell inside has a terminal of its own, of the right size and name" {
	provision
	in_terminal "sbx-exec --raw --tty $ENV_ID -- sh -c 'tty; exec sh -i'"
	sees '^/dev/pts/[0-9]+'
	keys 'stty size; echo "<$TERM>"; echo to-err >&2; : </dev/tty && echo has-tty' Enter
	sees '^30 90'
	sees '^<xterm-256color>'
	sees '^to-err'
	# Its /dev/tty is one that cannot be opened.
	[ "$MECHANISM" = gvisor ] || sees '^has-tty'
	tm resize-window -x 101 -y 41
	sleep 0.5
	keys 'stty size; exit 7' Enter
	sees '^41 101'
	is_over
	sees '^status 7\.'
}

@test "tty: Ctrl-C, Ctrl-Z and Ctrl-D are the inside's" {
	by_design gvisor 'the terminals of its kernel make no signals of keys'
	provision
	in_terminal "sbx-exec --raw --tty $ENV_ID -- sh -c 'set -m; trap : INT; exec sh -i'"
	sees '^[$#] *$' # not before: a key that we have not made raw yet is the caller's
	keys 'sleep 99; echo "rc=$?"' Enter
	sleep 1
	keys C-c
	answers 'echo alive-$((1 + 1))' '^alive-2'
	keys 'sleep 98' Enter
	sleep 1
	keys C-z
	sees '[Ss]topped'
	keys 'jobs; fg' Enter
	sleep 0.5
	keys C-c
	answers 'echo again-$((2 + 2))' '^again-4'
	keys C-d
	is_over
	cmp "$TEST_DIR/before" "$TEST_DIR/after"
}

@test "tty: the caller's terminal is restored at a time limit, a signal and a lost environment" {
	provision
	in_terminal "sbx-exec --raw --tty --timeout 1s $ENV_ID -- sh -c 'stty -echo; sleep 60'"
	is_over
	sees '^status 124\.'
	cmp "$TEST_DIR/before" "$TEST_DIR/after"
	tm kill-server
	rm "$TEST_DIR/over" "$TEST_DIR/after"

	in_terminal "sh -c 'echo \$\$ >pid; exec sbx-exec --raw --tty $ENV_ID -- sh -c \"echo ready; sleep 60\"'"
	sees '^ready'
	kill -TERM "$(cat "$TEST_DIR/pid")"
	is_over
	cmp "$TEST_DIR/before" "$TEST_DIR/after"
	tm kill-server
	rm "$TEST_DIR/over" "$TEST_DIR/after"

	in_terminal "sbx-exec --raw --tty $ENV_ID -- sh -c 'echo ready; sleep 60'"
	sees '^ready'
	sbx-reap --env "$ENV_ID" >/dev/null
	is_over
	sees '^status 125\.'
	cmp "$TEST_DIR/before" "$TEST_DIR/after"
}

@test "tty: the caller's terminal is restored whatever signal ends us" {
	provision
	for signal in QUIT USR1 ALRM SEGV ABRT; do
		in_terminal "sh -c 'echo \$\$ >pid; exec sbx-exec --raw --tty $ENV_ID -- sh -c \"echo ready; sleep 60\"'"
		sees '^ready'
		kill -"$signal" "$(cat "$TEST_DIR/pid")"
		is_over
		sees "^status $((128 + $(kill -l "$signal")))\\."
		cmp "$TEST_DIR/before" "$TEST_DIR/after"
		tm kill-server
		rm "$TEST_DIR/over" "$TEST_DIR/after"
	done
}

# settings - of the terminal that the person sits at.
settings()
{
	stty -a <"$(tm display-message -p '#{pane_tty}')"
}

# are WORD - the settings have it, soon.
are()
{
	for ((i = 0; i < 50; i++)); do
		[[ $(settings) != *" $1 "* ]] || return 0
		sleep 0.1
	done
	settings
	return 1
}

@test "tty: stopped, it leaves the terminal to the shell; continued, it takes it again" {
	provision
	in_terminal 'exec bash --norc --noprofile -i'
	sees '^bash.*[$#] *$'
	keys "sbx-exec --raw --tty $ENV_ID -- sh -c 'echo \$((40 + 2)).; exec cat'" Enter
	sees '^42\.'
	pid=$(pgrep -f "^[^ ]*sbx-exec .*--raw --tty $ENV_ID")
	are -icanon
	kill -TSTP "$pid"
	sees 'Stopped'
	keys 'stty -a >stopped; fg' Enter
	are -icanon
	keys 'inside-1' Enter
	sees '^inside-1'
	grep -q ' icanon ' "$TEST_DIR/stopped"
	# By what nobody can hold, and with a shell that has other wishes meanwhile.
	kill -STOP "$pid"
	keys 'stty sane; fg' Enter
	are -icanon
	keys 'inside-2' Enter
	sees '^inside-2'
	# In the background it is the shell's.
	kill -STOP "$pid"
	keys 'stty sane; bg; stty -a >background' Enter
	for ((i = 0; i < 50; i++)); do [ -s "$TEST_DIR/background" ] && break; sleep 0.1; done
	grep -q ' icanon ' "$TEST_DIR/background"
	kill -TERM "$pid"
}

@test "tty: a command that closes its terminal, or whose person has gone, is hung up" {
	by_design gvisor 'the terminals of its kernel do not hang up'
	provision
	in_terminal "sbx-exec --raw --tty $ENV_ID -- sh -c 'echo ready; exec <&- >&- 2>&-; sleep 60'"
	is_over
	sees '^status 129\.'
	tm kill-server
	rm "$TEST_DIR/over"

	# Nobody told us that the terminal is gone: writing to it does, and then the inside is hung up.
	in_terminal "trap '' HUP; sbx-exec --raw --tty $ENV_ID -- sh -c 'trap \"echo hup >hup; exit\" HUP; echo ready; while :; do sleep 0.1; echo more; done'"
	sees '^ready'
	tm kill-server
	for ((i = 0; i < 50; i++)); do
		pgrep -f "^[^ ]*sbx-exec .*--raw --tty $ENV_ID" >/dev/null || break
		sleep 0.1
	done
	[ "$i" -lt 50 ]
	[ "$(sbx-exec --raw "$ENV_ID" -- cat hup </dev/null)" = hup ]
}

@test "tty: a TERM that is no terminal's name stays outside" {
	provision
	in_terminal "TERM='x;y' sbx-exec --raw --tty $ENV_ID -- sh -c 'echo \"<\$TERM>\"'"
	is_over
	sees '^<dumb>'
}

@test "tty: what a program paints goes through as it is, and nothing is answered" {
	provision
	in_terminal "sbx-exec --raw --tty $ENV_ID -- sh -c 'printf \"\\033[2J\\033[5;10Hpainted\\033[1;1H\\033[6n\"; sleep 1; stty -icanon; timeout 1 dd bs=1 count=20 2>/dev/null | od -An -c >answer; printf \"\\033[10;1Hread\"; sleep 1'"
	sees '^         painted'
	# The terminal itself answers the question after its position, and nobody else does.
	sees '^read'
	is_over
	run --separate-stderr sbx-exec --raw "$ENV_ID" -- cat answer
	[ "$(grep -o 'R' <<<"$output" | wc -l)" -le 1 ]
}

@test "tty: nothing can be typed into the caller's terminal" {
	provision
	sbx-exec --stdin "$SRC/build/test/hostile/terminal" "$ENV_ID" -- \
		sh -c 'cat >terminal && chmod 700 terminal' >/dev/null
	in_terminal "sbx-exec --raw --tty --env GUEST_IN=$MECHANISM $ENV_ID -- ./terminal typing"
	is_over
	sees '^end [0-9]+'
	sees '^ok TIOCSTI on our controlling terminal'
	sees '^status 0\.'
	[ "$(grep -c ESCAPED "$TEST_DIR/screen")" -eq 0 ]
}

@test "tty: without a terminal, and with what does not go with it, it is a usage error" {
	for options in '--raw --tty' '--tty' '--raw --tty --stdin @x'; do
		# shellcheck disable=SC2086  # options
		run --separate-stderr sbx-exec $options eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true </dev/null
		[ "$status" -eq 64 ]
		[[ $stderr == *--tty* ]]
	done
}
