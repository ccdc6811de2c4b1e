#!/usr/bin/env bats
# sbx-exec --stream while commands run: their stdin, signals, what they print as it comes, and how a
# stream ends. On the mechanism under test.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# open_stream [OPTION...] - a stream whose requests are what `say` writes and whose records go to out.
open_stream()
{
	mkfifo "$TEST_DIR/in"
	: >"$TEST_DIR/out"
	env --default-signal=INT,TERM,HUP timeout 100 sbx-exec --stream "$@" "$ENV_ID" \
		<"$TEST_DIR/in" >"$TEST_DIR/out" 2>"$TEST_DIR/err" 3>&- &
	stream_pid=$!
	exec 7>"$TEST_DIR/in"
}

say()
{
	printf '%s\n' "$@" >&7
}

# await FILTER - until it is true of the array of all records so far.
await()
{
	for ((i = 0; i < 200; i++)); do
		jq -se "$1" "$TEST_DIR/out" >/dev/null 2>&1 && return
		sleep 0.1
	done
	printf 'never: %s\n%.3000s\n%.1000s\n' "$1" "$(cat "$TEST_DIR/out")" "$(cat "$TEST_DIR/err")"
	return 1
}

close_stream()
{
	exec 7>&-
	wait "$stream_pid"
}

# is FILTER - true of the array of all records.
is()
{
	jq -se "$1" "$TEST_DIR/out" >/dev/null && return
	printf 'not: %s\n%.3000s\n%.1000s\n' "$1" "$(cat "$TEST_DIR/out")" "$(cat "$TEST_DIR/err")"
	return 1
}

@test "live: a command is fed while it runs, and each piece is answered when it went in" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","while read -r l; do echo \"<$l>\"; done; echo end"],"stdin":"first\n","stdin_open":true,"stream":true}'
	await 'any(.[]; .event == "stdout" and .text == "<first>\n")'
	say '{"id":"a","op":"stdin","target":1,"data":"sec"}'
	await 'any(.[]; .id == "a" and .type == "ok")'
	say '{"id":"b","op":"stdin","target":1,"data":"ond\n"}'
	await '[.[] | select(.event == "stdout") | .text] | join("") | endswith("<second>\n")'
	say '{"id":"c","op":"stdin","target":1,"data":{"base64":"w6kK"},"end":true}'
	await 'any(.[]; .type == "result")'
	is '.[] | select(.type == "result") | .stdout.text == "<first>\n<second>\n<é>\nend\n"'
	is '[.[] | select(.event == "stdout")] | map(.offset) == (map(.text | utf8bytelength) as $l |
		[range($l | length)] | map($l[:.] | add // 0))'
	say '{"id":"d","op":"stdin","target":1,"data":"late"}'
	await 'any(.[]; .id == "d" and .code == "not_found")'
	close_stream
}

@test "live: input for a command that does not read waits, and too much of it is refused" {
	local piece

	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sleep","30"],"stdin_open":true}' \
		'{"id":2,"op":"exec","argv":["true"]}'
	piece=$(head -c 900000 /dev/zero | tr '\0' x)
	for i in {1..9}; do
		say "{\"id\":\"p$i\",\"op\":\"stdin\",\"target\":1,\"data\":\"$piece\"}"
	done
	say '{"id":"x","op":"stdin","target":2,"data":"x"}'
	await 'any(.[]; .code == "busy" and .retry == "later")'
	await 'any(.[]; .id == "x" and (.code == "bad_request" or .code == "not_found"))'
	say '{"id":3,"op":"exec","argv":["echo","alive"]}'
	await 'any(.[]; .id == 3 and .stdout.text == "alive\n")'
	is 'all(.[]; .id == "p1" | not)' # it waits
	say '{"id":4,"op":"cancel","target":1}'
	await 'any(.[]; .id == "p1" and .code == "not_found" and .executed == "unknown")'
	is 'any(.[]; .id == 1 and .reason == "cancelled")'
	close_stream
}

@test "live: a signal reaches the command's whole group, and the command decides" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","trap \"echo caught; exit 7\" INT; echo up; while :; do sleep 0.05; done"],"stream":true}' \
		'{"id":2,"op":"exec","argv":["sh","-c","echo up; sleep 30 | sleep 30"],"stream":true}'
	await '[.[] | select(.text == "up\n")] | length == 2'
	say '{"id":"s","op":"signal","target":1,"signal":"SIGINT"}' \
		'{"id":"t","op":"signal","target":2,"signal":"TERM"}' \
		'{"id":"u","op":"signal","target":9,"signal":"TERM"}' \
		'{"id":"v","op":"signal","target":1,"signal":"BANG"}'
	await '[.[] | select(.type == "result")] | length == 2'
	is '.[] | select(.type == "result" and .id == 1) | .reason == "exited" and .exit_code == 7 and
		.stdout.text == "up\ncaught\n"'
	is '.[] | select(.type == "result" and .id == 2) | .reason == "signal" and .signal == 15'
	is '.[] | select(.id == "u") | .code == "not_found"'
	is '.[] | select(.id == "v") | .code == "bad_request" and (.message | test("BANG"))'
	close_stream
}

