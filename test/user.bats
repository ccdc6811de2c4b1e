#!/usr/bin/env bats
# The path of a plain user: without control groups, in delegated ones, and in a scope of its own.
# Root makes a user for the time of this file, and the tools in PATH are then wrappers that become
# that user. A plain user takes itself; what only root can set up is skipped.
# shellcheck disable=SC2016,SC2030,SC2031,SC2143,SC2314  # meant: quotes for the shell inside, subshells

load helper

TOOLS=(sbx-provision sbx-exec sbx-reap)

setup_file()
{
	local tool bin=$BATS_FILE_TMPDIR/bin real=$BATS_FILE_TMPDIR/bin/real

	is_root || return 0
	command -v useradd setpriv >/dev/null || return 0
	# A tree of one's own may be closed to others, and so may bats' directories.
	chmod 0711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	mkdir -m 0755 "$bin" "$bin/real"
	for tool in "${TOOLS[@]}" sbx-init sbx-tar; do
		cp "$(PATH=$SRC/build:$PATH command -v "$tool")" "$real/"
	done
	USER_NAME=sbx-test-$$
	useradd -M -d /nonexistent -s /usr/sbin/nologin "$USER_NAME"
	export USER_NAME
	for tool in "${TOOLS[@]}"; do
		cat >"$bin/$tool" <<-END
			#!/bin/sh
			# In the groups of the test first, if it has some: only root may move us there.
			for dir in \$TEST_GROUPS; do echo 0 >\$dir/cgroup.procs || exit 99; done
			SBX_LIBEXEC=$real PATH=\${TEST_FAKES:+\$TEST_FAKES:}$real:/usr/bin:/bin
			export SBX_LIBEXEC PATH
			exec setpriv --reuid $USER_NAME --regid $USER_NAME --groups 4242 -- $real/$tool "\$@"
		END
		chmod 0755 "$bin/$tool"
	done
}

teardown_file()
{
	[ -z "${USER_NAME-}" ] || userdel "$USER_NAME"
}

setup()
{
	TEST_GROUPS='' TEST_FAKES='' GROUP=''
	if is_root; then
		skip_unless 'no useradd and setpriv to become a plain user' [ -n "${USER_NAME-}" ]
		PATH=$BATS_FILE_TMPDIR/bin:$PATH
	fi
	sbx_setup
	is_root && chown "$USER_NAME" "$SBX_STATE"
	echo 'cgroup: best-effort' >"$TEST_DIR/easy.yaml"
	echo 'cgroup: required' >"$TEST_DIR/strict.yaml"
	EASY=(--config "$TEST_DIR/easy.yaml")
	STRICT=(--config "$TEST_DIR/strict.yaml")
	export TEST_GROUPS TEST_FAKES
	mkdir -m 0777 "$TEST_DIR/fakes"
	skip_unless 'native does not work for a plain user here' \
		sbx-provision "${EASY[@]}" --probe
}

teardown()
{
	local failed=0

	[ -n "${TEST_DIR-}" ] || return 0
	sbx_teardown || failed=1
	[ -z "$GROUP" ] || drop_groups || failed=1
	return "$failed"
}

# is FILTER - the record in $output says so.
is()
{
	jq -e "$1" <<<"$output" >/dev/null && return
	printf 'not: %s\nstatus: %s\nstdout: %.2000s\nstderr: %.2000s\n' "$1" "$status" "$output" \
		"${stderr-}"
	return 1
}

easy()
{
	run --separate-stderr timeout 60 sbx-exec "${EASY[@]}" "$@" </dev/null
}

# The hostile program of the examples, put into the workspace.
bring_hostile()
{
	# Read by us: the tree may be closed to the user.
	timeout 60 sbx-exec "${EASY[@]}" --stdin - "$ENV_ID" -- \
		sh -c 'cat >hostile && chmod 700 hostile' >"$TEST_DIR/out" \
		<"$SRC/build/contrib/examples/hostile"
}

running()
{
	[ -n "$(grep -lsaF -f <(printf '%s' "$1") /proc/[0-9]*/cmdline)" ]
}

# ---- delegated groups: $GROUP in each hierarchy, with `start`, where we begin and which is not ours,
# and `scope`, which is. The user may move between them, since their common ancestor is its own.

group_roots()
{
	local name

	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo /sys/fs/cgroup
		return
	fi
	for name in memory pids cpu unified; do
		[ -d "/sys/fs/cgroup/$name" ] && echo "/sys/fs/cgroup/$name"
	done
}

