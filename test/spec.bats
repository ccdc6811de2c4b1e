#!/usr/bin/env bats
# sbx-exec --spec: the environment of a spec, made when it is first needed. On the mechanism under test.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# spec JSON - the spec of this test's run with these members, as a file; its id in $ENV_ID.
spec()
{
	local image=''

	[ "${#IMAGE_OPTION[@]}" -eq 0 ] || image=",\"image\":\"$SBX_TEST_IMAGE_ID\""
	printf '{"run":"%s","epoch":1%s%s}\n' "$RUN" "$image" "${1:+,$1}" >"$TEST_DIR/spec"
}

# known - its id, from its first record.
known()
{
	ENV_ID=$(jq -er .env <<<"$output")
	remember "$ENV_ID"
}

@test "spec: the first command makes the environment, the next finds it" {
	spec
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" -- sh -c 'echo made >f; pwd'
	[ "$status" -eq 0 ]
	field '.exit_code == 0 and .stdout.text == "/workspace\n"'
	known
	run --separate-stderr sbx-exec --raw --spec "$TEST_DIR/spec" -- cat f
	[ "$output" = made ]
	[ "$(find "$SBX_STATE/env" -mindepth 1 -maxdepth 1 -name 'e*' | wc -l)" -eq 1 ]
	run --separate-stderr sbx-exec --get f --spec "$TEST_DIR/spec"
	[ "$output" = made ]
	# The same that sbx-provision makes of it.
	run --separate-stderr sbx-provision --spec "$TEST_DIR/spec"
	field ".created == false and .env == \"$ENV_ID\""
}

@test "spec: another spec under the same name is a conflict" {
	spec
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" -- true
	known
	spec '"limits":{"pids":99}'
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" -- true
	[ "$status" -eq 65 ]
	field '.code == "conflict" and .executed == "no"'
}

@test "spec: two that race make one environment" {
	local rounds=10

	on_engine && rounds=2
	for ((round = 0; round < rounds; round++)); do
		spec
		sbx-exec --spec "$TEST_DIR/spec" -- sh -c 'echo a >>who' >"$TEST_DIR/a" 2>&1 3>&- &
		sbx-exec --spec "$TEST_DIR/spec" -- sh -c 'echo b >>who' >"$TEST_DIR/b" 2>&1
		wait $!
		output=$(cat "$TEST_DIR/a")
		field '.exit_code == 0'
		known
		output=$(cat "$TEST_DIR/b")
		field ".exit_code == 0 and .env == \"$ENV_ID\""
		run --separate-stderr sbx-exec --raw --spec "$TEST_DIR/spec" -- sort who
		[ "$output" = $'a\nb' ]
		sbx-reap --env "$ENV_ID" >/dev/null
	done
}

@test "spec: a stream makes it with the first request that needs it" {
	local id

	spec
	mkfifo "$TEST_DIR/in"
	timeout 100 sbx-exec --stream --release-on-exit --spec "$TEST_DIR/spec" <"$TEST_DIR/in" \
		>"$TEST_DIR/out" 3>&- &
	exec 7>"$TEST_DIR/in"
	echo '{"id":1,"op":"ping"}' >&7
	for ((i = 0; i < 100; i++)); do [ -s "$TEST_DIR/out" ] && break || sleep 0.1; done
	[ -z "$(find "$SBX_STATE/env" -mindepth 1 -maxdepth 1 -name 'e*')" ]
	echo '{"id":2,"op":"exec","argv":["echo","two"]}' >&7
	echo '{"id":3,"op":"write","path":"f","data":"three"}' >&7
	exec 7>&-
	wait $!
	output=$(cat "$TEST_DIR/out")
	jq -se '.[0].type == "pong" and (.[] | select(.id == 2) | .stdout.text == "two\n") and
		(.[] | select(.id == 3) | .type == "ok")' "$TEST_DIR/out"
	id=$(jq -r 'select(.id == 2) | .env' "$TEST_DIR/out")
	[ ! -e "$SBX_STATE/env/$id" ]
}

@test "spec: one that cannot be made answers each request, and the stream goes on" {
	spec '"mechanism":"microvm"'
	printf '%s\n' '{"id":1,"op":"exec","argv":["true"]}' '{"id":2,"op":"ping"}' \
		'{"id":3,"op":"stat"}' '{"id":4,"op":"background"}' >"$TEST_DIR/in"
	run --separate-stderr sbx-exec --stream --spec "$TEST_DIR/spec" <"$TEST_DIR/in"
	[ "$status" -eq 0 ]
	jq -se 'length == 4 and [.[] | select(.code == "unconfigured") | .id] == [1, 3, 4] and
		.[1] == {"type": "pong", "id": 2}' <<<"$output"
	[ -z "$(find "$SBX_STATE/env" -mindepth 1 -maxdepth 1 -name 'e*' 2>/dev/null)" ]
}

@test "spec: what is wrong with a spec or with the options is said by name" {
	echo '{"run":"x","colour":1}' >"$TEST_DIR/spec"
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" -- true
	[ "$status" -eq 65 ]
	field '.message | test("colour")'
	run --separate-stderr sbx-exec --spec "$TEST_DIR/none" -- true
	[ "$status" -eq 66 ]
	run --separate-stderr sbx-exec --spec - -- true </dev/null
	[ "$status" -eq 64 ]
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 64 ]
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec" --
	[ "$status" -eq 64 ]
	run --separate-stderr sbx-exec --spec "$TEST_DIR/spec"
	[ "$status" -eq 64 ]
}

@test "spec: a signal while it is made leaves nothing half made" {
	local pid status=0

	spec
	for delay in 0.002 0.004 0.006 0.01; do
		env --default-signal=TERM sbx-exec --spec "$TEST_DIR/spec" -- sleep 20 >/dev/null 2>&1 3>&- &
		pid=$!
		sleep "$delay"
		kill -TERM "$pid" 2>/dev/null || :
		wait "$pid" || status=$?
		[ "$status" -eq 143 ]
		for path in "$SBX_STATE"/env/e*; do
			[ -e "$path" ] || continue
			ENV_ID=${path##*/}
			remember "$ENV_ID"
			jq -e '.state == "ready"' "$path/state.json"
			sbx-reap --env "$ENV_ID" >/dev/null
		done
	done
}
