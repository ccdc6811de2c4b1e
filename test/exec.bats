#!/usr/bin/env bats
# What sbx-exec does with one command, in sentences. Each test has an environment of its own.
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside
# shellcheck disable=SC2030,SC2031,SC2143,SC2217  # subshells and sleeping readers are meant

load helper

# is FILTER - the record in $output says so.
is()
{
	jq -e "$1" <<<"$output" >/dev/null && return
	printf 'not: %s\nstatus: %s\nstdout: %.2000s\nstderr: %.2000s\n' "$1" "$status" "$output" \
		"${stderr-}"
	return 1
}

# Run sbx-exec on this test's environment; stdout and stderr apart.
exec_run()
{
	run --separate-stderr sbx-exec "$@" </dev/null
}

now_ms()
{
	echo $(($(date +%s%N) / 1000000))
}

# within MS COMMAND... - it succeeds, and in that time; an engine takes seconds of its own.
within()
{
	local most=$1 began

	shift
	on_engine && most=$((most + 8000))
	began=$(now_ms)
	"$@" || return
	began=$(($(now_ms) - began))
	[ "$began" -lt "$most" ] && return
	echo "took $began ms: $*"
	return 1
}

# running WORD - a process of this machine, or of the container, has it in its arguments. It is not in
# grep's own; its status says nothing, since processes end while it looks.
running()
{
	if on_engine; then
		[ -n "$(docker exec -i "$(container)" \
			sh -c 'grep -lsaF -f - /proc/[0-9]*/cmdline' <<<"$1")" ]
		return
	fi
	[ -n "$(grep -lsaF -f <(printf '%s' "$1") /proc/[0-9]*/cmdline)" ]
}

# A word to be found by running(), as an argument that sleep takes.
mark()
{
	echo "3$RANDOM.0$RANDOM$BATS_TEST_NUMBER"
}

stopped()
{
	soon not running "$1"
}

not()
{
	! "$@"
}

# soon COMMAND... - it succeeds within some seconds.
soon()
{
	local tries

	for ((tries = 0; tries < 50; tries++)); do
		"$@" && return
		sleep 0.1
	done
	echo "in vain: $*"
	return 1
}

# enforces LIMIT - somebody's kernel holds it here, and not best effort alone.
enforces()
{
	provision && sbx-exec "$ENV_ID" -- true </dev/null |
		jq -e --arg limit "$1" '.enforced | any(startswith($limit + ":"))'
}

# ---- the record

@test "exec: a command that ends is one result record and exit status 0" {
	provision
	exec_run "$ENV_ID" -- sh -c 'echo out; echo err >&2; exit 3'
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 1 ]
	[ -z "$stderr" ]
	is '.type == "result" and .reason == "exited" and .exit_code == 3 and .signal == null'
	is ".env == \"$ENV_ID\" and .argv == [\"sh\", \"-c\", \"echo out; echo err >&2; exit 3\"]"
	is '.stdout == {bytes: 4, kept: 4, truncated: false, text: "out\n"}'
	is '.stderr.text == "err\n" and .oom == false and .limit == null'
	is '.pipes_held == false and .killed == 0 and .restarted == false'
	is '.enforced | length > 0'
	is '.timing_us | .start > 0 and .run > 0 and .total >= .start + .run'
	is '.usage.wall_ms < 5000'
}

@test "exec: --exit-code writes the record and exits as the command did" {
	provision
	exec_run --exit-code "$ENV_ID" -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	is '.reason == "exited" and .exit_code == 7'
}

@test "exec: a command that kills itself ends by that signal and not by memory" {
	provision
	exec_run --exit-code "$ENV_ID" -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	is '.reason == "signal" and .signal == 9 and .exit_code == null and .oom == false'
	exec_run --exit-code "$ENV_ID" -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	is '.reason == "signal" and .signal == 15'
}

@test "exec: a program that is missing is start_failed and 127" {
	provision
	exec_run "$ENV_ID" -- no-such-program
	[ "$status" -eq 0 ]
	is '.reason == "start_failed" and .exit_code == null'
	is '.error == "execve: No such file or directory"'
	run -127 --separate-stderr sbx-exec --exit-code "$ENV_ID" -- /nowhere/program
	is '.error == "execve: No such file or directory"'
	run -127 --separate-stderr sbx-exec --raw "$ENV_ID" -- no-such-program
	[ -z "$output" ]
	[[ $stderr == *no-such-program*"No such file or directory"* ]]
}

@test "exec: a program that is not executable is start_failed and 126" {
	provision
	exec_run --exit-code "$ENV_ID" -- /etc/passwd
	[ "$status" -eq 126 ]
	is '.reason == "start_failed" and (.error | test("^execve: Permission denied"))'
	exec_run --exit-code "$ENV_ID" -- sh -c 'printf "\177ELF" >bad; chmod +x bad; exec ./bad'
	[ "$status" -eq 126 ]
	exec_run --exit-code "$ENV_ID" -- ./bad
	[ "$status" -eq 126 ]
	is '.error == "execve: Exec format error"'
}

