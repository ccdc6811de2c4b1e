#!/usr/bin/env bats
# Whole trees in and out as tar archives: what is in a workspace leaves as it is, and no archive of a
# stranger makes anything outside or more than it may. On the mechanism under test.
# shellcheck disable=SC2154,SC2016  # bats sets output; what is in single quotes is for the shell inside

load helper

inside()
{
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c "$1" </dev/null >/dev/null
}

# archive PYTHON - a tar by python's tarfile: add(name, type, target, data), into $TEST_DIR/tar.
archive()
{
	python3 - "$TEST_DIR/tar" <<-END
		import io, sys, tarfile
		out = tarfile.open(sys.argv[1], 'w')
		def add(name, type=tarfile.REGTYPE, target='', data=b'x', mode=0o644):
		    member = tarfile.TarInfo(name)
		    member.type, member.linkname, member.mode = type, target, mode
		    member.size = len(data) if type == tarfile.REGTYPE else 0
		    out.addfile(member, io.BytesIO(data))
		SYM, LNK, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
		$1
		out.close()
	END
}

import()
{
	run --separate-stderr timeout 60 sbx-exec --tar-in "${1-}" "$ENV_ID" <"$TEST_DIR/tar"
}

# refused CODE PATTERN - the last import was, by that code and words.
refused()
{
	jq -e --arg code "$1" --arg words "$2" '.code == $code and (.message | test($words))' <<<"$output" >/dev/null && return
	printf 'not %s %s: %s\n%s\n' "$1" "$2" "$output" "${stderr-}"
	return 1
}

@test "tar: what comes in again is what went out" {
	provision
	inside 'mkdir -p d/e/f d/empty; echo one >d/one; printf "caf\303\251" >"d/caf$(printf "\303\251")"
		printf x >"d/$(printf "a\nb\\\\c\377")"; printf "other" >"d/$(printf "cafe\314\201")"; ln -s ../nowhere d/link; ln d/one d/hard; chmod 750 d/e; chmod 755 d/one
		head -c 300000 /dev/urandom >d/e/f/bytes; touch -d "2001-02-03 04:05:06 UTC" d/one; mkfifo d/pipe'
	sbx-exec --tar-out d "$ENV_ID" >"$TEST_DIR/tar" 2>"$TEST_DIR/err"
	grep -q 'left out.*pipe' "$TEST_DIR/err"
	inside 'mkdir in'
	import in
	[ "$status" -eq 0 ]
	jq -e '.type == "ok" and .path == "in"' <<<"$output"
	inside 'rm d/pipe; cd d; find . | LC_ALL=C sort >/tmp/a; cd ../in; find . | LC_ALL=C sort >/tmp/b; cmp /tmp/a /tmp/b
		for f in one hard e/f/bytes "caf$(printf "\303\251")" "$(printf "cafe\314\201")" "$(printf "a\nb\\\\c\377")"; do cmp "../d/$f" "$f" || exit; done
		[ "$(readlink link)" = ../nowhere ]'
	echo '{"op":"list","path":"in","recursive":true}' | sbx-exec --stream "$ENV_ID" >"$TEST_DIR/list"
	jq -e '.entries[] | select(.name == "one") | .mtime == 981173106 and .mode == "0755"' "$TEST_DIR/list"
	jq -e '.entries[] | select(.name == "e") | .mode == "0750"' "$TEST_DIR/list"
	# And as tar sees it.
	tar -tf "$TEST_DIR/tar" >/dev/null
	mkdir "$TEST_DIR/out"
	tar -C "$TEST_DIR/out" -xf "$TEST_DIR/tar" 2>/dev/null
	cmp "$TEST_DIR/out/one" <(echo one)
}

@test "tar: archives of other makers come in, packed or not" {
	provision
	mkdir -p "$TEST_DIR/tree/sub"
	echo hello >"$TEST_DIR/tree/sub/file"
	ln "$TEST_DIR/tree/sub/file" "$TEST_DIR/tree/zhard"
	ln -s sub/file "$TEST_DIR/tree/soft"
	for format in ustar gnu pax; do
		for packer in cat gzip xz bzip2 zstd; do
			command -v "$packer" >/dev/null || continue
			tar -C "$TEST_DIR/tree" --format="$format" -cf - . | "$packer" >"$TEST_DIR/tar"
			inside 'rm -rf in; mkdir in'
			import in
			[ "$status" -eq 0 ]
			run --separate-stderr sbx-exec --raw "$ENV_ID" -- sh -c 'cat in/sub/file in/zhard in/soft'
			[ "$output" = $'hello\nhello\nhello' ]
		done
	done
}

# trap_is PYTHON CODE PATTERN
trap_is()
{
	archive "$1"
	import in
	refused "$2" "$3"
}

