# sbx: everything is built into build/ by this one file. GNU make.
#
#	make			tools and helpers
#	make run [CMD='...']	a hostile demo, or your own command, in a sandbox
#	make check		unit tests and tool tests; the last line counts them
#	make check-engines	what every mechanism must pass, on docker and gVisor, with an own engine
#	make check-vm		some of both on a kernel with cgroup v2 alone, in a small guest
#	make lint | asan | fuzz | bench | format
#	make install [DESTDIR=... PREFIX=...]
#	make V=1		show whole commands
#
# A new file is found by its place: lib/<room>/*.c and lib/<room>/<part>/*.c,
# cmd/<tool>/*.c, test/unit/test_*.c, test/fuzz/fuzz_*.c, test/hostile/*.c, test/gvisor/*.c,
# test/vm/*.c, test/bench/*.c, test/degrade/*.c, contrib/examples/*.c, man/*.[1-8], etc/*.yaml.
# Guests (hostile, gvisor, vm, examples) are static: they run in any image.

VERSION = 0.1.0

PREFIX = /usr/local
DESTDIR =
bindir = $(PREFIX)/bin
libexecdir = $(PREFIX)/libexec/sbx
mandir = $(PREFIX)/share/man
sysconfdir = /etc

ifeq ($(origin CC),default)
CC = gcc
endif
ifeq ($(origin AR),default)
AR = gcc-ar
endif
MUSL_CC = musl-gcc
# static: the tools need no file of a library and start in two thirds of the time. shared: what a
# distribution wants; also taken where the static libraries are missing.
LINKAGE = $(if $(HAVE_STATIC),static,shared)
FUZZ_CC = clang
CFLAGS = -O2 -g
CPPFLAGS =
LDFLAGS =
WERROR =
FUZZ_SECONDS = 60

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

B = build
FLAGS_MK = $(B)/flags.mk

all:

comma = ,

# $(call say,WORD): one word and the target instead of a screenful, unless V=1.
say = $(if $(V),,@echo "$(1)	$@";)

# What to install first when something is missing; a plain `make` installs nothing.
ifneq ($(filter check,$(MAKECMDGOALS)),)
DEPS = build test
else ifneq ($(filter run check-vm,$(MAKECMDGOALS)),)
DEPS = build
endif

# ---- flags that this compiler knows, each tried by compiling one line

TRY_WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wundef \
	-Wvla -Wpointer-arith -Wcast-qual -Wwrite-strings -Wstrict-prototypes \
	-Wmissing-prototypes -Wimplicit-fallthrough -Wswitch-enum -Wnull-dereference \
	-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init
TRY_HARDEN = -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-mbranch-protection=standard -fno-strict-aliasing -ftrivial-auto-var-init=zero
TRY_LINK = -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed

ifneq ($(filter-out clean,$(or $(MAKECMDGOALS),all)),)
-include $(FLAGS_MK)
ifneq ($(PROBED_CC),$(CC))
$(FLAGS_MK): FORCE
endif
endif

# $(call probe,VARIABLE,FLAGS): a line for flags.mk with those that compile and link.
probe = good=; for flag in $(2); do \
	$(CC) -O2 -Werror $$flag -o $@.probe $@.c >/dev/null 2>&1 && good="$$good $$flag"; \
	done; echo "$(1) :=$$good" >>$@.tmp

