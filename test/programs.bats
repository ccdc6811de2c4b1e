#!/usr/bin/env bats
# Ordinary programs, used as people use them, work inside: hardening never breaks the users. By the
# name programs.bats the programs are the host's own; by its other name, programs-image.bats, those of
# an image: $SBX_TEST_IMAGE, the directory .../image/HEX that contrib/image/build made, or else a
# smaller one that is built once and kept in build/image. What a tree lacks is skipped by name.
# shellcheck disable=SC2154  # bats sets output
# shellcheck disable=SC2016  # what is in single quotes is for the shell inside

load helper

setup_file()
{
	IMAGE='' IMAGE_WHY=''
	in_image && find_image
	export IMAGE IMAGE_WHY
}

setup()
{
	sbx_setup
	TREE=''
	if in_image; then
		skip_unless "$IMAGE_WHY" [ -n "$IMAGE" ]
		TREE=$IMAGE/rootfs
		mkdir -m 0700 "$SBX_STATE/image"
		ln -s "$IMAGE" "$SBX_STATE/image/${IMAGE##*/}"
	fi
}

in_image()
{
	[[ $BATS_TEST_FILENAME == *-image.bats ]]
}

# An image made by these scripts, of everything but the two large languages, unless nothing may lack.
find_image()
{
	local kept=$SRC/build/image name without='golang-go|default-jdk-headless'

	is_root || { IMAGE_WHY='an image of its own needs root' && return; }
	[ -z "${SBX_TEST_IMAGE-}" ] || { IMAGE=$(realpath -e "$SBX_TEST_IMAGE") && return; }
	command -v debootstrap >/dev/null || { IMAGE_WHY='debootstrap is not installed' && return; }
	[ "${SBX_TEST_STRICT:-0}" != 1 ] || kept=$SRC/build/image-whole without=nothing
	name=$(find "$kept/name" -newer "$SRC/contrib/image/build" -newer "$SRC/contrib/image/finish" \
		-newer "$SRC/contrib/image/packages" -exec cat {} + 2>/dev/null) || :
	if [ -z "$name" ]; then
		rm -rf --one-file-system "$kept"
		(umask 077 && mkdir -p "$kept")
		name=$(grep -vxE "$without" "$SRC/contrib/image/packages" |
			timeout 900 "$SRC/contrib/image/build" --state "$kept" --packages - \
				2>"$kept/log" 3>&-) ||
			{ IMAGE_WHY="no image could be built: $kept/log" && return; }
		echo "$name" >"$kept/name"
	fi
	IMAGE=$kept/image/${name#sha256:}
}

# needs PROGRAM... - skip where the tree lacks one. Looked for from outside: that a program is there
# and cannot be seen inside is a failure.
needs()
{
	local program

	for program; do
		skip_unless "$program is not installed${TREE:+ in the image}" has "$program"
	done
}

has()
{
	local path

	for path in "$TREE"/{usr/bin,usr/sbin,usr/local/bin}/"$1"; do
		[ ! -L "$path" ] && [ ! -x "$path" ] || return 0
	done
	return 1
}

environment()
{
	provision --cpus 2 ${TREE:+--image "sha256:${IMAGE##*/}"} "$@"
}

# inside ARGV... - run it in this test's environment with our standard input; it must end with 0. What
# it wrote is then in $output.
inside()
{
	local record

	[ -n "${ENV_ID-}" ] || environment
	record=$(timeout 60 sbx-exec --stdin - "$ENV_ID" -- "$@") || return
	output=$(jq -r .stdout.text <<<"$record")
	jq -e '.reason == "exited" and .exit_code == 0' >/dev/null <<<"$record" && return
	jq -r '"\(.reason), status \(.exit_code), limit \(.limit)", .stdout.text, .stderr.text' <<<"$record"
	return 1
}

# says TEXT - that was all of the output.
says()
{
	[ "$output" = "$1" ] && return
	printf 'said: %s\ninstead of: %s\n' "$output" "$1"
	return 1
}

# static_program NAME - C from standard input becomes ./NAME inside, with no library of any tree.
static_program()
{
	skip_unless 'musl-gcc is not installed' musl-gcc --version
	musl-gcc -D_GNU_SOURCE -static -g -O1 -Wall -Werror -pthread -x c -o "$TEST_DIR/$1" -
	inside sh -c 'cat >"$1" && chmod 700 "$1"' sh "$1" <"$TEST_DIR/$1"
}

# ---- shells and tools

@test "programs: bash with arrays, pipes, jobs, traps, here-documents and descriptors" {
	needs bash
	inside bash -eu <<-'END'
		declare -A table=([one]=1 [two]=2)
		(( table[one] + table[two] == 3 ))
		[ "$(printf '%s\n' c b a | sort | tr -d '\n')" = abc ]
		diff <(seq 5) <(printf '%s\n' 1 2 3 4 5)
		seq 100000 | tee >(wc -l >lines) | tail -n 1 >last
		wait
		sleep 0.01 & wait $!
		coproc CAT { cat; }
		echo through >&"${CAT[1]}"
		read -r word <&"${CAT[0]}"; [ "$word" = through ]
		trap 'caught=yes' USR1; kill -USR1 $$; [ "$caught" = yes ]
		set -m
		sleep 60 & kill -STOP %2; kill -CONT %2; kill %2
		[ "$(ulimit -c)" = 0 ]
		exec 7<>file; echo text >&7; exec 7>&-
		[ "$(cat /dev/fd/3 3<file)" = text ]; echo done >/dev/stdout
	END
	says 'done'
}

@test "programs: coreutils, findutils, grep, sed, awk and diff" {
	inside sh -eu <<-'END'
		[ "$(id -un):$(id -gn):$HOME" = sbx:sbx:/workspace ]
		[ "$(whoami)" = sbx ]; getent passwd root >/dev/null; [ "$(hostname)" = sbx ]
		seq 200000 | shuf | sort -n -S 1M -T . --parallel=2 | sha256sum >sum
		seq 200000 | sha256sum -c sum >/dev/null
		mkdir -p a/b; echo text >a/b/c; ln -s b a/link; cp -a a copy; diff -r a copy
		mv copy/b/c copy/c; ln copy/c copy/d; [ "$(stat -c %h copy/d)" = 2 ]
		touch -d '2001-02-03 04:05:06 UTC' old; [ "$(stat -c %Y old)" = 981173106 ]
		install -m 755 a/b/c tool; chmod u-x tool; [ ! -x tool ]
		dd if=/dev/zero of=zeros bs=1M count=8 conv=fsync status=none; truncate -s 4M zeros
		fallocate --posix -l 1M solid; mkfifo fifo; mktemp -d >/dev/null
		timeout 0.05 sleep 9 || [ $? = 124 ]
		df . >/dev/null; du -s . >/dev/null; sync old; flock old true
		find . -type f -print0 | xargs -0 -n 1 -P 4 wc -c | awk '{ sum += $1 } END { print sum > "total" }'
		sed -i 's/text/TEXT/' a/b/c; grep -rq TEXT a; nice true; nohup true 2>/dev/null
		env -i /bin/echo ok
	END
	says ok
}

@test "programs: tar, gzip, bzip2, xz and zstd pack and unpack a tree" {
	needs tar gzip
	inside sh -eu <<-'END'
		mkdir -p tree/deep; seq 100000 >tree/deep/numbers; ln -s deep tree/link; ln tree/deep/numbers tree/hard
		for with in gzip bzip2 xz zstd; do
			command -v $with >/dev/null || continue
			tar -c --use-compress-program=$with -f pack tree
			mkdir out; tar -x --use-compress-program=$with -f pack -C out
			diff -r tree out/tree; [ -L out/tree/link ]; rm -r out
			echo $with >>used
		done
		xz -T2 -k tree/deep/numbers 2>/dev/null || ! command -v xz >/dev/null
		head -n 1 used
	END
	says gzip
}

@test "programs: git makes a repository, commits, merges, clones, packs" {
	needs git
	inside sh -eu <<-'END'
		git config --global user.name A; git config --global user.email a@example.com
		git init -q -b main r; cd r
		for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm "commit $i"; done
		git checkout -qb side HEAD~1; echo s >s; git add s; git commit -qm side
		git checkout -q main; git merge -q --no-edit side
		echo more >>f1; git stash -q; git stash pop -q; git commit -qam more
		git gc -q; git fsck --full --strict >/dev/null 2>&1; git worktree add -q ../w side
		cd ..; git clone -q r c; git clone -q --no-local --depth 2 "file://$PWD/r" shallow
		cd c; echo c >c; git add c; git commit -qm c; git push -q origin HEAD:refs/heads/from-c
		git -C ../r log --oneline from-c | wc -l
	END
	says 7
}

@test "programs: sqlite3 keeps a database, also with a write-ahead log" {
	needs sqlite3
	inside sh -eu <<-'END'
		for mode in delete wal; do
			sqlite3 $mode.db "pragma journal_mode=$mode; create table t(n);" >/dev/null
			for i in 1 2 3 4; do sqlite3 -cmd '.timeout 20000' $mode.db \
				"with recursive c(n) as (select 1 union all select n+1 from c where n<500)
				insert into t select n from c;" & done
			wait
			sqlite3 $mode.db 'pragma integrity_check; select count(*), sum(n) from t;'
		done
	END
	says $'ok\n2000|501000\nok\n2000|501000'
}

@test "programs: openssl makes a key, and the list of certificates can be read" {
	needs openssl
	inside sh -eu <<-'END'
		openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=sbx 2>/dev/null
		openssl verify -CAfile cert cert >/dev/null
		head -c 100000 /dev/urandom >plain
		openssl enc -aes-256-cbc -pbkdf2 -pass pass:x -in plain | openssl enc -d -aes-256-cbc -pbkdf2 -pass pass:x | cmp - plain
		count=$(openssl crl2pkcs7 -nocrl -certfile /etc/ssl/certs/ca-certificates.crt |
			openssl pkcs7 -print_certs -noout | grep -c ^subject)
		[ "$count" -gt 50 ]
		# A private key of the host is nobody's to read.
		[ -z "$(ls -A /etc/ssl/private 2>/dev/null)" ]; echo ok
	END
	says ok
}

# ---- languages

@test "programs: python3 with threads, processes, pools and subprocesses" {
	needs python3
	inside sh -c 'exec python3 -c "$(cat)"' <<-'END'
		import concurrent.futures as f, multiprocessing as m, os, signal, subprocess, sys, threading

		lock, total = threading.Lock(), [0]
		def add():
		    for _ in range(1000):
		        with lock: total[0] += 1
		threads = [threading.Thread(target=add) for _ in range(32)]
		[t.start() for t in threads]; [t.join() for t in threads]
		assert total[0] == 32000
		with f.ThreadPoolExecutor(16) as pool: assert sum(pool.map(abs, range(-100, 0))) == 5050
		# Processes by fork: semaphores and queues are in /dev/shm.
		context = m.get_context("fork")
		with context.Pool(4) as pool: assert pool.map(abs, range(-9, 0)) == list(range(9, 0, -1))
		queue = context.Queue()
		child = context.Process(target=lambda: queue.put(os.getpid())); child.start()
		assert queue.get() == child.pid; child.join()
		from multiprocessing import shared_memory
		block = shared_memory.SharedMemory(create=True, size=1 << 20)
		block.buf[:3] = b"abc"; block.close(); block.unlink()
		with f.ProcessPoolExecutor(2, mp_context=m.get_context("forkserver")) as pool:
		    assert pool.submit(abs, -3).result() == 3
		got = subprocess.run(["sh", "-c", "cat; exit 3"], input=b"in", capture_output=True)
		assert (got.stdout, got.returncode) == (b"in", 3)
		child = subprocess.Popen(["sleep", "60"], start_new_session=True)
		os.killpg(child.pid, signal.SIGTERM); assert child.wait() == -signal.SIGTERM
		print("ok")
	END
	says ok
}

@test "programs: python3 with sqlite3, temporary files, venv, asyncio and sockets on loopback" {
	needs python3
	inside python3 - <<-'END'
		import asyncio, http.client, http.server, os, socket, sqlite3, subprocess, sys, tempfile, threading, venv

		db = sqlite3.connect("p.db"); db.execute("pragma journal_mode=wal")
		db.execute("create table t(n)"); db.executemany("insert into t values(?)", [(n,) for n in range(9)])
		assert db.execute("select sum(n) from t").fetchone() == (36,); db.commit()
		with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as t: t.write(b"x" * 99999)
		with tempfile.TemporaryFile(dir=".") as t: t.write(b"x")
		for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
		    server = socket.create_server((host, 0), family=family)
		    client = socket.create_connection(server.getsockname()[:2]); peer = server.accept()[0]
		    client.sendall(b"hello"); assert peer.recv(9) == b"hello"
		udp = socket.socket(type=socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
		udp.sendto(b"u", udp.getsockname()); assert udp.recv(9) == b"u"
		assert socket.getaddrinfo("localhost", 80) and socket.gethostname()
		web = http.server.ThreadingHTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
		web.RequestHandlerClass.log_message = lambda *_: None
		threading.Thread(target=web.serve_forever, daemon=True).start()
		ask = http.client.HTTPConnection("localhost", web.server_port); ask.request("GET", "/p.db")
		assert ask.getresponse().status == 200
		async def main():
		    async def echo(reader, writer): writer.write(await reader.readline()); await writer.drain(); writer.close()
		    server = await asyncio.start_server(echo, "127.0.0.1", 0)
		    async def one(n):
		        r, w = await asyncio.open_connection(*server.sockets[0].getsockname())
		        w.write(b"%d\n" % n); got = int(await r.readline()); w.close(); return got
		    assert await asyncio.gather(*map(one, range(50))) == list(range(50))
		    child = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
		    assert (await child.communicate())[0] == b"x\n"
		asyncio.run(main())
		venv.create("v", with_pip=False)
		assert subprocess.check_output(["v/bin/python", "-c", "import sys; print(sys.prefix)"]).strip() == b"/workspace/v"
		print("ok")
	END
	says ok
}

@test "programs: perl with processes, sockets, modules and temporary files" {
	needs perl
	inside perl -w - <<-'END'
		use strict; use POSIX qw(mkfifo :sys_wait_h); use File::Temp qw(tempfile); use IO::Socket::INET;
		use Storable qw(store retrieve); use Time::HiRes qw(sleep); use Digest::SHA qw(sha256_hex);
		my %left = map { my $pid = fork // die; exit($_) unless $pid; ($pid => $_) } 1 .. 20;
		while ((my $pid = wait) > 0) { die unless ($? >> 8) == delete $left{$pid} }
		die if %left;
		my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die $@;
		unless (fork) { my $c = $server->accept; print $c uc <$c>; exit }
		my $client = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $server->sockport) or die $@;
		print $client "hello\n"; die unless <$client> eq "HELLO\n"; wait;
		my ($fh, $name) = tempfile(UNLINK => 1); print $fh "x"; close $fh;
		store({ a => [1 .. 9] }, "stored"); die unless retrieve("stored")->{a}[8] == 9;
		local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; sleep 5 }; die unless $@ eq "alarm\n";
		die unless getpwuid($<) eq "sbx" and `echo -n out` eq "out" and length sha256_hex("") == 64;
		print "ok";
	END
	says ok
}

@test "programs: node with files, workers, child processes and http on loopback" {
	needs node
	inside node - <<-'END'
		const { Worker, isMainThread } = require("worker_threads"), fs = require("fs"), http = require("http");
		const { execFileSync, fork, spawn } = require("child_process"), os = require("os"), crypto = require("crypto");
		const assert = require("assert"), zlib = require("zlib");
		const worker = n => new Promise((done, fail) => new Worker(
			`const { parentPort, workerData } = require("worker_threads"); let x = 0;
			for (let i = 0; i < 1e6; i++) x += workerData; parentPort.postMessage(x)`,
			{ eval: true, workerData: n }).once("message", done).once("error", fail));
		(async () => {
			fs.mkdirSync("d/e", { recursive: true }); await fs.promises.writeFile("d/e/f", "text");
			fs.cpSync("d", "copy", { recursive: true }); assert.equal(fs.readFileSync("copy/e/f", "utf8"), "text");
			fs.watch("d").close(); fs.mkdtempSync(os.tmpdir() + "/x");
			assert.deepEqual(await Promise.all([1, 2, 3, 4].map(worker)), [1e6, 2e6, 3e6, 4e6]);
			assert.equal(execFileSync("sh", ["-c", "echo $((6*7))"], { encoding: "utf8" }), "42\n");
			fs.writeFileSync("child.js", "process.on('message', m => { process.send(m + 1); process.disconnect() })");
			const child = fork("child.js"); child.send(1);
			assert.equal(await new Promise(r => child.once("message", r)), 2);
			const server = http.createServer((q, s) => q.pipe(zlib.createGzip()).pipe(s)).listen(0, "localhost");
			await new Promise(r => server.once("listening", r));
			const answer = await new Promise(r => http.request({ port: server.address().port, host: "localhost",
				method: "POST" }, r).end("x".repeat(1e5)));
			let length = 0; for await (const part of answer.pipe(zlib.createGunzip())) length += part.length;
			assert.equal(length, 1e5); server.close();
			crypto.scryptSync("a", "b", 32); crypto.generateKeyPairSync("ed25519"); assert.equal(os.userInfo().username, "sbx");
			assert(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)));
			console.log("ok");
		})();
	END
	says ok
}

