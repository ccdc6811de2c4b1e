#!/usr/bin/env bats
# What sbx-provision makes of a spec, and what it refuses by name. Most of it is the same for every
# mechanism, so it is tried with fake, which needs no rights; what native adds has tests of its own.

load helper

NATIVE=()

setup()
{
	sbx_setup
	printf 'deployment: evaluation\nmechanism: fake\n' >"$TEST_DIR/sbx.yaml"
	export CONFIG=$TEST_DIR/sbx.yaml
	# Native as a plain user: without a group that was delegated to us.
	is_root || echo 'cgroup: best-effort' >"$TEST_DIR/native.yaml"
	is_root || NATIVE=(--config "$TEST_DIR/native.yaml")
	echo '{}' >"$TEST_DIR/script"
}

# spec JSON - sbx-provision with this text on stdin.
spec()
{
	run --separate-stderr timeout 60 sbx-provision --config "$CONFIG" <<<"$1"
}

# fake OPTIONS... - sbx-provision of this test's run with these options more.
fake()
{
	run --separate-stderr timeout 60 sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/script" "$@"
}

# is FILTER - true of the record.
is()
{
	jq -e "$1" >/dev/null <<<"$output" || {
		echo "not $1: status $status, $output $stderr"
		return 1
	}
}

# refused STATUS CODE PATTERN - an error record and its text on stderr, and nothing was made.
refused()
{
	[ "$status" = "$1" ] && is ".code == \"$2\"" || return 1
	# shellcheck disable=SC2053 # a pattern, on purpose
	[[ $(field .message) == $3 ]] || {
		echo "got: $(field .message)"
		return 1
	}
	[ -n "$stderr" ]
	nothing_made
}

nothing_made()
{
	[ ! -d "$SBX_STATE/env" ] || [ -z "$(ls -A "$SBX_STATE/env")" ]
}

@test "provision: a spec on stdin, in a file or as options gives one env record" {
	spec "{\"run\":\"$RUN\",\"epoch\":3,\"fake_script\":\"$TEST_DIR/script\",\"limits\":{\"memory\":\"64MiB\"}}"
	[ "$status" = 0 ]
	[ "$(wc -l <<<"$output")" = 1 ]
	is '.type == "env" and .created and .state == "ready" and .epoch == 3 and
		.tenant == "default" and .limits.memory_bytes == 67108864 and .timing_us.total > 0'
	printf '{"fake_script":"%s","limits":{"memory":"64MiB"},"epoch":3,"run":"%s"}' \
		"$TEST_DIR/script" "$RUN" >"$TEST_DIR/spec"
	run --separate-stderr sbx-provision --config "$CONFIG" --spec "$TEST_DIR/spec"
	is '.created == false'
	fake --epoch 3 --memory 64MiB
	is '.created == false'
}

@test "provision: the same tuple and spec give the same environment" {
	fake --tenant t1
	is .created
	first=$(jq -c 'del(.created, .timing_us)' <<<"$output")
	fake --tenant t1
	is '.created == false'
	[ "$(jq -c 'del(.created, .timing_us)' <<<"$output")" = "$first" ]
	fake --tenant t2
	is .created
	fake --tenant t1 --epoch 1
	is .created
	[ "$(find "$SBX_STATE/env" -mindepth 1 -maxdepth 1 | wc -l)" = 3 ]
}

@test "provision: another spec for the same tuple is a conflict" {
	fake
	is .created
	fake --memory 64MiB
	[ "$status" = 65 ]
	is '.code == "conflict" and .retry == "never" and .executed == "no"'
	[[ $(field .message) == e*" exists with another spec" ]]
	fake
	is '.created == false'
}

@test "provision: of many that race one makes the environment and all get it" {
	racers=()
	for i in 1 2 3 4 5 6 7 8; do
		timeout 60 sbx-provision --config "$CONFIG" --run "$RUN" \
			--fake-script "$TEST_DIR/script" >"$TEST_DIR/race.$i" 3>&- &
		racers+=($!)
	done
	# By name: bats' own watch over the time is a job of this shell too.
	wait "${racers[@]}"
	[ "$(cat "$TEST_DIR"/race.* | jq -s 'map(select(.created)) | length')" = 1 ]
	[ "$(cat "$TEST_DIR"/race.* | jq -s 'map(select(.type == "env")) | length')" = 8 ]
	[ "$(cat "$TEST_DIR"/race.* | jq -r .env | sort -u | wc -l)" = 1 ]
}

