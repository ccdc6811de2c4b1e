#!/usr/bin/env bats
# contrib/sbx-run: one command in a fresh environment, and nothing of it afterwards. With fake,
# since what is tried here is the recipe.

load helper

setup()
{
	sbx_setup
	printf 'deployment: evaluation\nmechanism: fake\n' >"$TEST_DIR/sbx.yaml"
	printf '%s\n' '{"argv":["hello"],"stdout":"hi\n","exit_code":3}' \
		'{"argv":["two words"]}' '{"argv":["slow"],"delay_ms":60000}' >"$TEST_DIR/script"
	export OPTIONS="--config $TEST_DIR/sbx.yaml --fake-script $TEST_DIR/script"
}

sbx_run()
{
	# shellcheck disable=SC2086 # several words
	run --separate-stderr timeout 60 "$SRC/contrib/sbx-run" $OPTIONS "$@" </dev/null
}

released()
{
	[ -z "$(left_directories "$SBX_STATE")" ]
}

@test "sbx-run: prints the result record and releases the environment" {
	sbx_run -- hello
	[ "$status" = 0 ]
	[ "$(wc -l <<<"$output")" = 1 ]
	[ "$(field '[.type, .exit_code, .stdout.text] | @csv')" = '"result",3,"hi'$'\n''"' ]
	released
}

@test "sbx-run: with --raw the output and the status are the command's" {
	sbx_run --raw -- hello
	[ "$status" = 3 ]
	[ "$output" = hi ]
	released
}

@test "sbx-run: argv is passed on as it is" {
	sbx_run -- 'two words'
	[ "$(field .reason)" = exited ]
	sbx_run -- two words
	[ "$(field .reason)" = start_failed ]
	released
}

@test "sbx-run: what sbx-provision refuses is answered with its record and status" {
	sbx_run --memory 0 -- hello
	[ "$status" = 65 ]
	[ "$(field .type)" = error ]
	released
}

@test "sbx-run: the common options reach all three tools, in one word or two" {
	mkdir -m 700 "$TEST_DIR/other"
	sbx_run --state "$TEST_DIR/other" -- hello
	[ "$status" = 0 ]
	sbx_run --state="$TEST_DIR/other" -- hello
	[ "$status" = 0 ]
	[ -d "$TEST_DIR/other/env" ]
	[ ! -e "$SBX_STATE/env" ]
}

@test "sbx-run: without a command it says how it is used" {
	run "$SRC/contrib/sbx-run"
	[ "$status" = 64 ]
	run "$SRC/contrib/sbx-run" --memory 64MiB --
	[ "$status" = 64 ]
	[[ $output == *"-- argv"* ]]
}

@test "sbx-run: a signal ends the command, releases the environment, and stays a signal" {
	for signal in TERM HUP; do
		# shellcheck disable=SC2086 # several words
		"$SRC/contrib/sbx-run" $OPTIONS -- slow >"$TEST_DIR/out" 2>&1 3>&- &
		pid=$!
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			[ "$(sbx-reap --list | jq -r .state)" = ready ] && break
			sleep 0.1
		done
		sleep 0.1
		kill -s "$signal" "$pid"
		status=0
		wait "$pid" || status=$?
		[ "$status" = $((128 + $(kill -l "$signal"))) ]
		released
	done
}

@test "sbx-run: a signal at any time leaves nothing" {
	for round in $(seq 15); do
		# shellcheck disable=SC2086 # several words
		"$SRC/contrib/sbx-run" $OPTIONS -- slow >"$TEST_DIR/out" 2>&1 3>&- &
		pid=$!
		sleep "0.0$(printf %02d $((round * 2)))"
		kill -TERM "$pid"
		wait "$pid" || :
		released
	done
}