@test "exec: the next command knows nothing of the one before" {
	provision
	exec_run --timeout 200ms "$ENV_ID" -- sh -c 'while :; do :; done'
	is '.reason == "timeout"'
	exec_run "$ENV_ID" -- sh -c 'echo "$$"; exit 0'
	is '.reason == "exited" and .exit_code == 0 and .limit == null and .usage.cpu_ms < 150'
}

@test "exec: ten commands at once each get their own answer" {
	local i pids=()

	provision
	for i in 0 1 2 3 4 5 6 7 8 9; do
		sbx-exec --timeout 20s "$ENV_ID" -- sh -c "sleep 0.3; echo $i" \
			</dev/null >"$TEST_DIR/out.$i" &
		pids+=($!)
	done
	within 5000 wait "${pids[@]}"
	for i in 0 1 2 3 4 5 6 7 8 9; do
		[ "$(jq -r .stdout.text "$TEST_DIR/out.$i")" = "$i" ]
	done
}

# ---- arguments, variables, directory

@test "exec: arguments arrive as they were given" {
	local text

	provision
	text=$(printf 'cat <<"X"\n\t$HOME `id` \\ "quoted" '"'single'"'\r\nX\n*\n\n\n ')
	exec_run "$ENV_ID" -- printf '%s|' "$text" '' '-n' '--' 'a b'
	[ "$(jq -j .stdout.text <<<"$output")" = "$text||-n|--|a b|" ]
	exec_run "$ENV_ID" -- echo next
	is '.stdout.text == "next\n"'
}

@test "exec: bytes that are not text arrive as they were given" {
	provision
	exec_run "$ENV_ID" -- printf %s $'\xff\xfe\x80'
	is '.stdout.base64 == "//6A" and .argv[2].base64 == "//6A"'
}

@test "exec: the longest argument that the kernel takes arrives" {
	local long

	provision
	long=$(head -c 131071 /dev/zero | tr '\0' x)
	exec_run "$ENV_ID" -- sh -c 'echo "${#1}"' sh "$long"
	is '.stdout.text == "131071\n" and .argv_truncated == true'
}

@test "exec: arguments of more than 1 MiB together are refused" {
	local long

	provision
	long=$(head -c 131000 /dev/zero | tr '\0' x)
	exec_run "$ENV_ID" -- echo "$long" "$long" "$long" "$long" "$long" "$long" "$long" "$long" \
		"$long"
	[ "$status" -eq 65 ]
	is '.type == "error" and .code == "bad_request" and (.message | test("at most 1048576"))'
	is '.executed == "no"'
}

@test "exec: a command sees its spec's and its own variables and not the caller's" {
	provision --env FROM_SPEC=one --env BOTH=spec
	SBX_TEST_LEAK=secret exec_run --env BOTH=own --env MINE='a=b c' "$ENV_ID" -- env
	is '.exit_code == 0'
	is '.stdout.text | test("(^|\n)FROM_SPEC=one\n") and test("(^|\n)BOTH=own\n")'
	is '.stdout.text | test("(^|\n)MINE=a=b c\n") and (test("SBX_") | not)'
	is '.stdout.text | test("BOTH=spec") | not'
}

@test "exec: a variable that looks like a credential is refused" {
	provision
	exec_run --env AWS_SECRET_ACCESS_KEY=x "$ENV_ID" -- true
	[ "$status" -eq 77 ]
	is '.type == "error" and .code == "denied" and (.message | test("AWS_SECRET_ACCESS_KEY"))'
	[[ $stderr == *AWS_SECRET_ACCESS_KEY* ]]
	exec_run --env 1BAD=x "$ENV_ID" -- true
	[ "$status" -eq 65 ]
	exec_run --env NOVALUE "$ENV_ID" -- true
	[ "$status" -eq 64 ]
}

@test "exec: --cwd is relative to the workspace" {
	provision
	exec_run "$ENV_ID" -- sh -c 'mkdir -p a/b; pwd'
	is '.exit_code == 0'
	exec_run --cwd a/b "$ENV_ID" -- pwd
	is '.exit_code == 0'
	is '.stdout.text | test("/a/b\n$")'
	exec_run --cwd /tmp "$ENV_ID" -- pwd
	is '.stdout.text == "/tmp\n"'
}

@test "exec: a --cwd that is missing is start_failed and 125" {
	provision
	exec_run --exit-code --cwd nowhere "$ENV_ID" -- true
	[ "$status" -eq 125 ]
	is '.reason == "start_failed" and .error == "chdir: No such file or directory"'
}

# ---- stdin

@test "exec: stdin is empty unless it is given" {
	provision
	exec_run "$ENV_ID" -- sh -c 'wc -c; readlink /proc/self/fd/0'
	is '.stdout.text | test("^ *0\n/dev/null\n")'
}

