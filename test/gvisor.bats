#!/usr/bin/env bats
# sbx-init runs where system calls are served by gVisor instead of Linux: the same helper is pid 1
# of containers. One container is made and asked everything; test/gvisor/driver.c says what.
# shellcheck disable=SC2154  # bats sets output, status and lines

load helper

BUILD=$SRC/build

setup()
{
	sbx_setup
	CONTAINER=sbx-${TEST_DIR##*.}
}

teardown()
{
	# A container that hung is still there, with its sandbox and gofer processes.
	timeout 30 runsc --root "$TEST_DIR/runsc" delete --force "$CONTAINER" >/dev/null 2>&1 || :
	sbx_teardown
}

# bundle FILTER - an OCI bundle with the driver and sbx-init in it; FILTER changes its config.
bundle()
{
	local root=$TEST_DIR/bundle/rootfs

	mkdir -p "$root"/{bin,dev,etc,proc,tmp,workspace}
	install -m 0755 "$BUILD"/test/gvisor/{driver,guest} "$BUILD/sbx-init" "$root/bin"
	jq -n '["CAP_SETUID", "CAP_SETGID"] as $caps | {
		ociVersion: "1.0.2",
		process: {
			terminal: false, user: {uid: 0, gid: 0}, args: ["/bin/driver"], cwd: "/",
			env: [], noNewPrivileges: true,
			capabilities: {bounding: $caps, effective: $caps, permitted: $caps}
		},
		root: {path: "rootfs", readonly: true},
		mounts: [
			{destination: "/proc", type: "proc", source: "proc"},
			{destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["mode=1777"]},
			{destination: "/workspace", type: "tmpfs", source: "tmpfs", options: ["mode=1777"]}
		],
		linux: {namespaces: (["pid", "network", "ipc", "uts", "mount"] | map({type: .}))}
	} | '"$1" \
		>"$TEST_DIR/bundle/config.json"
}

in_gvisor()
{
	run timeout -k 5 90 runsc --root "$TEST_DIR/runsc" --platform=ptrace --network=none \
		--ignore-cgroups run -bundle "$TEST_DIR/bundle" "$CONTAINER" </dev/null 3>&-
	printf 'status %s\n%s\n' "$status" "$output"
}

needs_runsc()
{
	skip_unless "gVisor's runsc is not installed" runsc --version
	skip_unless "runsc needs root" is_root
}

@test "gvisor: sbx-init serves as pid 1" {
	needs_runsc
	bundle .
	in_gvisor
	# Pid 1 has ended because its maker did, before it was told to stay.
	[ "$status" -eq 1 ]
	[ "$(grep -c '^ok ' <<<"$output")" -gt 25 ]
	[ "$(sed -n 's/^1\.\.//p' <<<"$output")" -eq "$(grep -c '^ok ' <<<"$output")" ]
	grep -q '^ok 1 - gvisor: /proc/version' <<<"$output"
	grep -q '^# *Linux version 4\.4\.0 ' <<<"$output"
}

@test "gvisor: sbx-init refuses a container whose root can be written" {
	needs_runsc
	bundle '.root.readonly = false'
	chmod 0777 "$TEST_DIR/bundle/rootfs/etc"
	in_gvisor
	[ "$status" -eq 1 ]
	# The container ends with its pid 1, so the driver may not come to print the report.
	grep -q '^ok 1 - gvisor: /proc/version' <<<"$output"
	run ! grep -q 'STARTED' <<<"$output"
}
