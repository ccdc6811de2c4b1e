#!/usr/bin/env bats
# The workspace as it is changed from outside, by requests and by sbx-exec's own options, on the
# mechanism under test: as its owner, whole or not at all, and never anywhere else.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

inside()
{
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c "$1" </dev/null >/dev/null
}

# ask REQUEST... - one after the other, each without its id, which is its number; records in $output.
ask()
{
	local i=0 request

	output=
	for request; do
		i=$((i + 1))
		output+=$(printf '{"id":%d,%s}\n' "$i" "$request" |
			timeout 60 sbx-exec --stream "$ENV_ID" 2>/dev/null)$'\n'
	done
	[ "$(grep -c . <<<"$output")" -eq "$i" ]
}

# is NUMBER FILTER - of that answer.
is()
{
	jq -se --argjson id "$1" ".[] | select(.id == \$id) | $2" <<<"$output" >/dev/null && return
	printf 'not: %s of %s\n%.3000s\n' "$2" "$1" "$output"
	return 1
}

# temporaries - what a write that was cut off might have left.
temporaries()
{
	find "$(workspace)" -name '.sbx-write-*'
}

@test "write: a file is made, replaced, appended to, with the modes that were asked for" {
	provision
	ask '"op":"write","path":"a","data":"one\n"' '"op":"write","path":"b","data":{"base64":"AP8="},"mode":"0600"' \
		'"op":"write","path":"a","data":"two\n","append":true' '"op":"write","path":"b","data":"x"' \
		'"op":"write","path":"d/e/f","data":"deep","parents":true' '"op":"write","path":"empty"' \
		'"op":"write","path":"run","data":"#!/bin/sh\necho ran\n","mode":"755"' \
		'"op":"write","path":"new","data":"log\n","append":true'
	is 1 '. == {"type": "ok", "id": 1, "path": "a"}'
	run --separate-stderr sbx-exec --raw "$ENV_ID" -- sh -c \
		'cat a new d/e/f; ./run; for f in a b empty run; do [ -O $f ] || echo $f; done
		echo mine >>a && rm -r d'
	[ "$status" -eq 0 ]
	[ "$output" = $'one\ntwo\nlog\ndeepran' ]
	ask '"op":"stat","path":"a"' '"op":"stat","path":"b"' '"op":"stat","path":"empty"' '"op":"stat","path":"run"'
	is 1 '.mode == "0644" and .size == 13'
	is 2 '.mode == "0600" and .size == 1'
	is 3 '.mode == "0644" and .size == 0'
	is 4 '.mode == "0755" and .size == 19'
	[ -z "$(temporaries)" ]
}

@test "write: what cannot be written is refused by name, and nothing is changed" {
	provision
	inside 'mkdir d; echo old >f; ln -s f link; ln -s d way; mkfifo pipe; mkdir closed; chmod 500 closed; mkdir full; : >full/x'
	ask '"op":"write","path":"link","data":"x"' '"op":"write","path":"way/x","data":"x"' \
		'"op":"write","path":"pipe","data":"x"' '"op":"write","path":"d","data":"x"' \
		'"op":"write","path":"../x","data":"x"' '"op":"write","path":"/tmp/x","data":"x"' \
		'"op":"write","path":"none/x","data":"x"' '"op":"write","path":"f","data":"x","create":true' \
		'"op":"write","path":"closed/x","data":"x"' '"op":"write","path":"f/x","data":"x"' \
		'"op":"write","path":"","data":"x"' '"op":"write","path":"way/new/x","data":"x","parents":true' \
		'"op":"mkdir","path":"f"' '"op":"mkdir","path":"d"' '"op":"mkdir","path":"way/x"' \
		'"op":"remove","path":"full"' '"op":"remove","path":"none"' '"op":"remove","path":""' \
		'"op":"rename","path":"none","to":"x"' '"op":"rename","path":"f","to":"full","create":true' \
		'"op":"rename","path":"f","to":"way/f"' '"op":"rename","path":"d","to":"d/e"' \
		'"op":"rename","path":"","to":"x"' '"op":"write","path":"f","mode":"4755","data":"x"'
	for i in 1 2 5 6 9 11 12 15 18 21 22 23; do is "$i" '.code == "denied" and .executed == "no"'; done
	for i in 3 4 10 24; do is "$i" '.code == "bad_request"'; done
	for i in 7 17 19; do is "$i" '.code == "not_found"'; done
	for i in 8 13 14 16 20; do is "$i" '.code == "conflict"'; done
	is 20 '.message | test("\"f\" to \"full\"")'
	run --separate-stderr sbx-exec --raw "$ENV_ID" -- sh -c 'cat f; echo closed/* d/* full/*'
	[ "$output" = $'old\nclosed/* d/* full/x' ]
	[ -z "$(temporaries)" ]
}

