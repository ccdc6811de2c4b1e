#!/usr/bin/env bats
# How environments end and how they are listed.

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
	echo '{"delay_ms":60000}' >"$TEST_DIR/script"
}

# fake OPTIONS... - an environment of this test's run, made with fake; its id is left in $ENV_ID.
fake()
{
	provision --config "$CONFIG" --fake-script "$TEST_DIR/script" "$@"
}

reap()
{
	run --separate-stderr timeout 60 sbx-reap "$@"
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" || {
		echo "not $1: status $status, $output $stderr"
		return 1
	}
}

@test "reap: a release answers with one record and leaves nothing" {
	fake --tenant t1
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	[ "$(wc -l <<<"$output")" = 1 ]
	is ".type == \"reaped\" and .env == \"$ENV_ID\" and .tenant == \"t1\" and .run == \"$RUN\" and
		.epoch == 1 and .mechanism == \"fake\" and .reason == \"released\" and .ok"
	is '[.parts[].part] == ["mechanism","workspace","slot","directory"] and ([.parts[].gone] | all)'
	[ -z "$(left_directories "$SBX_STATE")" ]
}

@test "reap: a release of native leaves no process, mount, group or slot" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	provision "${NATIVE[@]}"
	timeout 20 sbx-exec "${NATIVE[@]}" "$ENV_ID" -- sh -c 'mkdir -p a/b; echo x >a/b/c; chmod 0 a/b' >"$TEST_DIR/out"
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	is '.ok'
	nothing_left "$SBX_STATE"
}

@test "reap: a release ends the command that runs" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	provision "${NATIVE[@]}"
	timeout 60 sbx-exec "${NATIVE[@]}" "$ENV_ID" -- sleep 50 >"$TEST_DIR/out" 2>/dev/null 3>&- &
	command=$!
	sleep 0.5
	reap --env "$ENV_ID"
	is '.ok'
	wait "$command" || :
	is_lost=$(jq -r .reason "$TEST_DIR/out")
	[ "$is_lost" = lost ] || [ "$is_lost" = signal ]
}

@test "reap: a second release is not_found" {
	fake
	sbx-reap --env "$ENV_ID"
	reap --env "$ENV_ID"
	[ "$status" = 66 ]
	is '.type == "error" and .code == "not_found"'
	[ "$(field .message)" = "there is no environment $ENV_ID" ]
}

@test "reap: what is no id is refused, and no path is ever made of it" {
	for id in '' x ../env . eAAAAAAAAAAAAAAAAAAAAAAAAAA "e$(printf %026d 1)" \
		"$(head -c 4096 /dev/zero | tr '\0' e)"; do
		reap --env "$id"
		[ "$status" = 65 ]
		is '.code == "bad_request"'
	done
}

@test "reap: a release that was cut short is finished by the next" {
	fake
	sed -i 's/"state":"ready"/"state":"releasing"/' "$SBX_STATE/env/$ENV_ID/state.json"
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	is .ok
}

@test "reap: an environment with a damaged record, or without one, can be released" {
	fake
	echo '{"version":' >"$SBX_STATE/env/$ENV_ID/state.json"
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	is .ok
	[ -n "$stderr" ]
	fake
	rm "$SBX_STATE/env/$ENV_ID/state.json"
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	[ -z "$(ls -A "$SBX_STATE/env")" ]
}

@test "reap: a record of a newer version is left alone" {
	fake
	cp "$SBX_STATE/env/$ENV_ID/state.json" "$TEST_DIR/state.json"
	sed -i 's/"version":[0-9]*/"version":99/' "$SBX_STATE/env/$ENV_ID/state.json"
	reap --env "$ENV_ID"
	[ "$status" = 69 ]
	is '.code == "unavailable"'
	reap --list
	is '.state == "unreadable" and (.error | contains("99"))'
	cp "$TEST_DIR/state.json" "$SBX_STATE/env/$ENV_ID/state.json"
}

@test "reap: a part that cannot go keeps the record, says why, and goes the next time" {
	is_root || skip_unless "mounts take root" false
	fake
	mount -t tmpfs none "$SBX_STATE/env/$ENV_ID/workspace"
	reap --env "$ENV_ID"
	umount "$SBX_STATE/env/$ENV_ID/workspace"
	[ "$status" = 75 ]
	is '.type == "reaped" and (.ok | not)'
	is '[.parts[] | select(.gone).part] == ["mechanism"]'
	is '.parts[] | select(.part == "workspace").error | contains("workspace")'
	[ "$(jq -r .state "$SBX_STATE/env/$ENV_ID/state.json")" = failed ]
	[ "$(jq -r .code "$SBX_STATE/env/$ENV_ID/log.ndjson")" = busy ]
	reap --list
	is '.state == "failed"'
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	is .ok
}

@test "reap: an environment that filled the disk can be released" {
	is_root || skip_unless "mounts take root" false
	mount -t tmpfs -o mode=700,size=64k none "$SBX_STATE"
	fake
	head -c 100000 /dev/zero >"$SBX_STATE/env/$ENV_ID/workspace/full" || :
	reap --env "$ENV_ID"
	left=$(left_directories "$SBX_STATE")
	umount "$SBX_STATE"
	[ "$status" = 0 ]
	is .ok
	[ -z "$left" ]
	[[ $stderr == *"No space left on device"* ]]
}

