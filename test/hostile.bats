#!/usr/bin/env bats
# Guests that attack (test/hostile), each in an environment of the mechanism under test: the guest's own
# word is that everything failed as it must, and from outside nothing has changed, nothing is left
# running and the next command is right. The numbers are those of the attack catalogue, named in
# each guest's head.
# shellcheck disable=SC2154,SC2030,SC2031  # bats sets output and status; subshells are meant
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside

load helper

GUESTS=$SRC/build/test/hostile

setup()
{
	sbx_setup
	skip_unless "own uids, groups and device nodes need root" is_root
}

# environment [OPTIONS...] - a small one of this test.
environment()
{
	local memory=128MiB

	# What gVisor itself takes counts as well.
	[ "$MECHANISM" != gvisor ] || memory=512MiB
	provision --memory "$memory" --pids 64 --timeout 30s "$@"
	look_in
}

# look_in - what is needed to look at $ENV_ID from outside, and the host as it is before the attack.
look_in()
{
	on_engine || INIT=$(jq -er .init_pid "$SBX_STATE/env/$ENV_ID/state.json")
	WORKSPACE=$(workspace)
	host_state >"$TEST_DIR/before"
}

install_guest()
{
	timeout 60 sbx-exec --exit-code --stdin "$GUESTS/$1" "$ENV_ID" -- \
		sh -c 'cat >g && chmod 700 g' >/dev/null
}

# act ARGUMENTS... - let the installed guest act; its record is in $output.
act()
{
	run timeout 90 sbx-exec --output-bytes 128KiB --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- \
		./g "$@" </dev/null
	differences
}

# differences - what the guest found otherwise by design, into the TAP: the table of mechanisms has it.
differences()
{
	jq -r '.stdout.text // "" | split("\n")[] | select(startswith("differs ")) | sub("^[^:]*: "; "")' \
		<<<"$output" 2>/dev/null | sort -u | sed 's/^/# differs: /' >&3
}

# differs REASON - the test itself asks for something else here.
differs()
{
	echo "# differs: $1" >&3
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" && return
	printf 'not: %s\nstatus %s: %.3000s\n' "$1" "$status" "$output"
	return 1
}

# The guest came to its end and no attempt did what it must not.
held()
{
	is '.reason == "exited" and .exit_code == 0 and .stderr.bytes == 0' &&
		is '.stdout.text | test("(^|\n)end [1-9][0-9]*\n$") and (test("ESCAPED") | not)'
}

# What a guest might want to change on the host, and may not. Mounts below /tmp and virtual interfaces
# may be those of somebody else who works here.
host_state()
{
	sha256sum "$SBX_LIBEXEC/sbx-init" /bin/sh /bin/env /etc/hosts /etc/shells
	stat -c '%n %a %u %g' "$SBX_LIBEXEC/sbx-init" /bin/sh /etc/passwd /etc/shadow /tmp /dev/null
	cut -d ' ' -f 3- /proc/self/mountinfo | grep -vE ' /(tmp|var/lib/docker|run)/' | sort
	grep -s . /proc/sys/kernel/{core_pattern,modprobe,hostname} /proc/sys/user/max_user_namespaces || :
	find /sys/class/net -maxdepth 1 -not -name 'veth*' -not -name 'br-*' -not -name 'docker*' | sort
	find / -maxdepth 2 -name .attack -not -path '/proc/*' 2>/dev/null || :
}

# Processes of the environment beside pid 1, by its pid namespace; in a container those that are its
# commands', by their uid, which is all of hostile code there.
inside()
{
	local name pid

	if on_engine; then
		docker exec "$(container)" sh -c 'grep -lsE "^Uid:[[:space:]]*1000" /proc/[0-9]*/status' |
			cut -d / -f 3 || :
		return
	fi
	name=$(readlink "/proc/$INIT/ns/pid")
	find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/pid' -lname "${name//[[\]]/?}" 2>/dev/null |
		cut -d / -f 3 | grep -vx "$INIT" | while read -r pid; do
		# One that pid 1 has still to collect runs no more.
		grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" && echo "$pid"
	done || :
}

is_busy()
{
	[ -n "$(inside)" ]
}

# soon COMMAND... - it succeeds within some seconds.
soon()
{
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		"$@" && return
		sleep 0.05
	done
	echo "in vain: $*"
	return 1
}