@test "exec: --stdin takes a text, a file or our own" {
	provision
	printf 'of a file' >"$TEST_DIR/in"
	exec_run --stdin @text "$ENV_ID" -- cat
	is '.stdout.text == "text"'
	exec_run --stdin @ "$ENV_ID" -- cat
	is '.stdout.bytes == 0'
	exec_run --stdin "$TEST_DIR/in" "$ENV_ID" -- cat
	is '.stdout.text == "of a file"'
	output=$(sbx-exec --stdin - "$ENV_ID" -- cat <"$TEST_DIR/in")
	is '.stdout.text == "of a file"'
	output=$(printf piped | sbx-exec --stdin - "$ENV_ID" -- cat)
	is '.stdout.text == "piped"'
}

@test "exec: a script of 3 MiB goes through --stdin" {
	provision
	{
		echo 'echo begin'
		yes ': nothing to do here' | head -c 3145728
		echo
		echo 'echo end'
	} >"$TEST_DIR/script"
	exec_run --stdin "$TEST_DIR/script" "$ENV_ID" -- sh
	is '.exit_code == 0 and .stdout.text == "begin\nend\n"'
}

@test "exec: a --stdin that cannot be read is refused by name" {
	provision
	exec_run --stdin "$TEST_DIR/nowhere" "$ENV_ID" -- cat
	[ "$status" -eq 66 ]
	is '.code == "not_found" and (.message | test("nowhere: No such file"))'
	exec_run --stdin "$TEST_DIR" "$ENV_ID" -- cat
	[ "$status" -eq 65 ]
	is '.message | test("is a directory")'
}

@test "exec: a command that does not read its stdin holds up nothing" {
	provision
	exec_run --stdin /dev/zero "$ENV_ID" -- sh -c 'exec <&-; echo done'
	is '.stdout.text == "done\n" and .exit_code == 0'
	exec_run --stdin /dev/zero "$ENV_ID" -- head -c 1000000
	is '.stdout.bytes == 1000000 and .exit_code == 0'
}

timed_out()
{
	local status=0

	sbx-exec --raw --timeout 500ms "$ENV_ID" -- sleep 20 || status=$?
	[ "$status" -eq 124 ]
}

@test "exec: a stdin of ours that stays open holds up nothing" {
	provision
	mkfifo "$TEST_DIR/fifo"
	sleep 20 3>&- >"$TEST_DIR/fifo" &
	output=$(within 2000 sbx-exec "$ENV_ID" -- echo hi <"$TEST_DIR/fifo")
	is '.stdout.text == "hi\n"'
	output=$(within 2000 sbx-exec --raw "$ENV_ID" -- echo hi <"$TEST_DIR/fifo")
	[ "$output" = hi ]
	within 2500 timed_out <"$TEST_DIR/fifo"
	kill $!
}

@test "exec: a closed stdin is an empty one" {
	provision
	output=$(sbx-exec --stdin - "$ENV_ID" -- sh -c 'wc -c; ls /proc/self/fd | wc -l' <&-)
	is '.exit_code == 0 and (.stdout.text | test("^ *0\n"))'
	output=$(sbx-exec --raw "$ENV_ID" -- cat <&-)
	[ -z "$output" ]
}

# ---- output

@test "exec: outputs of any size end without a deadlock and are counted" {
	local size where

	provision
	for size in 32768 65537 67108864; do
		exec_run "$ENV_ID" -- head -c "$size" /dev/zero
		is ".exit_code == 0 and .stdout.bytes == $size and .stderr.bytes == 0"
		exec_run "$ENV_ID" -- sh -c "head -c $size /dev/zero >&2; exit 4"
		is ".exit_code == 4 and .stderr.bytes == $size and .stdout.bytes == 0"
		exec_run "$ENV_ID" -- sh -c "head -c $size /dev/zero & head -c $size /dev/zero >&2
			wait; exit 5"
		is ".exit_code == 5 and .stdout.bytes == $size and .stderr.bytes == $size"
		for where in stdout stderr; do
			is ".$where | .kept <= 65536 and .truncated == (.bytes > .kept)"
		done
	done
}

