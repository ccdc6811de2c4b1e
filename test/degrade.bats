#!/usr/bin/env bats
# Kernels that lack something which native needs, played by test/degrade: each is refused by name with
# the way out, the probe says the same, and nothing is left. Machines that really lack user
# namespaces, Landlock or control groups are in test/vm.
# shellcheck disable=SC2154,SC2030,SC2031  # bats sets output and status; subshells are meant
# shellcheck disable=SC2016  # what is in single quotes is no expression of the shell

load helper

DEGRADE=$SRC/build/test/degrade/degrade

setup()
{
	sbx_setup
	skip_unless 'a program cannot answer the calls of others here' \
		"$DEGRADE" landlock_abi=2 -- true
	skip_unless 'native does not work here' sbx-provision --probe
}

# degraded RULE COMMAND... - its record is in $output.
degraded()
{
	local rule=$1

	shift
	run --separate-stderr timeout 60 "$DEGRADE" "$rule" -- "$@" </dev/null
}

is()
{
	jq -e "$@" >/dev/null <<<"$output" && return
	printf 'not: %s\nstatus %s: %.3000s\n%.1000s\n' "$*" "$status" "$output" "${stderr-}"
	return 1
}

# The environment is made here first, so that its id is known to teardown, and that it is the rule
# which is at fault.
refused()
{
	local rule=$1 message=$2 hint=$3

	provision
	sbx-reap --env "$ENV_ID" >/dev/null
	degraded "$rule" sbx-provision --run "$RUN" --epoch 1
	[ "$status" = 69 ]
	is '.type == "error" and .code == "unavailable" and .executed == "no"'
	is --arg text "$message" '.message | test($text)'
	is --arg text "$hint" '.hint | test($text)'
	# Not left to teardown, which would release it.
	[ -z "$(left_directories "$SBX_STATE")" ]
}

# probed RULE ITEM DETAIL FIX
probed()
{
	local rule=$1 item=$2 detail=$3 fix=$4

	degraded "$rule" sbx-provision --probe
	[ "$status" = 69 ]
	is --arg item "$item" --arg detail "$detail" --arg fix "$fix" '.mechanisms[] |
		select(.mechanism == "native") | (.works | not) and any(.items[]; .name == $item and
			.required and (.works | not) and (.detail | test($detail)) and
			(.fix | test($fix)))'
}

# lacks RULE ITEM MESSAGE DETAIL WAY_OUT - a refusal, and the probe's word.
lacks()
{
	refused "$1" "$3" "$5"
	probed "$1" "$2" "$4" "$5"
}

# landlock_easy ABI - an environment where Landlock is best-effort, in $ENV_ID.
landlock_easy()
{
	printf '%s\n' 'landlock: best-effort' 'cgroup: best-effort' >"$TEST_DIR/easy.yaml"
	degraded "landlock_abi=$1" sbx-provision --config "$TEST_DIR/easy.yaml" --run "$RUN" --epoch 1
	[ "$status" = 0 ]
	ENV_ID=$(field .env)
	remember "$ENV_ID"
}

@test "degrade: it ends as its command does, and refuses what it does not know" {
	run "$DEGRADE" openat2=ENOSYS -- sh -c 'exit 7'
	[ "$status" = 7 ]
	run "$DEGRADE" openat2=ENOSYS -- sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
	run "$DEGRADE" openat=ENOSYS -- true
	[ "$status" = 64 ]
	run "$DEGRADE" openat2=EWHAT -- true
	[ "$status" = 64 ]
}

@test "degrade: Landlock of ABI 1 is too old" {
	lacks landlock_abi=1 landlock '^Landlock is older than ABI 2' '^Landlock is older than ABI 2' \
		'newer kernel.*`landlock: best-effort`'
}

@test "degrade: no Landlock" {
	lacks landlock=ENOSYS landlock '^Landlock is missing' '^Landlock is missing' \
		'lsm=landlock.*`landlock: best-effort`'
}

@test "degrade: Landlock of ABI 2 is enough" {
	degraded landlock_abi=2 sbx-provision --run "$RUN" --epoch 1
	[ "$status" = 0 ]
	remember "$(field .env)"
	is '.enforced | index("landlock:2")'
}

