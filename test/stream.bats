#!/usr/bin/env bats
# sbx-exec --stream: requests in, records out, on the mechanism under test.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# stream - the requests of stdin to this test's environment; records in $output.
stream()
{
	cat >"$TEST_DIR/requests"
	run --separate-stderr timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/requests"
}

# is FILTER - true of the array of all records.
is()
{
	jq -se "$1" <<<"$output" >/dev/null && return
	printf 'not: %s\nstatus: %s\n%.3000s\n%.1000s\n' "$1" "$status" "$output" "${stderr-}"
	return 1
}

@test "stream: each request is answered by one record with its id" {
	provision
	stream <<-'END'
		{"id":1,"op":"exec","argv":["sh","-c","echo one; exit 3"]}
		{"id":"two","op":"exec","argv":["echo","two"]}
		{"op":"ping","id":-3}

		{"op":"ping"}
	END
	[ "$status" -eq 0 ]
	is 'length == 4'
	is '.[] | select(.id == 1) | .type == "result" and .exit_code == 3 and .stdout.text == "one\n"'
	is '.[] | select(.id == "two") | .stdout.text == "two\n"'
	is '[.[] | select(.type == "pong") | .id] | sort == [null, -3]'
	grep -q '"id":-3}' <<<"$output" # as it was written
}

@test "stream: a bad line is one error record and the stream goes on" {
	provision
	{
		printf '%s\n' 'nonsense' '[1]' '{"id":1}' '{"id":2,"op":"fly"}' '{"id":3,"op":"changes"}' \
			'{"id":4,"op":"exec"}' '{"id":5,"op":"exec","argv":[]}' \
			'{"id":6,"op":"exec","argv":["true"],"colour":"red"}' \
			'{"id":7,"id":8,"op":"ping"}' '{"id":{},"op":"ping"}' \
			'{"id":9,"op":"exec","argv":["a\u0000b"]}' \
			'{"id":10,"op":"exec","argv":["true"],"timeout_ms":0}' \
			'{"id":11,"op":"exec","argv":["true"],"env":{"API_KEY":"x"}}' \
			'{"id":12,"op":"exec","argv":["true"],"stdin":{"base64":"!"}}' \
			'{"id":13,"op":"cancel","target":99}' '{"id":14,"op":"exec","argv":["true"],"timeout_ms":99999999}'
		printf '{"id":15,"op":"ping","x":"%s"}\n' "$(head -c 1100000 /dev/zero | tr '\0' x)"
		printf '\377\376\n'
		printf '{"id":16,"op":"exec","argv":["echo","fine"]}' # without a newline
	} >"$TEST_DIR/in"
	stream <"$TEST_DIR/in"
	[ "$status" -eq 0 ]
	is 'length == 19'
	is '[.[] | select(.type == "error")] | length == 18'
	is '[.[] | select(.id == 1 or .id == 2 or .id == 4 or .id == 5 or .id == 6) | .code] |
		length == 5 and all(. == "bad_request")'
	is '.[] | select(.id == 6) | .message | test("colour")'
	is '.[] | select(.id == 3) | .code == "unavailable"'
	is '.[] | select(.id == 11) | .code == "denied"'
	is '.[] | select(.id == 13) | .code == "not_found"'
	is '.[] | select(.id == 14) | .message | test("request.timeout_ms.*wall_time")'
	is '[.[] | select(.code == "too_large")] | length == 1'
	is 'all(.[] | select(.type == "error"); .executed == "no")'
	is '.[] | select(.id == 16) | .stdout.text == "fine\n"'
}

@test "stream: commands run side by side" {
	provision
	for i in {1..8}; do
		printf '{"id":%d,"op":"exec","argv":["sh","-c","sleep 1; echo %d"]}\n' "$i" "$i"
	done >"$TEST_DIR/in"
	SECONDS=0
	stream <"$TEST_DIR/in"
	[ "$SECONDS" -lt 6 ]
	is 'length == 8 and all(.[]; .stdout.text == "\(.id)\n")'
}

