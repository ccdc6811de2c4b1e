#!/usr/bin/env bats
# The live state of what runs in an environment of mechanism native, compared with the table
# below, so that no layer is lost unseen when something is made faster. test/hostile/posture.c
# prints it.
# shellcheck disable=SC2154,SC2030,SC2031  # bats sets output and status; subshells are meant

load helper

GUEST=$SRC/build/test/hostile/posture

setup()
{
	local name

	# What may pass from the caller is part of the table below: the same for every caller.
	for name in $(compgen -e | grep -E '^(LC_.*|LANGUAGE|TZ|COLORTERM|NO_COLOR)$'); do
		unset "$name"
	done
	export LANG=C.UTF-8 TERM=xterm
	sbx_setup
	skip_unless "own uids and control groups need root" is_root
}

# As posture.c prints it, after tidy(). The uid outside is the environment's own; nproc is a second
# fence, 64 above the group's 128 tasks and pid 1, so that the group's is the one that is met.
table()
{
	cat <<-EOF
		fd 0 device
		fd 1 pipe
		fd 2 pipe
		status.Umask 0077
		status.TracerPid 0
		status.Uid 1000 1000 1000 1000
		status.Gid 1000 1000 1000 1000
		status.Groups
		status.Threads 1
		status.SigPnd 0000000000000000
		status.ShdPnd 0000000000000000
		status.SigBlk 0000000000000000
		status.SigIgn 0000000000000000
		status.SigCgt 0000000000000000
		status.CapInh 0000000000000000
		status.CapPrm 0000000000000000
		status.CapEff 0000000000000000
		status.CapBnd 0000000000000000
		status.CapAmb 0000000000000000
		status.NoNewPrivs 1
		status.Seccomp 2
		status.Seccomp_filters 2
		ns.cgroup own
		ns.ipc own
		ns.mnt own
		ns.net own
		ns.pid own
		ns.pid_for_children own
		ns.time the host's
		ns.time_for_children the host's
		ns.user own
		ns.uts own
		uid_map 1000 $ENV_UID 1
		gid_map 1000 $ENV_UID 1
		setgroups deny
		oom_score_adj 500
		cgroup /
		mount / ro,nosuid,nodev - tmpfs
		mount /dev ro,nosuid,noexec - tmpfs
		mount /dev/full ro,nosuid,noexec - devtmpfs
		mount /dev/null ro,nosuid,noexec - devtmpfs
		mount /dev/pts rw,nosuid,noexec - devpts
		mount /dev/random ro,nosuid,noexec - devtmpfs
		mount /dev/shm rw,nosuid,nodev - tmpfs
		mount /dev/tty ro,nosuid,noexec - devtmpfs
		mount /dev/urandom ro,nosuid,noexec - devtmpfs
		mount /dev/zero ro,nosuid,noexec - devtmpfs
		mount /etc/* ro,nosuid,nodev - host
		mount /proc rw,nosuid,nodev,noexec - proc
		mount /proc/* ro,nosuid,nodev,noexec - tmpfs
		mount /proc/sys ro,nosuid,nodev,noexec - proc
		mount /tmp rw,nosuid,nodev - tmpfs
		mount /usr ro,nosuid,nodev - host
		mount /workspace rw,nosuid,nodev - host
		limit.cpu.soft unlimited
		limit.cpu.hard unlimited
		limit.fsize.soft $ENV_FSIZE
		limit.fsize.hard $ENV_FSIZE
		limit.data.soft unlimited
		limit.data.hard unlimited
		limit.stack.soft 8388608
		limit.stack.hard unlimited
		limit.core.soft 1
		limit.core.hard 1
		limit.rss.soft unlimited
		limit.rss.hard unlimited
		limit.nproc.soft 193
		limit.nproc.hard 193
		limit.nofile.soft 4096
		limit.nofile.hard 4096
		limit.memlock.soft 0
		limit.memlock.hard 0
		limit.as.soft unlimited
		limit.as.hard unlimited
		limit.locks.soft unlimited
		limit.locks.hard unlimited
		limit.sigpending.soft 1024
		limit.sigpending.hard 1024
		limit.msgqueue.soft 0
		limit.msgqueue.hard 0
		limit.nice.soft 0
		limit.nice.hard 0
		limit.rtprio.soft 0
		limit.rtprio.hard 0
		limit.rttime.soft unlimited
		limit.rttime.hard unlimited
		dispositions.unusual 0
		timers.armed 0
		session.own 1
		group.own 1
		parent 1
		terminal none
		nice 0
		policy 0
		ioprio 0
		dumpable 1
		securebits 207
		pdeathsig 0
		personality 0
		cwd /workspace
		environ PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		environ HOME=/workspace
		environ USER=sbx
		environ LOGNAME=sbx
		environ SHELL=/bin/sh
		environ LANG=C.UTF-8
		environ TMPDIR=/tmp
		environ TERM=xterm
		dir /dev 40755
		dir /etc 40755
		dir /home 40755
		dir /proc 40555
		dir /run 40755
		dir /sys 40555
		dir /tmp 41777
		dir /usr 40755
		dir /var 40755
		dir /workspace 40700
		dir /dev/fd -> /proc/self/fd
		dir /dev/full 20666 1:7
		dir /dev/null 20666 1:3
		dir /dev/ptmx -> pts/ptmx
		dir /dev/pts 40755
		dir /dev/random 20666 1:8
		dir /dev/shm 41777
		dir /dev/stderr -> /proc/self/fd/2
		dir /dev/stdin -> /proc/self/fd/0
		dir /dev/stdout -> /proc/self/fd/1
		dir /dev/tty 20666 5:0
		dir /dev/urandom 20666 1:9
		dir /dev/zero 20666 1:5
		dir /dev/pts/ptmx 20666 5:2
		refused.landlock.write 13
		refused.readonly.write 30
		refused.keyrings 1
		refused.seccomp.clone3 38
		refused.seccomp.unshare 1
		end
	EOF
}

# What differs from host to host is made the same: namespace numbers, which files of /etc and /proc
# there are, links of the root, file systems of the host, access times.
tidy()
{
	local line name number where how rest

	while read -r line; do
		case $line in
		ns.*)
			name=${line#ns.} number=${name#* } name=${name%% *}
			if [ "$(readlink "/proc/self/ns/$name")" = "$number" ]; then
				line="ns.$name the host's"
			elif [[ $number =~ ^[a-z]+:\[[0-9]+\]$ ]]; then
				line="ns.$name own"
			fi
			;;
		cgroup\ 0::/../c[0-9] | cgroup\ 0::/../c[0-9][0-9] | cgroup\ *:/) line='cgroup /' ;;
		dir\ /*' -> usr/'*) continue ;;
		mount\ *)
			read -r _ where how rest <<<"$line"
			how=${how//,relatime/} how=${how//,noatime/}
			case $where in
			/etc/*) where='/etc/*' rest=${rest% *}' host' ;;
			/usr | /workspace) rest=${rest% *}' host' ;;
			/proc/sys) ;;
			/proc/*) where='/proc/*' ;;
			esac
			line="mount $where $how $rest"
			;;
		esac
		printf '%s\n' "$line"
	done >"$TEST_DIR/tidied"
	# Mounts come in an order that nobody promised.
	sed '/^mount /,$d' "$TEST_DIR/tidied" | uniq
	grep '^mount ' "$TEST_DIR/tidied" | LC_ALL=C sort -u
	sed '1,/^mount /d' "$TEST_DIR/tidied" | grep -v '^mount '
}

install_guest()
{
	timeout 20 sbx-exec --exit-code --stdin "$GUEST" "$ENV_ID" -- \
		sh -c 'cat >g && chmod 700 g' >/dev/null
	ENV_UID=$(jq .uid "$SBX_STATE/env/$ENV_ID/state.json")
	INIT=$(jq .init_pid "$SBX_STATE/env/$ENV_ID/state.json")
	# Where the kernel does not bound the sum, each file is bounded.
	ENV_FSIZE=$(jq -r 'if .quota == "monitor" then .limits.workspace_bytes else "unlimited" end' \
		"$SBX_STATE/env/$ENV_ID/state.json")
}

# The difference to the table is shown; there must be none.
same_as_table()
{
	jq -e '.exit_code == 0 and .stderr.bytes == 0' >/dev/null <<<"$1" || {
		echo "$1"
		return 1
	}
	diff -u <(table) <(jq -r .stdout.text <<<"$1" | sed '/^$/d' | tidy)
}

@test "posture: a command has every layer" {
	provision
	install_guest
	same_as_table "$(timeout 20 sbx-exec "$ENV_ID" -- ./g </dev/null)"
}

# hand_down COMMAND... - run it with all that a caller can hand down by fork and exec. Of priorities
# those that would be a gain: a caller that is nice may want its commands to be.
hand_down()
{
	(
		umask 0
		mkdir "$TEST_DIR/gone" && cd "$TEST_DIR/gone" && rmdir "$TEST_DIR/gone" || exit
		ulimit -S -c unlimited && ulimit -S -n 700 && ulimit -S -f unlimited || exit
		exec 3>&- 7</etc/shadow 9<"$TEST_DIR" 200>"$TEST_DIR/log"
		exec env --ignore-signal=PIPE,USR1,USR2,ALRM,URG,RTMIN --block-signal=USR1,ALRM,PIPE,RTMAX \
			SECRET_OF_CALLER=yes LD_LIBRARY_PATH=/none LISTEN_FDS=1 NOTIFY_SOCKET=/n \
			nice -n -5 ionice -c 1 -n 1 "$@"
	)
}

@test "posture: nothing that the caller hands down arrives" {
	local record

	skip_unless "no ionice or no env --block-signal here" env --block-signal=USR1 ionice -c 3 true
	record=$(hand_down timeout 20 sbx-provision --run "$RUN" --epoch 1 </dev/null)
	ENV_ID=$(jq -er .env <<<"$record")
	remember "$ENV_ID"
	install_guest
	same_as_table "$(hand_down timeout 20 sbx-exec "$ENV_ID" -- ./g </dev/null)"
	run grep -c SECRET_OF_CALLER "/proc/$INIT/environ"
	[ "$output" = 0 ]
}

@test "posture: Landlock keeps commands of one environment apart" {
	local neighbour

	provision
	install_guest
	timeout 20 sbx-exec --exit-code --stdin "${GUEST%/*}/sockets" "$ENV_ID" -- \
		sh -c 'cat >n && chmod 700 n' >/dev/null
	timeout 20 sbx-exec --exit-code "$ENV_ID" -- ./n neighbour "$RUN" </dev/null \
		>"$TEST_DIR/neighbour" 3>&- &
	neighbour=$!
	run timeout 20 sbx-exec --exit-code "$ENV_ID" -- sh -c \
		"until [ -e listening ]; do sleep 0.02; done; exec ./g $RUN" </dev/null
	[ "$status" -eq 0 ]
	jq -r .stdout.text <<<"$output" | grep '^refused' >"$TEST_DIR/refused"
	timeout 20 sbx-exec --exit-code "$ENV_ID" -- touch "done" </dev/null >/dev/null
	wait "$neighbour"
	diff -u - "$TEST_DIR/refused" <<-EOF
		refused.landlock.write 13
		refused.readonly.write 30
		refused.keyrings 1
		refused.seccomp.clone3 38
		refused.seccomp.unshare 1
		refused.landlock.abstract 1
		refused.landlock.signal 1
	EOF
}

# Pid 1 as the host sees it. A process that is not dumpable belongs to root in /proc.
state_of_init()
{
	local fd name ns

	grep -E '^(Umask|Groups|Sig(Blk|Ign|Cgt)|Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp|Threads|Uid|Gid)' \
		"/proc/$INIT/status" | sed 's/[[:space:]]\+/ /g; s/ $//'
	grep '^NStgid' "/proc/$INIT/status" | awk '{ print "pids", NF - 1, "last", $NF }'
	grep '^NSsid' "/proc/$INIT/status" | awk '{ print "session", $NF }'
	for fd in "/proc/$INIT/fd"/*; do
		readlink "$fd" | sed 's/:\[[0-9]*\]$//'
	done | LC_ALL=C sort | sed 's/^/fd /'
	for ns in cgroup ipc mnt net pid user uts; do
		name=$(readlink "/proc/$INIT/ns/$ns")
		[ "$name" = "$(readlink "/proc/self/ns/$ns")" ] || echo "ns.$ns own"
	done
	echo "oom_score_adj $(cat "/proc/$INIT/oom_score_adj")"
	echo "setgroups $(cat "/proc/$INIT/setgroups")"
	echo "uid_map $(sed 's/[[:space:]]\+/ /g; s/^ //' "/proc/$INIT/uid_map")"
	echo "environ $(wc -c <"/proc/$INIT/environ")"
	echo "cmdline $(tr '\0' ' ' <"/proc/$INIT/cmdline")"
	echo "cwd $(readlink "/proc/$INIT/cwd") root $(readlink "/proc/$INIT/root")"
	echo "owner $(stat -c %u "/proc/$INIT/environ")"
	awk '/core file|locked memory|open files|pending signals|msgqueue|nice|realtime priority/ {
		sub(/ +[a-z]*[ ]*$/, ""); gsub(/ +/, " "); print }' "/proc/$INIT/limits"
	awk '$5 == "/" { print "root mount", $6, $7 }' "/proc/$INIT/mountinfo" |
		sed 's/,relatime\|,noatime//'
	grep -cE ' (shared|master|propagate_from|unbindable):' "/proc/$INIT/mountinfo" |
		sed 's/^/propagating mounts /'
}

@test "posture: pid 1 has every layer too, and nothing to take from it" {
	provision
	install_guest
	diff -u - <(state_of_init) <<-EOF
		Umask: 0077
		Uid: $ENV_UID $ENV_UID $ENV_UID $ENV_UID
		Gid: $ENV_UID $ENV_UID $ENV_UID $ENV_UID
		Groups:
		Threads: 1
		SigBlk: 0000000000010000
		SigIgn: 0000000000000000
		SigCgt: 0000000000000000
		CapInh: 0000000000000000
		CapPrm: 0000000000000000
		CapEff: 0000000000000000
		CapBnd: 0000000000000000
		CapAmb: 0000000000000000
		NoNewPrivs: 1
		Seccomp: 2
		Seccomp_filters: 1
		pids 2 last 1
		session 1
		fd /dev/null
		fd /dev/null
		fd /dev/null
		fd anon_inode:[landlock-ruleset]
		fd anon_inode:[signalfd]
		fd socket
		ns.cgroup own
		ns.ipc own
		ns.mnt own
		ns.net own
		ns.pid own
		ns.user own
		ns.uts own
		oom_score_adj 0
		setgroups deny
		uid_map 1000 $ENV_UID 1
		environ 0
		cmdline sbx-init 
		cwd / root /
		owner 0
		Max core file size 1 1
		Max open files 4096 4096
		Max locked memory 0 0
		Max pending signals 1024 1024
		Max msgqueue size 0 0
		Max nice priority 0 0
		Max realtime priority 0 0
		root mount ro,nosuid,nodev -
		propagating mounts 0
	EOF
	[ "$ENV_UID" -gt 65535 ]
	grep -q "^0::/.*/$ENV_ID/init$" "/proc/$INIT/cgroup"
}

@test "posture: what each command of an environment sees is the same" {
	local first

	provision
	install_guest
	first=$(timeout 20 sbx-exec "$ENV_ID" -- ./g </dev/null | jq -j .stdout.text)
	timeout 20 sbx-exec "$ENV_ID" -- sh -c 'umask 0; ulimit -c 0; trap "" TERM; sleep 100 & exit' \
		</dev/null >/dev/null
	diff -u <(printf '%s\n' "$first" | sed 's,/c[0-9]*$,,') \
		<(timeout 20 sbx-exec "$ENV_ID" -- ./g </dev/null | jq -r .stdout.text | sed '$d; s,/c[0-9]*$,,')
}
