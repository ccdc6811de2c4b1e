#!/usr/bin/env bats
# sbx-quota on directories that anybody filled: what it counts, tells, keeps and refuses.
# shellcheck disable=SC2154,SC2016  # bats sets output and status; quoted code is for another shell

load helper

setup()
{
	sbx_setup
	TREE=$TEST_DIR/tree
	mkdir "$TREE"
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" && return
	printf 'not: %s\nstatus %s: %.3000s\n' "$1" "$status" "$output"
	return 1
}

# told - changes as "change path" lines, sorted.
told()
{
	jq -r 'select(.type == "change") | "\(.change) \(.path // .path_b64)"' <<<"$output" | sort
}

@test "sbx-quota: measure agrees with du and find" {
	local bytes names

	cp -r "$SRC/lib" "$SRC/man" "$TREE"
	ln "$TREE/lib/base/buf.c" "$TREE/again"
	ln -s /etc/shadow "$TREE/link"
	mkfifo "$TREE/fifo"
	truncate -s 1P "$TREE/sparse" 2>/dev/null || truncate -s 1T "$TREE/sparse"
	fallocate -n -l 8M "$TREE/kept" 2>/dev/null || : # size 0, blocks all the same, where the disk can
	run --separate-stderr sbx-quota measure "$TREE"
	[ "$status" -eq 0 ]
	bytes=$(($(du -s --block-size=1 "$TREE" | cut -f 1) - $(stat -c '%b * 512' "$TREE")))
	names=$(find "$TREE" -mindepth 1 -printf x | wc -c)
	is ".bytes == $bytes and .inodes == $names and .complete and .consistent"
	is '.symlinks == 1 and .others == 1 and .files + .directories + 2 == .inodes'
}

@test "sbx-quota: the biggest directories and files are named, their own first" {
	mkdir -p "$TREE/a/b" "$TREE/c"
	head -c 3M /dev/zero >"$TREE/a/b/big"
	head -c 1M /dev/zero >"$TREE/c/small"
	head -c 2M /dev/zero >"$TREE/a/middle"
	run --separate-stderr sbx-quota measure --top 2 "$TREE"
	output=$(jq -sc . <<<"$output")
	is 'map(select(.type == "top") | [.kind, .path]) == [["directory", "a"], ["directory", "a/b"], ["file", "a/b/big"], ["file", "a/middle"]]'
	is '.[1] | .bytes > 5242880 and .inodes == 3'
	run --separate-stderr sbx-quota measure --table "$TREE"
	[[ ${lines[1]} == *" 5 MiB "*" a/" ]] || [[ ${lines[1]} == *"MiB "*" a/" ]]
	[[ $output == *"in all of $TREE" ]]
}

@test "sbx-quota: names that want to be something else are escaped" {
	: >"$TREE/$(printf 'a\nb\033[31m\377')"
	run --separate-stderr sbx-quota measure --table "$TREE"
	[[ $output == *'a\012b\033[31m\377'* ]]
	run --separate-stderr sbx-quota measure --top 1 "$TREE"
	output=${lines[1]}
	is ".path_b64 == \"$(printf 'a\nb\033[31m\377' | base64)\""
}

@test "sbx-quota: deep and wide trees are measured and compared" {
	local i

	(cd "$TREE" && for ((i = 0; i < 450; i++)); do mkdir dddddddddd && cd dddddddddd || exit; done && : >bottom)
	mkdir "$TREE/wide"
	(cd "$TREE/wide" && seq 20000 | xargs touch)
	run --separate-stderr sbx-quota measure "$TREE"
	is '.inodes == 20452 and .complete'
	sbx-quota snapshot --output "$TEST_DIR/one" "$TREE" >/dev/null
	rm "$TREE/wide/777"
	run --separate-stderr sbx-quota diff "$TEST_DIR/one" "$TREE"
	[ "$(told)" = 'deleted wide/777' ]
}

@test "sbx-quota: what may not be read is missing and said to be" {
	skip_unless "needs root to be somebody else" is_root
	mkdir "$TREE/closed" "$TREE/open"
	: >"$TREE/closed/in"
	chmod 0 "$TREE/closed"
	chmod 755 "$TREE" "$TEST_DIR"
	run --separate-stderr sbx-quota measure "$TREE"
	is '.inodes == 3 and .complete'
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups sbx-quota measure "$TREE"
	is '.inodes == 2 and (.complete | not)'
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups sbx-quota measure "$TREE/closed"
	[ "$status" -eq 77 ]
	is '.code == "denied"'
}