# Nothing is left of a command, the host is as before, and the next command is right.
unharmed()
{
	local left

	left=$(inside)
	[ -z "$left" ] || {
		# shellcheck disable=SC2086  # a list of pids
		ps -o pid,ppid,stat,args -p ${left//$'\n'/,} || echo "$left"
		return 1
	}
	diff -u "$TEST_DIR/before" <(host_state) || return
	run timeout 60 sbx-exec "$ENV_ID" -- sh -c 'echo "$((6 * 7))"; exit 3' </dev/null
	is '.reason == "exited" and .exit_code == 3 and .stdout.text == "42\n" and .limit == null'
}

# attack GUEST ACTS... - the usual: each act holds, and afterwards all is unharmed.
attack()
{
	local what

	install_guest "$1"
	shift
	for what; do
		echo "act $what"
		act "$what"
		held || return
		unharmed || return
	done
}

# ---- identity and what is inherited

@test "hostile: the launcher and the host's programs cannot be overwritten" {
	environment
	attack identity launcher
}

@test "hostile: no descriptor and no directory of a caller can be reached" {
	environment
	install_guest identity
	run timeout 60 sbx-exec --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g descriptors </dev/null 5</etc/shadow 6</ 99<"$TEST_DIR"
	held
	attack identity descriptors roots
}

@test "hostile: no secret of a caller or of another command is in sight" {
	local secret=s$RANDOM$RANDOM.$RUN

	export CALLER_VALUE=$secret
	environment
	install_guest identity
	timeout 60 sbx-exec --env "OTHER_VALUE=$secret" "$ENV_ID" -- sh -c 'sleep 5; :' "$secret" \
		</dev/null >/dev/null 3>&- &
	soon is_busy
	act others
	held
	is ".stdout.text | test(\"$secret\") | not"
	# The pattern does not match itself, which is in the arguments of the one who looks.
	run timeout 60 sbx-exec "$ENV_ID" -- sh -c \
		'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -ac "OTHER_VALU[E]=\|CALLER_VALU[E]="' </dev/null
	is '.stdout.text == "0\n"'
	wait $!
}

@test "hostile: pid 1 is neither traced, read nor ended" {
	environment
	attack identity memory signals
	on_engine || [ -d "/proc/$INIT" ]
}

@test "hostile: a neighbour in the same environment is out of reach" {
	local neighbour

	environment
	install_guest sockets
	timeout 60 sbx-exec --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g neighbour "$RUN" </dev/null >"$TEST_DIR/neighbour" 3>&- &
	neighbour=$!
	soon test -e "$WORKSPACE/listening"
	act visit "$RUN"
	held
	touch "$WORKSPACE/done"
	wait "$neighbour"
	output=$(cat "$TEST_DIR/neighbour")
	[ "$MECHANISM" = gvisor ] || held # there the visitor may end it: see differences.h
	unharmed
}

@test "hostile: another environment is out of reach" {
	local first

	RUN=$RUN.a environment
	first=$ENV_ID
	timeout 60 sbx-exec --exit-code "$first" -- sh -c 'umask 0; echo secret >/tmp/s; echo secret >s' \
		</dev/null >/dev/null
	RUN=$RUN.b environment
	run timeout 60 sbx-exec "$ENV_ID" -- sh -c \
		'ls /tmp; cat /tmp/s s; find / -xdev -name "'"$first"'" 2>/dev/null; grep secret -r / -s --include=s' \
		</dev/null
	is '.stdout.bytes == 0'
	# Without a view in common there is still the host: another uid, in a directory of root's. In
	# containers the uid is the same, and the engine's volumes are what is apart.
	on_engine && differs 'containers have one uid, and what is apart are the volumes'
	on_engine || [ "$(jq .uid "$SBX_STATE/env/$first/state.json")" != \
		"$(jq .uid "$SBX_STATE/env/$ENV_ID/state.json")" ]
	[ "$(stat -c '%a %u' "$SBX_STATE")" = '700 0' ]
	unharmed
}

# ---- staying alive

@test "hostile: nothing outlives its command" {
	local what

	environment
	install_guest linger
	for what in daemon holder stopped vfork chain tree; do
		echo "act $what"
		act "$what"
		if [ "$MECHANISM" = gvisor ] && [ "$what" = tree ] && is '.reason == "lost" or .reason == "memory"'; then
			differs 'a tree of forks may end the whole sandbox of gVisor, and with it itself'
		else
			held
			is ".usage.wall_ms < 3000"
		fi
		unharmed
	done
}

@test "hostile: what does not end is ended by the time limit" {
	local what

	environment
	install_guest linger
	for what in deaf stop-itself fifo clocks slow closed filled cpu; do
		echo "act $what"
		run timeout 60 sbx-exec --timeout 300ms --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g "$what" </dev/null
		is '.reason == "timeout" and .limit == "wall_time" and .exit_code == null'
		is '.usage.wall_ms >= 300 and .usage.wall_ms < 3000'
		is '.stdout.text | test("ESCAPED") | not'
		unharmed
	done
	is '.usage.cpu_ms >= 0'
}

@test "hostile: processor time of short-lived children is counted" {
	environment
	install_guest linger
	run timeout 60 sbx-exec --timeout 700ms --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g cpu </dev/null
	is '.reason == "timeout" and .usage.cpu_ms > 200'
	unharmed
}

@test "hostile: a hundred chains of forks leave no survivor" {
	local i

	environment
	install_guest linger
	for ((i = 0; i < 100; i++)); do
		timeout 60 sbx-exec --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g chain </dev/null >"$TEST_DIR/out"
		[ -z "$(inside)" ]
	done
	unharmed
}

@test "hostile: a crash writes no core" {
	environment
	install_guest linger
	act crash
	is '.reason == "signal" and .signal == 11'
	run find "$WORKSPACE" -name '*core*'
	[ -z "$output" ]
	unharmed
}

# ---- terminals

@test "hostile: no terminal of the host is there, and none takes pushed keys" {
	environment
	attack terminal terminals
}

@test "hostile: a terminal of the caller stays out of reach" {
	skip_unless "no script(1) here" script -V
	environment
	install_guest terminal
	timeout 20 script -qec "sbx-exec --raw $ENV_ID -- ./g terminals" /dev/null </dev/null \
		>"$TEST_DIR/tty"
	tr -d '\r' <"$TEST_DIR/tty" >"$TEST_DIR/text"
	run grep -c ESCAPED "$TEST_DIR/text"
	[ "$output" = 0 ]
	grep -q '^end [1-9]' "$TEST_DIR/text"
	unharmed
}

# ---- mounts, paths, rights

@test "hostile: nothing can be mounted, unmounted or left" {
	environment
	attack mounts mounting namespaces handles
}

@test "hostile: nothing outside the writable places can be changed" {
	environment
	attack mounts writing
}

@test "hostile: no right can be gained" {
	environment
	attack mounts rights
}

@test "hostile: set-user-ID files, capabilities and devices in the workspace are dead" {
	environment
	install_guest mounts
	for name in suid caps; do
		cp "$GUESTS/mounts" "$WORKSPACE/$name"
		chown 0:0 "$WORKSPACE/$name"
	done
	chmod 6755 "$WORKSPACE/suid"
	chmod 0755 "$WORKSPACE/caps"
	if command -v setcap; then
		setcap cap_setuid,cap_sys_admin+ep "$WORKSPACE/caps"
	fi
	mknod -m 0666 "$WORKSPACE/disk" b "$(stat -c '0x%t' /dev/null)" 0
	mknod -m 0666 "$WORKSPACE/zero" c 1 5
	act planted
	held
	unharmed
}

@test "hostile: an image's links at places of ours lead nowhere" {
	local hex rootfs name

	by_design docker gvisor 'what an image may be is for the engine to judge'
	hex=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
	rootfs=$SBX_STATE/image/$hex/rootfs
	mkdir -m 0700 "$SBX_STATE/image"
	mkdir -p "$rootfs"/{bin,etc} "$TEST_DIR/outside"
	cp "$GUESTS/mounts" "$rootfs/bin/g"
	for name in dev proc sys tmp run workspace home var .image .empty .none; do
		ln -s "$TEST_DIR/outside" "$rootfs/$name"
	done
	ln -s /proc/self/root "$rootfs/usr"
	ln -s ../../../../../.. "$rootfs/lib"
	ln -s "$TEST_DIR/outside" "$rootfs/etc/passwd"
	chmod -R a+rX "$rootfs"
	environment --image "sha256:$hex"
	run timeout 60 sbx-exec "$ENV_ID" -- /bin/g writing </dev/null
	is '.stdout.text | test("\nend [1-9]") and (test("ESCAPED open|ESCAPED mkdir") | not)'
	[ -z "$(ls -A "$TEST_DIR/outside")" ]
	[ "$(readlink "$rootfs/dev")" = "$TEST_DIR/outside" ]
	diff -u "$TEST_DIR/before" <(host_state)
}

@test "hostile: a device of the host that is something else is refused" {
	local what

	by_design docker gvisor 'devices are the engine'"'"'s, and none is bound'
	ln -s /etc/shadow "$TEST_DIR/link"
	cp /etc/hostname "$TEST_DIR/file"
	for what in /dev/zero "$TEST_DIR/file"; do
		run timeout 20 unshare -m sh -c \
			'mount --bind "$1" /dev/null && exec sbx-provision --run "$2" --epoch 1 2>&1 <&-' \
			sh "$what" "$RUN.${what##*/}"
		[ "$status" -eq 69 ]
		[[ $output == *"/dev/null is not the device 1:3"* ]]
	done
	run timeout 20 unshare -m sh -c \
		'mount -t tmpfs none /dev && ln -s "$1" /dev/null && exec sbx-provision --run "$2" --epoch 1' \
		sh "$TEST_DIR/link" "$RUN.link" </dev/null
	[ "$status" -eq 69 ]
	[[ $output == *"/dev/null"* ]]
	[ -z "$(ls -A "$SBX_STATE/env" 2>/dev/null)" ]
}

@test "hostile: a mount of the environment never shows on the host" {
	by_design docker gvisor 'mounts are made by the engine in its own namespace'
	local quota

	printf 'quota: monitor\n' >"$TEST_DIR/monitor.yaml"
	printf 'quota: auto\n' >"$TEST_DIR/auto.yaml"
	# A workspace of its own is mounted on the host as well, and on nothing but the workspace.
	for quota in monitor auto; do
		shows "$quota"
		[ "$(head -n 1 "$TEST_DIR/out")" = 0 ]
		read -r before after last < <(tail -n 1 "$TEST_DIR/out")
		[ "$before" -eq "$after" ]
		[ "$before" -eq "$last" ]
	done
}

# shows QUOTA - how many mounts the host has before, while and after there is an environment.
shows()
{
	unshare -m --propagation shared timeout 60 bash -c '
		before=$(wc -l </proc/self/mountinfo)
		id=$(sbx-provision --config "$2" --run "$1" --epoch 1 </dev/null | jq -er .env)
		after=$(grep -vc "/env/$id/workspace " /proc/self/mountinfo)
		timeout 60 sbx-exec --exit-code "$id" -- grep -cE "(shared|master):" /proc/self/mountinfo \
			</dev/null | jq -r .stdout.text
		sbx-reap --env "$id" >/dev/null
		echo "$before $after $(wc -l </proc/self/mountinfo)"' bash "$RUN" "$TEST_DIR/$1.yaml" \
		>"$TEST_DIR/out"
}

@test "hostile: a state directory of any name is taken exactly" {
	local name record id

	for name in 'with,comma' 'with:colon' 'with blank' $'with\nnewline' '-rf' '%s$HOME`id`' \
		'back\slash' "$(printf 'long%.0s' {1..60})"; do
		mkdir -m 0700 "$TEST_DIR/$name"
		record=$(SBX_STATE=$TEST_DIR/$name//./ timeout 60 sbx-provision \
			--run "$RUN.${#name}" --epoch 1 "${IMAGE_OPTION[@]}" </dev/null)
		id=$(jq -er .env <<<"$record")
		remember "$id"
		output=$(SBX_STATE=$TEST_DIR/$name timeout 60 sbx-exec "$id" -- \
			sh -c 'echo here >file' </dev/null)
		is '.exit_code == 0'
		on_engine || [ "$(cat "$TEST_DIR/$name/env/$id/workspace/file")" = here ]
		SBX_STATE=$TEST_DIR/$name timeout 60 sbx-reap --env "$id" >/dev/null
		[ ! -e "$TEST_DIR/$name/env/$id" ]
	done
}

# ---- /proc, /sys

@test "hostile: no knob of the kernel can be turned" {
	environment
	attack proc knobs
}

@test "hostile: the host's secrets are not in view" {
	environment
	attack proc hidden
}

@test "hostile: /proc/self/mem changes nobody's file" {
	environment
	attack proc memory
}

@test "hostile: the strict view of /proc holds too" {
	by_design docker gvisor 'the view of /proc is the engine'"'"'s, and another is refused'
	environment --proc pid
	attack identity others
	attack proc hidden memory
}

# ---- system calls

@test "hostile: the system call filter cannot be evaded" {
	environment
	attack filter architectures newer doors filters domain
}

@test "hostile: a program from memory is confined as any other" {
	environment
	attack filter memory
}

# ---- sockets and services

@test "hostile: no socket but the internet's and unix's can be made" {
	environment
	attack network families interface
}

@test "hostile: no socket file of a service is in view" {
	environment
	attack sockets pathnames
}

@test "hostile: variables and descriptors that name services are gone" {
	environment
	install_guest sockets
	run env LISTEN_FDS=1 LISTEN_PID=1 NOTIFY_SOCKET=/run/x SSH_AUTH_SOCK=/run/x DISPLAY=:0 \
		DBUS_SESSION_BUS_ADDRESS=unix:path=/x XDG_RUNTIME_DIR=/run CONTAINER_HOST=unix:///x \
		BASH_ENV=/x PYTHONPATH=/x GIT_DIR=/x \
		timeout 60 sbx-exec --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g variables </dev/null 3</etc/passwd
	held
	unharmed
}

@test "hostile: services of the host cannot be reached nor impersonated" {
	local service port address

	environment
	install_guest sockets
	timeout 60 "$GUESTS/sockets" host "$RUN" >"$TEST_DIR/service" 3>&- &
	service=$!
	soon grep -q port "$TEST_DIR/service"
	port=$(sed -n 's/^port //p' "$TEST_DIR/service")
	address=$(hostname -I | cut -d ' ' -f 1)
	act abstract "$RUN"
	held
	install_guest network
	act network "$port,${address:-192.0.2.1}"
	held
	run grep -c REACHED "$TEST_DIR/service"
	[ "$output" = 0 ]
	# The same port inside belongs to nobody outside.
	timeout 60 sbx-exec --env "GUEST_IN=$MECHANISM" "$ENV_ID" -- ./g ports "$port" </dev/null >"$TEST_DIR/ports" 3>&- &
	soon is_busy
	sleep 0.3
	exec 8<>"/dev/tcp/127.0.0.1/$port"
	exec 8>&-
	wait $!
	kill "$service"
	grep -q '^REACHED by tcp' "$TEST_DIR/service"
	output=$(cat "$TEST_DIR/ports")
	held
	unharmed
}

# ---- resources

# bomb GUEST ACT - in a fresh environment of 64 MiB and 40 tasks, whose next command must be right.
bomb()
{
	RUN=$RUN.$2 provision --memory 64MiB --pids 40 --timeout 20s
	look_in
	install_guest "$1"
	echo "act $2"
	act "$2" 64
}

# What was taken is charged: the guest was refused, or the command ended for its memory.
charged()
{
	is '(.reason == "memory" and .limit == "memory" and .oom) or
		(.reason == "exited" and .exit_code == 0 and (.stdout.text | test("\nend [0-9]+\n$")))'
}

# On gVisor: by the watch over tasks, or before that by what so many of them take of the sandbox.
bomb_ended()
{
	is '.reason == "signal" and .signal == 9 and .limit == "pids" and .limit_value == 40 or
		.reason == "memory" and .limit == "memory" or .reason == "lost" or
		.reason == "exited" and .limit == "pids"'
}

@test "hostile: processes and threads end at the limit of pids" {
	local what

	for what in processes threads slow-chain; do
		bomb bombs "$what"
		if [ "$MECHANISM" = gvisor ]; then
			differs 'gVisor refuses no fork: the command is ended for it within 100 ms'
			bomb_ended
		else
			held
			is '.limit == "pids" and .limit_value == 40'
		fi
		unharmed
	done
}

@test "hostile: memory ends at its limit" {
	bomb bombs anonymous
	is '.reason == "memory" and .oom and .limit == "memory"'
	unharmed
	bomb bombs page-tables
	is '.reason == "memory" and .oom and .limit == "memory"'
	unharmed
}

@test "hostile: a memfd is charged, and pid 1 does not pay for it" {
	bomb bombs memfd
	charged
	unharmed
}

@test "hostile: /tmp and /dev/shm are charged, and pid 1 does not pay for it" {
	bomb bombs tmpfs
	charged
	unharmed
}

@test "hostile: System V segments are charged and go with their command" {
	bomb bombs system-v
	charged
	unharmed
}

@test "hostile: pipe buffers are charged, and pid 1 does not pay for it" {
	bomb buffers pipes
	charged
	unharmed
}

@test "hostile: unix socket buffers are charged, and pid 1 does not pay for it" {
	bomb buffers unix
	charged
	unharmed
}

# Of the engine's own host: on cgroup v1 the memory of internet sockets is nobody's.
sockets_are_charged()
{
	on_engine && [ "$(docker info --format '{{.CgroupVersion}}')" = 1 ] || return 0
	by_design docker 'engines do not bound the buffers of internet sockets on cgroup v1'
}

@test "hostile: udp buffers are charged" {
	sockets_are_charged
	bomb buffers udp
	charged
	unharmed
}

@test "hostile: tcp buffers are charged" {
	sockets_are_charged
	bomb buffers tcp
	charged
	unharmed
}

@test "hostile: kernel objects of descriptors are bounded" {
	bomb buffers objects
	charged
	unharmed
}

@test "hostile: files of /tmp and names that are not there are bounded" {
	bomb bombs inodes
	charged
	unharmed
}

@test "hostile: no memory is locked and no priority raised" {
	bomb bombs locked
	held
	unharmed
}