@test "exec: output within the bound is exact, beyond it is cut at code points" {
	local LC_ALL=C.UTF-8 # characters are counted here
	local cups='i=0; while [ $i -lt 1000 ]; do printf "%s" "$1"; i=$((i + 1)); done'
	local hundred

	provision
	hundred=$(printf '\xe2\x98\x95%.0s' $(seq 100))
	[ "${#hundred}" -ge 100 ]
	sbx-exec --raw "$ENV_ID" -- sh -c "$cups" sh "$hundred" </dev/null >"$TEST_DIR/raw"
	[ "$(stat -c %s "$TEST_DIR/raw")" -eq 300000 ]
	[ "$(tr -d '\342\230\225' <"$TEST_DIR/raw" | wc -c)" -eq 0 ]
	exec_run --output-bytes 256KiB "$ENV_ID" -- sh -c "$cups" sh "${hundred::80}"
	is '.stdout | .bytes == 240000 and .kept == 240000 and (.text | length == 80000)'
	[ "$(jq -j .stdout.text <<<"$output" | tr -d '\342\230\225' | wc -c)" -eq 0 ]
	exec_run --output-bytes 10000 "$ENV_ID" -- sh -c "$cups" sh "$hundred"
	is '.stdout | .bytes == 300000 and .kept <= 10000 and .kept > 9990 and .truncated'
	is '.stdout | .left_out == .bytes - .kept and (.text | test("�") | not)'
	is '.stdout.text | test("^☕+\n\\[\\.\\.\\. [0-9]+ bytes left out.* \\.\\.\\.\\]\n☕+$")'
}

@test "exec: a command is not stopped for printing more than is kept" {
	provision
	exec_run --output-bytes 1KiB "$ENV_ID" -- sh -c \
		'i=0; while [ $i -lt 1626 ]; do echo "Hello world"; i=$((i + 1)); done; exit 6'
	is '.reason == "exited" and .exit_code == 6'
	is '.stdout | .bytes == 19512 and .kept <= 1024 and .kept > 1000 and .truncated'
	is '.stdout.text | test("^Hello world\n") and test("Hello world\n$")'
}

@test "exec: endless output ends at the time limit and takes no memory of ours" {
	local most pid

	provision
	sbx-exec --timeout 1500ms "$ENV_ID" -- sh -c 'yes & yes >&2' </dev/null >"$TEST_DIR/out" &
	pid=$!
	sleep 1
	most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
	[ "$most" -lt 12000 ]
	wait "$pid"
	output=$(cat "$TEST_DIR/out")
	is '.reason == "timeout" and .limit == "wall_time" and .limit_value == 1500'
	is '.stdout.bytes > 1000000 and .stderr.bytes > 1000000 and .stdout.kept <= 65536'
	is '.stdout.text | test("^y\ny\n")'
}

@test "exec: what was printed before the time limit is kept" {
	provision
	exec_run --timeout 300ms "$ENV_ID" -- sh -c 'echo partial; echo warned >&2; exec sleep 20'
	[ "$status" -eq 0 ]
	is '.reason == "timeout" and .stdout.text == "partial\n" and .stderr.text == "warned\n"'
	is '.signal == 9 and .usage.wall_ms >= 300 and .usage.wall_ms < 2000'
}

@test "exec: /dev/stdout and /dev/stderr can be opened inside" {
	provision
	exec_run "$ENV_ID" -- sh -c 'echo out >/dev/stdout && echo err >/dev/stderr'
	is '.exit_code == 0 and .stdout.text == "out\n" and .stderr.text == "err\n"'
}

# ---- what a command leaves behind

@test "exec: a background process that holds the pipes does not hold up the answer" {
	local word

	provision
	word=$(mark)
	output=$(within 1000 sbx-exec "$ENV_ID" -- sh -c "sleep $word & echo hi" </dev/null)
	is '.stdout.text == "hi\n" and .exit_code == 0'
	# Without control groups pid 1 ends left-overs at once, and nobody counts them.
	is '.pipes_held == true and .killed > 0 or (.enforced | index("pids:cgroup") | not)'
	stopped "$word"
}

@test "exec: a background process that holds no pipe is ended too" {
	local word

	provision
	word=$(mark)
	exec_run "$ENV_ID" -- sh -c "sleep $word >/dev/null 2>&1 & exit 0"
	is '.exit_code == 0 and .pipes_held == false'
	is '.killed > 0 or (.enforced | index("pids:cgroup") | not)'
	stopped "$word"
}

@test "exec: a process that left its session prints nothing after the return and is gone" {
	local word

	provision
	word=$(mark)
	sbx-exec --raw "$ENV_ID" -- sh -c \
		"setsid sh -c 'sleep 1; echo late; sleep $word' & exit 0" </dev/null >"$TEST_DIR/out" 2>&1
	stopped "$word"
	sleep 1.2
	[ ! -s "$TEST_DIR/out" ]
	exec_run --timeout 400ms "$ENV_ID" -- sh -c \
		"setsid sh -c 'setsid sleep $word & sleep $word' & sleep 30"
	is '.reason == "timeout"'
	stopped "$word"
}

@test "exec: what a helper still prints after its command is taken" {
	by_design docker gvisor 'without a group for each command left-overs end at once'
	skip_unless "without control groups left-overs end at once" enforces pids
	exec_run "$ENV_ID" -- sh -c '(sleep 0.05; echo helper) & echo first'
	is '.stdout.text == "first\nhelper\n" and .pipes_held == false'
}

# ---- limits

