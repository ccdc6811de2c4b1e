#!/usr/bin/env bats
# What bounds the workspace of a native environment, by the kind that `quota` names: the writer meets
# the limit and goes on, the space comes back, and nothing of it outlives a release or a SIGKILL.
#
#	SBX_KILL_RUNS=N    rounds of the test that kills, 60 if not set
# shellcheck disable=SC2154,SC2030,SC2031  # bats sets output and status; subshells are meant
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside

load helper
load fault/kill

setup()
{
	sbx_setup
	skip_unless "what bounds a workspace takes root" is_root
	skip_unless "native does not work here" sbx-provision --probe
}

teardown()
{
	! mountpoint -q "$TEST_DIR/disk" || umount "$TEST_DIR/disk"
	sbx_teardown
}

# own_disk - the state directory of this test on a file system that nobody else writes to.
own_disk()
{
	truncate -s 400M "$TEST_DIR/disk.img"
	mkfs.ext4 -q "$TEST_DIR/disk.img"
	mkdir "$TEST_DIR/disk"
	mount -o loop "$TEST_DIR/disk.img" "$TEST_DIR/disk"
	OLD_STATE=$SBX_STATE
	export SBX_STATE=$TEST_DIR/disk/state
	mkdir -m 0700 "$SBX_STATE"
}

# kind NAME - the tools of this test make that kind; skips where this host does not have it.
kind()
{
	skip_unless "no workspace on $1 here" works_here "$1"
	configured_tools "quota: $1"
}

works_here()
{
	sbx-provision --probe 2>/dev/null | jq -e --arg name "workspace:$1" '.mechanisms[] |
		select(.mechanism == "native").items[] | select(.name == $name).works'
}

# sh_inside COMMAND - its output is left in $output; it has to end with 0.
sh_inside()
{
	run --separate-stderr timeout 100 sbx-exec --exit-code "$ENV_ID" -- sh -euc "$1" </dev/null
	[ "$status" -eq 0 ] || {
		echo "$output"
		return 1
	}
	output=$(jq -r .stdout.text <<<"$output")
}

# free_here - bytes free on the file system of the state directory.
free_here()
{
	echo $(($(stat -f -c '%a * %S' "$SBX_STATE")))
}

sized()
{
	provision --workspace-bytes 64MiB --workspace-inodes 1000 "$@"
}

at_the_limit()
{
	sh_inside 'head -c 67108864 /dev/zero >a
		[ "$(stat -c %s a)" = 67108864 ]
		if head -c 4096 /dev/zero >b 2>err; then echo more; exit 1; fi
		rm a; echo goes on >a; cat a'
	[ "$output" = 'goes on' ]
}

# Never a block more. It may be one less: ext4 puts aside a block that delayed writes could need, and one
# maps a file that lies in more than four pieces; neither is for us to say.
@test "quota: an image holds its limit to the block and never more, and the writer goes on" {
	kind image
	sized
	sh_inside 'head -c 67108864 /dev/zero >a 2>/tmp/err || grep -q "No space left" /tmp/err
		i=0; while head -c 4096 /dev/zero >"b$i" 2>/tmp/err; do i=$((i + 1)); done
		grep -q "No space left" /tmp/err
		cat a b* | wc -c; stat -c %b a b* | awk "{ sum += \$1 } END { print sum }"
		rm a b*; echo goes on >a; cat a'
	echo "got: $output"
	read -r -d '' -a got <<<"$output" || :
	[[ ${got[0]} =~ ^(67108864|67104768)$ && ${got[1]} =~ ^(131072|131064)$ && ${got[*]:2} = 'goes on' ]]
	jq -e '.quota == "image" and (.enforced | index("workspace:image"))' \
		"$SBX_STATE/env/$ENV_ID/state.json"
	sh_inside 'dd if=/dev/zero of=c bs=1M count=65 2>err || grep -o "No space left" err'
	[ "$output" = 'No space left' ]
	# Nobody is ended for it, and what changed is told as ever.
	run --separate-stderr timeout 100 sbx-exec "$ENV_ID" -- sh -c 'rm c; echo new >n' </dev/null
	field '.reason == "exited" and .limit == null and .usage.workspace_bytes <= 67108864'
	field '[.changes.list[] | "\(.change) \(.path)"] | sort == ["created n", "deleted c"]'
}

@test "quota: a tmpfs holds exactly its limit, and the writer of one block more goes on" {
	kind tmpfs
	sized
	at_the_limit
	jq -e '.enforced | index("workspace:tmpfs")' "$SBX_STATE/env/$ENV_ID/state.json"
	grep -q " $SBX_STATE/env/$ENV_ID/workspace rw,nosuid,nodev" /proc/self/mountinfo
}

@test "quota: a project holds its limit, and the writer of more goes on" {
	works_here project >/dev/null || skip 'by design: no kernel here has them, and test/vm shows them in its guest'
	kind project
	sized
	sh_inside 'head -c 67000000 /dev/zero >a
		if head -c 1000000 /dev/zero >b 2>err; then echo more; exit 1; fi
		rm a; echo goes on >a; cat a'
	[ "$output" = 'goes on' ]
	jq -e '.enforced | index("workspace:project")' "$SBX_STATE/env/$ENV_ID/state.json"
}

