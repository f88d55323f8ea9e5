# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# make            everything into build/ (O= moves it)
# make module     maple.ko for the running kernel, or for KDIR=headers
# make demo       install what is missing, build, find a real bug
# make test       the quick tests: units, oracle, simulator, the agent
# make check      install what the tests need, build, run all of them
# make check-sanitizers  the units under ASan, UBSan and TSan
# make check-debug-kernel  the tests in guests, on kernels that watch themselves
# make check-headers  maple.ko for each kernel that Debian 12 has headers of
# make check-packages  Debian's packages, installed and purged in guests
# make deb        Debian's packages, into build/deb
# make install    DESTDIR=, PREFIX= and LIBDIR= as usual
# make bench      all benchmarks, half an hour; ONLY='programs runs': some
# make bench-readme  what the README says about speed, measured anew
# make style lint fuzz clean
# V=1 shows the commands.

O ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
SHARED ?= # 1: mapletest takes libmaple.so.0, as Debian's packages want it
CC ?= cc
CLANG ?= clang
RUSTC ?= rustc
LLVM_STRIP ?= llvm-strip
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
PKG_CONFIG ?= pkg-config
Q := $(if $(V),,@)
comma := ,
say = $(if $(V),@:,@printf '  %-7s %s\n' $(1) $(2))

PKGS := libdw libelf sqlite3 libpq jansson libxxhash libnl-genl-3.0 libbpf \
	libseccomp
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-unused-parameter -Wno-missing-field-initializers
# Assertions stay on in every build.
BASE := -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -Ilib/include -Ilib \
	$(CPPFLAGS) -UNDEBUG
INCS := $(shell $(PKG_CONFIG) --cflags $(PKGS))
# What is needed and no more, whatever the compiler's habit: libraries have
# constructors, and those take locks in programs under the agent.
LIBS = -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(PKGS)) -lZydis -liberty \
	-lpthread -ldl

# The agent runs inside the target's accesses: general registers only, no
# stack protector, nothing exported that is not marked.
AGENT_SANE := -fno-sanitize=all
AGENT_FLAGS := -fPIC -fvisibility=hidden -mgeneral-regs-only -fno-plt \
	-fno-stack-protector -fcf-protection=none -ftls-model=initial-exec \
	-fno-omit-frame-pointer -U_FORTIFY_SOURCE -fno-builtin \
	$(AGENT_SANE)