@test "exec: a command over its time limit ends with reason timeout" {
	provision
	output=$(within 2500 sbx-exec --timeout 400ms "$ENV_ID" -- sleep 20 </dev/null)
	is '.reason == "timeout" and .limit == "wall_time" and .limit_value == 400'
	exec_run --exit-code --timeout 200ms "$ENV_ID" -- sleep 20
	[ "$status" -eq 124 ]
}

@test "exec: the environment's wall_time is the default and the most" {
	provision --timeout 1s
	exec_run "$ENV_ID" -- sleep 20
	is '.reason == "timeout" and .limit_value == 1000'
	exec_run --timeout 2s "$ENV_ID" -- true
	[ "$status" -eq 65 ]
	is '.code == "bad_request" and (.message | test("wall_time limit of 1000 ms"))'
	exec_run --timeout 0 "$ENV_ID" -- true
	[ "$status" -eq 64 ]
}

@test "exec: a command that burns its processor is ended and accounted" {
	provision
	exec_run --timeout 1s "$ENV_ID" -- sh -c 'while :; do :; done'
	is '.reason == "timeout" and .usage.cpu_ms > 300'
}

@test "exec: a command over its memory ends with reason memory" {
	skip_unless "no memory control here" enforces memory
	RUN=$RUN.small provision --memory 64MiB
	exec_run --exit-code --timeout 30s "$ENV_ID" -- \
		sh -c 'exec tail -n 1 /dev/zero'
	[ "$status" -eq 137 ]
	is '.reason == "memory" and .oom == true and .limit == "memory" and .signal == 9'
	is '.limit_value == 67108864'
	exec_run "$ENV_ID" -- sh -c 'kill -9 $$'
	is '.reason == "signal" and .oom == false'
}

@test "exec: a fork bomb meets its limit of pids" {
	skip_unless "no pids control here" enforces pids
	RUN=$RUN.small provision --pids 20
	exec_run --timeout 3s "$ENV_ID" -- sh -c 'bomb() { bomb | bomb & }; bomb; sleep 1; exit 0'
	is '.limit == "pids" and .limit_value == 20'
	# gVisor refuses no fork: there the command is ended for it.
	is '.reason == "exited" and .exit_code == 0 or
		.signal == 9 and (.enforced | index("pids:watched"))'
	exec_run "$ENV_ID" -- echo alive
	is '.exit_code == 0 and .stdout.text == "alive\n" and .limit == null'
}

@test "exec: a terminal is told which limit struck and what raises it" {
	skip_unless "no script(1) here" script -V
	provision
	script -qec "sbx-exec --timeout 200ms $ENV_ID -- sleep 9 >/dev/null" /dev/null \
		</dev/null >"$TEST_DIR/tty"
	grep -q 'limit of wall_time.*--timeout' "$TEST_DIR/tty"
}

# ---- raw

@test "exec: a terminal shows a line while a command runs, and a pipe does not" {
	skip_unless "no script(1) here" script -V
	provision
	script -qec "sbx-exec $ENV_ID -- sh -c 'seq 1 1000; sleep 2.5' >/dev/null" /dev/null \
		</dev/null >"$TEST_DIR/tty"
	grep -q '1 s .*3.8 KiB printed' "$TEST_DIR/tty"
	[ "$(tail -c 1 "$TEST_DIR/tty" | od -An -tx1)" = ' 0d' ] # wiped
	script -qec "sbx-exec --raw $ENV_ID -- sleep 2 >/dev/null" /dev/null </dev/null >"$TEST_DIR/tty"
	[ ! -s "$TEST_DIR/tty" ]
	sbx-exec "$ENV_ID" -- sleep 2 >/dev/null 2>"$TEST_DIR/tty"
	[ ! -s "$TEST_DIR/tty" ]
}

@test "exec: an output that is longer than what is kept is spooled, up to its ceiling" {
	local spool

	provision
	run --separate-stderr sbx-exec --output-bytes 100 "$ENV_ID" -- seq 1 1000
	field '.stdout | .truncated and .spooled == 1600 and (.text | test("left out, spooled as "))'
	spool=$SBX_STATE/env/$ENV_ID/spool/$(field .stdout.spool)
	cmp "$spool" <(seq 1 1000 | head -c 1600)
	[ "$(stat -c %a "$spool")" = 600 ]
	run --separate-stderr sbx-exec --output-bytes 1000 "$ENV_ID" -- sh -c 'seq 1 1000 >&2; echo short'
	field '(.stdout | has("spool") | not) and .stderr.spooled == 3893'
	cmp "$SBX_STATE/env/$ENV_ID/spool/$(field .stderr.spool)" <(seq 1 1000)
	run --separate-stderr sbx-exec "$ENV_ID" -- echo short
	field '.stdout | has("spool") | not'
}

