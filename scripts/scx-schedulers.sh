#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs published sched_ext schedulers for tests, unmodified, with package managers only:
#     scx-schedulers.sh [NAME...]
# scx_simple, scx_qmap, scx_central and scx_flatcg are compiled from Debian's linux-source-6.12, all others are
# installed from the Rust package registry.  They go to $SCHEDLAB_SCX (default: ~/.cache/schedlab/scx), programs in bin/,
# the kernel's BPF objects in obj/; existing files are kept.  Needs clang-19, make, gcc, bison, flex, libelf-dev,
# zlib1g-dev, zstd, cargo and apt.  Nothing of it is part of schedlab.  If a
# scheduler cannot be installed, the script names it and ends with exit status 1.
set -u
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(scx_simple scx_qmap scx_central scx_flatcg scx_bpfland scx_tickless)
cache=${SCHEDLAB_SCX:-${XDG_CACHE_HOME:-$HOME/.cache}/schedlab/scx}
clang=${BPF_CLANG:-clang-19}
kernel=linux-source-6.12
status=0
mkdir -p "$cache/bin" "$cache/obj"

skip() {
	echo "scx-schedulers.sh: SKIPPED $1: $2" >&2
	status=1
}

# The kernel's types for the compiler; the crate scx_cargo contains them.
types() {
	[ -f "$cache/vmlinux.h" ] && return
	cargo info -q scx_cargo@1.1.4 > /dev/null 2>&1
	local crate
	crate=$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/scx_cargo-1.1.4 2> /dev/null | head -1)
	[ -n "$crate" ] && mkdir -p "$cache/types" && tar -C "$cache/types" -xf "$crate/vmlinux.tar.zst" &&
		cp "$cache/types/vmlinux/arch/x86/vmlinux.h" "$cache/vmlinux.h"
}

# The schedulers of tools/sched_ext.
from_kernel() {
	types || return
	local at=$cache/kernel
	if [ ! -d "$at/tools/sched_ext" ]; then
		mkdir -p "$at/package" && cd "$at/package" && apt-get -q download "$kernel" > /dev/null &&
			dpkg-deb -x linux-source*.deb . &&
			tar -C "$at" --strip-components=1 --wildcards -xf usr/src/$kernel.tar.xz "$kernel/tools/*" "$kernel/scripts/*" \
				"$kernel/kernel/bpf/*" "$kernel/include/*" "$kernel/Makefile" || return
	fi
	# The types of newer kernels lack this flag.  GNU binutils replace the tools of a full LLVM.
	make -s -C "$at/tools/sched_ext" LLVM="-${clang##*-}" CLANG="$clang -DSCX_OPS_HAS_CGROUP_WEIGHT=65536" LD=ld AR=ar NM=nm \
		STRIP=strip HOSTAR=ar HOSTLD=ld HOSTCC=gcc LLVM_STRIP=true VMLINUX_H="$cache/vmlinux.h" > "$cache/kernel.log" 2>&1 || return
	cp "$at"/tools/sched_ext/build/bin/* "$cache/bin/" && cp "$at"/tools/sched_ext/build/obj/sched_ext/scx_*.bpf.o "$cache/obj/"
}

for name in "${names[@]}"; do
	[ -x "$cache/bin/$name" ] && continue
	case $name in
	scx_simple | scx_qmap | scx_central | scx_flatcg)
		(from_kernel) && [ -x "$cache/bin/$name" ] || skip "$name" "$kernel cannot be had or compiled (see $cache/kernel.log)"
		;;
	*)
		BPF_CLANG=$clang CARGO_TARGET_DIR=$cache/target cargo install -q --locked --root "$cache" "$name" ||
			skip "$name" "cargo install failed"
		;;
	esac
done
exit $status