@test "provision: an epoch below the recorded one is stale, also after its release" {
	fake --epoch 5
	sbx-reap --env "$(field .env)"
	fake --epoch 4
	refused 77 stale_epoch '*4*5*'
	fake --epoch 5
	is .created
}

@test "provision: one that is made waits for the one that works on it" {
	fake
	id=$(field .env)
	flock "$SBX_STATE/env/$id/lock" sleep 1 &
	holder=$!
	sleep 0.2
	began=$(date +%s%N)
	fake
	is '.created == false'
	[ $((($(date +%s%N) - began) / 1000000)) -ge 500 ]
	wait "$holder"
}

@test "provision: what was left half made is made again" {
	fake
	id=$(field .env)
	for state in provisioning failed; do
		sed -i "s/\"state\":\"[a-z]*\"/\"state\":\"$state\"/" "$SBX_STATE/env/$id/state.json"
		touch "$SBX_STATE/env/$id/workspace/stranger"
		fake
		is '.created and .state == "ready"'
		[[ $stderr == *"was left $state"* ]]
		[ ! -e "$SBX_STATE/env/$id/workspace/stranger" ]
	done
	echo '{' >"$SBX_STATE/env/$id/state.json"
	fake
	is .created
	rm "$SBX_STATE/env/$id/state.json"
	rm -r "$SBX_STATE/env/$id/workspace"
	fake
	is .created
}

@test "provision: one that is being released is refused" {
	fake
	id=$(field .env)
	sed -i 's/"state":"ready"/"state":"releasing"/' "$SBX_STATE/env/$id/state.json"
	fake
	[ "$status" = 75 ]
	is '.code == "releasing" and .retry == "later"'
}

@test "provision: one past its expiry is refused until it is released" {
	fake --expires 1s
	id=$(field .env)
	sleep 1.2
	fake --expires 1s
	[ "$status" = 77 ]
	is ".code == \"expired\" and (.hint | contains(\"sbx-reap --env $id\"))"
	sbx-reap --env "$id"
	fake --expires 1s
	is .created
}

@test "provision: the workspace begins with a private marker" {
	fake
	marker=$SBX_STATE/env/$(field .env)/workspace/.agent-initialized
	[ "$(stat -c %a "$marker")" = 600 ]
}

@test "provision: a malformed spec is refused, and where is said" {
	spec '{"run":"a"'
	refused 65 bad_request 'spec: *'
	spec '{"run":"a",}'
	refused 65 bad_request 'spec: *'
	spec '{"run":"a"} {"run":"b"}'
	refused 65 bad_request 'spec: *'
	spec '[]'
	refused 65 bad_request 'spec: *'
	spec ''
	refused 65 bad_request 'spec: *'
	spec '{}'
	refused 65 bad_request '*run*'
}

@test "provision: an oversized spec is refused by its size" {
	head -c 1048577 /dev/zero | tr '\0' ' ' >"$TEST_DIR/large"
	run --separate-stderr sbx-provision --config "$CONFIG" --spec "$TEST_DIR/large"
	refused 65 too_large 'spec*'
}

@test "provision: unknown and duplicate keys and wrong types are refused by name" {
	spec '{"run":"a","colour":1}'
	refused 65 bad_request '*"colour"*'
	spec '{"run":"a","limits":{"disk":1}}'
	refused 65 bad_request '*"disk"*'
	spec '{"run":"a","run":"b"}'
	refused 65 bad_request '*"run"*'
	spec '{"run":1}'
	refused 65 bad_request 'spec.run: must be a string'
	spec '{"run":"a","epoch":"1"}'
	refused 65 bad_request 'spec.epoch: *'
	spec '{"run":"a b"}'
	refused 65 bad_request 'spec.run: *'
	spec '{"run":"a","mechanism":"jail"}'
	refused 65 bad_request 'spec.mechanism: *'
}