@test "exec: the spool of an environment has a bound, and the oldest outputs go" {
	printf 'spool_factor: 10\nspool_bytes: 3KiB\noutput_bytes: 100\n' >"$TEST_DIR/sbx.yaml"
	[ ! -e "$TEST_DIR/tools.yaml" ] || cat "$TEST_DIR/tools.yaml" >>"$TEST_DIR/sbx.yaml"
	provision
	for i in 1 2 3 4 5; do
		sbx-exec --config "$TEST_DIR/sbx.yaml" "$ENV_ID" -- seq "${i}000" "${i}999" >/dev/null
	done
	[ "$(cat "$SBX_STATE/env/$ENV_ID/spool/"* | wc -c)" -eq 3000 ]
	[ "$(head -qn 1 "$SBX_STATE/env/$ENV_ID/spool/"* | tr '\n' ' ')" = '3000 4000 5000 ' ]
	printf 'spool_factor: 0\n' >"$TEST_DIR/sbx.yaml"
	run --separate-stderr sbx-exec --config "$TEST_DIR/sbx.yaml" --output-bytes 10 "$ENV_ID" -- seq 1 99
	field '.stdout | .truncated and (has("spool") | not)'
}

@test "exec: --raw passes bytes and status through and writes no record" {
	provision
	exec_run --raw "$ENV_ID" -- sh -c 'echo out; echo err >&2; exit 9'
	[ "$status" -eq 9 ]
	[ "$output" = out ]
	[ "$stderr" = err ]
	head -c 5000000 /dev/urandom >"$TEST_DIR/in"
	sbx-exec --raw "$ENV_ID" -- cat <"$TEST_DIR/in" >"$TEST_DIR/out"
	cmp "$TEST_DIR/in" "$TEST_DIR/out"
	sbx-exec --raw --stdin "$TEST_DIR/in" "$ENV_ID" -- sh -c 'exec cat >&2' 2>"$TEST_DIR/err"
	cmp "$TEST_DIR/in" "$TEST_DIR/err"
}

@test "exec: --raw gives none of our descriptors to the command" {
	provision
	printf 'our file' >"$TEST_DIR/in"
	sbx-exec --raw "$ENV_ID" -- sh -c \
		'for n in 0 1 2; do readlink /proc/self/fd/$n; done; cd /proc/self/fd; echo *' \
		<"$TEST_DIR/in" >"$TEST_DIR/out" 2>"$TEST_DIR/err"
	[ "$(head -n 3 "$TEST_DIR/out" | grep -c '^pipe:')" -eq 3 ]
	# The shell has its own while it looks, the fourth.
	[ "$(tail -n 1 "$TEST_DIR/out")" = "0 1 2 3" ]
}

@test "exec: a slow reader gets everything" {
	provision
	sbx-exec --raw "$ENV_ID" -- seq 1 50000 </dev/null | (sleep 0.7 && cat) >"$TEST_DIR/out"
	cmp "$TEST_DIR/out" <(seq 1 50000)
	sbx-exec --raw "$ENV_ID" -- seq 1 20000 </dev/null | (sleep 0.7 && cat) >"$TEST_DIR/out"
	cmp "$TEST_DIR/out" <(seq 1 20000)
}

@test "exec: a reader that does not read stops no timer" {
	local began pid status=0

	provision
	mkfifo "$TEST_DIR/fifo"
	sleep 8 <"$TEST_DIR/fifo" &
	pid=$!
	began=$(now_ms)
	sbx-exec --raw --timeout 500ms "$ENV_ID" -- yes </dev/null >"$TEST_DIR/fifo" || status=$?
	[ "$status" -eq 124 ]
	[ $(($(now_ms) - began)) -lt 4000 ]
	kill "$pid"
}

@test "exec: a reader that is gone ends a command as in any pipeline" {
	provision
	{
		status=0
		within 3000 sbx-exec --raw "$ENV_ID" -- yes </dev/null || status=$?
		echo "$status" >"$TEST_DIR/status"
	} | head -n 1 >"$TEST_DIR/out"
	[ "$(cat "$TEST_DIR/out")" = y ]
	[ "$(cat "$TEST_DIR/status")" -eq 141 ]
}

@test "exec: --raw to a full disk is a failure of ours" {
	local status=0

	provision
	sbx-exec --raw "$ENV_ID" -- echo hi </dev/null >/dev/full 2>"$TEST_DIR/err" || status=$?
	[ "$status" -eq 125 ]
	grep -q 'No space left on device' "$TEST_DIR/err"
}

@test "exec: failures of ours are text and 125 with --raw" {
	exec_run --raw eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[ -n "$stderr" ]
	exec_run --exit-code eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 125 ]
	is '.type == "error" and .code == "not_found"'
}

# ---- our own streams