@test "programs: gcc and make build a project of some files, and its program runs" {
	needs gcc make
	inside sh -eu <<-'END'
		mkdir p; cd p
		cat >Makefile <<-'MAKE'
			CFLAGS = -O2 -g -Wall -fstack-protector-strong -pthread
			all: main
			main: main.o libpart.so ; $(CC) $(CFLAGS) -o $@ main.o -L. -lpart -Wl,-rpath,'$$ORIGIN' -lm
			libpart.so: part1.o part2.o ; $(CC) -shared -o $@ $^
			part%.o: part%.c ; $(CC) $(CFLAGS) -fPIC -flto -c -o $@ $<
		MAKE
		echo 'int one(void) { return 1; }' >part1.c
		echo 'int two(void) { return 2; }' >part2.c
		cat >main.c <<-'C'
			#include <dlfcn.h>
			#include <math.h>
			#include <pthread.h>
			#include <stdio.h>
			int one(void), two(void);
			static void *run(void *n) { *(int *)n += one() + two(); return NULL; }
			int main(void) {
				pthread_t thread;
				int n = (int)sqrt(1521.0);
				void *self = dlopen(NULL, RTLD_NOW);
				if (pthread_create(&thread, NULL, run, &n) || pthread_join(thread, NULL) || !self)
					return 1;
				printf("%d\n", n);
			}
		C
		make -s -j4; ./main
	END
	says 42
}