@test "stream: more commands than run at once all get their answer" {
	provision
	for i in {1..200}; do
		printf '{"id":%d,"op":"exec","argv":["echo","%d"]}\n' "$i" "$i"
	done >"$TEST_DIR/in"
	stream <"$TEST_DIR/in"
	is 'length == 200 and all(.[]; .stdout.text == "\(.id)\n")'
	is '[.[].id] | sort == [range(1; 201)]'
}

@test "stream: variables, directory, input and limits are those of the request" {
	provision
	stream <<-'END'
		{"id":1,"op":"exec","argv":["sh","-c","mkdir d; pwd; echo $COLOUR"],"env":{"COLOUR":"red"}}
		{"id":2,"op":"exec","argv":["pwd"],"cwd":"/tmp"}
		{"id":3,"op":"exec","argv":["od","-An","-tx1"],"stdin":{"base64":"AP8K"}}
		{"id":4,"op":"exec","argv":["cat"],"stdin":"text\n"}
		{"id":5,"op":"exec","argv":["cat"]}
		{"id":6,"op":"exec","argv":["seq","1","10000"],"output_bytes":100}
		{"id":7,"op":"exec","argv":["printf","%s",{"base64":"/w=="}]}
		{"id":8,"op":"exec","argv":["cat"],"stdin":""}
	END
	is '.[] | select(.id == 1) | .stdout.text == "/workspace\nred\n"'
	is '.[] | select(.id == 2) | .stdout.text == "/tmp\n"'
	is '.[] | select(.id == 3) | .stdout.text == " 00 ff 0a\n"'
	is '.[] | select(.id == 4) | .stdout.text == "text\n"'
	is '[.[] | select(.id == 5 or .id == 8) | .stdout.bytes] == [0, 0]'
	is '.[] | select(.id == 6) | .stdout | .bytes == 48894 and .kept <= 100 and .truncated'
	is '.[] | select(.id == 7) | .stdout.base64 == "/w=="'
}

@test "stream: a command over its time limit ends, and the next is right" {
	provision
	stream <<-'END'
		{"id":1,"op":"exec","argv":["sleep","20"],"timeout_ms":400}
	END
	is '.[0] | .reason == "timeout" and .limit_value == 400'
	{
		echo '{"id":1,"op":"exec","argv":["sleep","20"],"timeout_ms":400}'
		sleep 4
		echo '{"id":2,"op":"exec","argv":["echo","alive"]}'
	} | timeout 60 sbx-exec --stream "$ENV_ID" >"$TEST_DIR/out"
	output=$(cat "$TEST_DIR/out")
	is '.[1] | .id == 2 and .stdout.text == "alive\n" and .reason == "exited"'
}

@test "stream: cancel ends the command that it names" {
	provision
	{
		echo '{"id":"long","op":"exec","argv":["sh","-c","echo begun; exec sleep 20"]}'
		sleep 2
		echo '{"id":"long","op":"exec","argv":["true"]}'
		echo '{"id":2,"op":"cancel","target":"long"}'
	} | timeout 60 sbx-exec --stream "$ENV_ID" >"$TEST_DIR/out"
	output=$(cat "$TEST_DIR/out")
	is 'length == 3 and (.[0] | .code == "conflict") and .[1] == {type: "ok", id: 2}'
	is '.[2] | .reason == "cancelled" and .id == "long" and .stdout.text == "begun\n"'
}

@test "stream: an environment that dies is lost for what runs" {
	provision
	mkfifo "$TEST_DIR/in"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 3>&- &
	exec 7>"$TEST_DIR/in"
	echo '{"id":1,"op":"exec","argv":["sleep","30"]}' >&7
	sleep 1.5
	end_environment
	for ((i = 0; i < 100; i++)); do
		[ ! -s "$TEST_DIR/out" ] || break
		sleep 0.1
	done
	echo '{"id":2,"op":"exec","argv":["true"]}' >&7
	exec 7>&-
	wait $!
	output=$(cat "$TEST_DIR/out")
	is 'length == 2 and (.[0] | .id == 1 and .reason == "lost" and .exit_code == null)'
	if on_engine; then
		is '.[1].exit_code == 0' # the container is started again
	else
		is '.[1] | .id == 2 and .code == "unavailable"'
	fi
}

