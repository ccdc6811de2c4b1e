#!/usr/bin/env bats
# SIGKILL of each process of ours, at any moment, by many rounds with random delays: nothing survives a
# release, the list tells the truth before it, and what comes next is right.
#
#	SBX_KILL_RUNS=N    rounds of each test, 60 if not set; with more, BATS_TEST_TIMEOUT may be short
#	SBX_SEED=N         the delays of another run again; it is printed at the start of each test
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside

load helper
load fault/kill

setup()
{
	sbx_setup
	skip_unless "only root can look into environments from outside" is_root
	skip_unless "native does not work here" sbx-provision --probe
	kill_setup
	provision
	FIRST=$ENV_ID
	sbx-reap --env "$FIRST" >/dev/null
}

provision_it()
{
	provision
}

release_it()
{
	sbx-reap --env "$FIRST" >/dev/null
}

# Made again from nothing, or from what a killed one left.
fresh()
{
	provision || {
		echo "the next provision failed"
		return 1
	}
	note_init "$ENV_ID" && works "$ENV_ID"
}

# ---- sbx-provision

round_of_provision()
{
	kill_after "$DELAY_US" sbx-provision --run "$RUN" --epoch 1
	soon list_is_true "$FIRST" || return
	((ROUND % 2)) || fresh || return
	released "$FIRST"
}

@test "kill: sbx-provision at any moment" {
	TIDY=release_it whole_us sbx-provision --run "$RUN" --epoch 1
	rounds round_of_provision
}

round_of_two()
{
	begin sbx-provision --run "$RUN" --epoch 1
	sbx-provision --run "$RUN" --epoch 1 </dev/null >"$TEST_DIR/second" 2>&1 3>&- &
	wait_us "$DELAY_US"
	kill -KILL "$VICTIM" 2>/dev/null || :
	finish
	[ "$ENDED" != 137 ] || HITS=$((HITS + 1))
	wait "$!" || {
		echo "the one that waited: $(cat "$TEST_DIR/second")"
		return 1
	}
	works "$FIRST" && released "$FIRST"
}

@test "kill: sbx-provision at any moment, while another one waits for it" {
	TIDY=release_it whole_us sbx-provision --run "$RUN" --epoch 1
	rounds round_of_two
}

# ---- sbx-exec

# A process more has left the session, so that the end has something to do. One that is never over is
# ended by the kill alone.
COMMAND='setsid sleep 3600 >/dev/null 2>&1 & sleep 0.02; echo done'

ENDLESS='setsid sleep 3600 >/dev/null 2>&1 & exec sleep 3600'

round_of_exec()
{
	local command=$COMMAND

	((ROUND % 2)) || command=$ENDLESS
	kill_after "$DELAY_US" sbx-exec "$ENV_ID" -- sh -c "$command"
	soon only_init "$ENV_ID" "$INIT" || return
	list_is_true "$ENV_ID" && works "$ENV_ID"
}

@test "kill: sbx-exec at any moment" {
	fresh
	whole_us sbx-exec "$ENV_ID" -- sh -c "$COMMAND"
	rounds round_of_exec
	released "$ENV_ID"
}

round_beside()
{
	kill_after "$DELAY_US" sbx-exec "$ENV_ID" -- sh -c "$COMMAND"
	kill -0 "$NEIGHBOUR" || {
		echo "the other command's sbx-exec is gone"
		return 1
	}
}

@test "kill: sbx-exec at any moment does nothing to a command beside it" {
	fresh
	whole_us sbx-exec "$ENV_ID" -- sh -c "$COMMAND"
	sbx-exec "$ENV_ID" -- sh -c 'until [ -e enough ]; do sleep 0.1; done; echo lived' \
		</dev/null >"$TEST_DIR/neighbour" 3>&- &
	NEIGHBOUR=$!
	rounds round_beside
	sbx-exec --exit-code "$ENV_ID" -- touch enough </dev/null >/dev/null
	wait "$NEIGHBOUR"
	jq -e '.reason == "exited" and .exit_code == 0 and .stdout.text == "lived\n"' \
		"$TEST_DIR/neighbour"
	released "$ENV_ID"
}

