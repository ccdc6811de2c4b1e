#!/usr/bin/env bats
# What is the adapter's own, on docker and on gVisor: what the engine is asked and in which words, what
# it may run, and what is left when we, it, or both die at a bad moment. Runs below
# test/engines/with-engine; what every mechanism must do is in test/exec.bats and test/hostile.bats.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016  # bats sets output; subshells and quotes are meant

load ../helper

setup()
{
	sbx_setup
	REAL=$(command -v docker)
}

# engine_is BODY - the tools of this test use this script as their engine; $REAL is the engine.
engine_is()
{
	printf '#!/bin/bash\nREAL=%q\nTEST_DIR=%q\n%s\n' "$REAL" "$TEST_DIR" "$1" \
		>"$TEST_DIR/engine-command"
	chmod 0755 "$TEST_DIR/engine-command"
	configure "engine: $TEST_DIR/engine-command"
}

# configure LINE... - beside the mechanism, in the configuration of this test's tools.
configure()
{
	printf '%s\n' "mechanism: $MECHANISM" "$@" >"$TEST_DIR/tools.yaml"
}

is()
{
	jq -e "$1" >/dev/null <<<"$output" && return
	printf 'not: %s\nstatus %s: %.3000s\n%.2000s\n' "$1" "$status" "$output" "${stderr-}"
	return 1
}

try_provision()
{
	run --separate-stderr timeout 100 sbx-provision --run "$RUN" --epoch 1 \
		--image "$SBX_TEST_IMAGE_ID" "$@" </dev/null
}

nothing_is_made()
{
	[ -z "$(ls -A "$SBX_STATE/env")" ]
	[ -z "$(docker ps -aq --filter "label=sbx.run=$RUN")" ]
	[ -z "$(docker volume ls -q --filter "label=sbx.run=$RUN")" ]
}

# ---- what the engine is asked

@test "engine: no argument that the engine ever gets names a path of the host" {
	local word

	engine_is 'printf "%s\0" "$@" >>"$TEST_DIR/arguments"; exec "$REAL" "$@"'
	provision
	timeout 60 sbx-exec --timeout 300ms "$ENV_ID" -- sleep 9 </dev/null | jq -e '.restarted'
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- true </dev/null
	sbx-reap --list >/dev/null
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	[ "$(tr -dc '\0' <"$TEST_DIR/arguments" | wc -c)" -gt 50 ]
	# Absolute paths there are, of the inside: every one of them below these.
	tr '\0' '\n' <"$TEST_DIR/arguments" | grep -oE '(^|[=:,])/[^,:]*' | sed 's/^[=:,]//' | sort -u |
		grep -vE '^/(\.sbx(/.*)?|workspace|tmp|check(/.*)?)?$' >"$TEST_DIR/strange" || :
	diff /dev/null "$TEST_DIR/strange"
	for word in "$TEST_DIR" "$SRC" "$SBX_STATE" "$HOME/"; do
		run ! grep -qaF -- "$word" "$TEST_DIR/arguments"
	done
}

@test "engine: --dry-run prints the very command lines and makes nothing" {
	engine_is 'printf "%s\0" "$@" >>"$TEST_DIR/arguments"; printf "\n" >>"$TEST_DIR/arguments"
		exec "$REAL" "$@"'
	try_provision --dry-run
	[ "$status" -eq 0 ]
	nothing_is_made
	jq -rc 'select(.type == "call") | .argv[1:] | map(. + "\u0000") | add' <<<"$output" \
		>"$TEST_DIR/planned"
	[ "$(wc -l <"$TEST_DIR/planned")" -ge 3 ]
	rm -f "$TEST_DIR/arguments"
	provision
	# Each planned call was made, word by word.
	python3 - "$TEST_DIR/planned" "$TEST_DIR/arguments" <<-'END'
		import sys
		planned, made = (open(name, "rb").read().split(b"\n") for name in sys.argv[1:])
		missing = [call for call in planned if call and call not in made]
		sys.exit(b"\n".join(missing).replace(b"\0", b" ").decode() if missing else 0)
	END
}

