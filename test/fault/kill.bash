# A SIGKILL at any moment, for kill.bats: rounds with random delays that are the same again for the
# same SBX_SEED, and what must be true of an environment after each. Loaded beside helper.bash.
#
# Functions of a round say what is wrong and fail; no test relies on errexit inside of one.
# shellcheck shell=bash
# shellcheck disable=SC2154  # TEST_DIR, RUN and ENV_ID are the helper's
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside

KILL_RUNS=${SBX_KILL_RUNS:-60}

# kill_setup - the seed, said on the terminal, and a descriptor that never has anything to read.
kill_setup()
{
	SEED=${SBX_SEED:-$RANDOM}
	RANDOM=$SEED
	echo "# SBX_SEED=$SEED SBX_KILL_RUNS=$KILL_RUNS: $BATS_TEST_DESCRIPTION" >&3
	mkfifo "$TEST_DIR/never"
	exec {NEVER}<>"$TEST_DIR/never"
	HITS=0 SOCKETS='' NAMESPACE=''
}

# wait_us US - without a process, which would take a millisecond by itself.
wait_us()
{
	local seconds

	(($1 > 0)) || return 0
	printf -v seconds '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
	read -r -t "$seconds" -u "$NEVER" _ || :
}

now_us()
{
	printf -v NOW_US %s "${EPOCHREALTIME/[.,]/}"
}

# whole_us COMMAND... - how long it takes, the longest of five, in WHOLE_US; PREPARE and TIDY, if set,
# are called before and after each.
whole_us()
{
	local began times=()

	for _ in 1 2 3 4 5; do
		${PREPARE:+"$PREPARE"} || return
		now_us
		began=$NOW_US
		"$@" </dev/null >"$TEST_DIR/out" 2>"$TEST_DIR/err" || return
		now_us
		times+=($((NOW_US - began)))
		${TIDY:+"$TIDY"} || return
	done
	WHOLE_US=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p) # one that was held up says nothing
	echo "# takes $WHOLE_US us: $*" >&3
}

# rounds FUNCTION - KILL_RUNS times with a DELAY_US out of the operation's whole time and a fifth more.
# A fifth of the kills must have come before its end, or the test has shown nothing: on a machine that was
# slower when the time was taken it is done again, with less.
rounds()
{
	for _ in 1 2 3 4; do
		HITS=0
		rounds_within "$((WHOLE_US * 6 / 5))" "$1" || return
		((HITS * 5 < KILL_RUNS)) || return 0
		WHOLE_US=$((WHOLE_US / 2))
	done
	return 1
}

rounds_within()
{
	local most=$1

	shift
	for ((ROUND = 1; ROUND <= KILL_RUNS; ROUND++)); do
		DELAY_US=$(((RANDOM * 32768 + RANDOM) % most))
		"$1" || {
			echo "round $ROUND, killed after $DELAY_US of $most us: SBX_SEED=$SEED"
			return 1
		}
	done
	echo "# $HITS of $KILL_RUNS kills came before the end" >&3
}

# begin COMMAND... - in the background, as VICTIM; its record goes to $TEST_DIR/out.
begin()
{
	"$@" </dev/null >"$TEST_DIR/out" 2>"$TEST_DIR/err" 3>&- &
	VICTIM=$!
}

# finish - wait for VICTIM; its status is left in ENDED.
finish()
{
	ENDED=0
	wait "$VICTIM" 2>/dev/null || ENDED=$?
}

# kill_after US COMMAND... - what it had said stands in $TEST_DIR/out.
kill_after()
{
	local delay=$1

	shift
	begin "$@"
	wait_us "$delay"
	kill -KILL "$VICTIM" 2>/dev/null || :
	finish
	[ "$ENDED" != 137 ] || HITS=$((HITS + 1))
}

# inside ID - the processes in its control groups, which is all of them and nobody else; one that is
# dead and not waited for yet has no mounts any more.
inside()
{
	local files pid

	files=$(grep -lsE "/$1(/|\$)" /proc/[0-9]*/cgroup)
	sed -n 's,^/proc/\([0-9]*\)/.*,\1,p' <<<"$files" | while read -r pid; do
		! grep -qs . "/proc/$pid/mountinfo" || echo "$pid"
	done
}

# soon FUNCTION... - it succeeds within a second; what it says last is said.
soon()
{
	local said began

	now_us
	began=$NOW_US
	until said=$("$@"); do
		now_us
		((NOW_US - began < 1000000)) || {
			echo "not within a second: $* $said"
			return 1
		}
		wait_us 10000
	done
}

# list_is_true ID - what the list says of it is what /proc says.
list_is_true()
{
	local listed real=false

	listed=$(sbx-reap --list | jq -r --arg id "$1" 'select(.env == $id) | .alive') || return
	[ -z "$(inside "$1")" ] || real=true
	[ "${listed:-false}" = "$real" ] && return
	echo "listed as alive: ${listed:-not listed}, really: $real"
	return 1
}

# only_init ID PID - nothing of any command is left.
only_init()
{
	local found

	found=$(inside "$1")
	[ "$found" = "$2" ] && return
	echo "there are: $found"
	return 1
}

# note_init ID - its first process, and the sockets and mounts that must go with it.
note_init()
{
	INIT=$(jq -er .init_pid "$SBX_STATE/env/$1/state.json") || return
	NAMESPACE=$(readlink "/proc/$INIT/ns/mnt") &&
		SOCKETS=$(find "/proc/$INIT/fd" -lname 'socket:*' -printf '%l\n' | sed 's/[^0-9]//g')
	[ -n "$SOCKETS" ] || {
		echo "pid 1 of $1 listens nowhere"
		return 1
	}
}

# gone NAMESPACE - nobody is in it, and nobody has it open.
gone()
{
	local found

	found=$(find /proc/[0-9]*/ns/mnt /proc/[0-9]*/fd -lname "$1" 2>/dev/null)
	[ -z "$found" ] && return
	echo "its mounts live on: $found"
	return 1
}

# works ID - it runs a command and says the right thing of it.
works()
{
	local status=0

	sbx-exec --exit-code --timeout 20s "$1" -- sh -c 'echo "$((6 * 7))"; exit 3' \
		</dev/null >"$TEST_DIR/works" 2>&1 || status=$?
	[ "$status" = 3 ] && jq -e '.type == "result" and .reason == "exited" and .exit_code == 3 and
		.stdout.text == "42\n" and .limit == null and .killed == 0 and .oom == false' \
		"$TEST_DIR/works" >/dev/null && return
	echo "the next command is wrong: status $status"
	cat "$TEST_DIR/works"
	return 1
}

# released ID - sbx-reap takes down whatever there is, and nothing at all is left.
released()
{
	local status=0 socket

	sbx-reap --env "$1" >"$TEST_DIR/reap" 2>&1 || status=$?
	# 66: it died before there was anything.
	[ "$status" = 0 ] || { [ "$status" = 66 ] && [ -z "$(sbx-reap --list)" ]; } || {
		echo "sbx-reap --env: status $status"
		cat "$TEST_DIR/reap"
		return 1
	}
	(
		state=$SBX_STATE
		unset SBX_STATE # of the commands below, which are no left-overs
		nothing_left "$state"
	) || return
	for socket in $SOCKETS; do
		! grep -w "$socket" /proc/net/unix || return
	done
	[ -z "$NAMESPACE" ] || gone "$NAMESPACE" || return
	SOCKETS='' NAMESPACE=''
}
