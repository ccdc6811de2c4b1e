#!/usr/bin/env bats
# The workspace as it is read through a stream of requests, on the mechanism under test: what hostile
# code left there is told exactly, refused by name, and never leads anywhere else.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# inside SCRIPT - a command that makes something in the workspace.
inside()
{
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c "$1" </dev/null >/dev/null
}

# ask REQUEST... - each without its id, which is its number; the records, in order, in $output.
ask()
{
	local i=0 request

	for request; do
		printf '{"id":%d,%s}\n' "$((++i))" "$request"
	done >"$TEST_DIR/requests"
	output=$(timeout 60 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/requests" 2>/dev/null | jq -sc 'sort_by(.id)[]')
	[ "$(wc -l <<<"$output")" -eq "$i" ]
}

# is NUMBER FILTER - of that answer.
is()
{
	jq -se --argjson id "$1" ".[] | select(.id == \$id) | $2" <<<"$output" >/dev/null && return
	printf 'not: %s of %s\n%.3000s\n' "$2" "$1" "$output"
	return 1
}

@test "files: what is read is what was written, byte by byte" {
	provision
	head -c 200000 /dev/urandom >"$TEST_DIR/bytes"
	timeout 60 sbx-exec --exit-code --stdin "$TEST_DIR/bytes" "$ENV_ID" -- sh -c 'cat >bytes' >/dev/null
	inside 'printf "caf\303\251\n" >text; : >empty'
	ask '"op":"read","path":"bytes","limit":262144' '"op":"read","path":"text"' '"op":"read","path":"empty"' \
		'"op":"read","path":"bytes","offset":199990,"limit":100' '"op":"read","path":"bytes","limit":1000' \
		'"op":"read","path":"./text"' '"op":"read","path":"bytes","offset":900000'
	is 1 '.type == "file" and .bytes == 200000 and .more == false'
	jq -r 'select(.id == 1) | .base64' <<<"$output" | base64 -d | cmp - "$TEST_DIR/bytes"
	is 2 '.text == "café\n" and .bytes == 6'
	is 3 '.bytes == 0 and .text == "" and .more == false'
	is 4 '.bytes == 10 and .offset == 199990 and .more == false'
	is 5 '.bytes == 1000 and .more == true'
	is 6 '.path == "./text" and .bytes == 6'
	is 7 '.bytes == 0 and .more == false'
}

@test "files: links, special files and ways out are refused by name" {
	provision
	inside 'mkdir d; echo x >d/f; ln -s /etc/passwd link; ln -s d way; ln -s .. up; mkfifo pipe
		ln d/f hard; ln -s loop loop'
	ask '"op":"read","path":"link"' '"op":"read","path":"way/f"' '"op":"read","path":"up/x"' \
		'"op":"read","path":"../state.json"' '"op":"read","path":"d/../d/f"' '"op":"read","path":"/etc/passwd"' \
		'"op":"read","path":"pipe"' '"op":"read","path":"d"' '"op":"read","path":"d/f/g"' \
		'"op":"read","path":"none"' '"op":"list","path":"way"' '"op":"measure","path":"way"' \
		'"op":"list","path":"d/f"' '"op":"stat","path":"link"' '"op":"stat","path":"way/f"' \
		'"op":"read","path":"loop"' '"op":"read","path":"hard"'
	for i in 1 2 3 11 12 15 16; do
		is "$i" '.code == "denied" and (.message | test("symbolic link"))'
	done
	for i in 4 5 6; do
		is "$i" '.code == "denied" and (.message | test("outside"))'
	done
	is 7 '.code == "bad_request" and (.message | test("special"))'
	is 8 '.code == "bad_request" and (.message | test("is a directory"))'
	is 9 '.code == "bad_request" and (.message | test("not a directory"))'
	is 10 '.code == "not_found"'
	is 13 '.code == "bad_request" and (.message | test("not a directory"))'
	is 14 '.kind == "symlink" and .size == 11'
	is 17 '.text == "x\n"'
}

@test "files: names are told exactly, whatever is in them" {
	provision
	inside 'touch "$(printf "new\nline")" "$(printf "in\377valid")" -- -rf "a b" "$(printf "%0255d" 0)"; mkdir d'
	ask '"op":"list"' '"op":"stat","path":{"base64":"aW7/dmFsaWQ="}' '"op":"list","limit":2' \
		'"op":"list","offset":2,"limit":1000' '"op":"list","path":"d"' '"op":"stat","path":"new\nline"'
	is 1 '[.entries[] | .name // .name_b64] | sort ==
		([".agent-initialized", "-rf", "a b", "d", "aW7/dmFsaWQ=", "bmV3CmxpbmU=", ("0" * 255)] | sort)'
	is 1 '.more == false and all(.entries[]; .mode | test("^0[0-7]{3}$"))'
	is 2 '.kind == "file" and .path_b64 == "aW7/dmFsaWQ="'
	is 3 '(.entries | length == 2) and .more'
	is 4 '(.entries | length == 5) and (.more | not)'
	is 5 '.entries == []'
	is 6 '.path_b64 == "bmV3CmxpbmU="'
}

@test "files: directories and files without any permission are read all the same" {
	skip_unless "without a uid of its own nobody reads these" is_root
	provision
	inside 'mkdir closed; echo secret >closed/f; chmod 0 closed/f closed'
	ask '"op":"read","path":"closed/f"' '"op":"list","path":"closed"' '"op":"measure"'
	is 1 '.text == "secret\n"'
	is 2 '.entries[0].name == "f" and .entries[0].mode == "0000"'
	is 3 '.inodes == 3'
}

@test "files: measuring counts blocks, hard links once, and every entry" {
	provision
	inside 'head -c 1048576 /dev/zero >big; ln big again; ln big third; truncate -s 1000M sparse; mkdir -p a/b/c
		i=0; while [ $i -lt 50 ]; do : >a/b/$i; i=$((i + 1)); done'
	ask '"op":"measure"' '"op":"measure","path":"a"' '"op":"stat","path":"sparse"' '"op":"stat","path":"big"'
	# The marker, three names of one file, the sparse one, three directories, fifty files.
	is 1 '.inodes == 58 and .bytes >= 1048576'
	# gVisor's file server tells a file's size as its blocks, and holds that to the limit of 1 GiB.
	[ "$MECHANISM" = gvisor ] || is 1 '.bytes < 3000000'
	is 2 '.inodes == 52'
	is 3 '.size == 1048576000'
	is 4 '.nlink == 3'
}

@test "files: a tree deeper than a path can be is measured and read" {
	by_design gvisor 'its file server opens by whole paths, so no such tree can be made'
	provision
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c '
		name=$(printf "%0200d" 0); i=0
		while [ $i -lt 60 ]; do mkdir "$name" && cd -P "$name" || exit; i=$((i + 1)); done
		echo deep >f' </dev/null >/dev/null
	path=$(printf "$(printf '%0200d' 0)/%.0s" {1..60})f
	ask '"op":"measure"' "\"op\":\"read\",\"path\":\"$path\""
	is 1 '.inodes == 62'
	is 2 '.text == "deep\n"'
}

@test "files: a directory that is swapped for a link never leads to foreign bytes" {
	local i

	provision
	inside 'mkdir real; echo ours >real/passwd; ln -s /etc swap'
	timeout 60 sbx-exec --timeout 20s "$ENV_ID" -- sh -c 'while :; do
		mv real d 2>/dev/null; mv d real 2>/dev/null; mv swap d 2>/dev/null; mv d swap 2>/dev/null; done' \
		</dev/null >/dev/null 3>&- &
	for ((i = 0; i < 400; i++)); do
		printf '{"id":%d,"op":"read","path":"d/passwd"}\n' "$i"
	done | timeout 60 sbx-exec --stream "$ENV_ID" >"$TEST_DIR/out" 2>/dev/null
	[ "$(wc -l <"$TEST_DIR/out")" -eq 400 ]
	jq -se 'all(.[]; .text == "ours\n" or .code == "not_found" or .code == "denied" or
		.code == "bad_request")' "$TEST_DIR/out"
	kill $!
	wait $! || :
}

@test "files: requests that make no sense are refused" {
	provision
	ask '"op":"read"' '"op":"read","path":"x","limit":0' '"op":"read","path":"x","limit":300000' \
		'"op":"list","limit":1001' '"op":"read","path":"a\u0000b"' '"op":"stat","path":1' \
		'"op":"measure","offset":1' '"op":"read","path":"x","offset":-1'
	for i in 1 2 3 4 5 6 7 8; do
		is "$i" '.type == "error" and .code == "bad_request"'
	done
}