@test "programs: g++ builds a program with exceptions and threads" {
	needs g++
	inside sh -eu <<-'END'
		cat >m.cc <<-'C'
			#include <future>
			#include <iostream>
			#include <stdexcept>
			int main() {
				auto f = std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); });
				try { f.get(); } catch (const std::exception &e) { std::cout << e.what() << std::endl; }
			}
		C
		g++ -O1 -pthread -o m m.cc; ./m
	END
	says thrown
}

# The check for leaks at the end stops its process by ptrace, which is for environments with debug.
@test "programs: gcc's address sanitizer finds an overflow, and with debug a leak" {
	needs gcc
	skip_unless "libasan is not installed${TREE:+ in the image}" \
		compgen -G "$TREE/usr/lib/gcc/*/*/libasan.so"
	environment --debug
	inside sh -eu <<-'END'
		cat >m.c <<-'C'
			#include <stdlib.h>
			int main(int argc, char **argv) {
				char *volatile p = malloc(3);
				if (argc > 1) p[argc + 1] = **argv;
				p = NULL;
				return 0;
			}
		C
		gcc -g -fsanitize=address,undefined -o m m.c
		! ./m overflow 2>err
		grep -o heap-buffer-overflow err | head -n 1
		! ./m 2>err
		grep -o '3 byte(s) leaked' err
	END
	says $'heap-buffer-overflow\n3 byte(s) leaked'
	RUN=$RUN.strict environment
	inside sh -c 'cat >m && chmod 700 m && ASAN_OPTIONS=detect_leaks=0 ./m && echo clean' \
		<"$SBX_STATE/env/$(head -n 1 "$TEST_DIR/ids")/workspace/m"
	says clean
}