$(FLAGS_MK): Makefile | $(if $(DEPS),install-deps)
	@mkdir -p $(@D)
	@echo '#include <stdlib.h>' >$@.c
	@echo 'int main(void) { return 0; }' >>$@.c
	@$(CC) -o $@.probe $@.c || \
		{ echo "no working C compiler ($(CC)): contrib/install-deps build" >&2; exit 1; }
	@echo 'PROBED_CC := $(CC)' >$@.tmp
	@$(call probe,WARN,$(TRY_WARN))
	@$(call probe,HARDEN,$(TRY_HARDEN))
	@$(call probe,FORTIFY,'-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3')
	@$(call probe,LINK,$(TRY_LINK))
	@echo "LIBS := $$(pkg-config --libs libsodium yaml-0.1 2>/dev/null || \
		echo -lsodium -lyaml)" >>$@.tmp
	@$(CC) -static-pie -fPIE -o $@.probe $@.c -Wl,--no-as-needed -lsodium -lyaml 2>/dev/null && \
		echo 'HAVE_STATIC := yes' >>$@.tmp || true
	@echo "LIBS_CFLAGS := $$(pkg-config --cflags libsodium yaml-0.1 2>/dev/null)" >>$@.tmp
	@echo "MULTIARCH := $$($(CC) -dumpmachine)" >>$@.tmp
	@rm -f $@.c $@.probe
	@mv $@.tmp $@

install-deps:
	@contrib/install-deps --check $(DEPS) >/dev/null || contrib/install-deps $(DEPS)

# ---- sources

