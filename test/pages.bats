#!/usr/bin/env bats
# The manual and the README say what the tools do: options, codes and examples are compared and run.
#
# Every example of a page in section 1, 7 or 8 is run: each literal block and each .Dl of EXAMPLES in
# a shell of its own, with $ENV, the id of an environment, and script.py. Of the README every block
# that begins with ```sh is run, all in one shell; a ```json block that follows it is what its last
# record says: strings, true, false, null and exit codes as they are, other numbers as some number.
# Section 5 is test/unit/test_pages.c's.
# shellcheck disable=SC2016,SC2154  # quoted code is for others; bats sets output and status

load helper

# The options of a tool, "v verbose" or " state" a line.
help_options()
{
	"$1" --help |
		sed -nE 's/^ +(-([A-Za-z]), |    )--([a-z-]+).*/\2 \3/p' | sort
}

# Those of a page, from its option lists; both ways of writing two dashes are in use.
page_options()
{
	sed -nE 's/^\.It (Fl ([A-Za-z]) , )?Fl (Fl |\\-)([a-z-]+).*/\2 \4/p' "$1" | sort
}

# A page's examples as files $TEST_DIR/example.NN. Runs get names of their own, since other tests may
# run the same pages now.
examples()
{
	awk -v to="$TEST_DIR/example." '
		function next_file() { file = sprintf("%s%02d", to, ++count) }
		/^\.Sh / { here = $2 == "EXAMPLES"; next }
		!here { next }
		/^\.Bd / { block = 1; next_file(); next }
		/^\.Ed/ { block = 0; next }
		/^\.Dl / { next_file(); print substr($0, 5) >file; next }
		block { print >file }' "$1"
	[ -e "$TEST_DIR/example.01" ]
	sed -i 's/\\(dq/"/g; s/\\e/\\/g; s/\\&//g; s/\\-/-/g' "$TEST_DIR"/example.*
	own_runs "$TEST_DIR"/example.*
}

own_runs()
{
	sed -Ei "s/(--run |\"run\": ?\")([a-z0-9]+)/\1$RUN.\2/g" "$@"
}

run_examples()
{
	local example failed=0

	provision
	export ENV=$ENV_ID
	mkdir "$TEST_DIR/work"
	cd "$TEST_DIR/work" || return
	echo 'print("script")' >script.py
	for example in "$TEST_DIR"/example.*; do
		timeout 30 bash -euo pipefail "$example" >"$TEST_DIR/out" 2>"$TEST_DIR/err" </dev/null &&
			! grep -q '"type":"error"' "$TEST_DIR/out" && continue
		failed=1
		echo "this example failed:"
		cat "$example" "$TEST_DIR/out" "$TEST_DIR/err"
	done
	return "$failed"
}

works_here()
{
	skip_unless "native does not work here" sbx-provision --probe
	PATH=$PATH:$SRC/contrib
}

@test "pages: every tool has a page, with all its options and no others" {
	for main in "$SRC"/cmd/*/main.c; do
		tool=$(basename "${main%/main.c}")
		case $tool in sbx-init | sbx-tar) continue ;; esac # private
		page=$(echo "$SRC/man/$tool".[18])
		[ -n "$(help_options "$tool")" ]
		diff <(help_options "$tool") <(page_options "$page")
	done
}

@test "pages: sbx-run's page has the options that it knows" {
	"$SRC/contrib/sbx-run" 2>&1 | grep -o -e '--[a-z-]\+' | while read -r option; do
		grep "^\.It .*Fl Fl ${option#--}" "$SRC/man/sbx-run.1"
	done
	grep '^\.It ' "$SRC/man/sbx-run.1" | grep -o 'Fl Fl [a-z-]\+' | while read -r _ _ option; do
		grep -e "--$option\b" "$SRC/contrib/sbx-run"
	done
}

@test "pages: sbx(7) has every common option" {
	diff <(sbx-reap --help | sed '1,/^Common options/d' |
		sed -nE 's/^ +(-([A-Za-z]), |    )--([a-z-]+).*/\2 \3/p' | sort) \
		<(page_options "$SRC/man/sbx.7")
}

@test "pages: sbx(7) has every code with its exit status and retry" {
	status() { sed -n "s/^\t$1 = \([0-9]*\),/\1/p" "$SRC/lib/data/errors.h"; }
	sed -nE 's/^\t\[SBX_E_[A-Z_]+\] = \{ "(.*)", (SBX_EXIT_[A-Z_]+), "(.*)" \},/\1 \2 \3/p' \
		"$SRC/lib/data/errors.c" | while read -r code exit retry; do
		echo "$code $(status "$exit") $retry"
	done >"$TEST_DIR/codes"
	[ "$(wc -l <"$TEST_DIR/codes")" -gt 20 ]
	diff "$TEST_DIR/codes" <(sed -nE \
		's/^\.It ([a-z_]+) Ta ([0-9]+) Ta ([a-z_]+) Ta .*/\1 \2 \3/p' "$SRC/man/sbx.7")
	# And every status of the table is explained.
	diff <(sed -nE 's/^\tSBX_EXIT_[A-Z_]+ = ([0-9]+),/\1/p' "$SRC/lib/data/errors.h") \
		<(sed -n '/^\.Sh EXIT/,/^\.Sh EX[A]/s/^\.It \([0-9]*\)$/\1/p' "$SRC/man/sbx.7")
}

@test "pages: a page of ours that another one names is there" {
	for page in "$SRC"/man/*.[1-8]; do
		sed -nE 's/^.*(\.|[[:space:]])Xr ((sbx|limits)[a-z.-]*) ([1-8]).*/\2.\4/p' "$page" |
			while read -r named; do
				[ -e "$SRC/man/$named" ] || { echo "$page names $named"; exit 1; }
			done
	done
}