@test "engine: the container has no more rights than it needs" {
	provision --memory 96MiB --pids 30 --cpus 1.5
	output=$(docker inspect "$(container)")
	is '.[0].HostConfig | .ReadonlyRootfs and (.Privileged | not) and .NetworkMode == "none" and
		.LogConfig.Type == "none" and .CapDrop == ["ALL"] and .RestartPolicy.Name == "no" and
		.Memory == 100663296 and .MemorySwap == .Memory and .CpuQuota == 150000 and .CpuPeriod == 100000 and
		.IpcMode == "private" and .PidMode == "" and .CgroupnsMode == "private"'
	is '.[0].HostConfig.Binds // [] | all(startswith("/") | not)'
	is '.[0].HostConfig.SecurityOpt | any(startswith("no-new-privileges"))'
	is '.[0].HostConfig.CapAdd | map(sub("^CAP_"; "")) | sort ==
		["CHOWN", "DAC_READ_SEARCH", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"]'
	is '.[0].HostConfig.PidsLimit | . >= 30 and . <= 8192'
	is '.[0].Config | .Image == "'"$SBX_TEST_IMAGE_ID"'" and .User == "0:0"'
	is '.[0].Config.Labels["sbx.env"] == "'"$ENV_ID"'" and .[0].Config.Labels["sbx.run"] == "'"$RUN"'"'
	is '[.[0].Mounts[] | .Type] - ["volume", "tmpfs"] == []'
	is '[.[0].Mounts[] | select(.Destination == "/.sbx/bin")] | .[0].RW == false'
}

@test "engine: commands have uid 1000 and no right, in a process that they cannot touch" {
	provision
	output=$(timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c '
		id -u; id -g; id -G; grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status
		kill -9 1; kill -STOP 1; cat /proc/1/environ /proc/1/maps; ls -l /proc/1/exe
		echo x >/.sbx/bin/x; ls /.sbx/run; cat /.sbx/bin/sbx-init | wc -c' </dev/null)
	is '.stdout.text | startswith("1000\n1000\n1000\n")'
	is '.stdout.text | test("CapPrm:\\s*0+\nCapEff:\\s*0+\nCapBnd:\\s*0+\n")'
	is '.stdout.text | test("Seccomp:\\s*2")'
	is '.stdout.text | endswith("\n0\n")'
}

@test "engine: what is on says what it is" {
	provision
	output=$(sbx-exec "$ENV_ID" -- cat /proc/version </dev/null)
	is '.enforced | any(. == "no_capabilities") and any(startswith("seccomp:"))'
	is '.enforced | any(. == "network:none")'
	if [ "$MECHANISM" = gvisor ]; then
		is '.stdout.text | test("Linux version 4\\.4\\.0")'
		is '.enforced | any(. == "gvisor") and any(. == "gvisor:network=host")'
	else
		is '.enforced | any(startswith("landlock:"))'
		is '.stdout.text == "'"$(cat /proc/version)"'\n"'
	fi
}

# ---- images and the helper

@test "engine: a tag, a digest that is not there and no image at all are refused" {
	run --separate-stderr sbx-provision --run "$RUN" --epoch 1 --image sbx-test:debian </dev/null
	[ "$status" -eq 65 ]
	is '.code == "bad_request" and (.hint + .message | test("--resolve"))'
	run --separate-stderr sbx-provision --run "$RUN" --epoch 1 </dev/null
	[ "$status" -eq 65 ]
	is '.code == "bad_request" and (.message | test("image"))'
	run --separate-stderr timeout 60 sbx-provision --run "$RUN" --epoch 1 \
		--image "sha256:$(printf '0%.0s' {1..64})" </dev/null
	[ "$status" -eq 66 ]
	is '.code == "not_found"'
	nothing_is_made
}

@test "engine: --resolve prints the digest of a reference" {
	run --separate-stderr sbx-provision --resolve sbx-test:debian </dev/null
	[ "$status" -eq 0 ]
	is ".type == \"image\" and .digest == \"$SBX_TEST_IMAGE_ID\""
	[[ $stderr == *"$SBX_TEST_IMAGE_ID"* ]]
	run --separate-stderr sbx-provision --resolve no-such-image:at-all </dev/null
	[ "$status" -eq 66 ]
	is '.code == "not_found"'
}

@test "engine: the helper reaches an image without a shell and a busybox" {
	local root=$TEST_DIR/root image

	mkdir -p "$root/bin"
	cp "$SRC/build/test/hostile/identity" "$root/bin/only"
	image=$(tar -C "$root" -c . | docker import - "sbx-empty:${RUN,,}")
	provision --image "$image"
	output=$(timeout 60 sbx-exec "$ENV_ID" -- /bin/only descriptors </dev/null)
	is '.reason == "exited" and (.stdout.text | test("end [1-9]"))'
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	docker image rm "sbx-empty:${RUN,,}" >/dev/null
	cp "$(command -v busybox)" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	image=$(tar -C "$root" -c . | docker import - "sbx-box:${RUN,,}")
	RUN=$RUN.b provision --image "$image"
	output=$(timeout 60 sbx-exec "$ENV_ID" -- sh -c 'echo $((6 * 7))' </dev/null)
	is '.stdout.text == "42\n"'
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	docker image rm "sbx-box:${RUN,,}" >/dev/null
}

@test "engine: a damaged helper volume is found and made again" {
	local volume

	provision
	volume=$(docker inspect "$(container)" | jq -er \
		'.[0].Mounts[] | select(.Destination == "/.sbx/bin") | .Name')
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	# As a copy that was killed leaves it, or somebody who has the engine.
	docker volume rm "$volume" >/dev/null
	docker volume create "$volume" >/dev/null
	touch "$(docker volume inspect --format '{{.Mountpoint}}' "$volume")/sbx-init"
	RUN=$RUN.b provision
	output=$(timeout 60 sbx-exec "$ENV_ID" -- echo fine </dev/null)
	is '.stdout.text == "fine\n"'
}

# ---- where it may run

@test "engine: production refuses docker and takes gvisor with its own network" {
	configure 'deployment: production'
	try_provision
	[ "$status" -eq 77 ]
	is '.code == "denied"'
	nothing_is_made
	[ "$MECHANISM" = gvisor ] || return 0
	# The runtime that uses the host's stack was refused; this one does not, and that one is asked for.
	is '.message + .hint | test("sockets.*host.*--network=host")'
	configure 'deployment: production' 'gvisor:' '  network: host'
	provision
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	configure 'deployment: production' 'gvisor:' '  runtime: runsc-sandbox'
	RUN=$RUN.b provision
	output=$(timeout 60 sbx-exec "$ENV_ID" -- cat /proc/version </dev/null)
	is '.enforced | any(. == "gvisor") and (any(. == "gvisor:network=host") | not)'
}

@test "engine: a runtime that is not gVisor is not taken for it" {
	by_design docker 'there is no gVisor to be proven'
	configure 'gvisor:' '  runtime: runc'
	try_provision
	[ "$status" -eq 69 ]
	is '.code == "unavailable" and (.message | test("gVisor"))'
	nothing_is_made
	configure 'gvisor:' '  runtime: no-such-runtime'
	try_provision
	[ "$status" -eq 69 ]
	is '.code == "unavailable"'
	nothing_is_made
}

@test "engine: --probe says what works" {
	run --separate-stderr timeout 100 sbx-provision --probe </dev/null
	[ "$status" -eq 0 ]
	is '[.mechanisms[]? // . | select(.mechanism? == "'"$MECHANISM"'" or .name? == "'"$MECHANISM"'")] | length > 0'
	engine_is 'exit 1'
	run --separate-stderr timeout 100 sbx-provision --probe </dev/null
	[ "$status" -eq 69 ]
}

# ---- when the engine fails

@test "engine: an engine that is absent, refuses or is too slow has a clear code" {
	configure 'engine: /no/such/engine'
	try_provision
	[ "$status" -eq 69 ]
	is '.code == "unavailable" and (.message | test("/no/such/engine"))'
	engine_is 'exec env DOCKER_HOST=unix:///nowhere "$REAL" "$@"'
	try_provision
	[ "$status" -eq 69 ]
	is '.code == "unavailable"'
	[[ $stderr == *nowhere* ]] # the raw text, in the log
	engine_is 'exec sleep 30'
	printf 'engine_timeout: 1s\n' >>"$TEST_DIR/tools.yaml"
	try_provision
	[ "$status" -eq 75 ]
	is '.code == "timeout"'
	nothing_is_made
}

@test "engine: a full disk of the engine is said and leaves nothing" {
	engine_is '[ "$1" != create ] || { echo "Error response from daemon: mkdir x: no space left on device" >&2; exit 1; }
		exec "$REAL" "$@"'
	try_provision
	[ "$status" -eq 71 ]
	is '.code == "quota" or .code == "io_error"'
	nothing_is_made
}

@test "engine: a channel that ends under a command is lost, never success" {
	local pid status=0

	provision
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c 'echo begun; sleep 20' </dev/null \
		>"$TEST_DIR/out" 3>&- &
	pid=$!
	sleep 2
	docker stop -t 0 "$(container)" >/dev/null
	wait "$pid" || status=$?
	[ "$status" -eq 125 ]
	output=$(cat "$TEST_DIR/out")
	is '.reason == "lost" and .exit_code == null and .stdout.text == "begun\n"'
	# The workspace is a volume: the container is started again on it.
	output=$(timeout 60 sbx-exec "$ENV_ID" -- ls -A </dev/null)
	is '.stdout.text | test("\\.agent-initialized")'
}

# What this tool does with the engine that it stops is its own engine's: stopped.bash runs below another.
@test "engine: one that is stopped under a command is lost, and what it held is kept for later" {
	mkdir -m 0700 "$TEST_DIR/stopped"
	printf 'mechanism: %s\n' "$MECHANISM" >"$TEST_DIR/stopped.yaml"
	run timeout 110 "$SRC/test/engines/with-engine" \
		"$SRC/test/engines/stopped" "$TEST_DIR/stopped" "$TEST_DIR/stopped.yaml" "$RUN.s" \
		</dev/null 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	grep -qx 'exec 125 lost begun' <<<"$output"
	grep -qx 'provision 69 unavailable' <<<"$output"
	grep -qx 'list 0 false ready' <<<"$output"
	# What cannot be removed keeps its record, for the next sweep.
	grep -qx 'reap 69 false' <<<"$output"
	grep -qx 'list 0 false failed' <<<"$output"
}

@test "engine: an enforced kill restarts the same container on the same workspace" {
	local before

	provision
	before=$(docker inspect --format '{{.Id}}' "$(container)")
	timeout 60 sbx-exec --exit-code "$ENV_ID" -- sh -c 'echo kept >file; echo gone >/tmp/file' </dev/null
	timeout 60 sbx-exec "$ENV_ID" -- sleep 8 </dev/null >"$TEST_DIR/other" 3>&- &
	sleep 1.5
	output=$(timeout 60 sbx-exec --timeout 1s "$ENV_ID" -- sh -c 'echo said; setsid sleep 50 & sleep 50' </dev/null)
	is '.reason == "timeout" and .restarted and .stdout.text == "said\n"'
	wait $!
	output=$(cat "$TEST_DIR/other")
	is '.reason == "restarted" and .restarted and .exit_code == null'
	[ "$(docker inspect --format '{{.Id}}' "$(container)")" = "$before" ]
	output=$(timeout 60 sbx-exec "$ENV_ID" -- sh -c 'cat file; ls /tmp; ps ax 2>/dev/null | grep -c "[s]leep 50"' </dev/null)
	is '.stdout.text | startswith("kept\n")'
}

# ---- when we die

# At each call that provisioning makes, our tool is killed before, and once after it.
@test "engine: killed between any two calls, a release leaves nothing" {
	local call calls=0 when id

	engine_is 'echo >>"$TEST_DIR/calls"; exec "$REAL" "$@"'
	provision
	calls=$(wc -l <"$TEST_DIR/calls")
	timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
	[ "$calls" -ge 4 ]
	for ((call = 1; call <= calls; call++)); do
		for when in before after; do
			: >"$TEST_DIR/calls"
			engine_is '
				tool=$PPID
				echo >>"$TEST_DIR/calls"
				now=$(wc -l <"$TEST_DIR/calls")
				[ "$now-'$when'" != '$call'-before ] || { kill -KILL $tool; exit 1; }
				[ "$now-'$when'" != '$call'-after ] || { "$REAL" "$@"; kill -KILL $tool; exit 0; }
				exec "$REAL" "$@"'
			timeout 60 sbx-provision --run "$RUN.$call$when" --epoch 1 \
				--image "$SBX_TEST_IMAGE_ID" </dev/null >"$TEST_DIR/out" 2>&1 || :
			engine_is 'exec "$REAL" "$@"'
			for id in "$SBX_STATE"/env/*; do
				[ -e "$id" ] || continue
				remember "${id##*/}"
				timeout 70 sbx-reap --env "${id##*/}" >"$TEST_DIR/reaped" 2>&1 || {
					cat "$TEST_DIR/reaped"
					return 1
				}
			done
			[ -z "$(docker ps -aq --filter "label=sbx.run=$RUN.$call$when")" ]
			[ -z "$(docker volume ls -q --filter "label=sbx.run=$RUN.$call$when")" ]
		done
	done
}

# killing WORD WHEN - the engine's command that begins with WORD, a pattern, kills our tool before or
# after it.
killing()
{
	engine_is '
		case $1 in
		'"$1"')
			[ '"$2"' != before ] || { kill -KILL $PPID; exit 1; }
			"$REAL" "$@"
			kill -KILL $PPID
			exit 0
			;;
		esac
		exec "$REAL" "$@"'
}