@test "sbx-quota: who closes a directory hides what is in it, and nothing else" {
	skip_unless "needs root to be somebody else" is_root
	local as=(setpriv --reuid 65534 --regid 65534 --clear-groups) i

	chmod 755 "$TEST_DIR"
	for i in 1 2 3 4 5 6 7 8; do
		mkdir "$TREE/closed$i" "$TREE/listed$i"
		: >"$TREE/closed$i/in"
		: >"$TREE/listed$i/in"
		head -c 65536 /dev/zero >"$TREE/file$i"
	done
	chmod 0 "$TREE"/closed*
	chmod 744 "$TREE"/listed*
	run --separate-stderr "${as[@]}" sbx-quota measure "$TREE"
	is '.inodes == 32 and .bytes >= 524288 and (.complete | not) and .consistent'
	run --separate-stderr "${as[@]}" timeout 20 sbx-quota watch --count 1 "$TREE"
	[ "$status" -eq 0 ]
	is '.inodes == 32 and .bytes >= 524288 and (.complete | not)'
	run --separate-stderr "${as[@]}" timeout 20 sbx-quota watch --inodes 31 "$TREE"
	[ "$status" -eq 71 ]
	is '.type == "violation" and .limit == "inodes"'
	run --separate-stderr "${as[@]}" sbx-quota diff "$TREE" "$TREE"
	[ "$status" -eq 0 ]
	is '.type == "changes" and (.complete | not) and .consistent'
}

@test "sbx-quota: watch ends when nobody reads it, and a snapshot when it is told to" {
	local ended i

	# The first line only; the tree does not move again.
	SECONDS=0
	ended=$( { timeout 20 sbx-quota watch --interval 50ms "$TREE" 2>/dev/null || echo "$?" >&3; } 3>"$TEST_DIR/ended" | head -n 1)
	[[ $ended == *usage* ]]
	[ "$(cat "$TEST_DIR/ended")" = 71 ]
	truncate -s 1G "$TREE/holes" # more than a moment's hashing
	mkdir "$TEST_DIR/out"
	timeout --preserve-status -s TERM 0.2 sbx-quota snapshot --output "$TEST_DIR/out/one" "$TREE" >"$TEST_DIR/said" 2>/dev/null 3>&- || ended=$?
	[ "$ended" = 143 ] && [ -z "$(ls -A "$TEST_DIR/out")" ]
	[ "$(jq -r .code "$TEST_DIR/said")" = cancelled ]
	[ "$SECONDS" -lt 15 ]
}

@test "sbx-quota: a mount inside is not entered" {
	skip_unless "needs root to mount" is_root
	mkdir "$TREE/mount"
	run unshare -m sh -c 'mount -t tmpfs tmpfs "$1/mount" && : >"$1/mount/in" && sbx-quota measure "$1" 2>/dev/null' sh "$TREE"
	is '.inodes == 0 and .complete'
}

@test "sbx-quota: diff tells each kind of change once, and a table has its letters" {
	local t=$TREE

	mkdir "$t/d" "$t/e"
	echo one >"$t/same"
	echo two >"$t/d/file"
	ln -s x "$t/link"
	: >"$t/type"
	sbx-quota snapshot --output "$TEST_DIR/before" "$t" >/dev/null
	run sbx-quota diff --exit-code "$TEST_DIR/before" "$t"
	[ "$status" -eq 0 ]
	touch -r "$t/d/file" "$TEST_DIR/ref"
	echo 2wo >"$t/d/file"
	touch -r "$TEST_DIR/ref" "$t/d/file"
	ln -sf y "$t/link"
	rm "$t/type"
	mkdir "$t/type"
	: >"$t/type/in"
	chmod 700 "$t/e"
	mv "$t/same" "$t/renamed"
	run --separate-stderr sbx-quota diff --exit-code "$TEST_DIR/before" "$t"
	[ "$status" -eq 1 ]
	[ "$(told)" = 'created renamed
created type/in
deleted same
mode_changed e
modified d/file
modified link
type_changed type' ]
	output=${lines[-1]}
	is '. == {"type": "changes", "created": 2, "modified": 2, "deleted": 1, "type_changed": 1, "mode_changed": 1, "complete": true, "consistent": true}'
	run --separate-stderr sbx-quota diff --table "$TEST_DIR/before" "$t"
	[ "$(cut -c 1 <<<"$output" | sort | tr -d '\n')" = 7AADMMPT ]
}

@test "sbx-quota: an earlier snapshot spares reading, and only where that is sound" {
	skip_unless "stamps of this file system prove nothing" is_stamped
	head -c 20M /dev/urandom >"$TREE/large"
	sleep 0.1
	sbx-quota snapshot --still --output "$TEST_DIR/one" "$TREE" >/dev/null
	sbx-quota snapshot --still --since "$TEST_DIR/one" --output "$TEST_DIR/two" "$TREE" >/dev/null
	# Nothing of it was read: its access time would be set, since it is older than the change.
	[ "$(cmp "$TEST_DIR/one" "$TEST_DIR/two" | wc -l)" -eq 1 ] # other times in the head
	run sbx-quota diff --exit-code "$TEST_DIR/one" "$TEST_DIR/two"
	[ "$status" -eq 0 ]
	printf x | dd of="$TREE/large" bs=1 seek=1000 conv=notrunc status=none
	run --separate-stderr sbx-quota diff "$TEST_DIR/two" "$TREE"
	[ "$(told)" = 'modified large' ]
}

is_stamped()
{
	case $(stat -f -c %T "$TEST_DIR") in ext2/ext3 | xfs | btrfs) ;; *) false ;; esac
}