@test "provision: absurd limits are refused by name, value and range" {
	for value in 0 -1 18446744073709551616 1e99 1.5 '"64QiB"' '"-1"' null true; do
		spec "{\"run\":\"a\",\"limits\":{\"memory\":$value}}"
		refused 65 bad_request '*limits.memory: *'
	done
	for limit in memory=0 memory=1TiB cpus=0 cpus=-1 cpus=1000000 pids=0 pids=-1 \
		pids=18446744073709551616 timeout=0 timeout=9999d workspace-bytes=0 \
		workspace-inodes=0 expires=0 tmp-bytes=0; do
		fake "--$limit"
		refused 65 bad_request '*'
	done
	spec '{"run":"a","epoch":-1}'
	refused 65 bad_request 'spec.epoch: *'
	spec '{"run":"a","epoch":9223372036854775808}'
	refused 65 bad_request 'spec.epoch: *'
	fake --epoch 9223372036854775808
	refused 65 bad_request '--epoch: *'
}

@test "provision: an image is a digest, a tag is refused with what to do" {
	fake --image python:3
	refused 65 bad_request '*"python:3"*'
	is '.hint | contains("--resolve")'
}

@test "provision: an image that is not there is refused by its digest" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	digest=sha256:$(printf %064d 7)
	run --separate-stderr sbx-provision "${NATIVE[@]}" --run "$RUN" --mechanism native --image "$digest"
	refused 66 not_found "*$digest*"
}

@test "provision: variables are NAME=VALUE, once, and never credentials" {
	fake --env A=1 -e B=two=2
	is .created
	fake --epoch 1 --env A
	[ "$status" = 64 ]
	fake --epoch 1 --env A=1 --env A=2
	[ "$status" = 65 ]
	[[ $(field .message) == *'"A"'* ]]
	fake --epoch 1 --env AWS_SECRET_ACCESS_KEY=x
	[ "$status" = 77 ]
	[[ $(field .message) == *AWS_SECRET_ACCESS_KEY* ]]
}

@test "provision: a state directory that others may write is denied" {
	chmod 0777 "$SBX_STATE"
	fake
	[ "$status" = 77 ]
	is '.code == "denied"'
	[[ $(field .message) == *"$SBX_STATE"* ]]
	chmod 0700 "$SBX_STATE"
	[ -z "$(ls -A "$SBX_STATE")" ]
}

@test "provision: a configuration that others may write, or that is wrong, is refused by its line" {
	chmod 0666 "$CONFIG"
	fake
	[ "$status" = 78 ]
	chmod 0600 "$CONFIG"
	printf 'deployment: evaluation\nmechanisms: fake\n' >"$CONFIG"
	fake
	[ "$status" = 78 ]
	[[ $(field .message) == *"sbx.yaml:2:"*mechanisms* ]]
	fake --config /none
	[ "$status" = 64 ] # given twice
	run --separate-stderr sbx-provision --config /none --run "$RUN"
	[ "$status" = 78 ] || [ "$status" = 66 ]
}

@test "provision: mechanisms that are not here are refused by name, with the rule first" {
	run --separate-stderr sbx-provision --run "$RUN" --mechanism bwrap
	refused 69 unavailable 'mechanism bwrap is not part of this version'
	run --separate-stderr sbx-provision --run "$RUN" --mechanism microvm
	refused 69 unconfigured 'mechanism microvm is not configured'
	is '.hint | contains("/dev/kvm")'
	echo 'deployment: production' >"$CONFIG"
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN" --mechanism docker
	refused 77 denied 'mechanism docker is not allowed in deployment production'
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN"
	refused 77 denied "mechanism native shares the host's kernel: *"
}

@test "provision: production that accepts the shared kernel is told so" {
	skip_unless "native does not work here" sbx-provision --probe
	printf 'deployment: production\naccept_shared_kernel: true\n' >"$CONFIG"
	is_root || echo 'cgroup: best-effort' >>"$CONFIG"
	run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN"
	is .created
	[[ $stderr == *"shares this host's kernel"* ]]
}