# All that lies in a folder, or in one of its folders; a strategy is a folder.
sources = $(sort $(shell find $(1) -name '*.[cS]'))
lib_src := $(filter-out lib/agent/%,$(call sources,lib))
agent_src := $(call sources,lib/agent lib/plan lib/policy)
cli_src := $(wildcard cli/*.c)
VERSION = $(shell sed -n 's/.*MAPLE_VERSION "\(.*\)"/\1/p' \
	lib/include/maple/version.h)
headers := $(wildcard lib/include/maple/*.h)
daemon_src := $(call sources,daemon)
lib_obj := $(lib_src:%.c=$(O)/lib/%.o)
agent_obj := $(patsubst %,$(O)/agent/%.o,$(basename $(agent_src)))
cli_obj := $(cli_src:%.c=$(O)/cli/%.o)
daemon_obj := $(daemon_src:%.c=$(O)/cli/%.o)

units := $(patsubst tests/unit/%.c,$(O)/tests/unit/%, \
	$(wildcard tests/unit/test_*.c))
targets := $(patsubst tests/targets/%.c,$(O)/tests/targets/%, \
	$(wildcard tests/targets/*.c tests/targets/clean/*.c)) \
	$(patsubst tests/targets/%.cc,$(O)/tests/targets/%, \
	$(wildcard tests/targets/*.cc tests/targets/clean/*.cc))
controls := $(patsubst tests/control/%.c,$(O)/tests/control/%, \
	$(wildcard tests/control/*.c)) \
	$(foreach t,$(wildcard tests/buffers/*.c),$(t:%.c=$(O)/%) \
	$(t:%.c=$(O)/%.fenced) $(t:%.c=$(O)/%.hidden)) \
	$(foreach t,$(wildcard tests/paper/*.c),$(t:%.c=$(O)/%) \
	$(t:%.c=$(O)/%.fixed)) \
	$(patsubst tests/contexts/%,$(O)/tests/contexts/%, \
	$(basename $(wildcard tests/contexts/*.c tests/contexts/*.cc \
	tests/contexts/clean/*.c))) \
	$(patsubst tests/sets/%,$(O)/tests/sets/%, \
	$(basename $(wildcard tests/sets/*.c tests/sets/*.cc \
	tests/sets/clean/*.c tests/sets/clean/*.cc)))
statics := $(addprefix $(O)/tests/targets/static/,bank_account queue_free \
	lock_order log_sweep clean/mutex_counter clean/c11_pipeline)
helpers := $(patsubst tests/e2e/%.c,$(O)/tests/e2e/%, \
	$(wildcard tests/e2e/*.c)) \
	$(patsubst tests/e2e/%.cc,$(O)/tests/e2e/%, \
	$(wildcard tests/e2e/*.cc)) \
	$(patsubst tests/e2e/%.cc,$(O)/tests/e2e/%.O2, \
	$(wildcard tests/e2e/*.cc)) \
	$(patsubst tests/e2e/%.rs,$(O)/tests/e2e/%, \
	$(wildcard tests/e2e/*.rs)) \
	$(patsubst tests/e2e/%.rs,$(O)/tests/e2e/%.O2, \
	$(wildcard tests/e2e/*.rs)) \
	$(patsubst tests/e2e/lib/%.c,$(O)/tests/e2e/%.so, \
	$(wildcard tests/e2e/lib/*.c)) \
	$(patsubst tests/e2e/suites/%.cc,$(O)/tests/e2e/suites/%, \
	$(wildcard tests/e2e/suites/*.cc)) $(O)/tests/e2e/suites/rust \
	$(patsubst tests/qemu/programs/%.c,$(O)/tests/qemu/%, \
	$(wildcard tests/qemu/programs/*.c)) $(O)/tests/qemu/pause32
kernels := $(patsubst tests/bench/kernels/%.c,$(O)/tests/bench/kernels/%, \
	$(wildcard tests/bench/kernels/*.c))
kernels += $(kernels:%=%.tsan)
programs := $(O)/mapletest $(O)/mapled $(O)/libmaple.a $(O)/libmaple.so \
	$(O)/libmaple-agent.so $(O)/maple-canary
tools := $(O)/tests/events $(O)/tests/oracle $(O)/tests/simulate \
	$(O)/tests/order_z3 $(O)/tests/bench/order \
	$(O)/tests/bench/predict $(O)/tests/bench/sqlite_threads \
	$(O)/tests/bench/price $(O)/tests/bench/hits $(O)/tests/bench/slowdown \
	$(O)/tests/bench/points $(O)/tests/bench/many_points \
	$(O)/tests/bench/budget_runs $(O)/tests/bench/startup_costs \
	$(O)/tests/bench/static_costs $(O)/tests/bench/static_shared \
	$(O)/tests/bench/rate \
	$(O)/tests/bench/load $(O)/tests/bench/requests \
	$(O)/tests/bench/workers \
	$(O)/tests/bench/work $(kernels) \
	$(O)/tests/bench/runs $(O)/tests/bench/two_threads

.DEFAULT_GOAL := all
include tests/fuzz/fuzz.mk

.PHONY: all units quick tests demo test check check-sanitizers builds-sanitizers builds-clang builds-static builds-fuzzers deps deps-check install style lint bench bench-readme clean \
	module modules-qemu check-debug-kernel check-headers check-packages deb
all: $(programs)
units: all $(units)
quick: units $(targets) $(controls) $(helpers) $(tools)
builds-static: $(statics)
builds-fuzzers: $(fuzzers)
tests: quick builds-static builds-fuzzers

$(O)/lib/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(INCS) $(CFLAGS) -fPIC -c -o $@ $<

# The eBPF observer, and a header that has it in it (and in its loader).
$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CLANG) -target bpf -D__x86_64__ -mcpu=v3 -O2 -g -Wall -MMD -MP \
		-idirafter /usr/include/x86_64-linux-gnu -Ilib/include -Ibpf \
		-c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@

.PRECIOUS: $(O)/bpf/%.bpf.o
$(O)/bpf/%.skel.h: $(O)/bpf/%.bpf.o
	$(call say,GEN,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.new && mv $@.new $@

$(O)/lib/lib/backend/kernel/ebpf/load.o: $(O)/bpf/observe.skel.h
$(O)/lib/lib/backend/kernel/ebpf/load.o: INCS += -I$(O)/bpf

$(O)/gen/calls-list.h: Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)echo '#include <sys/syscall.h>' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) [0-9]*$$/CALL(\1)/p' | \
		sort >$@.new && test -s $@.new && mv $@.new $@

$(O)/lib/lib/backend/calls.o: $(O)/gen/calls-list.h
$(O)/lib/lib/backend/calls.o: INCS += -I$(O)/gen

$(O)/cli/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -Ilib/include $(filter-out -Ilib,$(BASE)) $(CFLAGS) -c -o $@ $<

$(O)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(AGENT_FLAGS) -c -o $@ $<

$(O)/agent/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(AGENT_FLAGS) -c -o $@ $<

$(O)/libmaple.a: $(lib_obj)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What the public headers declare is what the library exports.
$(O)/libmaple.map: $(headers)
	@mkdir -p $(@D)
	$(Q)(echo 'LIBMAPLE_0 { global:'; cat $^ | \
		sed -n 's/.*\<\(maple_[a-z0-9_]*\)(.*/\1;/p' | sort -u; \
		echo 'local: *; };') >$@

