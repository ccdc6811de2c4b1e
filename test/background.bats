#!/usr/bin/env bats
# sbx-exec --background: processes that outlive their command, and run only while a command does.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# What a beating process wrote so far, in lines.
beats()
{
	wc -l <"$(workspace)/beat"
}

needs_groups()
{
	on_engine || jq -e '.enforced | any(startswith("cgroup"))' "$SBX_STATE/env/$ENV_ID/state.json" >/dev/null ||
		skip 'no control groups here'
}

# is_gone SECONDS_OF_A_SLEEP - no such process is there; on the host, where it can be seen.
is_gone()
{
	[ "$MECHANISM" = gvisor ] || [ -z "$(pgrep -f "^sleep $1")" ]
}

@test "background: what is left stays, is frozen between commands and runs during them" {
	local before

	provision
	needs_groups
	run --separate-stderr sbx-exec --background "$ENV_ID" -- sh -c \
		'(while :; do echo >>beat; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.3; echo started'
	[ "$status" -eq 0 ]
	field '.background == "b0" and .killed == 0 and .stdout.text == "started\n"'
	before=$(beats)
	[ "$before" -gt 0 ]
	sleep 0.5
	[ "$(beats)" -eq "$before" ]
	sbx-exec "$ENV_ID" -- sleep 0.5
	[ "$(beats)" -gt $((before + 2)) ]
	before=$(beats)
	sleep 0.5
	[ "$(beats)" -eq "$before" ]
	# Of two commands at once the last freezes.
	sbx-exec "$ENV_ID" -- sleep 1.5 3>&- &
	sleep 0.3
	sbx-exec "$ENV_ID" -- true
	before=$(beats)
	sleep 0.5
	[ "$(beats)" -gt "$before" ]
	wait $!
	before=$(beats)
	sleep 0.4
	[ "$(beats)" -eq "$before" ]
}

@test "background: a command that leaves nothing says so, and so does one that was ended" {
	provision
	needs_groups
	run --separate-stderr sbx-exec --background "$ENV_ID" -- true
	field '.background == null and has("background")'
	run --separate-stderr sbx-exec "$ENV_ID" -- true
	field 'has("background") | not'
	run --separate-stderr sbx-exec --background --timeout 500ms "$ENV_ID" -- sh -c 'sleep 60 & sleep 60'
	field '.reason == "timeout" and .background == null'
	run --separate-stderr sbx-exec --list-background "$ENV_ID"
	field '.commands == []'
}

@test "background: it is listed, ended by name, and goes with the environment" {
	provision
	needs_groups
	for i in 0 1; do
		sbx-exec --background "$ENV_ID" -- sh -c "sleep 987$i & sleep 987$i &" >/dev/null
	done
	run --separate-stderr sbx-exec --list-background "$ENV_ID"
	if on_engine; then
		# One for all: nobody can tell them apart.
		field '[.commands[] | .background, .processes] == ["b0", 4]'
	else
		field '[.commands[] | .background, .processes] == ["b0", 2, "b1", 2]'
	fi
	run --separate-stderr sbx-exec --end-background b0 "$ENV_ID"
	if on_engine; then
		field '.commands == []'
		is_gone 987
	else
		field '[.commands[].background] == ["b1"]'
		is_gone 9870
		pgrep -f 'sleep 9871'
	fi
	run --separate-stderr sbx-exec --end-background b0 "$ENV_ID"
	[ "$status" -eq 66 ]
	for name in x b b-1 b64 ../b0; do
		run --separate-stderr sbx-exec --end-background "$name" "$ENV_ID"
		[ "$status" -eq 65 ]
	done
	# Its name is free again.
	run --separate-stderr sbx-exec --background "$ENV_ID" -- sh -c 'sleep 9872 &'
	field '.background == "b0"'
	[ "$(sbx-reap --list | jq -r 'select(.env == "'"$ENV_ID"'") | .alive')" = true ]
	sbx-reap --env "$ENV_ID" >/dev/null
	is_gone 987
}

@test "background: a file can be read, and a command killed, beside it" {
	provision
	needs_groups
	sbx-exec --background "$ENV_ID" -- sh -c 'echo kept >f; sleep 9875 &' >/dev/null
	[ "$(sbx-exec --get f "$ENV_ID")" = kept ]
	run --separate-stderr sbx-exec --timeout 500ms "$ENV_ID" -- sleep 60
	field '.reason == "timeout"'
	run --separate-stderr sbx-exec --list-background "$ENV_ID"
	if on_engine; then
		field '.commands == []' # the kill took all there was
	else
		field '.commands | length == 1'
	fi
	[ "$(sbx-exec --raw "$ENV_ID" -- cat f)" = kept ]
}

@test "background: a stream lists and ends it, too" {
	provision
	needs_groups
	{
		echo '{"id":1,"op":"exec","argv":["sh","-c","sleep 9873 &"],"background":true}'
		sleep 1.5
		echo '{"id":2,"op":"background"}'
		echo '{"id":3,"op":"end_background","background":"b0"}'
		echo '{"id":4,"op":"background"}'
		echo '{"id":5,"op":"end_background","background":"b0"}'
	} | timeout 60 sbx-exec --stream "$ENV_ID" >"$TEST_DIR/out"
	output=$(jq -s . "$TEST_DIR/out")
	field '.[0].background == "b0"'
	field '.[1] | .type == "background" and .id == 2 and .commands[0].processes == 1'
	field '.[2] == {"type": "ok", "id": 3} and .[3].commands == [] and .[4].code == "not_found"'
}

@test "background: if sbx-exec is killed before the result, nothing is left" {
	local pid

	provision
	needs_groups
	sbx-exec --background "$ENV_ID" -- sh -c 'sleep 9874 & sleep 9874' 3>&- &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		pgrep -f 'sleep 9874' >/dev/null && break
		[ "$MECHANISM" != gvisor ] || { sleep 3; break; }
		sleep 0.05
	done
	kill -KILL "$pid"
	wait "$pid" || :
	for ((i = 0; i < 100; i++)); do
		pgrep -f 'sleep 9874' >/dev/null || break
		sleep 0.05
	done
	is_gone 9874
	run --separate-stderr sbx-exec --list-background "$ENV_ID"
	field '.commands == []'
}