@test "engine: sbx-exec killed at its restart, or sbx-reap at a removal, is made good by the next" {
	local when word status

	for when in before after; do
		engine_is 'exec "$REAL" "$@"'
		RUN=$RUN.$when provision
		# Where the sandbox was ended by its process, it is only started.
		killing 'restart | start' "$when"
		status=0
		timeout 60 sbx-exec --timeout 300ms "$ENV_ID" -- sh -c 'sleep 60 & sleep 60' </dev/null \
			>"$TEST_DIR/out" 2>&1 || status=$?
		[ "$status" -eq 137 ]
		engine_is 'exec "$REAL" "$@"'
		output=$(timeout 60 sbx-exec "$ENV_ID" -- sh -c 'echo alive; cat /proc/[0-9]*/cmdline | grep -c "slee[p]"' </dev/null)
		is '.stdout.text == "alive\n0\n"'
		for word in rm volume; do
			killing "$word" "$when"
			timeout 60 sbx-reap --env "$ENV_ID" >"$TEST_DIR/out" 2>&1 || :
		done
		engine_is 'exec "$REAL" "$@"'
		[ ! -e "$SBX_STATE/env/$ENV_ID" ] || timeout 60 sbx-reap --env "$ENV_ID" >/dev/null
		[ -z "$(docker ps -aq --filter "label=sbx.env=$ENV_ID")" ]
		[ -z "$(docker volume ls -q --filter "label=sbx.env=$ENV_ID")" ]
	done
}