@test "provision: a signal while it waits ends it by that signal and leaves nothing" {
	fake
	id=$(field .env)
	flock "$SBX_STATE/env/$id/lock" sleep 5 &
	holder=$!
	sleep 0.2
	sbx-provision --config "$CONFIG" --run "$RUN" --fake-script "$TEST_DIR/script" \
		>"$TEST_DIR/out" 2>&1 3>&- &
	pid=$!
	sleep 0.3
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" = 143 ]
	kill "$holder"
	wait "$holder" || true
	fake
	is '.created == false'
}

@test "provision: a signal at any time leaves an environment that is ready, or nothing" {
	for round in $(seq 40); do
		sbx-provision --config "$CONFIG" --run "$RUN" --epoch "$round" \
			--fake-script "$TEST_DIR/script" >"$TEST_DIR/out" 2>/dev/null 3>&- &
		pid=$!
		sleep "0.00$((round % 10))"
		kill -TERM "$pid" 2>/dev/null || :
		wait "$pid" || :
		sbx-reap --list >"$TEST_DIR/list"
		[ "$(jq -r .state "$TEST_DIR/list" | grep -vc '^ready$')" = 0 ]
		jq -r .env "$TEST_DIR/list" | xargs -r -n 1 sbx-reap --env >/dev/null
	done
	nothing_made
}

@test "provision: a signal while it builds takes down what was made, and then ends it" {
	skip_unless "strace is missing" strace -V
	# The renames are the lease's, the spec's, the record's and the script's.
	for n in 2 3 4; do
		run --separate-stderr strace -qq -o /dev/null -e trace=renameat \
			-e inject="renameat:signal=TERM:when=$n" sbx-provision --config "$CONFIG" \
			--run "$RUN" --fake-script "$TEST_DIR/script"
		[ "$status" = 143 ]
		is '.code == "cancelled" and .executed == "no"'
		nothing_made
	done
}

@test "provision: a signal while native builds leaves nothing, or one that is ready" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	for round in $(seq 20); do
		sbx-provision "${NATIVE[@]}" --run "$RUN" --epoch "$round" >"$TEST_DIR/out" 2>/dev/null 3>&- &
		pid=$!
		sleep "0.00$((round % 10))"
		kill -TERM "$pid" 2>/dev/null || :
		wait "$pid" || :
		sbx-reap --list >"$TEST_DIR/list"
		[ "$(jq -r .state "$TEST_DIR/list" | grep -vc '^ready$')" = 0 ]
		jq -r .env "$TEST_DIR/list" | while read -r id; do
			remember "$id"
			sbx-reap --env "$id" >/dev/null
		done
	done
	nothing_made
	[ -z "$(ls -A "$SBX_STATE/slot")" ]
}

@test "provision: a SIGKILL leaves what the next provision or release clears away" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	for round in $(seq 20); do
		sbx-provision "${NATIVE[@]}" --run "$RUN" --epoch 1 >"$TEST_DIR/out" 2>/dev/null 3>&- &
		pid=$!
		sleep "0.00$((round % 10))"
		kill -KILL "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
		if [ $((round % 2)) = 0 ]; then
			provision "${NATIVE[@]}"
			sbx-reap --env "$ENV_ID" >/dev/null
		else
			sbx-reap --list | jq -r .env | while read -r id; do
				remember "$id"
				sbx-reap --env "$id" >/dev/null
			done
		fi
		nothing_made
	done
}

