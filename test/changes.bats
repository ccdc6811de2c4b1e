#!/usr/bin/env bats
# What a command changed in the workspace, as its result tells it, on the mechanism under test: by
# content, whatever the code does to stamps and names, and never lost unsaid.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# act SCRIPT - its result is in $output.
act()
{
	output=$(timeout 60 sbx-exec "$ENV_ID" -- sh -c "$1" </dev/null 2>"$TEST_DIR/log")
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" && return
	printf 'not: %s\n%.4000s\n' "$1" "$output"
	return 1
}

# changed JSON - exactly these: an object of path to change.
changed()
{
	is '.changes.truncated == false and .changes.complete and .changes.consistent' &&
		is ".changes.list | map({(.path // .path_b64): .change}) | add // {} | . == $1"
}

@test "changes: each kind of change is told once, with sizes and digests" {
	provision
	act true
	changed '{}'
	is '.usage.workspace_inodes == 1'
	act 'mkdir d; echo hello >d/file; ln -s file d/link; mkfifo pipe; : >empty'
	changed '{"d": "created", "d/file": "created", "d/link": "created", "pipe": "created", "empty": "created"}'
	is ".changes.list[] | select(.path == \"d/file\") | .kind == \"file\" and .size == 6 and .digest ==
		\"blake2b:$(echo hello | b2sum -l 256 | cut -d ' ' -f 1)\""
	is ".changes.list[] | select(.path == \"empty\") | .digest == \"blake2b:$(b2sum -l 256 </dev/null |
		cut -d ' ' -f 1)\""
	is '.changes.list[] | select(.path == "pipe") | .kind == "fifo" and .digest == null'
	is '.changes | .created == 5 and .modified == 0 and .deleted == 0'
	act 'echo hallo >d/file; ln -sf elsewhere d/link; chmod 640 empty; rm pipe; mkdir pipe; : >pipe/in'
	changed '{"d/file": "modified", "d/link": "modified", "empty": "mode_changed", "pipe": "type_changed", "pipe/in": "created"}'
	is ".changes.list[] | select(.path == \"d/file\") | .was.digest ==
		\"blake2b:$(echo hello | b2sum -l 256 | cut -d ' ' -f 1)\" and .digest != .was.digest"
	is '.changes.list[] | select(.path == "empty") | .mode == "0640" and .was.mode == "0600"'
	act 'mv d e; rm -r pipe'
	changed '{"d": "deleted", "d/file": "deleted", "d/link": "deleted", "pipe": "deleted", "pipe/in": "deleted",
		"e": "created", "e/file": "created", "e/link": "created"}'
	act 'echo a >t; rm t; chmod 644 empty; chmod 640 empty; cat e/file'
	changed '{}'
}

@test "changes: restored time stamps hide nothing" {
	provision
	act 'echo aaaa >file; touch -d 2001-01-01 file; mkdir d; echo in >d/g'
	act 'touch -r file ref; echo bbbb >file; touch -r ref file; rm ref'
	changed '{"file": "modified"}'
	# Another file of the same size and time at the same name, and two names exchanged.
	act 'touch -r file ref; echo cccc >new; touch -r ref new; mv new file; rm ref'
	changed '{"file": "modified"}'
	act 'touch -d 2001-01-01 file; cp -p file other; echo dddd >other; touch -r file other'
	act 'mv file x; mv other file; mv x other'
	changed '{"file": "modified", "other": "modified"}'
}

@test "changes: a second name is created, and a write by one name changes both" {
	provision
	act 'echo one >a'
	act 'ln a b'
	changed '{"b": "created"}'
	is '.usage.workspace_inodes == 3'
	act 'echo two >b'
	changed '{"a": "modified", "b": "modified"}'
}

@test "changes: names come back exactly" {
	provision
	act 'cd "$PWD"; : >"a
b"; : >"$(printf "\377\376")"; : >"-rf"; : >"\"quoted\\"; : >"é"; : >".hidden"'
	is '[.changes.list[] | .path // .path_b64] | sort == (["-rf", ".hidden", "\"quoted\\", "YQpi", "//4=", "é"] | sort)'
	is '[.changes.list[] | select(.path_b64)] | length == 2'
}

@test "changes: more than are listed are counted, and all of them are in the spool" {
	local spool

	provision
	act 'i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo $i >f$i; done'
	is '.changes | .created == 250 and .truncated and (.list | length) == 100 and .spooled == 250'
	spool=$SBX_STATE/env/$ENV_ID/spool/$(jq -r .changes.spool <<<"$output")
	[ "$(wc -l <"$spool")" -eq 250 ]
	jq -se 'length == 250 and (map(.path) | unique | length) == 250 and all(.change == "created" and .digest != null)' "$spool"
	act 'rm f*; echo x >only'
	is '.changes | .deleted == 250 and .created == 1'
}