$(O)/libmaple.so: $(lib_obj) $(O)/libmaple.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libmaple.so.0 \
		-Wl,-z,defs -Wl,--version-script=$(O)/libmaple.map -o $@ \
		$(lib_obj) $(LIBS)

$(O)/libmaple-agent.so: $(agent_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -fno-sanitize=all $(LDFLAGS) -shared \
		-Wl,-z,defs -Wl,-z,now -nostartfiles \
		-Wl,--wrap=memcpy,--wrap=memset \
		-Wl,-soname,libmaple-agent.so -o $@ $^ -ldl -lpthread

$(O)/maple-canary: cli/canary/canary.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -g \
		$(filter -ffile-prefix-map=%,$(CFLAGS)) -pthread \
		$(LDFLAGS) -o $@ $<

$(O)/mapletest: $(cli_obj) $(O)/libmaple.$(if $(SHARED),so,a)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(if $(SHARED),,$(LIBS)) \
		-lsystemd

$(O)/mapled: $(daemon_obj) $(O)/libmaple.$(if $(SHARED),so,a)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(if $(SHARED),,$(LIBS)) \
		-lsystemd

# A test that computes is compiled more often than it is executed, so it is not
# optimised, but for those that look at their own code.
own_code := agent% fence image% intercept% kernel_probes process static unwind \
	variable
computing := $(filter-out $(own_code:%=tests/unit/test_%.c), \
	$(shell grep -l '^ \* beside: guests$$' tests/unit/test_*.c))
plain = $(if $(findstring -fsanitize,$(CFLAGS)),,$(if $(filter \
	tests/unit/$(@F).c,$(computing)),-O0))
$(O)/tests/unit/%: tests/unit/%.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(INCS) $(CFLAGS) $(plain) -Itests -o $@ $< \
		$(O)/libmaple.a $(LIBS) -lcmocka

# What the oracle reads its traces with.
$(O)/tests/unit/test_oracle_trace: tests/unit/test_oracle_trace.c \
		tests/oracle/trace.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -MF $@.d -Itests -o $@ $(filter %.c %.a,$^) \
		$(LIBS) -lcmocka

# Slots as the agent makes them, executed.
$(O)/tests/unit/test_agent_split: tests/unit/test_agent_split.c \
		$(O)/agent/lib/agent/patch/slot.o $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -Itests -o $@ $< $(filter %.o %.a,$^) \
		$(LIBS) -lcmocka

# Whether a lock is free, as the agent reads it.
$(O)/tests/unit/test_peek: tests/unit/test_peek.c \
		$(O)/agent/lib/agent/control/peek.o
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -Itests -o $@ $(filter %.c %.o,$^) \
		-lcmocka -lpthread

# Some of mapled that needs nothing else of it.
$(O)/tests/unit/test_talk: tests/unit/test_talk.c $(O)/cli/daemon/limits/talk.o
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -Itests -o $@ $(filter %.c %.o,$^) -lcmocka

$(O)/tests/unit/test_watch: tests/unit/test_watch.c \
		$(patsubst %,$(O)/cli/daemon/%.o,stat watch/line watch/price \
			watch/state)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -Itests -o $@ $(filter %.c %.o,$^) -lcmocka

# The interposed functions, with a core that only keeps what it is told. What
# the compiler copies of its own accord goes where the agent's copies go; but
# for the test of memcpy() itself.
$(O)/tests/unit/test_intercept_%: tests/unit/test_intercept_%.c \
		$(filter $(O)/agent/lib/agent/intercept/%,$(agent_obj)) \
		$(O)/agent/lib/agent/lock.o
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) -fno-builtin -U_FORTIFY_SOURCE -Itests \
		$(if $(filter memory,$*),,-Wl$(comma)--wrap=memcpy$(comma)--wrap=memset) \
		-o $@ $< $(filter %.o,$^) -lcmocka -lpthread -ldl

