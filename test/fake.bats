#!/usr/bin/env bats
# The mechanism fake: what a harness sees when commands are answered from a script, and that the
# rules keep it out of every deployment but evaluation.
# shellcheck disable=SC2154  # bats sets stderr

load helper

setup()
{
	sbx_setup
	printf 'deployment: evaluation\nmechanism: fake\n' >"$TEST_DIR/sbx.yaml"
	export CONFIG=$TEST_DIR/sbx.yaml
}

# script LINE... - the canned results of this test's environment, which is made then.
script()
{
	printf '%s\n' "$@" >"$TEST_DIR/script"
	provision --config "$CONFIG" --fake-script "$TEST_DIR/script"
}

exec_fake()
{
	run --separate-stderr timeout 20 sbx-exec --config "$CONFIG" "$@" </dev/null
}

refused()
{
	printf '%s\n' "$1" >"$TEST_DIR/script"
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/script"
	[ "$status" = 65 ]
	# A pattern, on purpose.
	# shellcheck disable=SC2053
	[[ $(field .message) == $2 ]] || {
		echo "got: $output"
		return 1
	}
}

@test "fake: the first line that has a command's argv answers it, exactly" {
	script '{"argv":["greet","you"],"stdout":"hello\n","stderr":"psst","exit_code":3}' \
		'{"argv":["greet"],"stdout":"nobody\n"}' \
		'{"argv":["greet","you"],"stdout":"never\n"}'
	exec_fake "$ENV_ID" -- greet you
	[ "$status" = 0 ]
	[ "$(field '[.reason, .exit_code, .stdout.text, .stderr.text] | @csv')" = \
		'"exited",3,"hello'$'\n''","psst"' ]
	exec_fake "$ENV_ID" -- greet
	[ "$(field .stdout.text)" = "nobody" ]
}

@test "fake: a line without argv answers any command" {
	script '{"argv":["one"],"exit_code":1}' '{"exit_code":2}'
	exec_fake "$ENV_ID" -- something --else
	[ "$(field .exit_code)" = 2 ]
}

@test "fake: a command that no line answers is a program that is missing" {
	script '{"argv":["one"]}'
	exec_fake "$ENV_ID" -- two
	[ "$(field .reason)" = start_failed ]
	run -127 sbx-exec --config "$CONFIG" --exit-code "$ENV_ID" -- two
}

@test "fake: a command ends by its signal, or as if by the memory limit" {
	script '{"argv":["term"],"signal":15}' '{"argv":["eat"],"oom":true}'
	exec_fake "$ENV_ID" -- term
	[ "$(field '[.reason, .signal, .oom] | @csv')" = '"signal",15,false' ]
	exec_fake "$ENV_ID" -- eat
	[ "$(field '[.reason, .signal, .oom, .limit] | @csv')" = '"memory",9,true,"memory"' ]
}

@test "fake: a delay is real, and so is the time limit that ends it" {
	script '{"argv":["slow"],"stdout":"begun\n","delay_ms":60000}' \
		'{"argv":["short"],"delay_ms":150}'
	exec_fake --timeout 300ms "$ENV_ID" -- slow
	[ "$(field '[.reason, .stdout.text] | @csv')" = '"timeout","begun'$'\n''"' ]
	exec_fake "$ENV_ID" -- short
	[ "$(field '.reason')" = exited ]
	[ "$(field '.usage.wall_ms')" -ge 150 ]
}

@test "fake: more output than a pipe holds arrives whole" {
	jq -nc '{stdout: ("0123456789" * 30000), stderr: ("e" * 200000)}' >"$TEST_DIR/script"
	provision --config "$CONFIG" --fake-script "$TEST_DIR/script"
	exec_fake "$ENV_ID" -- any
	[ "$(field '[.stdout.bytes, .stderr.bytes] | @csv')" = 300000,200000 ]
	timeout 20 sbx-exec --config "$CONFIG" --raw "$ENV_ID" -- any 2>/dev/null >"$TEST_DIR/out"
	cmp "$TEST_DIR/out" <(jq -j .stdout "$TEST_DIR/script")
}

@test "fake: output goes to whatever the descriptors are, also when they are crossed" {
	script '{"stdout":"out","stderr":"err"}'
	timeout 20 sbx-exec --config "$CONFIG" --raw "$ENV_ID" -- any 3>&1 1>"$TEST_DIR/e" 2>"$TEST_DIR/o"
	[ "$(cat "$TEST_DIR/e")" = out ]
	[ "$(cat "$TEST_DIR/o")" = err ]
}

