# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Fuzzers: each tests/fuzz/fuzz_*.c with what it feeds, built for libFuzzer
# with clang's address and undefined behaviour sanitizers.
#
# make fuzz       MAPLE_FUZZ_TIME seconds each (default: 20 minutes)

FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined

fuzzers := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_src := $(wildcard lib/*.c) $(call sources,$(addprefix lib/,base detached image trace wire \
	host memo report)) lib/backend/kernel/module/control.c \
	lib/backend/kernel/module/exchange.c lib/backend/kernel/module/forward.c \
	lib/backend/guard/door.c lib/backend/guard/warden.c lib/backend/guard/stop.c \
	lib/backend/guard/restart.c \
	lib/backend/process.c lib/backend/kernel/ebpf/uprobe.c \
	$(filter-out daemon/main.c,$(daemon_src))
fuzz_obj := $(fuzz_src:%.c=$(O)/fuzz/%.o)

$(O)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(CLANG) $(BASE) $(INCS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link \
		-c -o $@ $<

$(O)/fuzz/libfuzz.a: $(fuzz_obj)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(O)/fuzz/libfuzz.a
	$(call say,FUZZ,$<)
	$(Q)$(CLANG) $(BASE) $(INCS) $(FUZZ_FLAGS) -fsanitize=fuzzer -MF $@.d \
		-I. -o $@ $< $(O)/fuzz/libfuzz.a $(LIBS) -lsystemd

# maple.ko's stand-in
$(O)/fuzz/fuzz_request: private FUZZ_FLAGS += -Wl,--wrap=maple_module_open \
	-Wl,--wrap=maple_module_close -Wl,--wrap=maple_module_ask

.PHONY: fuzz
fuzz: deps-check
	@$(MAKE) --no-print-directory $(O)/tests/unit/test_wire $(fuzzers) \
		$(targets)
	@tests/fuzz/run $(O) $${MAPLE_FUZZ_TIME:-1200}