@test "programs: a Go program is compiled and runs" {
	needs go
	environment --memory 1GiB
	inside sh -eu <<-'END'
		mkdir p; cd p; export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0 GOMAXPROCS=2
		go mod init example.com/p 2>/dev/null
		cat >main.go <<-'GO'
			package main

			import ("fmt"; "net"; "os"; "os/exec"; "os/user"; "sync")

			func main() {
				var group sync.WaitGroup
				sum, lock := 0, sync.Mutex{}
				for i := 0; i < 1000; i++ {
					group.Add(1)
					go func(n int) { defer group.Done(); lock.Lock(); sum += n; lock.Unlock() }(i)
				}
				group.Wait()
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil { panic(err) }
				go func() { c, _ := listener.Accept(); c.Write([]byte("net")); c.Close() }()
				conn, err := net.Dial("tcp", listener.Addr().String())
				if err != nil { panic(err) }
				buf := make([]byte, 3)
				conn.Read(buf)
				out, err := exec.Command("echo", "-n", "exec").Output()
				if err != nil { panic(err) }
				who, err := user.Current()
				if err != nil { panic(err) }
				if err := os.WriteFile("f", buf, 0600); err != nil { panic(err) }
				fmt.Println(sum, string(buf), string(out), who.Username)
			}
		GO
		go build -o main .; ./main
	END
	says '499500 net exec sbx'
}