@test "degrade: Landlock of ABI 1 is no layer where it is best-effort, and each result says so" {
	landlock_easy 1
	is '.enforced | index("seccomp:strict") and all(startswith("landlock") | not)'
	run --separate-stderr sbx-exec "$ENV_ID" -- echo hello
	is '.exit_code == 0 and .stdout.text == "hello\n"'
	is '.enforced | index("seccomp:strict") and all(startswith("landlock") | not)'
	run --separate-stderr sbx-exec "$ENV_ID" -- sh -c ': >/bin/x'
	is '.exit_code != 0 and (.stderr.text | test("/bin/x: Read-only file system"))'
}

@test "degrade: Landlock that is best-effort and new enough holds" {
	landlock_easy 2
	is '.enforced | index("landlock:2")'
}

@test "degrade: best-effort is said by the probe, and is no fault" {
	echo 'landlock: best-effort' >"$TEST_DIR/easy.yaml"
	is_root || echo 'cgroup: best-effort' >>"$TEST_DIR/easy.yaml"
	degraded landlock_abi=1 sbx-provision --config "$TEST_DIR/easy.yaml" --probe
	[ "$status" = 0 ]
	is '.mechanisms[] | select(.mechanism == "native") | .works and any(.items[];
		.name == "landlock" and (.works | not) and (.required | not))'
}

@test "degrade: a kernel without seccomp filters" {
	lacks seccomp=EINVAL seccomp '^sbx-init: seccomp: Invalid argument' \
		'^install the filters: Invalid argument' CONFIG_SECCOMP_FILTER
}

@test "degrade: a kernel without seccomp" {
	lacks seccomp=ENOSYS seccomp '^sbx-init: seccomp: Function not implemented' \
		'^install the filters: Function not implemented' CONFIG_SECCOMP_FILTER
}

@test "degrade: user namespaces that something forbids" {
	lacks userns=EPERM 'user namespaces' \
		'^user namespaces are not to be had here: Operation not permitted' \
		'^user namespaces are not to be had here' 'max_user_namespaces|AppArmor|userns_clone|chroot'
}

@test "degrade: user namespaces that a security module refuses with EACCES" {
	lacks userns=EACCES 'user namespaces' \
		'^user namespaces are not to be had here: Permission denied' \
		'^user namespaces are not to be had here' 'max_user_namespaces|AppArmor|security module'
}

@test "degrade: a kernel without clone3" {
	lacks clone3=ENOSYS 'user namespaces' \
		'^user namespaces are not to be had here: Function not implemented' \
		'^user namespaces are not to be had here' 'Linux 5\.3'
}

# AppArmor on Ubuntu 24.04: the namespace is made, and its maker has no capability in it.
@test "degrade: a user namespace that cannot be mapped" {
	lacks id_maps=EACCES 'user namespaces' \
		'^user namespace: write /proc/[a-z0-9]+/setgroups: Permission denied' \
		'^user namespace: write /proc/[a-z0-9]+/setgroups' 'security module.*AppArmor'
}

@test "degrade: a security module that forbids mounts inside" {
	lacks move_mount=EACCES 'mount calls' '^mount the new root: Permission denied' \
		'^mount the new root' 'security module.*AppArmor'
}

@test "degrade: a security module that forbids file systems inside" {
	lacks fsopen=EPERM 'mount calls' '^open a file system of type tmpfs: Operation not permitted' \
		'^open a file system of type tmpfs' 'security module.*AppArmor'
}

@test "degrade: a kernel without open_tree" {
	lacks open_tree=ENOSYS 'mount calls' '^open the tree .*: Function not implemented' \
		'^open the tree /usr' 'Linux 5\.19'
}

@test "degrade: a kernel without mount_setattr" {
	lacks mount_setattr=ENOSYS 'mount calls' \
		'^(set the mount flags of workspace|make all mounts private): Function not implemented' \
		'^make all mounts private' 'Linux 5\.19'
}

@test "degrade: a kernel without close_range" {
	lacks close_range=ENOSYS close_range \
		'^close_range: mark descriptors: Function not implemented' '^close_range' 'Linux 5\.19'
}

@test "degrade: a kernel whose close_range only closes" {
	lacks close_range=EINVAL close_range '^close_range: mark descriptors: Invalid argument' \
		'^close_range' 'CLOSE_RANGE_CLOEXEC came with Linux 5\.11'
}

@test "degrade: a kernel without openat2" {
	refused openat2=ENOSYS '^openat2: open the state directory: Function not implemented' \
		'Linux 5\.6'
	probed openat2=ENOSYS 'mount calls' '^open the mount point usr: Function not implemented' \
		'Linux 5\.19'
}