@test "pages: the examples of every page for commands run" {
	works_here
	count=0
	for page in "$SRC"/man/*.[178]; do
		(
			RUN=$RUN.$count
			rm -rf "$TEST_DIR/work" "$TEST_DIR"/example.*
			examples "$page"
			echo "$page:"
			run_examples
		)
		count=$((count + 1))
	done
	[ "$count" -ge 5 ]
}

@test "pages: a broken example is noticed" {
	works_here
	printf '.Sh EXAMPLES\n.Dl sbx-exec "$ENV" -- true\n.Dl sbx-exec --colour "$ENV" -- true | jq .\n' \
		>"$TEST_DIR/page"
	examples "$TEST_DIR/page"
	run run_examples
	[ "$status" = 1 ]
	[[ $output == *"this example failed:"*--colour* ]]
	[ "$(grep -c 'this example failed' <<<"$output")" = 1 ]
}

# README's blocks: readme.NN.sh to be run, readme.NN.json what the one before it says.
readme()
{
	awk -v to="$TEST_DIR/readme." '
		/^```/ && file { close(file); file = ""; next }
		/^```sh$/ { file = sprintf("%s%02d.sh", to, ++count); shown = 1; next }
		/^```json$/ && shown { file = sprintf("%s%02d.json", to, count); shown = 0; next }
		/^```/ { file = "/dev/null"; shown = 0; next }
		file { print >file }' "$1"
	[ -e "$TEST_DIR/readme.01.sh" ]
	own_runs "$TEST_DIR"/readme.*.sh
}

# shows JSON OUTPUT - everything of the first is in the last line of the second.
shows()
{
	tail -n 1 "$2" | jq -e --slurpfile shown "$1" '
		def varies($path): ($path | last | IN("env", "run", "expires_at"))
			or $path[0] == "enforced";
		def is_count($path): ($path | last) != "exit_code" and type == "number";
		. as $real | $shown[0] |
		[paths(type != "object" and type != "array") as $path | getpath($path) |
			. as $said | $real | any(paths; . == $path) and (getpath($path) |
				type == ($said | type) and
				(. == $said or varies($path) or is_count($path)))] |
		length > 0 and all' >/dev/null && return
	printf 'README shows\n%s\nand it is\n%s\n' "$(cat "$1")" "$(cat "$2")"
	return 1
}

run_readme()
{
	local json

	mkdir "$TEST_DIR/work"
	cd "$TEST_DIR/work" || return
	timeout 60 bash -euo pipefail -c 'for block in "$1"/readme.*.sh; do
			echo "at $block" >&2
			. "$block" >"${block%.sh}.out"
		done' bash "$TEST_DIR" 2>"$TEST_DIR/err" </dev/null || {
		cat "$TEST_DIR/err"
		return 1
	}
	for json in "$TEST_DIR"/readme.*.json; do
		shows "$json" "${json%.json}.out" || return
	done
}

@test "pages: the README's commands run, and answer as it says" {
	works_here
	readme "$SRC/README.md"
	[ "$(find "$TEST_DIR" -name 'readme.*.json' | wc -l)" -ge 4 ]
	run_readme
}

@test "pages: a README that says what is not so is noticed" {
	works_here
	for wrong in 's/"reason": "timeout"/"reason": "exited"/' 's/"killed": 1/"killd": 1/' \
		's/"wall_ms": 2,/"wall_ms": "2",/' 's/--timeout 1s/--timeout 1x/' \
		's/"exit_code": 0/"exit_code": 1/' 's/= 66 /= 65 /'; do
		rm -rf "$TEST_DIR/work" "$TEST_DIR"/readme.*
		sed "$wrong" "$SRC/README.md" >"$TEST_DIR/wrong"
		run ! cmp -s "$TEST_DIR/wrong" "$SRC/README.md"
		readme "$TEST_DIR/wrong"
		run run_readme
		[ "$status" != 0 ] || { echo "not noticed: $wrong"; return 1; }
		sbx-reap --list | jq -r .env | xargs -r -n 1 sbx-reap --env >/dev/null
	done
}

@test "pages: files that the README names are there" {
	grep -oE '`(lib|cmd|contrib|test|etc|man)/[^` ]+' "$SRC/README.md" | tr -d '`' |
		while read -r file; do
			[ -e "$SRC/$file" ] || { echo "no $file"; exit 1; }
		done
	grep -oE '\]\([A-Za-z/.-]+\)' "$SRC/README.md" | tr -d ']()' | while read -r file; do
		[ -e "$SRC/$file" ] || { echo "no $file"; exit 1; }
	done
}

@test "pages: README and sbx(7) say that these are not Docker's tools" {
	head -n 12 "$SRC/README.md" | grep -q "not Docker's .sbx."
	grep -q "not Docker's" "$SRC/man/sbx.7"
}

@test "pages: the shipped configuration is valid" {
	for file in "$SRC"/etc/*.yaml; do
		cp "$file" "$TEST_DIR"
	done
	run --separate-stderr sbx-provision --config "$TEST_DIR/sbx.yaml" --probe
	[ "$(field .type)" = probe ]
	echo 'cpus: 1' >>"$TEST_DIR/limits.yaml"
	run --separate-stderr sbx-provision --config "$TEST_DIR/sbx.yaml" --probe
	[ "$status" = 78 ]
	[[ $(field .message) == *limits.yaml:*cpus* ]]
}