@test "fake: what is enforced is said, and it is only fake" {
	script '{}'
	exec_fake "$ENV_ID" -- any
	[ "$(field '.enforced | @csv')" = '"fake"' ]
}

@test "fake: a script is checked when the environment is made, and its line is named" {
	refused '{"argv":["a"]}'$'\n\n''{"argv":["b"],"exit":1}' 'fake_script:3: *"exit"*'
	refused '{"argv":[]}' 'fake_script:1: argv: must be an array of 1 to 1024 strings'
	refused '{"argv":[1]}' 'fake_script:1: argv: must be a string*'
	refused '{"exit_code":256}' 'fake_script:1: line.exit_code: *'
	refused '{"exit_code":1,"signal":9}' 'fake_script:1: only one of exit_code, signal and oom*'
	refused '{"signal":19}' 'fake_script:1: signal: 19 does not end a command'
	refused '{"delay_ms":3600001}' 'fake_script:1: line.delay_ms: *'
	refused '{' 'fake_script:1: *'
	refused "$(yes '{}' | head -n 1025)" 'fake_script has over 1024 lines'
	[ ! -e "$SBX_STATE/env" ] || [ -z "$(ls -A "$SBX_STATE/env")" ]
}

@test "fake: a script that is missing, a pipe or too large is refused by name" {
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN"
	[ "$status" = 65 ]
	[ "$(field .message)" = "mechanism fake needs fake_script" ]
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" --fake-script /none
	[ "$status" = 66 ]
	mkfifo "$TEST_DIR/fifo"
	run --separate-stderr timeout 5 sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/fifo"
	[ "$status" = 65 ]
	[[ $(field .message) == *"not a regular file" ]]
	head -c 1048577 /dev/zero >"$TEST_DIR/large"
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/large"
	[ "$status" = 65 ]
	[ "$(field .code)" = too_large ]
}

@test "fake: outside evaluation it is denied before anything is built" {
	echo '{}' >"$TEST_DIR/script"
	for deployment in development production; do
		echo "deployment: $deployment" >"$CONFIG"
		run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" --mechanism fake \
			--fake-script "$TEST_DIR/script"
		[ "$status" = 77 ]
		[ "$(field .message)" = "mechanism fake is not allowed in deployment $deployment" ]
		[ -z "$(find "$SBX_STATE" -mindepth 2)" ]
	done
}

@test "fake: storage in memory is for fake alone, and means that nothing reaches a disk" {
	echo '{}' >"$TEST_DIR/script"
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" --mechanism native \
		--storage memory
	[ "$status" = 77 ]
	[ "$(field .message)" = "storage memory is only for mechanism fake, not for native" ]
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip "/dev/shm is no tmpfs"
	state=$(mktemp -d /dev/shm/sbx-test.XXXXXX)
	run --separate-stderr sbx-provision --config "$CONFIG" --state "$state" --run "$RUN" \
		--storage memory --fake-script "$TEST_DIR/script"
	made=$status
	sbx-reap --config "$CONFIG" --state "$state" --env "$(field .env)"
	rm -r "$state"
	[ "$made" = 0 ]
}

@test "fake: the commands of a killed sbx-exec end with it" {
	script '{"delay_ms":60000}'
	sbx-exec --config "$CONFIG" "$ENV_ID" -- any >/dev/null 3>&- &
	tool=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		player=$(pgrep -P "$tool") && break
		sleep 0.1
	done
	[ -n "$player" ]
	kill -KILL "$tool"
	wait "$tool" || :
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		# A zombie is dead: whoever inherited it takes its time to look.
		grep -qs '^State:.[^Z]' "/proc/$player/status" || return 0
		sleep 0.1
	done
	false
}

@test "fake: what it has not got is refused by name" {
	script '{"argv":["true"]}'
	exec_fake --background "$ENV_ID" -- true
	[ "$status" -eq 69 ]
	field '.code == "unavailable" and (.message | test("fake.*beyond its command"))'
	exec_fake --list-background "$ENV_ID"
	[ "$status" -eq 69 ]
	exec_fake --get x "$ENV_ID"
	[ "$status" -eq 69 ]
	[[ $stderr == *'no workspace'* ]]
}