@test "write: directories are made, names are changed, and what is removed is gone" {
	provision
	ask '"op":"mkdir","path":"a/b/c","parents":true,"mode":"0700"' '"op":"mkdir","path":"a/b/c","parents":true' \
		'"op":"write","path":"a/b/c/f","data":"x"' '"op":"rename","path":"a/b","to":"moved"' \
		'"op":"rename","path":"moved/c/f","to":"g"' '"op":"write","path":"h","data":"h"' \
		'"op":"rename","path":"g","to":"h"' '"op":"remove","path":"moved","recursive":true' \
		'"op":"list","recursive":true'
	for i in 1 2 3 4 5 6 7 8; do is "$i" '.type == "ok"'; done
	is 9 '[.entries[] | select(.name != ".agent-initialized") | .name, .size] | sort == [1, 4096, "a", "h"] or
		(map(strings) | sort == ["a", "h"])'
	inside 'mkdir -p deep; cd deep; i=0; while [ $i -lt 150 ]; do mkdir dddddddddddddddddddd && cd dddddddddddddddddddd || exit; i=$((i + 1)); done'
	ask '"op":"remove","path":"deep","recursive":true' '"op":"stat","path":"deep"'
	is 1 '.type == "ok"'
	is 2 '.code == "not_found"'
}

@test "write: a file that comes in pieces appears when it is whole" {
	provision
	inside 'echo old >f'
	mkfifo "$TEST_DIR/in"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 3>&- &
	exec 7>"$TEST_DIR/in"
	printf '%s\n' '{"id":"w","op":"write","path":"f","data":"new ","data_open":true}' \
		'{"id":"p","op":"stdin","target":"w","data":"and whole\n"}' >&7
	for ((i = 0; i < 100; i++)); do grep -q '"p"' "$TEST_DIR/out" && break || sleep 0.1; done
	[ "$(sbx-exec --raw "$ENV_ID" -- cat f)" = old ]
	printf '%s\n' '{"id":"e","op":"stdin","target":"w","end":true}' >&7
	for ((i = 0; i < 100; i++)); do grep -q '"w"' "$TEST_DIR/out" && break || sleep 0.1; done
	[ "$(sbx-exec --raw "$ENV_ID" -- cat f)" = 'new and whole' ]
	# Cut off by a cancel, and by the end of the requests.
	printf '%s\n' '{"id":"x","op":"write","path":"f","data":"never","data_open":true}' \
		'{"id":"c","op":"cancel","target":"x"}' \
		'{"id":"y","op":"write","path":"f","data":"never","data_open":true}' >&7
	exec 7>&-
	wait $!
	output=$(cat "$TEST_DIR/out")
	jq -se 'map(select(.id == "x" or .id == "y")) | map(.code) == ["cancelled", "cancelled"]' "$TEST_DIR/out"
	[ "$(sbx-exec --raw "$ENV_ID" -- cat f)" = 'new and whole' ]
	[ -z "$(temporaries)" ]
}