# The bug must be in the binary: no optimisation, but where that is the bug.
OPTIMISE = -O0
$(addprefix $(O)/tests/targets/,lost_update clean/kept_updates): OPTIMISE = -O2
$(O)/tests/targets/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -Wno-missing-prototypes $(OPTIMISE) -g \
		-pthread -o $@ $<

$(O)/tests/control/%: tests/control/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -pthread -o $@ $<

$(O)/tests/contexts/%: tests/contexts/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -pthread -o $@ $<

$(O)/tests/contexts/%: tests/contexts/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -Wall -O0 -g -pthread -o $@ $<

$(O)/tests/sets/%: tests/sets/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -pthread -o $@ $<

$(O)/tests/sets/%: tests/sets/%.cc tests/sets/collection.h
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -Wall -O0 -g -pthread -o $@ $<

$(O)/tests/buffers/%: tests/buffers/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O1 -g -pthread -o $@ $<

$(O)/tests/buffers/%.fenced: tests/buffers/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O1 -DFENCED -g -pthread -o $@ $<

$(O)/tests/buffers/%.hidden: tests/buffers/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O1 -DHIDDEN -g -pthread -o $@ $<

$(O)/tests/paper/%: tests/paper/%.c tests/paper/guard.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -pthread -o $@ $<

$(O)/tests/paper/%.fixed: tests/paper/%.c tests/paper/guard.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -DFIXED -g -pthread -o $@ $<

# The same as nothing can be preloaded into.
$(O)/tests/targets/static/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -Wno-missing-prototypes -O0 -g -pthread \
		-static -o $@ $<

$(O)/tests/targets/%: tests/targets/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -Wall -O0 -g -pthread -o $@ $<

$(O)/tests/e2e/%: tests/e2e/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O0 -g -pthread -o $@ $<

$(addprefix $(O)/tests/,control/token_ring control/lazy_init \
	control/which_waiter e2e/token_ring e2e/unjoined): tests/ends_first.h

$(O)/tests/e2e/%: tests/e2e/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -Wall -Wextra -O0 -g -pthread -o $@ $<

$(O)/tests/e2e/%.O2: tests/e2e/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) -Wall -Wextra -O2 -g -pthread -o $@ $<

# Names mangled the old way, as is rustc's habit, and optimised the new way;
# what it leaves beside goes by the name up to the first dot.
$(O)/tests/e2e/%: tests/e2e/%.rs
	@mkdir -p $(@D)
	$(call say,RUSTC,$<)
	$(Q)MAKEFLAGS= $(RUSTC) -g -o $@ $<

$(O)/tests/e2e/%.O2: tests/e2e/%.rs
	@mkdir -p $(@D)
	$(call say,RUSTC,$@)
	$(Q)MAKEFLAGS= $(RUSTC) -g -C opt-level=2 -C symbol-mangling-version=v0 \
		-o $(@:.O2=_O2) $< && mv $(@:.O2=_O2) $@

# Test programs of each framework.
$(O)/tests/e2e/suites/gtest: LDLIBS := -lgtest
$(O)/tests/e2e/suites/boost: LDLIBS := -lboost_unit_test_framework
$(O)/tests/e2e/suites/%: tests/e2e/suites/%.cc tests/e2e/suites/cases.h
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -O0 -g -pthread -o $@ $< $(LDLIBS)