@test "programs: a Java program is compiled and runs" {
	needs javac java
	environment --memory 1GiB
	inside sh -eu <<-'END'
		cat >Main.java <<-'JAVA'
			import java.net.*;
			import java.nio.file.*;
			import java.util.concurrent.*;
			import java.util.stream.*;

			public class Main {
				record Pair(int a, int b) {}
				public static void main(String[] args) throws Exception {
					ExecutorService pool = Executors.newFixedThreadPool(16);
					int sum = 0;
					for (Future<Integer> f : pool.invokeAll(IntStream.range(0, 100)
							.mapToObj(i -> (Callable<Integer>) () -> i).collect(Collectors.toList())))
						sum += f.get();
					pool.shutdown();
					ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
					Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
					Socket peer = server.accept();
					client.getOutputStream().write(7);
					Process child = new ProcessBuilder("sh", "-c", "exit 3").start();
					Files.writeString(Files.createTempFile("a", "b"), "text");
					long loops = 0;
					for (int i = 0; i < 20_000_000; i++) loops += new Pair(i, 1).b();
					System.out.println(sum + " " + peer.getInputStream().read() + " " + child.waitFor()
						+ " " + loops + " " + System.getProperty("user.name"));
				}
			}
		JAVA
		javac Main.java; java Main
	END
	says '4950 7 3 20000000 sbx'
}