@test "write: a hundred that are cancelled as soon as they are asked for are over at once" {
	provision
	for ((i = 0; i < 100; i++)); do
		printf '{"id":"%d","op":"write","path":"f","data":"never","data_open":true}\n' "$i"
		printf '{"id":"c%d","op":"cancel","target":"%d"}\n' "$i" "$i"
	done >"$TEST_DIR/in"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out"
	[ "$(grep -c '"code":"cancelled"' "$TEST_DIR/out")" -eq 100 ]
	[ "$(grep -c '"type":"ok"' "$TEST_DIR/out")" -eq 100 ]
	[ -z "$(temporaries)" ]
}

@test "write: --put and --get carry any bytes, and a broken --put leaves the file as it was" {
	local pid

	provision
	head -c 3000000 /dev/urandom >"$TEST_DIR/bytes"
	run --separate-stderr sbx-exec --put 'big file' "$ENV_ID" <"$TEST_DIR/bytes"
	[ "$status" -eq 0 ]
	field '.type == "ok" and .path == "big file"'
	sbx-exec --get 'big file' "$ENV_ID" | cmp - "$TEST_DIR/bytes"
	: | sbx-exec --put empty "$ENV_ID" >/dev/null
	[ "$(sbx-exec --get empty "$ENV_ID" | wc -c)" -eq 0 ]
	[ "$(sbx-exec --get 'big file' "$ENV_ID" | head -c 10 | wc -c)" -eq 10 ]

	mkfifo "$TEST_DIR/pipe"
	sbx-exec --put 'big file' "$ENV_ID" <"$TEST_DIR/pipe" >/dev/null 3>&- &
	pid=$!
	exec 7>"$TEST_DIR/pipe"
	head -c 1000000 /dev/zero >&7
	kill -KILL "$pid"
	wait "$pid" || :
	exec 7>&-
	for ((i = 0; i < 50; i++)); do [ -n "$(temporaries)" ] && sleep 0.1 || break; done
	[ -z "$(temporaries)" ]
	sbx-exec --get 'big file' "$ENV_ID" | cmp - "$TEST_DIR/bytes"

	run --separate-stderr sbx-exec --get none "$ENV_ID"
	[ "$status" -eq 66 ] && [ -z "$output" ] && [[ $stderr == *none*'does not exist'* ]]
	run --separate-stderr sbx-exec --get 'big file' "$ENV_ID" >/dev/full
	run --separate-stderr sbx-exec --put ../x "$ENV_ID" </dev/null
	[ "$status" -eq 77 ]
	field '.code == "denied"'
	run --separate-stderr bash -c 'sbx-exec --get "big file" "$0" >/dev/full' "$ENV_ID"
	[ "$status" -eq 71 ]
}

@test "write: a file may not be larger than the workspace" {
	provision --workspace-bytes 1MiB
	run --separate-stderr sbx-exec --put f "$ENV_ID" < <(head -c 2000000 /dev/zero)
	field '.code == "quota"'
	[ -z "$(temporaries)" ]
	head -c 1000000 /dev/zero | sbx-exec --put f "$ENV_ID" >/dev/null
}