@test "changes: of several at once they go to the last that ends" {
	provision
	output=$(printf '%s\n' '{"id":1,"op":"exec","argv":["sh","-c","echo a >a; sleep 1"]}' \
		'{"id":2,"op":"exec","argv":["sh","-c","echo b >b"]}' |
		timeout 60 sbx-exec --stream "$ENV_ID" 2>/dev/null | jq -sc 'map({(.id | tostring): .changes}) | add')
	is '."2" == {"shared": true}'
	is '."1" | .created == 2 and (.list | map(.path) | sort) == ["a", "b"]'
	# And in different processes.
	timeout 60 sbx-exec "$ENV_ID" -- sh -c 'echo c >c; sleep 2' </dev/null >"$TEST_DIR/first" 2>/dev/null 3>&- &
	sleep 0.7
	act 'echo d >d'
	on_engine || is '.changes == {"shared": true}'
	wait $!
	output=$(jq -s '{list: map(.changes.list // []) | add}' "$TEST_DIR/first" - <<<"$output")
	is '.list | map(.path) | sort == ["c", "d"]'
}

@test "changes: a command that begins while another is compared waits for it" {
	local i requests=

	provision
	act 'mkdir d; i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i >d/$i; done'
	for i in 1 2 3 4 5; do
		requests+="{\"id\":$i,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"echo $i >d/$i.new\"]}"$'\n'
	done
	output=$(timeout 60 sbx-exec --stream "$ENV_ID" <<<"$requests" 2>/dev/null | jq -sc .)
	is 'length == 5 and all(.reason == "exited" and .exit_code == 0)'
	is '[.[].changes.list // [] | .[].path] | sort == ["d/1.new", "d/2.new", "d/3.new", "d/4.new", "d/5.new"]'
}

@test "changes: what a command that was ended did is told as well" {
	provision
	output=$(timeout 60 sbx-exec --timeout 1s "$ENV_ID" -- sh -c 'echo x >x; sleep 30' </dev/null 2>/dev/null)
	is '.reason == "timeout"'
	changed '{"x": "created"}'
}

@test "changes: the reserved directory is counted, and nobody's change" {
	provision
	act 'mkdir .sbx d; echo x >.sbx/x; echo y >d/.sbx'
	changed '{"d": "created", "d/.sbx": "created"}'
	is '.usage.workspace_inodes == 5'
}

@test "changes: a damaged snapshot is named, and never taken for an empty tree" {
	local file

	provision
	act 'echo one >one'
	file=$SBX_STATE/env/$ENV_ID/snapshot
	printf 'X' | dd of="$file" bs=1 seek=150 conv=notrunc status=none
	act 'echo two >two'
	is '.exit_code == 0 and .changes == {"unknown": "corrupt"} and .usage.workspace_inodes == 3'
	grep -q 'snapshot is damaged' "$TEST_DIR/log"
	act 'echo three >three'
	changed '{"three": "created"}'
	: >"$file"
	act true
	is '.changes == {"unknown": "corrupt"}'
	rm "$file"
	act true
	is '.changes == {"unknown": "not_found"}'
	act 'rm one'
	changed '{"one": "deleted"}'
}

@test "changes: sbx-exec killed at any moment leaves a sound snapshot, and tells nothing that is not so" {
	local i pid

	provision
	act 'mkdir d; i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo $i >d/$i; done'
	for i in 1 2 3 4 5 6 7 8; do
		sbx-exec "$ENV_ID" -- sh -c "echo $i >k$i; rm d/$i" </dev/null >"$TEST_DIR/out.$i" 2>/dev/null 3>&- &
		pid=$!
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -KILL "$pid" 2>/dev/null || :
		wait "$pid" || :
	done
	act 'ls'
	is '.changes.complete and .changes.consistent and (.changes | has("unknown") | not)'
	cat "$TEST_DIR"/out.* >"$TEST_DIR/all"
	output=$(jq -sc '{told: map(.changes.list // []) | add | map(select(.change == "created") | .path),
		there: last | .stdout.text | split("\n")}' "$TEST_DIR/all" - <<<"$output")
	# One whose teller was killed when it had kept the snapshot is told by nobody.
	is '(.told - .there) == [] and (.told | unique | length) == (.told | length)'
	act true
	changed '{}'
}