@test "provision: killed at any system call, a release finds all that it made" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	skip_unless "strace is missing" strace -V
	# What only the first of a size does is test/quota_native.bats's.
	provision "${NATIVE[@]}" --epoch 0
	sbx-reap --env "$ENV_ID" >/dev/null
	# A line a call, each with how many of its kind came before; the first run shows them all.
	strace -qq -o "$TEST_DIR/calls" sbx-provision "${NATIVE[@]}" --run "$RUN" >"$TEST_DIR/out"
	remember "$(jq -r .env "$TEST_DIR/out")"
	sbx-reap --env "$(jq -r .env "$TEST_DIR/out")" >/dev/null
	sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' "$TEST_DIR/calls" | grep -v -e '^exec' -e '^exit' |
		awk '{ print $1, ++count[$1] }' | awk 'NR % 4 == 0' >"$TEST_DIR/places"
	[ "$(wc -l <"$TEST_DIR/places")" -gt 20 ]
	while read -r call n; do
		strace -qq -o /dev/null -e trace="$call" -e inject="$call:signal=KILL:when=$n" \
			sbx-provision "${NATIVE[@]}" --run "$RUN" >"$TEST_DIR/out" 2>&1 </dev/null 3>&- || :
		sbx-reap --list | jq -r .env | xargs -r -n 1 sbx-reap --env >/dev/null
		[ -z "$(left_directories "$SBX_STATE")" ] || {
			echo "killed at $call $n:"
			left_directories "$SBX_STATE"
			return 1
		}
	done <"$TEST_DIR/places"
}

@test "provision: stdout that is closed or full is an error, and nothing is left" {
	run bash -c 'sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/script" >&-'
	[ "$status" = 71 ]
	[[ $output == *"stdout is closed"* ]]
	nothing_made
	run bash -c 'sbx-provision --config "$CONFIG" --run "$RUN" \
		--fake-script "$TEST_DIR/script" >/dev/full'
	[ "$status" = 71 ]
	[[ $output == *"stdout: No space left on device"* ]]
	nothing_made
}

@test "provision: a spec is given in one way" {
	fake --spec -
	[ "$status" = 64 ]
	[[ $(field .message) == "--spec and --"*": a spec is given in one way" ]]
	run --separate-stderr sbx-provision --config "$CONFIG" --memory 64MiB
	[ "$status" = 64 ]
	[ "$(field .message)" = "--memory needs --run" ]
	run --separate-stderr sbx-provision --config "$CONFIG" spec.json
	[ "$status" = 64 ]
	run --separate-stderr sbx-provision --colour
	[ "$status" = 64 ]
	[[ $(field .message) == *--colour* ]]
	run --separate-stderr sbx-provision --spec /none
	[ "$status" = 66 ]
}

@test "provision: --probe answers for all mechanisms, as a record and as a table" {
	run --separate-stderr sbx-provision --probe
	is '.type == "probe" and .deployment == "development"'
	is '[.mechanisms[].mechanism] == ["native","bwrap","docker","gvisor","microvm","fake"]'
	is '[.mechanisms[] | select(.configured).mechanism] == ["native"]'
	is '.works == ([.mechanisms[0].items[] | select(.required).works] | all)'
	is '[.mechanisms[].items[] | select(.works | not) | .fix] | all(. != "")'
	[ "$status" = "$(jq 'if .works then 0 else 69 end' <<<"$output")" ]
	run --separate-stderr sbx-provision --probe --table
	[[ ${lines[0]} == "native (configured): "* ]]
	[[ $output == *"bwrap: mechanism bwrap is not part of this version"* ]]
}

@test "provision: --probe fails where a rule forbids the configured mechanism" {
	echo 'deployment: production' >"$CONFIG"
	run --separate-stderr sbx-provision --config "$CONFIG" --probe
	[ "$status" = 69 ]
	is '.works == false'
	is '.mechanisms[0].hint | contains("accept_shared_kernel")'
}

@test "provision: --help has every option of the manual page and no other" {
	diff <(sbx-provision --help | grep -o -e '--[a-z-]*' | sort -u) \
		<(sed -n 's/^\.It.*Fl Fl \([a-z-]*\).*/--\1/p' "$SRC/man/sbx-provision.8" | sort -u)
	run sbx-provision --version
	[[ $output == "sbx-provision "[0-9]* ]]
}

@test "provision: the examples of the manual page work" {
	skip_unless "native does not work here" sbx-provision --probe
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$SRC/man/sbx-provision.8" |
		sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.' >"$TEST_DIR/example"
	run --separate-stderr bash -euo pipefail "$TEST_DIR/example"
	[ "$status" = 0 ]
	[[ $output == *'"text":"hello\n"'* ]]
	[ "$(tail -n 1 <<<"$output" | jq -r .type)" = env ]
}