@test "sbx-quota: a snapshot that is damaged, cut off or none is refused, and never empty" {
	: >"$TREE/file"
	sbx-quota snapshot --output "$TEST_DIR/one" "$TREE" >/dev/null
	printf x | dd of="$TEST_DIR/one" bs=1 seek=100 conv=notrunc status=none
	run --separate-stderr sbx-quota diff "$TEST_DIR/one" "$TREE"
	[ "$status" -eq 71 ]
	is '.code == "corrupt" and (.message | test("/one: the snapshot is damaged"))'
	run --separate-stderr sbx-quota snapshot --since "$TEST_DIR/one" --output "$TEST_DIR/two" "$TREE"
	[ "$status" -eq 71 ]
	[ ! -e "$TEST_DIR/two" ]
	: >"$TEST_DIR/one"
	run --separate-stderr sbx-quota diff "$TREE" "$TEST_DIR/one"
	is '.code == "corrupt"'
	run --separate-stderr sbx-quota diff "$TREE" /etc/passwd
	is '.code == "corrupt" and (.message | test("no snapshot"))'
}

@test "sbx-quota: a snapshot is whole or the one before, on a full disk and when it is killed" {
	local i

	skip_unless "needs root to mount" is_root
	(cd "$TREE" && seq 5000 | xargs touch)
	run unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs "$1" && echo old >"$1/snap" &&
		sbx-quota snapshot --output "$1/snap" "$2" 2>/dev/null; echo "$?"; cat "$1/snap"; ls -A "$1"' \
		sh "$(mktemp -d "$TEST_DIR/small.XXXX")" "$TREE"
	[ "${lines[1]}" = 71 ]
	[ "${lines[2]}" = old ]
	[ "${lines[3]}" = snap ]
	output=${lines[0]}
	is '.code == "quota"'
	sbx-quota snapshot --output "$TEST_DIR/kept" "$TREE" >/dev/null
	for ((i = 0; i < 30; i++)); do
		sbx-quota snapshot --output "$TEST_DIR/kept" "$TREE" >/dev/null 3>&- &
		sleep "0.00$((RANDOM % 9))"
		kill -KILL $! 2>/dev/null || :
		wait $! 2>/dev/null || :
		sbx-quota diff --exit-code "$TEST_DIR/kept" "$TREE" >/dev/null
	done
}

@test "sbx-quota: watch tells growth, ends at a limit, and when its directory is gone" {
	(sleep 0.4; head -c 1M /dev/zero >"$TREE/a"; sleep 0.6; head -c 2M /dev/zero >"$TREE/b") 3>&- &
	run --separate-stderr timeout 20 sbx-quota watch --interval 100ms --bytes 2MiB "$TREE"
	wait $!
	[ "$status" -eq 71 ]
	[ "$(jq -r .bytes <<<"${lines[0]}")" = 0 ]
	[ "$(jq -r .bytes <<<"${lines[1]}")" -eq 1048576 ]
	output=${lines[-1]}
	is '.type == "violation" and .limit == "bytes" and .limit_value == 2097152 and .bytes > 2097152'
	run --separate-stderr timeout 20 sbx-quota watch --inodes 1 "$TREE"
	[ "$status" -eq 71 ]
	run --separate-stderr timeout 20 sbx-quota watch --count 1 "$TREE"
	[ "$status" -eq 0 ]
	(sleep 0.3; rm -r "$TREE") 3>&- &
	run --separate-stderr timeout 20 sbx-quota watch --interval 100ms "$TREE"
	wait $!
	[ "$status" -eq 66 ]
	output=${lines[-1]}
	is '.code == "not_found"'
}

@test "sbx-quota: wrong words are named" {
	local code words

	while read -r code words; do
		# shellcheck disable=SC2086  # words
		run --separate-stderr sbx-quota $words
		[ "$status" -eq "$code" ] || { echo "$words: $status"; return 1; }
		[ "$(jq -r .type <<<"$output")" = error ]
	done <<-END
		64
		64 weigh $TREE
		64 measure
		64 measure $TREE $TREE
		64 measure --top 0 $TREE
		64 snapshot $TREE
		64 diff $TREE
		64 watch --interval 1ms $TREE
		65 measure /etc/passwd
		66 measure $TREE/none
		66 diff $TREE $TREE/none
		66 snapshot --output $TREE/none/file $TREE
		66 snapshot --since $TREE/none --output $TREE/file $TREE
	END
	[ -z "$(ls -A "$TREE")" ]
}