@test "exec: a record that cannot be written is exit status 71" {
	local status=0

	provision
	sbx-exec "$ENV_ID" -- true </dev/null >/dev/full 2>"$TEST_DIR/err" || status=$?
	[ "$status" -eq 71 ]
	grep -q 'No space left on device' "$TEST_DIR/err"
	status=0
	sbx-exec "$ENV_ID" -- true </dev/null >&- 2>"$TEST_DIR/err" || status=$?
	[ "$status" -eq 71 ]
	grep -q 'stdout is closed' "$TEST_DIR/err"
	{
		status=0
		sbx-exec "$ENV_ID" -- sleep 0.5 </dev/null 2>"$TEST_DIR/err" || status=$?
		echo "$status" >"$TEST_DIR/status"
	} | true
	[ "$(cat "$TEST_DIR/status")" -eq 71 ]
	grep -q 'Broken pipe' "$TEST_DIR/err"
}

@test "exec: a closed stderr does not hurt" {
	provision
	output=$(sbx-exec "$ENV_ID" -- sh -c 'echo err >&2' </dev/null 2>&-)
	is '.stderr.text == "err\n"'
}

# ---- signals

@test "exec: a signal ends the command first and then us, without a record" {
	local word pid name status

	provision
	for name in TERM INT HUP; do
		word=$(mark)
		# A background job of a shell without job control ignores SIGINT; setsid's does not.
		env --default-signal=INT,TERM,HUP sbx-exec "$ENV_ID" -- \
			sh -c "setsid sleep $word & exec sleep $word" </dev/null >"$TEST_DIR/out" &
		pid=$!
		soon running "$word"
		kill "-$name" "$pid"
		status=0
		wait "$pid" || status=$?
		[ "$status" -eq $((128 + $(kill -l "$name"))) ]
		[ ! -s "$TEST_DIR/out" ]
		stopped "$word"
	done
}

@test "exec: a signal that we were started to ignore stays ignored" {
	local pid

	provision
	(
		trap '' HUP
		exec sbx-exec "$ENV_ID" -- sh -c 'sleep 0.5; echo done' </dev/null >"$TEST_DIR/out"
	) &
	pid=$!
	sleep 0.2
	kill -HUP "$pid"
	wait "$pid"
	output=$(cat "$TEST_DIR/out")
	is '.stdout.text == "done\n"'
}

@test "exec: if sbx-exec is killed the command is ended" {
	local word pid

	provision
	word=$(mark)
	sbx-exec "$ENV_ID" -- sh -c "setsid sleep $word & exec sleep $word" </dev/null >/dev/null &
	pid=$!
	soon running "$word"
	kill -KILL "$pid"
	wait "$pid" || :
	stopped "$word"
	exec_run "$ENV_ID" -- echo alive
	is '.stdout.text == "alive\n"'
}

# ---- which environment

@test "exec: if sbx-exec is killed at any moment, two hundred times, the next command is right" {
	local pid rounds=200 late=0.05

	on_engine && rounds=20 late=0.5
	provision
	for ((round = 0; round < rounds; round++)); do
		sbx-exec "$ENV_ID" -- sh -c 'echo x >>ticks; sleep 7654 & exec sleep 7654' >/dev/null 2>&1 3>&- &
		pid=$!
		sleep "0.00$((round % 10))"
		[ $((round % 4)) -ne 0 ] || sleep "$late"
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null || :
		[ $((round % 20)) -ne 19 ] ||
			[ "$(sbx-exec --raw "$ENV_ID" -- sh -c 'echo right')" = right ]
	done
	run --separate-stderr sbx-exec "$ENV_ID" -- sh -c 'test -s ticks && echo fine'
	field '.exit_code == 0 and .stdout.text == "fine\n"'
	on_engine || {
		for ((i = 0; i < 50; i++)); do
			pgrep -f '^sleep 7654' >/dev/null || break
			sleep 0.1
		done
		[ -z "$(pgrep -f '^sleep 7654')" ]
	}
}

@test "exec: - takes the environment from a record on stdin" {
	provision
	output=$(sbx-provision --run "$RUN" --epoch 1 "${IMAGE_OPTION[@]}" </dev/null | sbx-exec - -- cat)
	is ".type == \"result\" and .env == \"$ENV_ID\" and .stdout.bytes == 0"
	output=$(printf '{"type":"env","env":"%s"}\nmore' "$ENV_ID" | sbx-exec --raw - -- echo hi)
	[ "$output" = hi ]
}

@test "exec: - passes an error record on and exits with its status" {
	local record='{"type":"error","id":null,"code":"conflict","message":"no","executed":"no","retry":"never"}'

	run --separate-stderr sbx-exec - -- true <<<"$record"
	[ "$status" -eq 65 ]
	[ "$output" = "$record" ]
	run --separate-stderr sbx-exec - -- true <<<"${record/conflict/busy}"
	[ "$status" -eq 75 ]
	run --separate-stderr sbx-exec --raw - -- true <<<"$record"
	[ "$status" -eq 125 ]
	[ -z "$output" ]
}