@test "stream: a signal ends what runs and then us" {
	local pid status=0

	provision
	mkfifo "$TEST_DIR/in"
	env --default-signal=INT,TERM,HUP sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" \
		>"$TEST_DIR/out" 3>&- &
	pid=$!
	exec 7>"$TEST_DIR/in"
	echo '{"id":1,"op":"exec","argv":["sleep","30"]}' >&7
	sleep 1.5
	kill -TERM "$pid"
	wait "$pid" || status=$?
	exec 7>&-
	[ "$status" -eq 143 ]
}

@test "stream: options and operands of one command are refused" {
	for option in --raw --exit-code '--stdin=@x' '--cwd=/tmp' '--env=A=b' '--timeout=1s'; do
		run --separate-stderr sbx-exec --stream "$option" eaaaaaaaaaaaaaaaaaaaaaaaaaa </dev/null
		[ "$status" -eq 64 ]
		[[ $stderr == *--stream* ]]
	done
	run --separate-stderr sbx-exec --stream eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true </dev/null
	[ "$status" -eq 64 ]
	run --separate-stderr sbx-exec --stream - </dev/null
	[ "$status" -eq 64 ]
}

@test "stream: thousands of commands leave no descriptor and no memory behind" {
	local before after pid tool first=2000 last=6000

	on_engine && first=200 last=600
	provision
	mkfifo "$TEST_DIR/in"
	timeout 110 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 3>&- &
	tool=$!
	exec 7>"$TEST_DIR/in"
	batch 1 "$first"
	pid=$(pgrep -P "$tool" -f -- --stream)
	before=$(figures "$pid")
	batch $((first + 1)) "$last"
	after=$(figures "$pid")
	echo "descriptors and KiB: $before, then $after"
	exec 7>&-
	wait "$tool"
	[ "${after% *}" -le "${before% *}" ]
	# Not to the page: a heap that 64 use at once has holes, and comes to rest after some ten thousand.
	[ "${after#* }" -le $((${before#* } + 2048)) ]
}

# batch FIRST LAST - these commands, and wait for their answers.
batch()
{
	local i

	for ((i = $1; i <= $2; i++)); do
		printf '{"id":%d,"op":"exec","argv":["true"]}\n' "$i"
	done >&7
	for ((i = 0; i < 1000; i++)); do
		[ "$(wc -l <"$TEST_DIR/out")" -lt "$2" ] || return 0
		sleep 0.1
	done
	return 1
}

figures()
{
	echo "$(find "/proc/$1/fd" -type l | wc -l) $(awk '/^RssAnon/ { print $2 }' "/proc/$1/status")"
}

@test "stream: the examples of the manual page are requests" {
	provision
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/{/^{/p}' "$SRC/man/sbx-request.5" | sed 's/\\e/\\/g' >"$TEST_DIR/in"
	[ "$(wc -l <"$TEST_DIR/in")" -ge 9 ]
	stream <"$TEST_DIR/in"
	[ "$status" -eq 0 ]
	is 'all(.[]; .code != "bad_request" and .code != "unavailable")'
	is '.[] | select(.type == "result" and .id == 7) | .stdout.text == "42\n"'
	# Requests do not wait for one another: what is there when all are over is asked for once more.
	grep '"id":9' "$TEST_DIR/in" >"$TEST_DIR/again"
	stream <"$TEST_DIR/again"
	is '.[] | select(.id == 9) | .entries | any(.name == "in/data.csv")'
}

@test "stream: whatever comes as a line, it is answered and the stream goes on" {
	provision
	{
		"$SRC/test/lines/hostile" 7 4000
		echo '{"id":"last","op":"exec","argv":["echo","still here"]}'
	} >"$TEST_DIR/in"
	timeout 110 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 2>"$TEST_DIR/err"
	output=$(cat "$TEST_DIR/out")
	is 'any(.[]; .id == "last" and .stdout.text == "still here\n")'
	# One answer for each line that is not blank; events are none.
	sent=$(grep -avc '^[[:space:]]*$' "$TEST_DIR/in")
	answers=$(jq -s '[.[] | select(.type != "event")] | length' "$TEST_DIR/out")
	printf '%s lines, %s answers\n' "$sent" "$answers"
	[ "$answers" -eq "$sent" ]
}