$(O)/tests/e2e/suites/rust: tests/e2e/suites/rust.rs
	@mkdir -p $(@D)
	$(call say,RUSTC,$<)
	$(Q)MAKEFLAGS= $(RUSTC) --test -g -o $@ $<

$(O)/tests/e2e/%.so: tests/e2e/lib/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -fPIC -shared -pthread -o $@ $<

$(O)/tests/qemu/%: tests/qemu/programs/%.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(INCS) $(CFLAGS) -o $@ $< $(O)/libmaple.a $(LIBS) \
		-lcmocka

# Of no library: there need be none for 32 bits.
$(O)/tests/qemu/pause32: tests/qemu/programs/pause32.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CC) -m32 -nostdlib -static -o $@ $<

$(O)/tests/oracle: $(wildcard tests/oracle/*.c) $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -MF $@.d -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/order_z3: $(wildcard tests/order/*.c) $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -MF $@.d -o $@ $(filter %.c %.a,$^) \
		$(LIBS) -lz3

$(O)/tests/events: $(wildcard tests/events/*.c) $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -MF $@.d -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/price $(O)/tests/bench/points: $(O)/tests/bench/%: \
		tests/bench/%.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/budget_runs $(O)/tests/bench/startup_costs \
		$(O)/tests/bench/static_costs $(O)/tests/bench/static_shared: \
		$(O)/tests/bench/%: tests/bench/%.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

# As it stands there: what a loop accesses beside is in the price.
$(O)/tests/bench/hits: tests/bench/hits.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -pthread -o $@ $<

$(O)/tests/bench/order: tests/bench/order.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/predict: tests/bench/predict.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/workers: tests/bench/workers.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/slowdown: $(wildcard tests/bench/slowdown/*.c) \
		$(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(INCS) $(CFLAGS) -MF $@.d -o $@ \
		$(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/load $(O)/tests/bench/requests: $(O)/tests/bench/%: \
		tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -o $@ $<

# As they would be delivered, and as ThreadSanitizer wants them.
$(O)/tests/bench/kernels/%: tests/bench/kernels/%.c tests/bench/kernels/kernel.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -g -pthread -o $@ $< -lm

$(O)/tests/bench/kernels/%.tsan: tests/bench/kernels/%.c \
		tests/bench/kernels/kernel.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -g -pthread -fsanitize=thread -o $@ \
		$< -lm

$(O)/tests/bench/rate: tests/bench/rate.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/runs: tests/bench/runs.c $(O)/libmaple.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

$(O)/tests/bench/two_threads $(O)/tests/bench/many_points: \
		$(O)/tests/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -g -pthread -o $@ $<

# A program to be tested, not one of ours.
$(O)/tests/bench/sqlite_threads: tests/bench/sqlite_threads.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O0 -g -pthread -o $@ $< -lsqlite3

# Another one.
$(O)/tests/bench/work: tests/bench/work.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O1 -g -pthread -o $@ $<

$(O)/tests/simulate: $(wildcard tests/simulate/*.c) $(wildcard lib/plan/*.c) \
		lib/predict/sets/forms.c lib/predict/sets/happened.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -MF $@.d -o $@ $(filter %.c,$^)

module:
	$(Q)tools/module $(O) $(KDIR)

# for the guests that tests/qemu/guest boots
modules-qemu:
	$(Q)tools/module -q $(O)

deps:
	@tools/deps build

deps-check:
	@tools/deps build check

demo: deps
	@$(MAKE) --no-print-directory all $(O)/tests/targets/bank_account
	@tests/demo $(O)

# What a change is tried with: no packages, no guests, and of what takes long
# the part that shows most.
QUICK := ^(check_selftest|unit/|oracle/|simulate|order_z3|e2e/(targets|search|deadlock|$\
	cli|compare|docs|house|hot|lists|names|variables|wakeups))

# As many jobs as there are CPUs, if not told otherwise.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

test: deps-check
	@$(MAKE) --no-print-directory $(jobs) quick
	@MAPLE_CHECK_ONLY='$(QUICK)' tests/check $(O)

# What campaigns do not need is built while they run, as our make was told to build:
# first what guests need, then packages, fuzzers and the units under sanitizers.
make_beside = MAKEFLAGS='$(filter-out -j% --jobserver%,$(MAKEFLAGS))' \
	$(MAKE) --no-print-directory $(or $(jobs),$(filter -j%,$(MAKEFLAGS))) \
	O='$(O)'
check: export build_guests = $(make_beside) modules-qemu builds-static
check: export build_beside = $(make_beside) deb builds-fuzzers builds-sanitizers \
	builds-clang asan_units='$(asan_some)' sane_also=
check: deps-check
	@$(MAKE) --no-print-directory $(jobs) quick
	@MAPLE_CHECK_SANE='$(sane_some)' MAPLE_CHECK_GUESTS="$$build_guests" \
		MAPLE_CHECK_BUILD="$$build_beside" tests/check $(O)

# The units under sanitizers, in three builds.
# asan: ASan and UBSan; all but the four that are themselves the program under
#       the agent. They count its accesses, and their heap would be ASan's. Nor
#       those in a sandbox: their memory is limited, and ASan wants terabytes.
#       Nor the one that joins a process like itself: that would be ASan's.
# trap: UBSan in the agent, by traps, since a hook has no room for a runtime:
#       those four, and all others of the agent. The agent stores to code, and
#       may be asked about any address: alignment is no matter. The library is
#       the usual one.
# tsan: what has threads of ours, and their surroundings. Not the units that look
#       at the threads of a process like themselves (process, tracer, warden):
#       TSan has one in each.
SANE := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined
TRAP := -fsanitize=undefined -fno-sanitize=alignment \
	-fsanitize-undefined-trap-on-error
RACE := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
unit_names := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
under_agent := agent agent_fork agent_log agent_sections
confined := sandbox confine
asan_units := $(filter-out $(under_agent) $(confined) will,$(unit_names))
trap_units := $(filter agent agent_% intercept_%,$(unit_names))
tsan_units := rebuild campaign host launch talk wire
trapped := $(patsubst %,$(O)/trap/tests/unit/test_%, \
	$(filter intercept_%,$(unit_names)))
# Those of them that 'make check' has: parsers, store, wire, image, order, log.
asan_some := array campaign demangle detached expect findings fingerprint \
	formats host image image_cache image_file image_group image_place \
	kernel_events launch machine memo memo_corpus memo_file memo_merge \
	oracle_trace order orders pcr plan planfile reached report \
	report_campaign sanitizer sockets static suite suppressions talk trace \
	unwind variable warden wire
sane_else := $(trap_units:%=trap/%) $(tsan_units:%=tsan/%)
# What depends on the compiler: the agent as clang makes it, in programs that
# clang has made. The library is the usual one.
clang_units := unwind agent agent_log agent_sections intercept_process \
	intercept_threads
sane_some := $(asan_some:%=asan/%) $(sane_else) $(clang_units:%=clang/%)
# What a build has besides units and what they start: e2e/jobs has mapletest
# under TSan.
sane_also := all
units_start := mapled libmaple-agent.so
sane_all := $(asan_units:%=asan/%) $(sane_else) tsan/jobs.bats
# What units start is as it is elsewhere.
started := $(targets) $(controls) $(O)/tests/e2e/spinner $(O)/tests/e2e/calls \
	$(O)/tests/bench/work

builds-sanitizers: units $(started)
	@$(MAKE) --no-print-directory O=$(O)/asan CFLAGS='$(SANE)' $(sane_also) \
		$(addprefix $(O)/asan/,$(units_start)) \
		$(asan_units:%=$(O)/asan/tests/unit/test_%)
	@$(MAKE) --no-print-directory O=$(O)/trap AGENT_SANE='$(TRAP)' \
		$(O)/trap/libmaple-agent.so $(trapped)
	@$(MAKE) --no-print-directory O=$(O)/tsan CFLAGS='$(RACE)' $(sane_also) \
		$(addprefix $(O)/tsan/,$(units_start)) \
		$(tsan_units:%=$(O)/tsan/tests/unit/test_%)
	@ln -f $(filter $(O)/tests/unit/test_agent%,$(units)) $(O)/trap/tests/unit
	@for build in asan trap tsan; do \
		(cd $(O) && cp -lf --parents $(started:$(O)/%=%) $$build) || exit; \
	done

builds-clang: units $(started)
	@mkdir -p $(O)/clang && ln -f $(O)/libmaple.a $(O)/clang
	@$(MAKE) --no-print-directory O=$(O)/clang CC=$(CLANG) \
		-o $(O)/clang/libmaple.a $(O)/clang/libmaple-agent.so \
		$(clang_units:%=$(O)/clang/tests/unit/test_%)
	@cd $(O) && cp -lf --parents $(started:$(O)/%=%) clang

check-sanitizers: deps-check builds-sanitizers
	@MAPLE_CHECK_SANE='$(sane_all)' MAPLE_CHECK_TIME=600 \
		MAPLE_CHECK_ONLY='^(asan|trap|tsan)/' tests/check $(O)

check-debug-kernel: deps-check
	@tools/deps debug-kernel
	@$(MAKE) --no-print-directory tests
	@tools/module -q $(O) debug
	@MAPLE_QEMU_KERNELS='debug kcsan' MAPLE_CHECK_ONLY='^qemu/' tests/check $(O)

check-headers: deps-check
	@tools/module -q $(O) headers

check-packages: deps-check deb
	@MAPLE_CHECK_PACKAGES=1 MAPLE_CHECK_ONLY='^packages/' tests/check $(O)

bench: deps-check
	@tools/deps bench
	@$(MAKE) --no-print-directory tests modules-qemu
	@tests/bench/all $(O) $(ONLY)

bench-readme: deps-check
	@tools/deps bench
	@$(MAKE) --no-print-directory tests
	@tests/bench/readme $(O)

install: all
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR)/maple \
		$(LIBDIR)/pkgconfig $(PREFIX)/include/maple \
		$(PREFIX)/share/maple/ci $(PREFIX)/share/maple/scale \
		$(PREFIX)/share/bash-completion/completions \
		$(PREFIX)/share/zsh/vendor-completions)
	install -m 755 $(O)/mapletest $(DESTDIR)$(PREFIX)/bin/
	install -m 755 -D $(O)/mapled $(DESTDIR)$(PREFIX)/sbin/mapled
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	for unit in mapled.service mapled.socket mapled-watch.service \
		mapled-observer.service mapled-observer.socket; do \
		sed 's|/usr/sbin|$(PREFIX)/sbin|' packaging/systemd/$$unit \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit; done
	install -d $(DESTDIR)$(PREFIX)/share/polkit-1/actions
	sed 's|/usr/sbin|$(PREFIX)/sbin|' \
		packaging/polkit/org.maple.mapled.policy \
		>$(DESTDIR)$(PREFIX)/share/polkit-1/actions/org.maple.mapled.policy
	for unit in mapletest mapled; do \
		install -m 644 -D packaging/systemd/$$unit.sysusers \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/$$unit.conf || exit; done
	install -m 644 $(O)/libmaple-agent.so $(DESTDIR)$(LIBDIR)/maple/
	install -m 755 $(O)/maple-canary $(DESTDIR)$(LIBDIR)/maple/
	install -m 644 $(O)/libmaple.so $(DESTDIR)$(LIBDIR)/libmaple.so.0
	ln -sf libmaple.so.0 $(DESTDIR)$(LIBDIR)/libmaple.so
	install -m 644 $(headers) $(DESTDIR)$(PREFIX)/include/maple/
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		packaging/maple.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/maple.pc
	for page in packaging/man/*; do \
		install -m 644 -D $$page \
		$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || \
		exit; done
	install -m 644 packaging/schema/*.json $(DESTDIR)$(PREFIX)/share/maple/
	install -m 644 packaging/ci/*.yml $(DESTDIR)$(PREFIX)/share/maple/ci/
	install -m 755 packaging/scale/*.sh $(DESTDIR)$(PREFIX)/share/maple/scale/
	install -m 644 packaging/scale/job.yaml packaging/scale/Containerfile \
		$(DESTDIR)$(PREFIX)/share/maple/scale/
	install -m 644 packaging/completion/mapletest.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/mapletest
	install -m 644 packaging/completion/_mapletest \
		$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/

deb:
	@tools/deps build deb
	$(Q)tools/deb $(O)

style:
	@tools/style

lint: all
	@tools/lint $(O)

clean:
	rm -rf $(O)

-include $(shell find $(O) -name '*.d' -type f 2>/dev/null)