make_groups()
{
	local root dir file

	GROUP=sbx-test-${TEST_DIR##*.}
	for root in $(group_roots); do
		[ "$root" != /sys/fs/cgroup ] ||
			echo '+memory +pids +cpu' >"$root/cgroup.subtree_control" || return
		mkdir "$root/$GROUP" || return
		[ "$root" != /sys/fs/cgroup ] ||
			echo '+memory +pids +cpu' >"$root/$GROUP/cgroup.subtree_control" || return
		mkdir "$root/$GROUP/start" "$root/$GROUP/scope" || return
		for dir in "$root/$GROUP" "$root/$GROUP/scope"; do
			for file in '' /cgroup.procs /tasks /cgroup.threads \
				/cgroup.subtree_control; do
				[ ! -e "$dir$file" ] || chown "$USER_NAME" "$dir$file" || return
			done
		done
	done
}

# enter NAME - the tools start in that group.
enter()
{
	local root

	TEST_GROUPS=''
	for root in $(group_roots); do
		TEST_GROUPS+=" $root/$GROUP/$1"
	done
}

drop_groups()
{
	local root

	for root in $(group_roots); do
		[ ! -d "$root/$GROUP" ] || find "$root/$GROUP" -depth -type d -exec rmdir {} + ||
			return
	done
}

needs_groups()
{
	is_root || skip 'only root can delegate a control group'
	skip_unless 'control groups cannot be delegated here' make_groups
}

# A systemd-run that says what it was asked and then does $1 with the command: `scope` moves itself
# into the delegated group and executes it, which is what the real one does; `same` executes it where
# it is; `fail` is one without a systemd to talk to.
fake_systemd()
{
	local root

	TEST_FAKES=$TEST_DIR/fakes
	{
		printf '#!/bin/sh\necho "$*" >>%q\n' "$TEST_DIR/fakes/asked"
		[ "$1" != fail ] || echo 'echo "Failed to connect to bus" >&2; exit 1'
		for root in $([ "$1" != scope ] || group_roots); do
			echo "echo 0 >$root/$GROUP/scope/cgroup.procs || exit 98"
		done
		printf '%s\n' 'while [ "$1" != -- ]; do shift; done' 'shift' 'exec "$@"'
	} >"$TEST_DIR/fakes/systemd-run"
	chmod 0755 "$TEST_DIR/fakes/systemd-run"
}

# As what sbx-provision is to be seen in /proc: the wrapper's, or the built one.
real_provision()
{
	if is_root; then
		echo "$BATS_FILE_TMPDIR/bin/real/sbx-provision"
	else
		readlink -f "$SRC/build/sbx-provision"
	fi
}

group_of()
{
	group_roots | xargs -I {} find {} -type d -name "$1" 2>/dev/null
}

# ---- cgroup: best-effort

@test "user: without control groups the result says what holds the limits instead" {
	provision "${EASY[@]}"
	easy "$ENV_ID" -- true
	[ "$status" = 0 ]
	is '.reason == "exited" and .exit_code == 0'
	is '.enforced | contains(["memory:monitor","pids:rlimit"])'
	is '[.enforced[] | select(startswith("cgroup") or . == "own_uid")] == []'
}

@test "user: best-effort asks systemd for nothing" {
	fake_systemd fail
	is_root || PATH=$TEST_FAKES:$PATH
	provision "${EASY[@]}"
	[ ! -e "$TEST_DIR/fakes/asked" ]
}

@test "user: a command that eats memory ends by the monitor, and the next one runs" {
	provision "${EASY[@]}" --memory 64MiB
	bring_hostile
	easy "$ENV_ID" -- ./hostile eat-memory
	is '.reason == "memory" and .oom and .limit == "memory" and .signal == 9'
	easy "$ENV_ID" -- cat hostile
	is '.reason == "exited" and .exit_code == 0'
}

@test "user: the limit of processes is exact, whatever else the user runs" {
	local pids=() count

	provision "${EASY[@]}" --pids 16
	bring_hostile
	# More of the same user's processes outside than are allowed inside.
	for ((count = 0; count < 20; count++)); do
		if is_root; then
			setpriv --reuid "$USER_NAME" --clear-groups sleep 60 3>&- &
		else
			sleep 60 3>&- &
		fi
		pids+=($!)
	done
	easy "$ENV_ID" -- ./hostile fork-bomb
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	is '.reason == "exited" and (.stdout.text | startswith("fork 16: "))'
	easy "$ENV_ID" -- sh -c 'ls -d /proc/[0-9]*'
	is '.exit_code == 0 and (.stdout.text | split("\n") | length < 6)'
}

@test "user: a command over its time limit ends with all it started" {
	local mark=3$RANDOM.0$RANDOM

	provision "${EASY[@]}" --timeout 1s
	easy "$ENV_ID" -- sh -c "setsid sleep $mark & sleep $mark"
	is '.reason == "timeout" and .limit == "wall_time"'
	run ! running "$mark"
}

@test "user: what a command leaves behind ends with it" {
	local mark=3$RANDOM.0$RANDOM

	provision "${EASY[@]}"
	easy "$ENV_ID" -- sh -c "setsid sleep $mark >/dev/null 2>&1 & exit 3"
	is '.reason == "exited" and .exit_code == 3'
	run ! running "$mark"
}

@test "user: environments are listed and released like root's" {
	provision "${EASY[@]}"
	run --separate-stderr sbx-reap "${EASY[@]}" --list
	[ "$status" = 0 ]
	[ "$(jq -s --arg id "$ENV_ID" '[.[] | .. | objects | select(.env? == $id)] | length' \
		<<<"$output")" -ge 1 ]
	easy "$ENV_ID" -- sh -c 'mkdir -p a/b && echo x >a/b/c && chmod 0 a/b'
	run --separate-stderr sbx-reap "${EASY[@]}" --env "$ENV_ID"
	[ "$status" = 0 ]
	is '.ok'
	nothing_left "$SBX_STATE"
}

# ---- delegated groups

@test "user: without a delegated group it is refused, with both ways out" {
	if is_root; then needs_groups && enter start; fi
	fake_systemd fail
	is_root || PATH=$TEST_FAKES:$PATH
	run --separate-stderr sbx-provision "${STRICT[@]}" --run "$RUN"
	[ "$status" -ne 0 ] || remember "$(jq -r .env <<<"$output")"
	# Whoever runs the check inside of such a group is not refused.
	[ "$status" -ne 0 ] || skip 'this user is in a delegated group'
	is '.type == "error" and .code == "unavailable" and .executed == "no"'
	is '.message | test("cgroup .* is not delegated to uid [0-9]+$")'
	is '.hint | contains("systemd-run --user --scope -p Delegate=yes") and
		contains("`cgroup: best-effort`")'
	[ "$(cat "$TEST_DIR/fakes/asked")" = '--user --scope --quiet -p Delegate=yes -- true' ]
	[ -z "$(left_directories "$SBX_STATE")" ]
}

@test "user: in a delegated group the kernel enforces, and tools from elsewhere find it" {
	needs_groups
	enter scope
	provision "${STRICT[@]}" --memory 64MiB --pids 16
	[ -n "$(group_of "$ENV_ID")" ]
	[ -z "$(group_of "$ENV_ID" | grep -v "/$GROUP/scope/$ENV_ID\$")" ]
	# From another group, and from one that belongs to root.
	enter start
	bring_hostile
	easy "$ENV_ID" -- ./hostile eat-memory
	is '.reason == "memory" and .oom and (.enforced | contains(["memory:cgroup","pids:cgroup"]))'
	TEST_GROUPS=''
	easy "$ENV_ID" -- ./hostile fork-bomb
	is '.stdout.text | startswith("fork 16: ")'
	easy "$ENV_ID" -- true
	is '.reason == "exited" and .exit_code == 0'
	run --separate-stderr sbx-reap "${STRICT[@]}" --list
	[ "$status" = 0 ]
	[ "$(jq -s '[.. | .memory_bytes? // empty] | max > 0' <<<"$output")" = true ]
	run --separate-stderr sbx-reap "${STRICT[@]}" --env "$ENV_ID"
	is '.ok'
	[ -z "$(group_of "$ENV_ID")" ]
	nothing_left "$SBX_STATE"
}

@test "user: an environment whose groups were taken away can still be released" {
	needs_groups
	enter scope
	provision "${STRICT[@]}"
	group_roots | xargs -I ROOT find ROOT/"$GROUP/scope/$ENV_ID" -name cgroup.procs -exec cat {} + |
		sort -u | xargs kill -9
	sleep 0.2
	drop_groups
	TEST_GROUPS=''
	run --separate-stderr sbx-exec "${STRICT[@]}" "$ENV_ID" -- true
	[ "$status" -ne 0 ]
	run --separate-stderr sbx-reap "${STRICT[@]}" --env "$ENV_ID"
	[ "$status" = 0 ]
	is '.ok'
	nothing_left "$SBX_STATE"
}

# ---- a scope of its own. systemd need not run here: the one that is asked is ours, which moves
# itself into a delegated group as systemd would and executes what it was given. So sbx-provision
# really runs a second time, in another group.

@test "user: outside of a delegated group it runs itself again in a scope, with its input" {
	needs_groups
	enter start
	fake_systemd scope
	echo "{\"run\":\"$RUN\",\"epoch\":1}" >"$TEST_DIR/spec.json"
	run --separate-stderr sbx-provision "${STRICT[@]}" <"$TEST_DIR/spec.json"
	[ "$status" = 0 ]
	ENV_ID=$(field .env)
	remember "$ENV_ID"
	[ "$(wc -l <"$TEST_DIR/fakes/asked")" = 2 ]
	grep -qx -e "--user --scope --quiet -p Delegate=yes -- true" "$TEST_DIR/fakes/asked"
	grep -qx -e "--user --scope --quiet -p Delegate=yes -- $(real_provision) ${STRICT[*]}" \
		"$TEST_DIR/fakes/asked"
	[ -z "$(group_of "$ENV_ID" | grep -v "/$GROUP/scope/$ENV_ID\$")" ]
	run --separate-stderr sbx-exec "${STRICT[@]}" "$ENV_ID" -- true </dev/null
	is '.exit_code == 0 and (.enforced | contains(["memory:cgroup"]))'
	[ "$(wc -l <"$TEST_DIR/fakes/asked")" = 2 ]
}

@test "user: a scope that is not delegated is refused, and not asked for again" {
	needs_groups
	enter start
	fake_systemd same
	run --separate-stderr sbx-provision "${STRICT[@]}" --run "$RUN"
	[ "$status" -ne 0 ]
	is '.code == "unavailable" and (.message | contains("is not delegated to uid"))'
	[ "$(wc -l <"$TEST_DIR/fakes/asked")" = 2 ]
	[ -z "$(left_directories "$SBX_STATE")" ]
}

@test "user: inside of a delegated group no scope is asked for" {
	needs_groups
	enter scope
	fake_systemd scope
	provision "${STRICT[@]}"
	[ ! -e "$TEST_DIR/fakes/asked" ]
}

# ---- user_ids: subuid

needs_range()
{
	skip_unless 'the package uidmap is not installed' command -v newuidmap newgidmap
	skip_unless 'this user has no range in /etc/subuid and /etc/subgid' has_range
	printf 'user_ids: subuid\n' | tee -a "$TEST_DIR/easy.yaml" >>"$TEST_DIR/strict.yaml"
}

has_range()
{
	local name=${USER_NAME-$(id -un)}

	grep -q "^$name:" /etc/subuid && grep -q "^$name:" /etc/subgid
}

# The host uid of an environment's first process and files.
host_uid()
{
	stat -c %u "$SBX_STATE/env/$1/workspace"
}

@test "user: with a subordinate range each environment has a host uid of its own" {
	local first second own

	needs_range
	provision "${EASY[@]}"
	first=$(host_uid "$ENV_ID")
	# Nor has it a group of its maker.
	grep -qx 'Groups:[[:space:]]*' "/proc/$(jq .init_pid "$SBX_STATE/env/$ENV_ID/state.json")/status"
	easy "$ENV_ID" -- sh -c 'id -u; id -G; mkdir -p a/b && echo x >a/b/c && chmod 0 a/b a
		setsid sleep 60 >/dev/null 2>&1 & true'
	is '.exit_code == 0 and .stdout.text == "1000\n1000\n" and (.enforced | contains(["own_uid"]))'
	provision "${EASY[@]}" --epoch 2
	second=$(host_uid "$ENV_ID")
	own=$(stat -c %u "$SBX_STATE")
	[ "$first" != "$second" ] && [ "$first" != "$own" ] && [ "$second" != "$own" ]
	run --separate-stderr sbx-reap "${EASY[@]}" --env "$ENV_ID"
	is '.ok'
}

@test "user: an environment of a spec, and its workspace, with a subordinate uid and without" {
	local range

	for range in own subuid; do
		[ "$range" = own ] || needs_range
		printf '{"run":"%s","epoch":%d}\n' "$RUN" "${#range}" >"$TEST_DIR/spec"
		run --separate-stderr sbx-exec "${EASY[@]}" --spec "$TEST_DIR/spec" -- sh -c 'echo inside >f'
		is '.exit_code == 0'
		ENV_ID=$(field .env)
		remember "$ENV_ID"
		run --separate-stderr sbx-exec "${EASY[@]}" --put g "$ENV_ID" < <(echo outside)
		is '.type == "ok"'
		run --separate-stderr sbx-exec "${EASY[@]}" --raw "$ENV_ID" -- sh -c 'cat f g; echo mine >>g'
		[ "$output" = $'inside\noutside' ]
		[ "$(sbx-exec "${EASY[@]}" --get g "$ENV_ID")" = $'outside\nmine' ]
		sbx-exec "${EASY[@]}" --tar-out '' "$ENV_ID" | tar -t | grep -qx g
	done
}

@test "user: limits hold a subordinate uid as well" {
	needs_range
	provision "${EASY[@]}" --memory 64MiB --pids 16 --timeout 2s
	bring_hostile
	easy "$ENV_ID" -- ./hostile eat-memory
	is '.reason == "memory" and .limit == "memory"'
	easy "$ENV_ID" -- ./hostile fork-bomb
	is '.stdout.text | startswith("fork 16: ")'
	easy "$ENV_ID" -- ./hostile sleep
	is '.reason == "timeout"'
}

@test "user: a subordinate uid runs in delegated groups" {
	needs_range
	needs_groups
	enter scope
	provision "${STRICT[@]}" --memory 64MiB --pids 16
	TEST_GROUPS=''
	bring_hostile
	easy "$ENV_ID" -- ./hostile eat-memory
	is '.reason == "memory" and (.enforced | contains(["own_uid","memory:cgroup"]))'
	easy "$ENV_ID" -- ./hostile fork-bomb
	is '.stdout.text | startswith("fork 16: ")'
	# Commands at once have a group each, and a group that ended well is used again.
	timeout 30 sbx-exec "${EASY[@]}" "$ENV_ID" -- sleep 1 >"$TEST_DIR/out" </dev/null &
	easy "$ENV_ID" -- true
	is '.exit_code == 0'
	wait $!
	easy "$ENV_ID" -- true
	is '.exit_code == 0'
	[ "$(group_of 'c[0-9]*' | grep -c "/$ENV_ID/")" -le 3 ]
	run --separate-stderr sbx-reap "${STRICT[@]}" --env "$ENV_ID"
	is '.ok'
	[ -z "$(group_of "$ENV_ID")" ]
}

@test "user: a range without the helpers that give it is refused, in their words" {
	needs_range
	printf '#!/bin/sh\necho "newuidmap: not today" >&2\nexit 1\n' >"$TEST_DIR/fakes/newuidmap"
	chmod 0755 "$TEST_DIR/fakes/newuidmap"
	TEST_FAKES=$TEST_DIR/fakes
	is_root || PATH=$TEST_FAKES:$PATH
	run --separate-stderr sbx-provision "${EASY[@]}" --run "$RUN"
	[ "$status" -ne 0 ]
	is '.code == "unavailable" and .message == "newuidmap: not today"'
	is '.hint | contains("uidmap") and contains("`user_ids: own`")'
	[ -z "$(left_directories "$SBX_STATE")" ]
	run --separate-stderr sbx-provision "${EASY[@]}" --probe
	is '.works == false and ([.mechanisms[].items[] | select(.name == "own uids")][0] |
		.required and .detail == "newuidmap: not today")'
}