@test "exec: - refuses what is no env record" {
	local text

	for text in '' '{' '[]' '{"type":"result"}' '{"type":"env"}' '{"type":"env","env":"../x"}'; do
		run --separate-stderr sbx-exec - -- true <<<"$text"
		[ "$status" -eq 65 ]
		is '.type == "error" and .code == "bad_request"'
	done
	run --separate-stderr sbx-exec - -- true </dev/null
	[ "$status" -eq 65 ]
	is '.message | test("no env record")'
	run --separate-stderr sbx-exec --stdin - - -- true </dev/null
	[ "$status" -eq 65 ] || [ "$status" -eq 64 ]
}

@test "exec: an environment that does not exist is not_found" {
	exec_run eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 66 ]
	is '.type == "error" and .code == "not_found" and .executed == "no"'
	[ -n "$stderr" ]
}

@test "exec: what is no id is bad_request" {
	local id

	for id in x ../etc eAAAAAAAAAAAAAAAAAAAAAAAAAA eaaaaaaaaaaaaaaaaaaaaaaaaaaa ''; do
		exec_run "$id" -- true
		[ "$status" -eq 65 ]
		is '.code == "bad_request"'
	done
}

@test "exec: a command line without an environment, -- or a command is usage" {
	exec_run
	[ "$status" -eq 64 ]
	exec_run eaaaaaaaaaaaaaaaaaaaaaaaaaa
	[ "$status" -eq 64 ]
	exec_run eaaaaaaaaaaaaaaaaaaaaaaaaaa --
	[ "$status" -eq 64 ]
	is '.message | test("no command")'
	exec_run eaaaaaaaaaaaaaaaaaaaaaaaaaa true
	[ "$status" -eq 64 ]
	exec_run --no-such-option eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 64 ]
	exec_run --raw --output-bytes 1KiB eaaaaaaaaaaaaaaaaaaaaaaaaaa -- true
	[ "$status" -eq 64 ]
}

@test "exec: an environment that is not ready says in which state it is" {
	local state file

	provision
	file=$SBX_STATE/env/$ENV_ID/state.json
	cp "$file" "$TEST_DIR/state.json"
	for state in provisioning:busy:75 releasing:releasing:75 failed:unavailable:69; do
		jq -c ".state = \"${state%%:*}\"" "$TEST_DIR/state.json" >"$file"
		exec_run "$ENV_ID" -- true
		[ "$status" -eq "${state##*:}" ]
		state=${state#*:}
		is ".code == \"${state%:*}\" and .executed == \"no\""
	done
	jq -c '.expires_boot_ms = 1 | .expires_wall_ms = 1' "$TEST_DIR/state.json" >"$file"
	exec_run "$ENV_ID" -- true
	[ "$status" -eq 77 ]
	is '.code == "expired"'
	echo '{' >"$file"
	exec_run "$ENV_ID" -- true
	[ "$status" -eq 71 ]
	is '.code == "corrupt"'
	cp "$TEST_DIR/state.json" "$file"
}

@test "exec: a command is ended when its environment expires" {
	local file now

	provision
	file=$SBX_STATE/env/$ENV_ID/state.json
	now=$(($(cut -d. -f1 /proc/uptime) * 1000))
	cp "$file" "$TEST_DIR/state.json"
	jq -c ".expires_boot_ms = $((now + 2000))" "$TEST_DIR/state.json" >"$file"
	exec_run "$ENV_ID" -- sleep 20
	is '.reason == "expired" and .limit == null and .usage.wall_ms < 4500'
	cp "$TEST_DIR/state.json" "$file"
}

@test "exec: a workload is not started in an environment that is gone" {
	by_design docker gvisor 'a container that stopped is started again on its volume'
	provision
	end_environment
	sleep 0.3
	exec_run "$ENV_ID" -- true
	[ "$status" -eq 69 ] || [ "$status" -eq 66 ]
	is '.type == "error"'
}

@test "exec: an environment that dies under a command is lost and never success" {
	local pid status=0 word

	word=$(mark)
	provision
	sbx-exec --exit-code "$ENV_ID" -- sleep "$word" </dev/null >"$TEST_DIR/out" &
	pid=$!
	soon running "$word"
	end_environment
	wait "$pid" || status=$?
	[ "$status" -eq 125 ]
	output=$(cat "$TEST_DIR/out")
	is '.reason == "lost" and .exit_code == null and .signal == null'
}

@test "exec: every option of --help is in the manual page" {
	local name

	run sbx-exec --help
	[ "$status" -eq 0 ]
	grep -o -e '--[a-z][a-z-]*' <<<"$output" | sort -u >"$TEST_DIR/options"
	[ "$(wc -l <"$TEST_DIR/options")" -gt 10 ]
	while read -r name; do
		grep -q -e "^\.It .*Fl \\\\${name#-}\\b" "$SRC/man/sbx-exec.1"
	done <"$TEST_DIR/options"
}