@test "programs: a static musl binary runs" {
	static_program m <<-'END'
		#include <pwd.h>
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		int main(void) {
			struct passwd *me = getpwuid(getuid());
			time_t then = 0;
			printf("%s %s", me ? me->pw_name : "?", asctime(gmtime(&then)));
			return 0;
		}
	END
	inside ./m </dev/null
	says 'sbx Thu Jan  1 00:00:00 1970'
}

# ---- what programs take for granted

@test "programs: many threads that all fork and wait" {
	static_program m <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *run(void *failed) {
			for (int i = 0; i < 40; i++) {
				int status;
				pid_t pid = i % 2 ? fork() : vfork();
				if (pid == 0) _exit(i);
				if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != i)
					__atomic_add_fetch((int *)failed, 1, __ATOMIC_SEQ_CST);
			}
			return NULL;
		}
		int main(void) {
			pthread_t threads[50];
			int failed = 0;
			for (int round = 0; round < 3; round++) {
				for (int i = 0; i < 50; i++) if (pthread_create(&threads[i], NULL, run, &failed)) return 1;
				for (int i = 0; i < 50; i++) pthread_join(threads[i], NULL);
			}
			printf("%d failed\n", failed);
			return 0;
		}
	END
	inside ./m </dev/null
	says '0 failed'
}

@test "programs: memory can be made executable, as compilers at run time do" {
	static_program m <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#if defined(__x86_64__)
		static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
		#elif defined(__aarch64__)
		static const unsigned char code[] = { 0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6 };
		#endif
		static int call(void *at) {
			__builtin___clear_cache(at, (char *)at + sizeof(code));
			return ((int (*)(void))at)();
		}
		int main(void) {
			char *all = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char *later = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			int fd = memfd_create("code", MFD_CLOEXEC);
			char *twice;
			memcpy(all, code, sizeof(code));
			memcpy(later, code, sizeof(code));
			if (mprotect(later, 4096, PROT_READ | PROT_EXEC) || ftruncate(fd, 4096) ||
				pwrite(fd, code, sizeof(code), 0) != sizeof(code)) return 1;
			twice = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
			printf("%d %d %d\n", call(all), call(later), call(twice));
			return 0;
		}
	END
	inside ./m </dev/null
	says '42 42 42'
}

@test "programs: character sets and locales work" {
	inside sh -eu <<-'END'
		[ "$(LC_ALL=C.UTF-8 sh -c 'printf %s Äöü€ | wc -m')" = 4 ]
		[ "$(LC_ALL=C sh -c 'printf %s Äöü€ | wc -m')" = 9 ]
		[ "$(LC_ALL=C.UTF-8 awk 'BEGIN { print toupper("äb") }' | tail -c 2)" = B ]
		printf 'Gr\374n' | iconv -f LATIN1 -t UTF-8
	END
	says Grün
}

@test "programs: a locale of one's own is compiled and used" {
	needs localedef
	skip_unless "the sources of locales are not installed${TREE:+ in the image}" \
		test -e "$TREE/usr/share/i18n/locales/de_DE"
	inside sh -eu <<-'END'
		localedef -i de_DE -f UTF-8 ./de_DE.UTF-8
		LOCPATH=$PWD LC_ALL=de_DE.UTF-8 date -u -d 2024-03-01 +%B
	END
	says März
}

@test "programs: time zones are known, by TZ and by themselves" {
	[ -e "$TREE/usr/share/zoneinfo/America/New_York" ] || skip 'tzdata is not installed'
	inside sh -eu <<-'END'
		TZ=America/New_York date -d @1720000000 '+%H %Z'
		TZ=Asia/Kolkata date -d @1720000000 '+%H:%M %z'
		date -d @0 +%s; test -e /etc/localtime
	END
	says $'05 EDT\n15:16 +0530\n0'
}