@test "reap: two releases at once: one does it, both end" {
	fake
	racers=()
	for i in 1 2; do
		timeout 60 sbx-reap --env "$ENV_ID" >"$TEST_DIR/reap.$i" 2>/dev/null 3>&- &
		racers+=($!)
	done
	for i in "${racers[@]}"; do
		wait "$i" || true
	done
	[ "$(cat "$TEST_DIR"/reap.* | jq -s 'map(select(.type == "reaped" and .ok)) | length')" = 1 ]
	[ "$(cat "$TEST_DIR"/reap.* | jq -s 'map(select(.code == "not_found")) | length')" = 1 ]
}

@test "reap: a release waits for one that provisions, and then takes it" {
	fake
	flock "$SBX_STATE/env/$ENV_ID/lock" sleep 1 &
	holder=$!
	sleep 0.2
	began=$(date +%s%N)
	reap --env "$ENV_ID"
	[ "$status" = 0 ]
	[ $((($(date +%s%N) - began) / 1000000)) -ge 500 ]
	wait "$holder"
}

@test "reap: a signal during a release does not stop it half-way" {
	for round in $(seq 20); do
		fake
		sbx-reap --env "$ENV_ID" >"$TEST_DIR/out" 2>/dev/null 3>&- &
		pid=$!
		sleep "0.00$((round % 5))"
		kill -TERM "$pid" 2>/dev/null || :
		wait "$pid" || :
		sbx-reap --list >"$TEST_DIR/list"
		[ ! -s "$TEST_DIR/list" ] || [ "$(jq -r .state "$TEST_DIR/list")" = ready ]
		[ ! -s "$TEST_DIR/list" ] || sbx-reap --env "$ENV_ID"
		[ -z "$(ls -A "$SBX_STATE/env")" ]
	done
}

@test "reap: --list is one env record a line, and nothing where there is nothing" {
	reap --list
	[ "$status" = 0 ]
	[ -z "$output" ]
	fake
	fake --epoch 2 --expires 1s
	sleep 1.1
	reap --list
	[ "$(wc -l <<<"$output")" = 2 ]
	output=$(jq -s -c 'sort_by(.epoch)' <<<"$output")
	is '.[0] | .type == "env" and .state == "ready" and .alive and .epoch == 1 and
		.mechanism == "fake" and .age_ms > 1000 and .expires_in_ms > 3500000 and
		.memory_bytes == 0 and .pids == 0 and (.expires_at | endswith("Z"))'
	is '.[1].expires_in_ms < 0'
}

@test "reap: --list shows memory and tasks of a live native environment" {
	skip_unless "native does not work here" sbx-provision "${NATIVE[@]}" --probe
	provision "${NATIVE[@]}"
	reap --list
	is '.alive and .mechanism == "native"'
	# Without groups nobody counts.
	! is_root || is '.pids >= 1 and .memory_bytes > 0'
	reap --list --table
	[[ ${lines[0]} == ENV*STATE*ALIVE*MECHANISM*AGE*EXPIRES*MEMORY*PIDS*TENANT/RUN/EPOCH ]]
	[[ ${lines[1]} == "$ENV_ID"*ready*yes*native*"default/$RUN/1" ]]
}

@test "reap: --list answers while an environment is locked, and names a directory without record" {
	fake
	flock "$SBX_STATE/env/$ENV_ID/lock" sleep 2 &
	holder=$!
	sleep 0.2
	rm "$SBX_STATE/env/$ENV_ID/state.json"
	run --separate-stderr timeout 1 sbx-reap --list
	[ "$status" = 0 ]
	is '.state == "provisioning" and (.alive | not)'
	kill "$holder"
	wait "$holder" || true
}

@test "reap: a state directory that others may write is denied" {
	chmod 0770 "$SBX_STATE"
	reap --list
	[ "$status" = 77 ]
	is '.code == "denied"'
	chmod 0700 "$SBX_STATE"
}

@test "reap: it is told one thing to do" {
	reap
	[ "$status" = 64 ]
	reap --list --env x
	[ "$status" = 64 ]
	reap --list x
	[ "$status" = 64 ]
}

@test "reap: stdout that is full is an error" {
	fake
	run bash -c 'sbx-reap --list >/dev/full'
	[ "$status" = 71 ]
	[[ $output == *"stdout: No space left on device"* ]]
}

@test "reap: --help has every option of the manual page and no other" {
	diff <(sbx-reap --help | grep -o -e '--[a-z-]*' | sort -u) \
		<(sed -n 's/^\.It.*Fl Fl \([a-z-]*\).*/--\1/p' "$SRC/man/sbx-reap.8" | sort -u)
}

@test "reap: the example of the manual page releases what is over" {
	fake --expires 1s
	fake --epoch 2
	sleep 1.1
	sed -n '/^\.Bd/,/^\.Ed/p' "$SRC/man/sbx-reap.8" | grep -v '^\.' >"$TEST_DIR/example"
	run --separate-stderr bash -euo pipefail "$TEST_DIR/example"
	[ "$status" = 0 ]
	is '.epoch == 1 and .ok'
	reap --list
	is '.epoch == 2'
}
