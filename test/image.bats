#!/usr/bin/env bats
# contrib/image: the name of a tree is the digest of its content, computed as the head of its script
# says, and a tree that is put in place is taken by that name. Programs in an image built from
# packages: programs-image.bats.
# shellcheck disable=SC2154  # bats sets output and status

load helper

BUILD=$SRC/contrib/image/build

# A small tree with what a digest must see, in $TEST_DIR/rootfs.
small_tree()
{
	local root=$TEST_DIR/rootfs

	mkdir -p "$root"/{bin,etc,usr/share/empty,a}
	install -m 0755 "$SRC/build/test/contrib/examples/hostile" "$root/bin/hostile" 2>/dev/null ||
		echo '#!' >"$root/bin/hostile"
	printf 'one\n' >"$root/a/b c"
	printf 'two\n' >"$root/a.b"
	: >"$root/a/back\\slash"
	printf 'sch\366n' >"$root/a/sch"$'\366'n
	ln -s 'to where' "$root/a/link"
	ln "$root/a.b" "$root/a/hard"
	chmod 0640 "$root/a.b"
}

digest()
{
	run "$BUILD" --digest "$TEST_DIR/rootfs"
}

@test "image: the digest is that of the documented listing" {
	skip_unless 'python3 is not installed' python3 --version
	small_tree
	digest
	[ "$status" -eq 0 ]
	# Written from the words in the script's head alone.
	[ "$output" = "$(cd "$TEST_DIR/rootfs" && python3 - <<-'END'
		import hashlib, os, stat
		lines = {}
		for at, dirs, files in os.walk(b"."):
		    for path in [at] + [os.path.join(at, name) for name in dirs + files]:
		        st, kind, text = os.lstat(path), b"d", b""
		        if stat.S_ISLNK(st.st_mode): kind, text = b"l", os.readlink(path)
		        elif stat.S_ISREG(st.st_mode): kind, text = b"f", open(path, "rb").read()
		        mode = b"777" if kind == b"l" else b"%o" % stat.S_IMODE(st.st_mode)
		        lines[path] = b"\t".join([path, kind, mode, b"%d" % len(text),
		            hashlib.sha256(text).hexdigest().encode()]) + b"\n"
		print("sha256:" + hashlib.sha256(b"".join(lines[path] for path in sorted(lines))).hexdigest())
	END
	)" ]
}

@test "image: whatever changes in a tree changes its digest" {
	local before change
	local -a changes=(
		'printf x >>a.b' 'chmod 0641 a.b' 'mv a.b a.c' 'ln -sfn elsewhere a/link'
		'rmdir usr/share/empty' 'chmod 0700 usr/share' 'rm a/link; echo to where >a/link'
	)

	small_tree
	digest
	for change in "${changes[@]}"; do
		before=$output
		(cd "$TEST_DIR/rootfs" && eval "$change")
		digest
		[ "$status" -eq 0 ]
		[ "$output" != "$before" ]
	done
	before=$output
	touch -d 2001-01-01 "$TEST_DIR/rootfs/a.c"
	digest
	[ "$output" = "$before" ]
}

@test "image: a tree with a pipe or a line break in a name has no digest" {
	small_tree
	mkfifo "$TEST_DIR/rootfs/etc/fifo"
	digest
	[ "$status" -eq 1 ]
	[[ $output == *'not part of an image: '*/etc/fifo* ]]
	rm "$TEST_DIR/rootfs/etc/fifo"
	: >"$TEST_DIR/rootfs/etc/a"$'\n'b
	digest
	[ "$status" -eq 1 ]
	[[ $output == *'not part of an image: '* ]]
}

@test "image: finishing refuses whatever is not the copy of a Debian tree" {
	run "$SRC/contrib/image/finish" /
	[ "$status" -eq 64 ]
	[[ $output == *"not the copy of a Debian tree: /" ]]
	run "$SRC/contrib/image/finish" "$TEST_DIR"
	[ "$status" -eq 64 ]
	run "$SRC/contrib/image/finish" /proc/self/root
	[ "$status" -eq 64 ]
}

@test "image: what is finished holds nothing of its installation" {
	local root=$TEST_DIR/rootfs

	skip_unless 'a tree that is root'\''s needs root' is_root
	mkdir -p "$root"/{dev,etc/apt,proc,sys,tmp,usr/bin,usr/share/doc/p,var/lib/apt/lists,var/log,var/cache/x,root,home/me}
	echo 12 >"$root/etc/debian_version"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	echo secret | tee "$root"/etc/{shadow,machine-id,hostname,resolv.conf} "$root"/{root,home/me}/.key \
		"$root"/var/log/x "$root"/usr/share/doc/p/{changes,copyright} >"$root/usr/bin/p"
	echo 'Date: Sat, 01 Nov 2025 10:00:00 UTC' >"$root/var/lib/apt/lists/x_InRelease"
	mknod "$root/dev/null" c 1 3
	mknod "$root/usr/disk" b 7 0
	chown 7:7 "$root/usr/bin/p"
	chmod 6777 "$root/usr/bin/p"
	touch -d 2001-01-01Z "$root/usr/share/doc/p/copyright"
	run "$SRC/contrib/image/finish" "$root"
	[ "$status" -eq 0 ]
	[ "$(cd "$root" && grep -rlw secret . | sort | xargs)" = './usr/bin/p ./usr/share/doc/p/copyright' ]
	[ "$(stat -c '%a %u:%g %Y' "$root/usr/bin/p")" = '755 0:0 1761991200' ]
	[ "$(stat -c %Y "$root/usr/share/doc/p/copyright")" = 978307200 ]
	[ -z "$(find "$root" ! -type f ! -type d ! -type l)" ]
	grep -qx 'sbx:x:1000:1000:sbx:/workspace:/bin/sh' "$root/etc/passwd"
}

@test "image: a tree in the state directory is taken by its digest" {
	local hex

	small_tree
	install -m 0755 "$SRC/build/test/hostile/identity" "$TEST_DIR/rootfs/bin/g"
	digest
	hex=${output#sha256:}
	mkdir -m 0700 "$SBX_STATE/image"
	mkdir "$SBX_STATE/image/$hex"
	mv "$TEST_DIR/rootfs" "$SBX_STATE/image/$hex/"
	provision --image "sha256:$hex"
	run timeout 20 sbx-exec "$ENV_ID" -- /bin/g no-such-act </dev/null
	[ "$(field .reason)" = exited ]
	run timeout 20 sbx-exec "$ENV_ID" -- /usr/bin/env </dev/null
	[ "$(field .reason)" = start_failed ]
}