@test "programs: free, ps, top and uptime work and tell the environment's limits" {
	needs free ps uptime
	environment --memory 256MiB
	inside sh -eu <<-'END'
		[ "$(free -m | awk '/^Mem/ { print $2 }')" = 256 ]
		[ "$(free -m | awk '/^Swap/ { print $2 }')" = 0 ]
		[ "$(ps -o comm= -p $$)" = sh ]; [ "$(ps -o user= -p $$)" = sbx ]
		ps aux >all; [ "$(grep -c . all)" -le 4 ]; grep -q 'ps aux' all
		# Started a moment ago, by its own account.
		[ "$(ps -o etimes= -p $$)" -lt 60 ]
		uptime | grep -q 'load average'; top -bn1 >/dev/null; vmstat >/dev/null; echo ok
	END
	says ok
}

# nproc and Java count the processors that they may run on, which are more than the share of time that
# the limit is: they are not among those that are asked.
@test "programs: a limit of one processor is what programs count" {
	provision --cpus 1 ${TREE:+--image "sha256:${IMAGE##*/}"}
	inside sh -c 'getconf _NPROCESSORS_ONLN; grep -c ^processor /proc/cpuinfo; nproc >/dev/null' </dev/null
	says $'1\n1'
	needs python3
	inside python3 -c 'import os; print(os.cpu_count())' </dev/null
	says 1
}

@test "programs: node sees the limits of processors and memory" {
	needs node
	provision --cpus 1 --memory 256MiB ${TREE:+--image "sha256:${IMAGE##*/}"}
	inside node -p 'const os = require("os"); [os.cpus().length, os.totalmem() / 2 ** 20].join(" ")' </dev/null
	says '1 256'
}

# Java asks the kernel for the machine's memory by a call that no limit changes, so it has to be told:
# else it fills the limit with garbage and is ended.
@test "programs: Java that is told its limit collects garbage in time" {
	needs java javac
	environment --memory 512MiB --env JAVA_TOOL_OPTIONS=-XX:MaxRAM=512m
	inside sh -eu <<-'END'
		cat >Garbage.java <<-'JAVA'
			public class Garbage {
				public static void main(String[] args) {
					long sum = 0;
					for (int i = 0; i < 2000; i++)
						sum += new byte[1 << 20].length;
					System.out.println(sum >> 20);
				}
			}
		JAVA
		java Garbage.java
	END
	says 2000
}

@test "programs: shared memory, semaphores and message queues between processes" {
	needs python3
	inside python3 - <<-'END'
		import ctypes, mmap, os
		libc = ctypes.CDLL(None, use_errno=True)
		fd = libc.shm_open(b"/block", os.O_RDWR | os.O_CREAT, 0o600); assert fd >= 0
		os.ftruncate(fd, 1 << 20); block = mmap.mmap(fd, 1 << 20); block[0:3] = b"abc"
		if os.fork() == 0: block[0:3] = b"xyz"; os._exit(0)
		os.wait(); assert block[0:3] == b"xyz" and os.listdir("/dev/shm") == ["block"]
		assert libc.shm_unlink(b"/block") == 0
		libc.sem_open.restype = ctypes.c_void_p; assert libc.sem_open(b"/s", os.O_CREAT, 0o600, 1)
		libc.shmat.restype = ctypes.c_void_p
		key = libc.shmget(0, 4096, 0o1600); assert key >= 0 and libc.shmat(key, None, 0) not in (None, 2**64 - 1)
		assert libc.shmctl(key, 0, None) == 0
		print("ok")
	END
	says ok
}