@test "quota: with many inodes a file is held to the limit with the blocks that map it" {
	kind image
	provision --workspace-bytes 64MiB
	sh_inside 'head -c 67108864 /dev/zero >a || :
		stat -c "%b %B" a'
	read -r blocks size <<<"$output"
	[ $((blocks * size)) -le 67108864 ] && [ $((blocks * size)) -gt 67000000 ]
	[ "$(stat -f -c '%a %d' "$(workspace)")" = '0 99998' ]
}

@test "quota: the limit of inodes is met exactly, by files, directories and links" {
	local kind epoch=0

	for kind in image tmpfs; do
		works_here "$kind" || continue
		printf 'quota: %s\n' "$kind" >"$TEST_DIR/kind.yaml"
		provision --config "$TEST_DIR/kind.yaml" --epoch "$((epoch += 1))" --workspace-bytes 1MiB --workspace-inodes 100
		# 99, since the marker is one
		sh_inside 'i=0; mkdir d; ln -s x s
			while true >"d/$i"; do i=$((i + 1)); done 2>err || :
			rm s; find . -mindepth 1 | wc -l'
		[ "$output" = 99 ] # err is there, s is gone
	done
}

@test "quota: what fallocate, sparse files, links, attributes and unlinked files take is bounded" {
	kind image
	provision --workspace-bytes 16MiB --workspace-inodes 1000
	install -m 0755 "$SRC/build/test/hostile/hoard" "$TEST_DIR/hoard"
	sbx-exec --put hoard "$ENV_ID" <"$TEST_DIR/hoard" >/dev/null
	sh_inside 'chmod 700 hoard; ./hoard 16777216'
	[[ $output == *$'\nend '* && $output != *ESCAPED* ]]
	[ "$(stat -f -c %a "$(workspace)")" -gt 3500 ]
}

@test "quota: two environments share nothing, and commands of one see the same files" {
	local first

	kind image
	sized
	first=$ENV_ID
	sized --epoch 2
	sh_inside 'head -c 60000000 /dev/zero >big'
	ENV_ID=$first
	sh_inside 'head -c 60000000 /dev/zero >big; echo hello >f'
	sh_inside 'cat f; [ -e big ]'
	[ "$output" = hello ]
	[ "$(sbx-exec --get f "$ENV_ID")" = hello ]
	echo there | sbx-exec --put g "$ENV_ID" >/dev/null
	sh_inside 'cat g'
	[ "$output" = there ]
	run sbx-exec --ls '' "$ENV_ID"
	[[ $output == *' big'* && $output != *lost+found* ]]
	run --separate-stderr sbx-exec --put h "$ENV_ID" < <(head -c 20000000 /dev/zero)
	field '.code == "quota"'
}

@test "quota: released, an image gives its space back at once, and no device is left" {
	local before

	kind image
	own_disk
	sized
	sbx-reap --env "$ENV_ID" >/dev/null # its template is made
	before=$(free_here)
	sized
	[ $(($(free_here) + 67108864)) -le "$before" ]
	sh_inside 'head -c 60000000 /dev/urandom >a'
	sbx-reap --env "$ENV_ID" >/dev/null
	run ! grep -F "$ENV_ID" /proc/self/mountinfo
	run ! grep -sF "$ENV_ID" /sys/block/loop*/loop/backing_file
	[ -z "$(ls -A "$SBX_STATE/env")" ]
	[ "$(free_here)" -ge $((before - 1048576)) ]
	umount "$TEST_DIR/disk"
	SBX_STATE=$OLD_STATE
}

@test "quota: auto takes an image where there are loop devices" {
	kind image
	printf 'quota: auto\n' >"$TEST_DIR/auto.yaml"
	provision --config "$TEST_DIR/auto.yaml" --workspace-bytes 1MiB
	jq -e '.enforced | any(. == "workspace:image" or . == "workspace:project")' \
		"$SBX_STATE/env/$ENV_ID/state.json"
}

@test "quota: monitor mounts nothing, and says so" {
	kind monitor
	provision --workspace-bytes 1MiB
	jq -e '.enforced | index("workspace:monitor")' "$SBX_STATE/env/$ENV_ID/state.json"
	run ! grep -F "$ENV_ID" /proc/self/mountinfo
}

@test "quota: a kind that this host lacks is refused by name, and nothing is left" {
	works_here project >/dev/null && skip "by design: this host has project quotas, so that none is lacking"
	configured_tools 'quota: project'
	run --separate-stderr sbx-provision --run "$RUN" --epoch 1 </dev/null
	[ "$status" -eq 69 ]
	field '.code == "unavailable" and (.message | test("quota: project")) and (.hint | length > 0)'
	[ -z "$(ls -A "$SBX_STATE/env")" ]
}