GENERATOR = lib/kernel/seccomp_gen.c
LIB_SRC = $(filter-out $(GENERATOR),$(sort $(wildcard lib/*/*.c lib/*/*/*.c)))
CMD_SRC = $(sort $(wildcard cmd/*/*.c))
TOOLS = $(patsubst cmd/%/main.c,%,$(sort $(wildcard cmd/*/main.c)))
UNIT_SRC = $(sort $(wildcard test/unit/test_*.c))
FUZZ_SRC = $(sort $(wildcard test/fuzz/fuzz_*.c))
HOSTILE_SRC = $(sort $(wildcard test/hostile/*.c test/gvisor/*.c test/vm/*.c contrib/examples/*.c))
BENCH_SRC = $(sort $(wildcard test/bench/*.c))
DEGRADE_SRC = $(sort $(wildcard test/degrade/*.c))
HEADERS = $(sort $(wildcard lib/*/*.h lib/*/*/*.h cmd/*/*.h test/*/*.h))

# These run inside sandboxes, in any image: static, position independent, with musl, which starts
# four times faster than glibc and keeps a twentieth of its memory.
STATIC_TOOLS = $(filter sbx-init sbx-call sbx-relay,$(TOOLS))
STATIC_LIB = base/err base/scoped base/fd base/io base/buf base/mem base/clock base/path base/num base/utf8 \
	base/walk base/fortify kernel/seccomp kernel/landlock kernel/caps kernel/rlimit \
	$(patsubst lib/%.c,%,$(wildcard lib/workspace/*.c))
# Private as those, but on the host; linked to its library as the system has it, since a parser of strangers'
# archives is what security updates are for.
SHARED_TOOLS = $(filter sbx-tar,$(TOOLS))
HOST_TOOLS = $(filter-out $(STATIC_TOOLS) $(SHARED_TOOLS),$(TOOLS))

GEN = $(if $(wildcard $(GENERATOR)),$(B)/gen/seccomp_filter.h)

# ---- how to compile

DEFS = -D_GNU_SOURCE -DSBX_VERSION='"$(VERSION)"' -DSBX_LIBEXECDIR='"$(libexecdir)"' \
	-DSBX_SYSCONFDIR='"$(sysconfdir)/sbx"'
INC = -Ilib -I$(B)/gen
BASE = -std=gnu17 $(DEFS) $(INC) $(CPPFLAGS) -MMD -MP
HOST_FLAGS = $(BASE) $(LIBS_CFLAGS) $(WARN) $(HARDEN) $(FORTIFY) -fPIE $(CFLAGS) $(WERROR)
# musl has no kernel headers of its own: they come after its directories, from the system's.
STATIC_FLAGS = $(BASE) $(WARN) $(HARDEN) -fPIE -ffunction-sections -fdata-sections \
	-idirafter /usr/include -idirafter /usr/include/$(MULTIARCH) $(CFLAGS) $(WERROR)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN_FLAGS = $(BASE) $(LIBS_CFLAGS) -Wall -Wextra $(SANITIZE) -O1 -g $(WERROR)
FUZZ_FLAGS = $(BASE) $(LIBS_CFLAGS) -Wall -Wextra $(SANITIZE) -O1 -g
ANALYZE_FLAGS = $(BASE) $(LIBS_CFLAGS) $(WARN) -O2 -fanalyzer -Werror

# A file that changes when the command does, so that `make install PREFIX=/usr` compiles the new
# directories in and a later `make` with other flags never mixes objects.
$(B)/command: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$COMMAND" | cmp -s - $@ || printf '%s\n' "$$COMMAND" >$@
$(B)/command: export COMMAND = $(CC) $(HOST_FLAGS) $(LDFLAGS) $(LINK) $(LINKAGE) $(MUSL_CC) $(FUZZ_CC)

STAMP = $(B)/command $(FLAGS_MK)

$(B)/obj/%.o: %.c $(STAMP) | $(GEN)
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(HOST_FLAGS) -c -o $@ $<

$(B)/static/%.o: %.c $(STAMP) | $(GEN)
	@mkdir -p $(@D)
	$(call say,cc)$(MUSL_CC) $(STATIC_FLAGS) -c -o $@ $<

$(B)/asan/%.o: %.c $(STAMP) | $(GEN)
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(ASAN_FLAGS) -c -o $@ $<

$(B)/fuzz/obj/lib/%.o: lib/%.c $(STAMP) | $(GEN)
	@mkdir -p $(@D)
	$(call say,cc)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

$(B)/analyze/%.o: %.c $(STAMP) | $(GEN)
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(ANALYZE_FLAGS) -c -o $@ $<

# The system call filter is written by a program that runs now and reads the table of calls.
$(B)/gen/seccomp_gen: $(GENERATOR) $(STAMP)
	@mkdir -p $(@D)
	$(call say,ld)$(CC) $(HOST_FLAGS) -o $@ $<

$(B)/gen/seccomp_filter.h: $(B)/gen/seccomp_gen
	$(call say,gen)$< >$@.tmp
	@mv $@.tmp $@

# ---- libraries and programs

ARCHIVE = $(call say,ar)rm -f $@; $(AR) rcs $@ $(filter %.o,$^)

$(B)/libsbx.a: $(LIB_SRC:%.c=$(B)/obj/%.o) $(STAMP)
	$(ARCHIVE)
$(B)/asan/libsbx.a: $(LIB_SRC:%.c=$(B)/asan/%.o) $(STAMP)
	$(ARCHIVE)
$(B)/fuzz/libsbx.a: $(LIB_SRC:%.c=$(B)/fuzz/obj/%.o) $(STAMP)
	$(ARCHIVE)
$(B)/static/libsbx.a: $(patsubst %.c,$(B)/static/%.o,$(wildcard $(STATIC_LIB:%=lib/%.c))) $(STAMP)
	$(ARCHIVE)

HOST_LINK = $(CC) $(HOST_FLAGS) -pie $(LINK) $(LDFLAGS)
TOOL_LINK = $(if $(filter static,$(LINKAGE)),$(CC) $(HOST_FLAGS) -static-pie -Wl$(comma)--gc-sections \
	$(LINK) $(LDFLAGS),$(HOST_LINK))

# gcc's -static-pie would take glibc's start files: musl's are named, one after the other.
MUSL_DIR = $(firstword $(wildcard $(patsubst %-gnu,/usr/lib/%-musl,$(MULTIARCH)) \
	/usr/$(firstword $(subst -, ,$(MULTIARCH)))-linux-musl/lib /usr/lib/musl/lib))
MUSL_CRT = $(or $(wildcard $(MUSL_DIR)/$(1)),$(error musl's $(1) is missing: \
	contrib/install-deps build))
# Of libsodium only the hash is taken, which asks of a C library nothing that musl lacks (base/fortify.c).
SODIUM = $(or $(wildcard $(shell $(CC) -print-file-name=libsodium.a)),$(error libsodium.a is missing: \
	contrib/install-deps build))
STATIC_LINK = $(MUSL_CC) -static -pie -nostartfiles -o $@ $(call MUSL_CRT,rcrt1.o) \
	$(call MUSL_CRT,crti.o) $(filter %.o %.a,$^) $(SODIUM) $(filter %/static/libsbx.a,$^) \
	$(call MUSL_CRT,crtn.o) \
	-Wl,-static,-pie,--no-dynamic-linker,--gc-sections $(LINK)

define host_tool
$(B)/$(1): $$(patsubst %.c,$(B)/obj/%.o,$$(wildcard cmd/$(1)/*.c)) $(B)/libsbx.a
	$$(call say,ld)$$(TOOL_LINK) -o $$@ $$(filter %.o %.a,$$^) $$(LIBS)
endef
define shared_tool
$(B)/$(1): $$(patsubst %.c,$(B)/obj/%.o,$$(wildcard cmd/$(1)/*.c)) $(B)/libsbx.a
	$$(call say,ld)$$(HOST_LINK) -o $$@ $$(filter %.o %.a,$$^) $$(LIBS) -larchive
endef
define static_tool
$(B)/static/$(1): $$(patsubst %.c,$(B)/static/%.o,$$(wildcard cmd/$(1)/*.c)) $(B)/static/libsbx.a
	$$(call say,ld)$$(STATIC_LINK)
# Mode 0111: without read permission it is not dumpable from its first instruction.
$(B)/$(1): $(B)/static/$(1)
	@install -m 0111 $$< $$@
endef
$(foreach tool,$(HOST_TOOLS),$(eval $(call host_tool,$(tool))))
$(foreach tool,$(SHARED_TOOLS),$(eval $(call shared_tool,$(tool))))
$(foreach tool,$(STATIC_TOOLS),$(eval $(call static_tool,$(tool))))

UNIT = $(UNIT_SRC:%.c=$(B)/%)
HOSTILE = $(HOSTILE_SRC:%.c=$(B)/%)
BENCH = $(BENCH_SRC:%.c=$(B)/%)
DEGRADE = $(DEGRADE_SRC:%.c=$(B)/%)
ASAN_UNIT = $(UNIT_SRC:%.c=$(B)/asan/%)
FUZZERS = $(FUZZ_SRC:test/fuzz/%.c=$(B)/fuzz/%)

$(UNIT) $(BENCH) $(DEGRADE): $(B)/%: $(B)/obj/%.o $(B)/libsbx.a
	@mkdir -p $(@D)
	$(call say,ld)$(HOST_LINK) -o $@ $(filter %.o %.a,$^) $(LIBS)
$(HOSTILE): $(B)/%: $(B)/static/%.o
	@mkdir -p $(@D)
	$(call say,ld)$(STATIC_LINK)
$(B)/asan/sbx-exec: $(patsubst %.c,$(B)/asan/%.o,$(wildcard cmd/sbx-exec/*.c)) $(B)/asan/libsbx.a
	$(call say,ld)$(CC) $(ASAN_FLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS)
$(ASAN_UNIT): %: %.o $(B)/asan/libsbx.a
	$(call say,ld)$(CC) $(ASAN_FLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS)
$(FUZZERS): $(B)/fuzz/%: test/fuzz/%.c $(B)/fuzz/libsbx.a
	$(call say,ld)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.c %.a,$^) $(LIBS)

# ---- targets

all: $(TOOLS:%=$(B)/%)

# A tree that is not installed finds its own tools and helpers.
HERE = PATH="$(CURDIR)/$(B):$$PATH" SBX_LIBEXEC="$(CURDIR)/$(B)"

ifdef CMD
override CMD := $(value CMD)
export CMD
endif
run: all $(HOSTILE)
	@$(HERE) $(if $(CMD),contrib/sbx-run -- sh -c "$$CMD",contrib/examples/demo \
		$(B)/contrib/examples/hostile)

tests: all $(UNIT) $(HOSTILE) $(DEGRADE)

check: tests
	@$(HERE) SBX_TEST_TAP=$(B)/tap/native test/run all
check-unit: tests
	@$(HERE) test/run unit
check-bats: tests
	@$(HERE) test/run bats
check-vm: tests
	@test/vm/run
check-engines: tests
	@$(HERE) test/engines/run

asan: all $(ASAN_UNIT) $(B)/asan/sbx-exec
	@$(HERE) test/lines/asan
	@SBX_TEST_UNIT=$(B)/asan/test/unit ASAN_OPTIONS=detect_stack_use_after_return=1 \
		UBSAN_OPTIONS=print_stacktrace=1 $(HERE) test/run unit

fuzz: $(FUZZERS)
	$(if $(FUZZERS),,$(error fuzz: no targets in test/fuzz))
	@failed=0; for name in $(FUZZERS:$(B)/fuzz/fuzz_%=%); do \
		seeds="test/fuzz/corpus/$$name"; log="$(B)/fuzz/$$name.log"; \
		[ -d "$$seeds" ] || { echo "no seeds in $$seeds" >&2; failed=1; continue; }; \
		mkdir -p "$(B)/fuzz/corpus/$$name"; \
		if "$(B)/fuzz/fuzz_$$name" -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-rss_limit_mb=1024 -print_final_stats=1 \
			-artifact_prefix="$(B)/fuzz/$$name-" \
			"$(B)/fuzz/corpus/$$name" "$$seeds" >"$$log" 2>&1; \
		then sed -n "s/^stat::number_of_executed_units: */ok    fuzz $$name: inputs /p" "$$log"; \
		else failed=1; echo "FAIL  fuzz $$name: $$log"; tail -n 60 "$$log"; fi; \
	done; exit $$failed

bench: all $(BENCH)
	@$(HERE) test/bench/run
	@$(HERE) test/bench/walk
	@$(HERE) test/bench/engines

LINTS = format includes banned headers analyzer cppcheck tidy shell man
lint: $(LINTS:%=lint-%)
format:
	clang-format -i $(shell test/lint/files '*.c' '*.h')
lint-format lint-includes lint-banned lint-shell lint-man:
	@test/lint/$(@:lint-%=%)
lint-headers lint-cppcheck lint-tidy: lint-%: $(GEN)
	@CC="$(CC)" test/lint/$* -std=gnu17 $(DEFS) $(INC)
lint-analyzer: $(patsubst %.c,$(B)/analyze/%.o,$(LIB_SRC) $(CMD_SRC))
	$(if $^,@echo "lint analyzer: $(words $^) files",$(error lint analyzer: no files))

install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libexecdir) $(DESTDIR)$(sysconfdir)/sbx
	$(if $(HOST_TOOLS),install -m 0755 $(HOST_TOOLS:%=$(B)/%) $(DESTDIR)$(bindir))
	install -m 0755 contrib/sbx-run $(DESTDIR)$(bindir)
	$(if $(STATIC_TOOLS),install -m 0111 $(STATIC_TOOLS:%=$(B)/static/%) \
		$(DESTDIR)$(libexecdir))
	$(if $(SHARED_TOOLS),install -m 0755 $(SHARED_TOOLS:%=$(B)/%) $(DESTDIR)$(libexecdir))
	@for page in $(wildcard man/*.[1-8]); do \
		dir="$(DESTDIR)$(mandir)/man$${page##*.}"; \
		echo "install $$page"; \
		install -d "$$dir" && install -m 0644 "$$page" "$$dir" || exit 1; \
	done
	@for file in $(notdir $(wildcard etc/*.yaml)); do \
		to="$(DESTDIR)$(sysconfdir)/sbx/$$file"; \
		if [ -e "$$to" ]; then echo "kept $$to"; continue; fi; \
		echo "install etc/$$file"; \
		install -m 0644 "etc/$$file" "$$to" || exit 1; \
	done

clean:
	rm -rf $(B)

FORCE:

.PHONY: all run tests check check-unit check-bats check-vm check-engines asan fuzz bench lint format \
	$(LINTS:%=lint-%) install install-deps clean FORCE
.SECONDARY:

-include $(shell find $(B) -path '*/image*' -prune -o -type f -name '*.d' -print 2>/dev/null)