# ---- sbx-init

# What sbx-exec may say of a command whose pid 1 was killed: that it had ended before, that it is lost,
# or that it never began. That it ended otherwise is a lie.
answer_is_true()
{
	jq -es --argjson status "$ENDED" 'length == 1 and (.[0] |
		if .type == "error" then $status == 125 and .code == "unavailable" and .executed == "no"
		elif .reason == "lost" then
			$status == 125 and .exit_code == null and .signal == null and .oom == false
		else .reason == "exited" and .exit_code == 3 and $status == 3 and
			.stdout.text == "done\n" and .oom == false end)' "$TEST_DIR/out" >/dev/null && return
	echo "sbx-exec: status $ENDED: $(cat "$TEST_DIR/out" "$TEST_DIR/err")"
	return 1
}

is_not_alive()
{
	sbx-reap --list | jq -e "select(.env == \"$1\") | .state == \"ready\" and (.alive | not)"
}

round_of_init()
{
	local dead

	fresh || return
	dead=$INIT
	begin sbx-exec --exit-code "$ENV_ID" -- sh -c "$COMMAND; exit 3"
	wait_us "$DELAY_US"
	kill -KILL "$dead"
	finish
	[ "$ENDED" = 3 ] || HITS=$((HITS + 1))
	answer_is_true && soon is_not_alive "$ENV_ID" && list_is_true "$ENV_ID" || return
	((ROUND % 2)) || remade "$dead" || return
	released "$ENV_ID"
}

# remade PID - provisioning the same tuple again makes a fresh one, with another first process.
remade()
{
	sbx-provision --run "$RUN" --epoch 1 </dev/null >"$TEST_DIR/again" 2>"$TEST_DIR/err" &&
		jq -e '.created' "$TEST_DIR/again" >/dev/null && note_init "$ENV_ID" &&
		[ "$INIT" != "$1" ] && works "$ENV_ID" && return
	echo "made again: $(cat "$TEST_DIR/again" "$TEST_DIR/err")"
	return 1
}

@test "kill: sbx-init at any moment of a command" {
	fresh
	whole_us sbx-exec "$ENV_ID" -- sh -c "$COMMAND"
	released "$ENV_ID"
	rounds round_of_init
}

failed_clean()
{
	jq -e '.type == "error" and .executed == "no"' "$TEST_DIR/out" >/dev/null &&
		[ -z "$(sbx-reap --list)" ] && return
	echo "sbx-provision: status $ENDED: $(cat "$TEST_DIR/out" "$TEST_DIR/err")"
	return 1
}

# Its maker says so and leaves nothing, or had made it before.
round_of_newborn()
{
	local child=

	begin sbx-provision --run "$RUN" --epoch 1
	wait_us "$DELAY_US"
	read -r child 2>/dev/null <"/proc/$VICTIM/task/$VICTIM/children" || :
	if [ -n "$child" ] && kill -KILL "$child" 2>/dev/null; then
		HITS=$((HITS + 1))
	fi
	finish
	if [ "$ENDED" = 0 ]; then
		soon list_is_true "$FIRST" && fresh || return
	else
		failed_clean || return
	fi
	released "$FIRST"
}

@test "kill: sbx-init at any moment of its making" {
	TIDY=release_it whole_us sbx-provision --run "$RUN" --epoch 1
	rounds round_of_newborn
}

# ---- sbx-reap

round_of_reap()
{
	fresh || return
	kill_after "$DELAY_US" sbx-reap --env "$ENV_ID"
	soon list_is_true "$ENV_ID" && released "$ENV_ID"
}

@test "kill: sbx-reap at any moment" {
	PREPARE=provision_it whole_us sbx-reap --env "$FIRST"
	rounds round_of_reap
}
