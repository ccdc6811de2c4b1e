#!/usr/bin/env bats
# The limits of the workspace as they are kept by counting, on the mechanism under test: whoever writes
# more is ended, the record says which limit, and what was too much can be removed again.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

# limited BYTES INODES - an environment with these limits of its workspace.
limited()
{
	local spec

	spec=$(jq -nc --arg run "$RUN" --arg bytes "$1" --argjson inodes "$2" --arg image "${SBX_TEST_IMAGE_ID-}" \
		'{run: $run, limits: {workspace_bytes: $bytes, workspace_inodes: $inodes, wall_time: "40s"}} +
		if $image == "" then {} else {image: $image} end')
	ENV_ID=$(sbx-provision <<<"$spec" | jq -er .env)
}

act()
{
	output=$(timeout 90 sbx-exec "$ENV_ID" -- sh -c "$1" </dev/null 2>"$TEST_DIR/log")
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" && return
	printf 'not: %s\n%.3000s\n' "$1" "$output"
	return 1
}

@test "quota: a writer of many files is ended at the limit of bytes, and what it left can be removed" {
	limited 16MiB 1000
	act 'i=0; while :; do head -c 1048576 /dev/zero >f$i; i=$((i + 1)); done'
	is '.reason == "quota" and .limit == "workspace_bytes" and .limit_value == 16777216 and .exit_code == null and .signal == 9'
	is '.usage.workspace_bytes > 16777216 and .changes.created > 16'
	echo "# over the limit when it was ended: $(jq -c '.usage | [.workspace_bytes - 16777216, .wall_ms]' <<<"$output") [bytes, ms]" >&3
	# Over its limit it may be read, and made smaller, and not larger.
	act 'cat f0 | wc -c; sleep 1'
	is '.reason == "exited" and .exit_code == 0 and .stdout.text == "1048576\n"'
	act 'echo more >more; sleep 3'
	is '.reason == "quota"'
	act 'rm *; sleep 1'
	is '.reason == "exited" and .exit_code == 0 and .usage.workspace_bytes == 0 and .usage.workspace_inodes == 1'
	act 'head -c 1000000 /dev/zero >again; sleep 1'
	is '.reason == "exited" and .exit_code == 0'
}

@test "quota: a maker of names is ended at the limit of inodes" {
	limited 64MiB 500
	act 'i=0; while :; do : >f$i; ln f$i l$i; i=$((i + 1)); done'
	is '.reason == "quota" and .limit == "workspace_inodes" and .limit_value == 500 and .usage.workspace_inodes > 500'
	act 'rm f* l*'
	is '.reason == "exited" and .usage.workspace_inodes == 1'
}

@test "quota: what a quick command wrote is measured when it has ended" {
	limited 4MiB 1000
	act 'for i in 1 2 3; do head -c 2M /dev/zero >f$i; done'
	is '.reason == "quota" and .exit_code == 0 and .limit == "workspace_bytes" and .usage.workspace_bytes == 6291456'
	run sbx-exec --exit-code "$ENV_ID" -- true </dev/null
	[ "$status" -eq 0 ]
	run sbx-exec --exit-code "$ENV_ID" -- sh -c 'head -c 1M /dev/zero >g' </dev/null
	[ "$status" -eq 125 ]
}

@test "quota: exactly the limit is not over it" {
	limited 4MiB 16
	act 'head -c 2M /dev/zero >a; head -c 2M /dev/zero >b; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do : >$i; done; sleep 1'
	is '.reason == "exited" and .exit_code == 0 and .limit == null'
	is '.usage.workspace_bytes == 4194304 and .usage.workspace_inodes == 16'
	act ': >d'
	is '.reason == "quota" and .limit == "workspace_inodes"'
}

@test "quota: blocks count and not sizes, a file of several names once, directories as they are" {
	local sparse='truncate -s 4M sparse && ln sparse again'

	limited 4MiB 1000
	# gVisor's files have the blocks of their sizes: there a hole counts.
	[ "$MECHANISM" != gvisor ] || sparse='truncate -s 512K sparse && ln sparse again'
	act "$sparse"' && head -c 3M /dev/zero >a && ln a b && ln a c; mkdir d; sleep 1'
	is '.reason == "exited" and .exit_code == 0 and .limit == null'
	is '.usage.workspace_bytes >= 3145728 and .usage.workspace_bytes <= 4194304 and .usage.workspace_inodes == 7'
}

@test "quota: every command of the stream ends when the workspace is over its limit" {
	limited 4MiB 1000
	output=$(printf '%s\n' '{"id":1,"op":"exec","argv":["sleep","30"]}' \
		'{"id":2,"op":"exec","argv":["sh","-c","sleep 1; for i in 1 2 3; do head -c 2M /dev/zero >f$i; done; sleep 30"]}' |
		timeout 60 sbx-exec --stream "$ENV_ID" 2>/dev/null | jq -sc 'sort_by(.id)')
	is 'map(.id) == [1, 2]'
	if on_engine; then # a kill restarts the container, which takes the other with it
		is 'any(.reason == "quota" and .limit == "workspace_bytes") and all(.reason == "quota" or .reason == "restarted")'
	else
		is 'all(.reason == "quota" and .limit == "workspace_bytes")'
	fi
	act 'rm f*'
	is '.reason == "exited" and .usage.workspace_bytes == 0'
}

@test "quota: a tree that is moved about, deep or wide does not blind the count" {
	limited 4MiB 3000
	act 'mkdir a b; (while :; do mv a/x b/x 2>/dev/null; mv b/x a/x 2>/dev/null; done) &
		mkdir a/x; i=0; while :; do head -c 65536 /dev/zero >a/x/$i 2>/dev/null; i=$((i + 1)); done'
	is '.reason == "quota"'
	act 'rm -rf a b; i=0; while [ $i -lt 200 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done; head -c 3M /dev/zero >f; sleep 1'
	is '.reason == "exited" and .exit_code == 0 and .usage.workspace_inodes == 202'
}

@test "quota: blocks are taken by writing, and not reserved by the gigabyte" {
	limited 16MiB 1000
	act ': >big; : >kept; fallocate -l 8G big; fallocate -n -l 8G kept; ls; fallocate --posix -l 1M written && wc -c <written'
	is '.reason == "exited" and .exit_code == 0 and (.stdout.text | test("^big\nkept\n1048576\n$"))'
	is '.usage.workspace_bytes >= 1048576 and .usage.workspace_bytes < 2000000'
}

@test "quota: the reserved directory counts" {
	limited 4MiB 1000
	act 'mkdir .sbx; for i in 1 2 3; do head -c 2M /dev/zero >.sbx/f$i; done; sleep 30'
	is '.reason == "quota" and .changes.created == 0'
}

@test "quota: a file without a name counts as long as somebody has it open or mapped" {
	on_engine && skip 'by design: what a process inside holds is not to be seen from outside'
	limited 16MiB 1000
	act 'for f in 3 4 5 6; do eval "exec $f<>f$f"; rm f$f; head -c 6M /dev/zero >&$f; done; sleep 9'
	is '.reason == "quota" and .limit == "workspace_bytes" and .usage.workspace_bytes == 0'
	act 'for f in 1 2; do head -c 6M /dev/zero >f$f; done; rm f*; sleep 2'
	is '.reason == "exited"'
	have_python || skip 'no python3 inside'
	act 'python3 -c "
import mmap, os, time
maps = []
for i in range(4):
	fd = os.open(str(i), os.O_RDWR | os.O_CREAT)
	os.write(fd, bytes(6 << 20))
	maps.append(mmap.mmap(fd, 6 << 20))
	os.close(fd)
	os.unlink(str(i))
time.sleep(9)"'
	is '.reason == "quota" and .limit == "workspace_bytes" and .usage.workspace_bytes == 0'
}

have_python()
{
	sbx-exec --exit-code "$ENV_ID" -- sh -c 'command -v python3' </dev/null >/dev/null
}