@test "user: subordinate ids without a range are refused by name" {
	local range

	is_root || skip 'only root can take the range away'
	needs_range
	range=$(sed -n "s/^$USER_NAME:\([0-9]*\):\([0-9]*\)$/\1 \2/p" /etc/subuid)
	range=${range% *}-$((${range% *} + ${range#* } - 1))
	usermod --del-subuids "$range" "$USER_NAME"
	run --separate-stderr sbx-provision "${EASY[@]}" --run "$RUN"
	usermod --add-subuids "$range" "$USER_NAME"
	[ "$status" -ne 0 ]
	is ".code == \"unavailable\" and .message == \"user $USER_NAME has no range in /etc/subuid\""
	is '.hint | contains("usermod --add-subuids") and contains("`user_ids: own`")'
	[ -z "$(left_directories "$SBX_STATE")" ]
}

@test "user: what the code closes to others and to itself counts, and its changes are told" {
	local write='for i in 1 2 3 4 5 6; do head -c 2M /dev/zero >f$i; done' mode

	echo '{"limits":{"workspace_bytes":"4MiB","wall_time":"20s"}}' |
		jq -c --arg run "$RUN" '. + {run: $run}' >"$TEST_DIR/spec.json"
	ENV_ID=$(sbx-provision "${EASY[@]}" <"$TEST_DIR/spec.json" | jq -er .env)
	for mode in 0 444; do
		easy "$ENV_ID" -- sh -c "mkdir c; cd c; $write; chmod $mode .; sleep 5"
		is '.reason == "quota" and .limit == "workspace_bytes"'
		is '.changes.complete and any(.changes.list[]; .path == "c/f1" and .digest != null)'
		easy "$ENV_ID" -- sh -c 'chmod 700 c; rm -r c; sleep 1'
		is '.reason == "exited" and .exit_code == 0'
	done
}