@test "live: stopped by a signal and continued" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"],"stream":true,"timeout_ms":20000}'
	await '[.[] | select(.event == "stdout")] | length > 2'
	say '{"id":"s","op":"signal","target":1,"signal":"STOP"}'
	await 'any(.[]; .id == "s")'
	sleep 0.7
	before=$(wc -l <"$TEST_DIR/out")
	sleep 0.7
	[ "$(wc -l <"$TEST_DIR/out")" -eq "$before" ]
	say '{"id":"c","op":"signal","target":1,"signal":"CONT"}'
	await "length > $before + 3"
	say '{"id":2,"op":"cancel","target":1}'
	close_stream
}

@test "live: events cut no code point, and carry bytes that are no text" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","printf \"\\303\"; sleep 0.3; printf \"\\251\"; sleep 0.3; printf \"\\342\\202\"; sleep 0.3; printf \"\\254\\377\"; sleep 0.3; printf \"\\342\""],"stream":true}'
	await 'any(.[]; .type == "result")'
	close_stream
	is '[.[] | select(.event == "stdout") | .text // .base64] == ["é", "€", "/w==", "4g=="]'
	is '[.[] | select(.event == "stdout") | .offset] == [0, 2, 5, 6]'
	is '.[0].event == "started" and .[-1].type == "result"'
}

@test "live: all that a command printed is told, in order, before its result" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","seq 1 200000; echo done >&2"],"stream":true,"output_bytes":1000}'
	await 'any(.[]; .type == "result")'
	close_stream
	jq -rj 'select(.event == "stdout") | .text' "$TEST_DIR/out" | cmp - <(seq 1 200000)
	is '[.[] | select(.event == "stderr") | .text] == ["done\n"]'
	is '.[-1] | .type == "result" and .stdout.bytes == 1288895 and .stdout.truncated'
}

@test "live: a reader that does not read holds up the commands that it listens to, and no timer" {
	local pid=

	provision
	mkfifo "$TEST_DIR/in" "$TEST_DIR/slow"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/slow" 3>&- &
	pid=$!
	exec 7>"$TEST_DIR/in" 8<"$TEST_DIR/slow"
	printf '%s\n' '{"id":1,"op":"exec","argv":["yes"],"stream":true,"timeout_ms":4000}' \
		'{"id":2,"op":"exec","argv":["sh","-c","echo 1 >f; sleep 1; echo 2 >>f"],"timeout_ms":3000}' >&7
	sleep 6
	# Nobody read for 6 s: what it holds is little, though the command would print gigabytes.
	memory=$(awk '/^VmHWM/ { print $2 }' "/proc/$(pgrep -P "$pid" -x sbx-exec)/status")
	[ "$memory" -lt 40000 ]
	exec 7>&-
	cat <&8 >"$TEST_DIR/out"
	wait "$pid"
	exec 8<&-
	is '.[] | select(.type == "result" and .id == 1) | .reason == "timeout" and .usage.wall_ms < 5500'
	is '.[] | select(.type == "result" and .id == 2) | .exit_code == 0 and .usage.wall_ms < 2500'
	is '([.[] | select(.event == "stdout") | .text | utf8bytelength] | add) as $told |
		.[] | select(.type == "result" and .id == 1) | .stdout.bytes == $told'
}

@test "live: the end of the requests lets what runs finish, and ends inputs that are open" {
	provision
	open_stream
	say '{"id":1,"op":"exec","argv":["sh","-c","sleep 1; echo slept"]}' \
		'{"id":2,"op":"exec","argv":["sh","-c","cat; echo ended"],"stdin":"some\n","stdin_open":true}'
	close_stream
	is '.[] | select(.id == 1) | .stdout.text == "slept\n"'
	is '.[] | select(.id == 2) | .stdout.text == "some\nended\n"'
}

@test "live: --on-eof cancel ends what runs" {
	provision
	open_stream --on-eof cancel
	say '{"id":1,"op":"exec","argv":["sh","-c","echo up; sleep 60"],"stream":true}'
	await 'any(.[]; .text == "up\n")'
	SECONDS=0
	close_stream
	[ "$SECONDS" -lt 20 ]
	is '.[-1] | .id == 1 and .reason == "cancelled" and .stdout.text == "up\n"'
	run -64 --separate-stderr sbx-exec --stream --on-eof later "$ENV_ID" </dev/null
	[[ $stderr == *--on-eof* ]]
}

@test "live: --release-on-exit releases the environment, also after a signal" {
	provision
	open_stream --release-on-exit
	say '{"id":1,"op":"exec","argv":["true"]}'
	await 'any(.[]; .type == "result")'
	close_stream
	[ ! -e "$SBX_STATE/env/$ENV_ID" ]

	provision
	run --separate-stderr sbx-exec --release-on-exit --exit-code "$ENV_ID" -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ ! -e "$SBX_STATE/env/$ENV_ID" ]

	provision
	env --default-signal=INT,TERM,HUP sbx-exec --release-on-exit "$ENV_ID" -- sleep 60 >"$TEST_DIR/out" 3>&- &
	pid=$! status=0
	sleep 2
	kill -TERM "$pid"
	wait "$pid" || status=$?
	[ "$status" -eq 143 ]
	[ ! -s "$TEST_DIR/out" ]
	[ ! -e "$SBX_STATE/env/$ENV_ID" ]
}