@test "programs: a terminal of one's own, by script and by python's pty" {
	needs script
	inside script -qec 'test -t 0 && tty && stty size && echo done' /dev/null </dev/null
	[[ $output == */dev/pts/*done* ]]
	needs python3
	inside python3 - <<-'END'
		import os, pty
		pid, fd = pty.fork()
		if pid == 0: os.execvp("sh", ["sh", "-c", "read x; echo got-$x; test -t 1 && tty </dev/tty"])
		os.write(fd, b"line\n"); text = b""
		while True:
		    try: part = os.read(fd, 999)
		    except OSError: break
		    if not part: break
		    text += part
		assert os.waitpid(pid, 0)[1] == 0 and b"got-line" in text and b"/dev/" in text, text
		print("ok")
	END
	says ok
}

@test "programs: inotify tells of changes in the workspace" {
	needs python3
	inside python3 - <<-'END'
		import ctypes, os, struct
		libc = ctypes.CDLL(None, use_errno=True)
		fd = libc.inotify_init1(os.O_CLOEXEC); assert fd >= 0
		assert libc.inotify_add_watch(fd, b".", 0x100 | 0x8 | 0x200) > 0
		open("new", "w").close(); os.unlink("new")
		data, masks = os.read(fd, 4096), []
		while data:
		    _, mask, _, n = struct.unpack_from("iIII", data); masks.append(mask); data = data[16 + n:]
		assert masks == [0x100, 0x8, 0x200], masks
		print("ok")
	END
	says ok
}

@test "programs: sockets with a path in the workspace, and pairs that pass descriptors" {
	needs python3
	inside python3 - <<-'END'
		import array, os, socket
		for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
		    server = socket.socket(socket.AF_UNIX, kind); server.bind("s"); server.listen()
		    if os.fork() == 0:
		        client = socket.socket(socket.AF_UNIX, kind); client.connect("s")
		        socket.send_fds(client, [b"x"], [os.open("/etc/hostname", os.O_RDONLY)]); os._exit(0)
		    peer, _ = server.accept(); data, fds, _, _ = socket.recv_fds(peer, 9, 1)
		    assert data == b"x" and os.read(fds[0], 9) == b"sbx\n"; os.wait(); os.unlink("s")
		    uid = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8]
		    assert int.from_bytes(uid, "little") == os.getuid()
		a, b = socket.socketpair(); a.send(b"p"); assert b.recv(9) == b"p"
		name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); name.bind("\0abstract"); name.sendto(b"n", "\0abstract")
		assert name.recv(9) == b"n"
		print("ok")
	END
	says ok
}

@test "programs: the newer calls that run-time libraries use work or are absent" {
	needs python3
	inside python3 - <<-'END'
		import errno, fcntl, mmap, os, resource, select, signal, time
		def may(call, *args):
		    try: return call(*args)
		    except OSError as e: assert e.errno == errno.ENOSYS, (call, e)
		epoll = select.epoll(); event = os.eventfd(3, os.EFD_CLOEXEC); epoll.register(event, select.EPOLLIN)
		assert epoll.poll(1) == [(event, select.EPOLLIN)] and os.eventfd_read(event) == 3
		with open("from", "wb") as f: f.write(b"x" * 100000); f.flush(); os.fsync(f.fileno()); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
		source, target = os.open("from", os.O_RDONLY), os.open("to", os.O_RDWR | os.O_CREAT)
		assert os.copy_file_range(source, target, 1000) == 1000 and os.sendfile(target, source, 0, 1000) == 1000
		r, w = os.pipe2(os.O_CLOEXEC); assert os.splice(source, w, 1000, 0) == 1000 and fcntl.fcntl(w, 1031, 1 << 16) >= 1 << 16
		os.posix_fallocate(target, 0, 1 << 16); os.posix_fadvise(target, 0, 0, os.POSIX_FADV_DONTNEED)
		os.setxattr("to", "user.name", b"value"); assert os.getxattr("to", "user.name") == b"value"
		anonymous = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); os.link(f"/proc/self/fd/{anonymous}", "linked", src_dir_fd=anonymous)
		assert os.memfd_create("m") > 0 and len(os.getrandom(16)) == 16 and os.sched_getaffinity(0)
		pid = os.fork()
		if pid == 0: signal.pause()
		handle = may(os.pidfd_open, pid)
		if handle is None: os.kill(pid, 9)
		else: signal.pidfd_send_signal(handle, 9); assert select.select([handle], [], [], 5)[0]
		assert os.waitid(os.P_PID, pid, os.WEXITED).si_status == 9
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); signal.setitimer(signal.ITIMER_REAL, 0.01)
		assert signal.sigwait([signal.SIGALRM]) == signal.SIGALRM
		os.posix_spawnp("true", ["true"], os.environ, setsid=True); os.wait()
		os.nice(1); os.setpriority(os.PRIO_PROCESS, 0, 5); os.sched_yield(); os.umask(0o22)
		resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); assert resource.getrusage(resource.RUSAGE_CHILDREN)
		area = mmap.mmap(-1, 1 << 20); area.madvise(mmap.MADV_DONTNEED); area.resize(1 << 21)
		time.clock_gettime(time.CLOCK_BOOTTIME); os.getloadavg(); os.statvfs("."); os.uname()
		print("ok")
	END
	says ok
}

@test "programs: strace follows a program where the spec asks for debug" {
	needs strace
	environment --debug
	inside strace -f -o trace sh -c '/bin/true; :' </dev/null
	inside grep -c 'execve("/bin/true"' trace </dev/null
	says 1
}

@test "programs: gdb stops a program and asks it where the spec asks for debug" {
	needs gdb
	environment --debug
	static_program m <<-'END'
		static __attribute__((noinline)) int answer(int n) { return n * 7; }
		int main(int argc, char **argv) { return answer(argc + 5) + !argv; }
	END
	inside gdb -nx -batch -ex 'break answer' -ex run -ex 'print n' -ex finish ./m </dev/null
	[[ $output == *'Breakpoint 1, answer (n=6)'*'$1 = 6'*'$2 = 42'* ]] || says 'what was asked'
}
