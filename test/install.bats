#!/usr/bin/env bats
# `make install` for packagers: into a stage, what is there afterwards, and that it works from there.
# Built in a directory of its own, since other directories are compiled in.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154  # tests are subshells; bats sets output

load helper

setup_file()
{
	export STAGE=$BATS_FILE_TMPDIR/stage

	install_stage >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- || {
		tail -n 50 "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup()
{
	sbx_setup
	PATH=$STAGE/usr/bin:$PATH
	export SBX_LIBEXEC=$STAGE/usr/libexec/sbx
	CONFIG=$STAGE/etc/sbx/sbx.yaml
}

# A make of its own: nothing of the one that may run these tests.
install_stage()
{
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "${BATS_TEST_DIRNAME:?}/.." -j2 \
		B="$BATS_FILE_TMPDIR/build" DESTDIR="$STAGE" PREFIX=/usr install
}

# What has to be there, with modes: the programs by name, pages and configuration as the tree has
# them.
expected()
{
	local page

	cat <<-'EOT'
		111 usr/libexec/sbx/sbx-init
		755 usr/libexec/sbx/sbx-tar
		755 usr/bin/sbx-exec
		755 usr/bin/sbx-provision
		755 usr/bin/sbx-quota
		755 usr/bin/sbx-reap
		755 usr/bin/sbx-run
		644 etc/sbx/limits.yaml
		644 etc/sbx/sbx.yaml
	EOT
	for page in "$SRC"/man/*.[1-8]; do
		echo "644 usr/share/man/man${page##*.}/${page##*/}"
	done
}

@test "install: the stage has the tools, the helper, the pages and the configuration, and no more" {
	diff <(expected | sort -k2) <(find "$STAGE" ! -type d -printf '%m %P\n' | sort -k2)
}

@test "install: directories are open to all and written by their owner" {
	[ -z "$(find "$STAGE" -mindepth 1 -type d ! -perm 0755)" ]
}

@test "install: nothing is called sbx but directories" {
	[ -z "$(find "$STAGE" -name sbx ! -type d)" ]
}

@test "install: the stage is not compiled in, the prefix is" {
	for tool in "$STAGE"/usr/bin/*; do
		run ! grep -q "$STAGE" "$tool"
	done
	grep -q /usr/libexec/sbx "$STAGE/usr/bin/sbx-provision"
}

@test "install: the tools run from the stage and agree on their version" {
	for tool in sbx-exec sbx-provision sbx-quota sbx-reap; do
		[ "$(command -v "$tool")" = "$STAGE/usr/bin/$tool" ]
		[ "$("$tool" --version)" = "$tool $(sed -n 's/^VERSION = //p' "$SRC/Makefile")" ]
	done
}

@test "install: the installed configuration is valid" {
	run --separate-stderr sbx-provision --config "$CONFIG" --probe
	[ "$(field .type)" = probe ]
	[ -z "$stderr" ]
}

@test "install: the installed configuration has the built-in defaults" {
	skip_unless "native does not work here" sbx-provision --config "$CONFIG" --probe
	: >"$TEST_DIR/empty.yaml"
	for config in "$CONFIG" "$TEST_DIR/empty.yaml"; do
		sbx-provision --config "$config" --run "$RUN.${config##*/}" |
			jq '{limits, enforced, storage}' >"$TEST_DIR/${config##*/}.json"
	done
	diff "$TEST_DIR/sbx.yaml.json" "$TEST_DIR/empty.yaml.json"
}

@test "install: an environment is made, runs a command and is released, all from the stage" {
	skip_unless "native does not work here" sbx-provision --config "$CONFIG" --probe
	provision --config "$CONFIG"
	run --separate-stderr sbx-exec --config "$CONFIG" "$ENV_ID" -- sh -c 'echo "uid $(id -u)"'
	[ "$(field .stdout.text)" = "uid 1000" ]
	run --separate-stderr sbx-reap --config "$CONFIG" --env "$ENV_ID"
	[ "$(field .ok)" = true ]
}

@test "install: sbx-run finds the others" {
	skip_unless "native does not work here" sbx-provision --config "$CONFIG" --probe
	[ "$(command -v sbx-run)" = "$STAGE/usr/bin/sbx-run" ]
	run sbx-run "--config=$CONFIG" --run "$RUN" --raw -- echo hello
	[ "$status" = 0 ]
	[ "$output" = hello ]
}

@test "install: a helper that is missing is named" {
	skip_unless "native does not work here" sbx-provision --config "$CONFIG" --probe
	SBX_LIBEXEC=$TEST_DIR run --separate-stderr sbx-provision --config "$CONFIG" --run "$RUN"
	[ "$status" = 69 ]
	[[ $(field .message) == *"$TEST_DIR/sbx-init"* ]]
}

@test "install: installing again keeps the configuration and replaces the rest" {
	echo '# ours' >>"$CONFIG"
	: >"$STAGE/usr/bin/sbx-reap"
	install_stage >"$TEST_DIR/log" 2>&1 3>&-
	[ "$(tail -n 1 "$CONFIG")" = '# ours' ]
	grep -qF "kept $CONFIG" "$TEST_DIR/log"
	sbx-reap --version
}