@test "engine: killed in the middle of a call, a release waits for it and leaves nothing" {
	local id

	engine_is '[ "$1" != create ] || { echo $PPID >"$TEST_DIR/tool"; sleep 2; }
		exec "$REAL" "$@"'
	timeout 60 sbx-provision --run "$RUN" --epoch 1 --image "$SBX_TEST_IMAGE_ID" \
		</dev/null >"$TEST_DIR/out" 2>&1 3>&- &
	for ((tries = 0; tries < 100; tries++)); do
		[ ! -s "$TEST_DIR/tool" ] || break
		sleep 0.1
	done
	kill -KILL "$(cat "$TEST_DIR/tool")"
	wait $! || :
	id=$(ls "$SBX_STATE/env")
	remember "$id"
	timeout 70 sbx-reap --env "$id" >/dev/null
	nothing_is_made
}

@test "engine: two that race make one environment" {
	local -a pids=()
	local i

	for i in 1 2 3; do
		timeout 90 sbx-provision --run "$RUN" --epoch 1 --image "$SBX_TEST_IMAGE_ID" \
			</dev/null >"$TEST_DIR/out.$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	output=$(cat "$TEST_DIR"/out.?)
	[ "$(jq -r .env <<<"$output" | sort -u | wc -l)" -eq 1 ]
	[ "$(jq -r .created <<<"$output" | grep -c true)" -eq 1 ]
	remember "$(jq -r .env <<<"$output" | head -n 1)"
	[ "$(docker ps -aq --filter "label=sbx.run=$RUN" | wc -l)" -eq 1 ]
}

@test "engine: the list tells which lives" {
	provision
	output=$(sbx-reap --list)
	is '.alive == true and .state == "ready" and .mechanism == "'"$MECHANISM"'"'
	docker stop -t 0 "$(container)" >/dev/null
	output=$(sbx-reap --list)
	is '.alive == false'
}

@test "engine: the second command of a stream does not pay for the engine" {
	local i record

	provision
	mkfifo "$TEST_DIR/in" "$TEST_DIR/out"
	timeout 100 sbx-exec --stream "$ENV_ID" <"$TEST_DIR/in" >"$TEST_DIR/out" 3>&- &
	exec 7>"$TEST_DIR/in" 8<"$TEST_DIR/out"
	for i in {1..20}; do
		printf '{"id":%d,"op":"exec","argv":["true"]}\n' "$i" >&7
		read -r record <&8
		echo "$record" >>"$TEST_DIR/records"
	done
	exec 7>&- 8<&-
	output=$(jq -sc '{all: map(.exit_code), first: .[0].timing_us.start,
		later: (.[1:] | map(.timing_us.start) | sort | .[9])}' "$TEST_DIR/records")
	# No figure here, only that it is another order: see make bench.
	is '(.all | length == 20 and all(. == 0)) and .later * 2 < .first'
}