@test "quota: without mkfs.ext4 an image is refused by name" {
	kind image
	run --separate-stderr unshare -m sh -c 'for dir in /usr/sbin /sbin; do
			[ ! -e "$dir/mkfs.ext4" ] || [ -L "$dir" ] || mount -t tmpfs none "$dir"; done
		exec sbx-provision --run "$0" --epoch 1 --workspace-bytes 3MiB' "$RUN" </dev/null
	[ "$status" -eq 69 ]
	field '.code == "unavailable" and (.message | test("quota: image.*mkfs.ext4")) and
		(.hint | test("e2fsprogs"))'
	[ -z "$(ls -A "$SBX_STATE/env")" ]
}

@test "quota: a disk without room for the image refuses it and is as it was" {
	local before

	kind image
	mkdir "$TEST_DIR/small"
	mount -t tmpfs -o size=40m none "$TEST_DIR/small"
	mkdir -m 0700 "$TEST_DIR/small/state"
	before=$(stat -f -c %a "$TEST_DIR/small")
	run --separate-stderr env SBX_STATE="$TEST_DIR/small/state" \
		sbx-provision --run "$RUN" --epoch 1 --workspace-bytes 64MiB </dev/null
	left=$(stat -f -c %a "$TEST_DIR/small") && names=$(ls -A "$TEST_DIR/small/state/env")
	umount "$TEST_DIR/small"
	[ "$status" -eq 71 ]
	field '.code == "quota"'
	[ -z "$names" ] && [ $((before - left)) -lt 200 ]
}

@test "quota: a damaged template is made anew" {
	local template

	kind image
	provision --workspace-bytes 1MiB
	sbx-reap --env "$ENV_ID" >/dev/null
	template=$(echo "$SBX_STATE"/template/256-*)
	printf X | dd of="$template" bs=1 seek=9000 conv=notrunc 2>/dev/null
	run --separate-stderr sbx-provision --run "$RUN" --epoch 2 --workspace-bytes 1MiB </dev/null
	[ "$status" -eq 0 ]
	[[ $stderr == *'damaged'* ]]
	remember "$(field .env)"
	truncate -s 100 "$template"
	provision --epoch 3 --workspace-bytes 1MiB
	sh_inside 'echo hello >f; cat f'
	[ "$output" = hello ]
}

@test "quota: a workspace that is in use on the host is kept, named, and goes with the next sweep" {
	kind image
	provision --workspace-bytes 1MiB
	exec {held}<"$(workspace)"
	run --separate-stderr timeout 20 sbx-reap --env "$ENV_ID" {held}<&-
	exec {held}<&-
	[ "$status" -ne 0 ]
	grep -q "in use on the host" <<<"$output$stderr"
	[ -e "$SBX_STATE/env/$ENV_ID/workspace.img" ]
	sbx-reap --env "$ENV_ID" >/dev/null
	[ ! -e "$SBX_STATE/env/$ENV_ID" ]
}

@test "quota: tools of another mount namespace do not take the bare directory for the workspace" {
	kind image
	provision --workspace-bytes 1MiB
	run --separate-stderr unshare -m sh -c 'umount -l "$0" && echo x | sbx-exec --put f "$1"' \
		"$(workspace)" "$ENV_ID"
	field '.code == "unavailable" and (.message | test("not mounted here"))'
	sbx-exec --ls '' "$ENV_ID" >/dev/null
}

round_of_kill()
{
	kill_after "$DELAY_US" sbx-provision --run "$RUN" --epoch 1 --workspace-bytes 8MiB
	((ROUND % 3)) || rm -f "$SBX_STATE"/template/*
	sbx-reap --env "$FIRST" >"$TEST_DIR/reap" 2>&1 || [ $? = 66 ] || {
		cat "$TEST_DIR/reap"
		return 1
	}
	(
		state=$SBX_STATE
		unset SBX_STATE
		nothing_left "$state"
	)
}

release_first()
{
	sbx-reap --env "$FIRST" >/dev/null
}

@test "quota: SIGKILL of sbx-provision at any moment leaves no mount, device or image" {
	kind image
	kill_setup
	provision --workspace-bytes 8MiB
	FIRST=$ENV_ID
	release_first
	TIDY=release_first whole_us sbx-provision --run "$RUN" --epoch 1 --workspace-bytes 8MiB
	rounds round_of_kill
}

round_of_kill_reap()
{
	provision --workspace-bytes 8MiB || return
	kill_after "$DELAY_US" sbx-reap --env "$ENV_ID"
	sbx-reap --env "$ENV_ID" >"$TEST_DIR/reap" 2>&1 || [ $? = 66 ] || {
		cat "$TEST_DIR/reap"
		return 1
	}
	(
		state=$SBX_STATE
		unset SBX_STATE
		nothing_left "$state"
	)
}

provision_first()
{
	provision --workspace-bytes 8MiB
}

@test "quota: SIGKILL of sbx-reap at any moment leaves what the next one takes" {
	kind image
	kill_setup
	provision_first
	FIRST=$ENV_ID
	release_first
	PREPARE=provision_first whole_us sbx-reap --env "$FIRST"
	rounds round_of_kill_reap
}