@test "write: --ls is for people, one line a name whatever is in it" {
	provision
	inside 'mkdir d; echo hello >d/f; ln -s f d/l; : >"$(printf "a\nb\033[31m\\\\c")"'
	run --separate-stderr sbx-exec --ls '' "$ENV_ID"
	[ "$status" -eq 0 ]
	grep -qE '^d[rwx-]{9} +[0-9]+ [0-9T:-]+Z d$' <<<"$output"
	grep -qE '^-[rwx-]{9} +0 .*Z a\\012b\\033\[31m\\134c$' <<<"$output"
	[ "$(wc -l <<<"$output")" -ge 2 ]
	run --separate-stderr sbx-exec --ls d "$ENV_ID"
	[ "$(awk '{ print $NF }' <<<"$output" | sort | tr '\n' ' ')" = 'f l ' ]
	run --separate-stderr sbx-exec --ls '' --recursive "$ENV_ID"
	grep -q ' d/f$' <<<"$output"
	run --separate-stderr sbx-exec --ls d/f "$ENV_ID"
	[ "$status" -eq 65 ]
	inside 'i=0; mkdir many; while [ $i -lt 3000 ]; do : >many/$i; i=$((i + 1)); done'
	[ "$(sbx-exec --ls many "$ENV_ID" | wc -l)" -eq 3000 ]
	sbx-exec --ls many "$ENV_ID" | head -n 1 >/dev/null
	# A stream pages over it, each name once.
	for ((at = 0; ; at += 700)); do
		page=$(echo "{\"op\":\"list\",\"path\":\"many\",\"offset\":$at,\"limit\":700}" | sbx-exec --stream "$ENV_ID")
		jq -r '.entries[].name' <<<"$page" >>"$TEST_DIR/names"
		jq -e .more <<<"$page" >/dev/null || break
	done
	[ "$(sort -u "$TEST_DIR/names" | wc -l)" -eq 3000 ] && [ "$(wc -l <"$TEST_DIR/names")" -eq 3000 ]
}

@test "write: --authorize says whether a path falls within the workspace" {
	provision
	inside 'mkdir -p d; : >d/f; ln -s /etc out; ln -s d in'
	for path in d d/f d/new none/new/er '' . /workspace /workspace/d/f; do
		run --separate-stderr sbx-exec --authorize "$path" "$ENV_ID"
		[ "$status" -eq 0 ]
		field '.type == "authorization" and .allowed and .reason == null'
	done
	for path in ../x /etc/passwd /workspacex d/../../x out out/passwd in/f; do
		run --separate-stderr sbx-exec --authorize "$path" "$ENV_ID"
		[ "$status" -eq 77 ]
		field '.allowed == false and (.reason == "outside" or .reason == "symlink")' >/dev/null ||
			jq -e '.allowed == false and .reason != null' <<<"$output"
	done
}

@test "write: options that do not go together are refused" {
	for options in '--get a --put b' '--get a --raw' '--ls a --stream' '--recursive' '--get a --stdin @x' \
		'--authorize a --timeout 1s --cwd /tmp' '--on-eof cancel'; do
		# shellcheck disable=SC2086  # options
		run --separate-stderr sbx-exec $options eaaaaaaaaaaaaaaaaaaaaaaaaaa </dev/null
		[ "$status" -eq 64 ]
	done
	run --separate-stderr sbx-exec --get a eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 64 ]
}

@test "write: what is cancelled of the workspace disturbs no command" {
	local size=300000000

	on_engine && size=60000000
	provision
	inside "truncate -s $size big"
	mkfifo "$TEST_DIR/in"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 3>&- &
	exec 7>"$TEST_DIR/in"
	printf '%s\n' '{"id":1,"op":"exec","argv":["sh","-c","sleep 3; echo slept"]}' \
		'{"id":2,"op":"read","path":"big","stream":true}' >&7
	for ((i = 0; i < 100; i++)); do grep -q '"event":"data"' "$TEST_DIR/out" && break || sleep 0.05; done
	echo '{"id":3,"op":"cancel","target":2}' >&7
	exec 7>&-
	wait $!
	jq -se '.[] | select(.id == 1) | .exit_code == 0 and .stdout.text == "slept\n" and .restarted == false' "$TEST_DIR/out"
	jq -se '.[] | select(.id == 2 and .type != "event") | .code == "cancelled" or .type == "file"' "$TEST_DIR/out"
	timeout 1 sbx-exec --get big "$ENV_ID" | head -c 1000 | wc -c
	[ "$(sbx-exec --raw "$ENV_ID" -- echo fine)" = fine ]
}