@test "tar: every trap is refused, and nothing of it is outside" {
	local before

	provision
	inside 'mkdir in; echo safe >safe; ln -s .. in/up; ln -s /tmp in/abs'
	before=$(ls -A "$(workspace)")
	trap_is 'add("../escaped")' denied 'escaped.*leads out'
	trap_is 'add("a/../../escaped")' denied 'leads out'
	trap_is 'add("/escaped")' denied 'leads out'
	trap_is 'add("l", SYM, ".."); add("l/escaped")' denied 'beneath a symbolic link'
	trap_is 'add("f"); add("f/escaped")' denied 'beneath a file'
	trap_is 'add("h", LNK, "../safe")' denied 'leads out'
	trap_is 'add("h", LNK, "nothing")' denied 'hard link to no file'
	trap_is 'add("l2", SYM, "../safe"); add("h2", LNK, "l2")' denied 'hard link to no file'
	trap_is 'add("dev", tarfile.CHRTYPE)' denied 'device, fifo or socket'
	trap_is 'add("fifo", tarfile.FIFOTYPE)' denied 'device, fifo or socket'
	trap_is 'add("twice"); add("twice")' denied 'comes twice'
	trap_is 'add("./two"); add("two", SYM, "safe")' denied 'comes twice'
	trap_is 'add("n" * 5000)' denied '5000 bytes'
	# Links that are there already: only the walk itself can know.
	trap_is 'add("up/escaped")' denied 'up/escaped.*symbolic link'
	trap_is 'add("abs/escaped")' denied 'abs/escaped.*symbolic link'
	archive 'add("x")'
	import in/up
	refused denied 'symbolic link'
	head -c 700 "$TEST_DIR/tar" >"$TEST_DIR/cut"
	mv "$TEST_DIR/cut" "$TEST_DIR/tar"
	import in
	refused bad_request 'no whole tar'
	# Cut between two members: each is one block and one of bytes.
	archive 'add("first", data=b"1"); add("second", data=b"2")'
	truncate -s 1024 "$TEST_DIR/tar"
	tar -tf "$TEST_DIR/tar" | grep -qx first
	import in
	refused bad_request 'no whole tar'
	head -c 5000 /dev/urandom >"$TEST_DIR/tar"
	import in
	refused bad_request 'no whole tar'
	# Nothing is what comes out of a pipeline that failed.
	: >"$TEST_DIR/tar"
	import in
	refused bad_request 'no whole tar'
	[ "$(ls -A "$(workspace)")" = "$before" ]
	[ ! -e "$(workspace)/../escaped" ] && [ ! -e /escaped ] && [ ! -e /tmp/escaped ]
	run --separate-stderr sbx-exec --raw "$ENV_ID" -- sh -c 'cat safe; ls /tmp'
	[ "$output" = safe ]
}

@test "tar: names of strangers do not get into a message as they are" {
	provision
	archive 'add("../\x1b[31mred\n")'
	import
	refused denied 'red'
	[[ $output != *$'\e'* ]]
}

@test "tar: links, modes and files are replaced, not followed or kept" {
	provision
	inside 'mkdir in; echo target >target; ln -s ../target in/f; echo old >in/g; mkdir in/d; : >in/d/x'
	archive 'add("f", data=b"new"); add("g", SYM, "f"); add("run", mode=0o4755); add("d", DIR, mode=0o700)'
	import in
	[ "$status" -eq 0 ] || refused denied 'symbolic link'
	run --separate-stderr sbx-exec --raw "$ENV_ID" -- cat target
	[ "$output" = target ]
	archive 'add("g", SYM, "run"); add("run", mode=0o4755); add("d", DIR, mode=0o700)'
	import in
	[ "$status" -eq 0 ]
	[ "$(sbx-exec --raw "$ENV_ID" -- readlink in/g)" = run ]
	echo '{"op":"stat","path":"in/run"}' | sbx-exec --stream "$ENV_ID" | jq -e '.mode == "0755"'
	archive 'add("d")'
	import in
	[ "$status" -eq 65 ] && refused bad_request '"in/d"|"d".*is a directory'
}

@test "tar: a bomb is stopped at the size of the workspace" {
	provision --workspace-bytes 1MiB
	python3 - "$TEST_DIR/tar" <<-'END'
		import gzip, io, sys, tarfile
		class Zeros(io.RawIOBase):
		    def readable(self): return True
		    def readinto(self, b): b[:] = bytes(len(b)); return len(b)
		with gzip.open(sys.argv[1], 'wb', compresslevel=1) as packed:
		    out = tarfile.open(fileobj=packed, mode='w|')
		    member = tarfile.TarInfo('zeros')
		    member.size = 200 << 20
		    out.addfile(member, io.BufferedReader(Zeros(), 1 << 20))
		    out.close()
	END
	import
	refused bad_request 'more bytes' || refused quota 'space'
	[ -z "$(find "$(workspace)" -name '.sbx-write-*')" ]
	# And going out: what it found was too much already, which is said and not taken away.
	run inside 'for i in 1 2 3; do head -c 600000 /dev/zero >f$i; done'
	[ "$status" -eq 125 ]
	sbx-exec --tar-out '' "$ENV_ID" >"$TEST_DIR/tar" 2>"$TEST_DIR/err" && return 1
	grep -q 'more bytes' "$TEST_DIR/err"
}

@test "tar: sbx-tar runs as nobody, with nothing but its descriptors" {
	local tool=$SBX_LIBEXEC/sbx-tar pid

	is_root || skip 'not root'
	mkfifo "$TEST_DIR/pipe"
	"$tool" in <"$TEST_DIR/pipe" >/dev/null 3>&- 4</etc/passwd &
	pid=$!
	exec 7>"$TEST_DIR/pipe"
	for ((i = 0; i < 50; i++)); do
		grep -q '^Seccomp:.*2' "/proc/$pid/status" && break
		sleep 0.1
	done
	grep -qE '^Uid:.65534.65534.65534.65534' "/proc/$pid/status"
	grep -qE '^CapEff:.0+$' "/proc/$pid/status"
	grep -qE '^NoNewPrivs:.1' "/proc/$pid/status"
	grep -qE '^Seccomp:.2' "/proc/$pid/status"
	[ "$(find "/proc/$pid/fd" -type l | wc -l)" -eq 3 ]
	exec 7>&-
	wait "$pid" || :
}
