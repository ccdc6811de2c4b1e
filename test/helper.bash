# Common ground of the bats tests: `load helper` gives each test a state directory of its own and a
# run name of its own, and a teardown that releases what the test made and fails if a process, a
# mount, a control group or a directory is left. A file with more to do calls sbx_setup and
# sbx_teardown from its own setup and teardown.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SRC
# What environments are made with: native, or docker or gvisor of the engine that test/engines/with-engine started.
MECHANISM=${SBX_TEST_MECHANISM:-native}
IMAGE_OPTION=() # what provisioning takes beside the run on such an engine
export MECHANISM

setup()
{
	sbx_setup
}

teardown()
{
	sbx_teardown
}

sbx_setup()
{
	umask 022
	# The name marks all that belongs to this test: it is in every mount of its environments.
	TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/sbx-test.XXXXXXXX")
	chmod 0755 "$TEST_DIR"
	export SBX_STATE=$TEST_DIR/state
	mkdir -m 0700 "$SBX_STATE"
	# Ids come from tenant, run and epoch alone: two test runs at once need different names.
	RUN=t$$.${BATS_TEST_NUMBER:-0}.${TEST_DIR##*.}
	export TEST_DIR RUN
	# `make check` sets SBX_LIBEXEC; DESTDIR tests point both at their staged tree.
	export SBX_LIBEXEC=${SBX_LIBEXEC:-$SRC/build}
	case :$PATH: in
	*":$SRC/build:"*) ;;
	*) PATH=$SRC/build:$PATH ;;
	esac
	unset SBX_EXTRA_DENY_READ
	if on_engine; then
		engine_setup
	elif ! is_root; then
		# Seldom has a delegated control group, which the built-in configuration requires.
		configured_tools 'cgroup: best-effort'
	fi
}

on_engine()
{
	[ "$MECHANISM" != native ]
}

engine_setup()
{
	[ -n "${SBX_TEST_IMAGE_ID-}" ] || {
		echo "mechanism $MECHANISM is tested below test/engines/with-engine" >&2
		return 1
	}
	configured_tools "mechanism: $MECHANISM"
	IMAGE_OPTION=(--image "$SBX_TEST_IMAGE_ID")
}

# configured_tools LINES - the tools of this test read this configuration, unless it names one.
configured_tools()
{
	local tool real

	printf '%s\n' "$1" >"$TEST_DIR/tools.yaml"
	mkdir "$TEST_DIR/tools"
	for tool in sbx-provision sbx-exec sbx-reap; do
		real=$(command -v "$tool") || continue
		{
			printf '#!/bin/sh\ncase " $* " in *" --config"*) exec %q "$@" ;; esac\n' "$real"
			printf 'exec %q --config=%q "$@"\n' "$real" "$TEST_DIR/tools.yaml"
		} >"$TEST_DIR/tools/$tool"
		chmod 0755 "$TEST_DIR/tools/$tool"
	done
	PATH=$TEST_DIR/tools:$PATH
}

# provision [OPTIONS...] - an environment of this test's run, epoch 1 unless the options say
# otherwise; its id is left in $ENV_ID.
provision()
{
	local record

	case " $* " in
	*" --run "*) ;;
	*) set -- --run "$RUN" "$@" ;;
	esac
	case " $* " in
	*" --epoch "*) ;;
	*) set -- --epoch 1 "$@" ;;
	esac
	case " $MECHANISM $* " in
	' native '* | *' --image '*) ;;
	*) set -- "${IMAGE_OPTION[@]}" "$@" ;;
	esac
	record=$(sbx-provision "$@" </dev/null) || return
	ENV_ID=$(jq -er .env <<<"$record") || return
	remember "$ENV_ID"
}

# remember ID - look for left-overs of this environment too, if the test itself releases it.
remember()
{
	printf '%s\n' "$1" >>"$TEST_DIR/ids"
}

# skip_unless REASON COMMAND... - skip where COMMAND fails: what this machine lacks. Where nothing
# may be lacking, SBX_TEST_STRICT=1, it is a failure.
skip_unless()
{
	local reason=$1

	shift
	"$@" >/dev/null 2>&1 && return
	if [ "${SBX_TEST_STRICT:-0}" = 1 ]; then
		echo "not skipped under SBX_TEST_STRICT: $reason" >&2
		return 1
	fi
	skip "$reason"
}

# by_design MECHANISM... REASON - skip on these: what the test is about is not there, and that is how
# it has to be. Not a failure anywhere; the table of mechanisms shows it with its reason.
by_design()
{
	local mechanism

	for mechanism in "${@:1:$#-1}"; do
		[ "$MECHANISM" != "$mechanism" ] || skip "by design: ${*: -1}"
	done
}

# container - the name of the container of $ENV_ID.
container()
{
	docker ps -a --no-trunc --filter "label=sbx.env=$ENV_ID" --format '{{.Names}}'
}

# end_environment - its first process dies, as by the kernel or by an operator.
end_environment()
{
	if on_engine; then
		docker kill "$(container)" >/dev/null
	else
		kill -KILL "$(jq .init_pid "$SBX_STATE/env/$ENV_ID/state.json")"
	fi
}

# workspace - the directory that holds its files, as root of the host sees it.
workspace()
{
	if on_engine; then
		docker volume inspect --format '{{.Mountpoint}}' "$(container)"
	else
		echo "$SBX_STATE/env/$ENV_ID/workspace"
	fi
}

is_root()
{
	[ "$(id -u)" = 0 ]
}

# field FILTER - of the record in $output, by jq; fails where there is none.
field()
{
	# shellcheck disable=SC2154  # bats sets it
	jq -er "$1" <<<"$output"
}

sbx_teardown()
{
	local state=$SBX_STATE path failed=0

	# Our own commands below must not look like left-overs.
	unset SBX_STATE
	cd / || return
	for path in "$state"/env/*; do
		[ -e "$path" ] || continue
		remember "${path##*/}"
		SBX_STATE=$state timeout 60 sbx-reap --env "${path##*/}" >"$TEST_DIR/reap" 2>&1 || {
			echo "sbx-reap --env ${path##*/}: status $?"
			cat "$TEST_DIR/reap"
			failed=1
		}
	done
	nothing_left "$state" || failed=1
	rm -rf --one-file-system "$TEST_DIR" || failed=1
	return "$failed"
}

# nothing_left STATE - prints what is left of this test's environments; fails if there is anything.
nothing_left()
{
	local found tries

	# A killed process is gone from /proc only when it was waited for.
	for tries in 1 2 3 4 5 6 7 8 9 10; do
		found=$(left_processes)
		[ -n "$found" ] || break
		[ "$tries" = 10 ] || sleep 0.2
	done
	found=$(printf '%s\n' "$found" && left_mounts && left_loops && left_groups && left_objects &&
		left_directories "$1")
	found=$(sed '/^$/d' <<<"$found")
	[ -z "$found" ] && return
	printf 'left behind:\n%s\n' "$found"
	return 1
}

# Processes that were started with this state, or that live in a mount namespace which shows some of
# it. Bats and what it runs here do not match: SBX_STATE was exported after they started, and is
# unset again.
left_processes()
{
	local mark=${TEST_DIR##*/} files

	files=$(grep -lsz "^SBX_STATE=.*$mark" /proc/[0-9]*/environ)
	# A mount left in our own namespace would be seen by all; left_mounts reports it.
	grep -qF "$mark" /proc/self/mountinfo ||
		files+=$'\n'$(grep -lsF "$mark" /proc/[0-9]*/mountinfo)
	sed -n 's,^/proc/\([0-9]*\)/.*,\1,p' <<<"$files" | sort -un | while read -r pid; do
		ps -o pid=,ppid=,user=,stat=,args= -p "$pid" | sed 's/^/process /'
	done
}

left_mounts()
{
	sed -n "/${TEST_DIR##*/}/s/^/mount /p" /proc/self/mountinfo
}

# A process that is left in an environment keeps the device of its workspace, too.
left_loops()
{
	grep -sF "${TEST_DIR##*/}" /sys/block/loop*/loop/backing_file | sed 's/^/loop /'
}

left_groups()
{
	local id

	[ -s "$TEST_DIR/ids" ] || return 0
	sort -u "$TEST_DIR/ids" | while read -r id; do
		find /sys/fs/cgroup -type d -name "$id" -printf 'cgroup %p\n' 2>/dev/null || :
	done
}

left_objects()
{
	local id

	on_engine && [ -s "$TEST_DIR/ids" ] || return 0
	sort -u "$TEST_DIR/ids" | while read -r id; do
		docker ps -a --filter "name=$id" --format 'container {{.Names}} {{.Status}}'
		docker volume ls -q --filter "name=$id" | sed 's/^/volume /'
		docker network ls -q --filter "name=$id" | sed 's/^/network /'
	done
}

left_directories()
{
	find "$1/env" "$1/slot" -mindepth 1 -maxdepth 1 -printf 'state %p\n' 2>/dev/null || :
}
