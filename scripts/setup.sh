#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs missing Debian packages; does nothing if none is missing.
# usage: scripts/setup.sh demo|check|test|ci|bench|servers|whatif|site|site-test
set -eu

case "${1:-}" in
demo) wanted="cc python3 clang-19 libelf zlib" ;;
check) wanted="cc clang-19 libelf zlib" ;;
ci) wanted="cc clang-19 libelf zlib libzstd liblzma libsqlite3" ;;
bench) wanted="cc python3 clang-19 libelf zlib valgrind" ;;
test) wanted="cc gcc clang-19 libelf zlib python3 python-venv chromium qemu-system-x86_64 busybox" ;;
whatif) wanted="qemu-system-x86_64 busybox redis-server redis-benchmark nginx ab sysbench xz" ;;
site) wanted="cc clang-19 wasm-ld-19 wasm-std" ;;
site-test) wanted="chromium node npm" ;;
servers) wanted="qemu-system-x86_64 busybox apache2 ab mariadbd sysbench" ;;
*) echo "usage: scripts/setup.sh demo|check|test|ci|bench|servers|whatif|site|site-test" >&2; exit 2 ;;
esac

# Is a tool present?  Tests the command, not the package: it may be installed in another way.
have() {
    case $1 in
    chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    wasm-std) [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] || [ -d /usr/lib/rustlib/src/rust/library ] ;;
    python-venv) python3 -c 'import ensurepip, venv' ;;
    libelf) echo '#include <libelf.h>' | ${CC:-cc} -E - ;;
    zlib) echo '#include <zlib.h>' | ${CC:-cc} -E - ;;
    libzstd | liblzma) pkg-config --exists "$1" ;;
    libsqlite3) pkg-config --exists sqlite3 ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# The Debian package of a tool; for a C compiler also the C library's headers.
package() {
    case $1 in
    cc | gcc) echo gcc libc6-dev ;;
    qemu-system-x86_64) echo qemu-system-x86 ;;
    busybox) echo busybox-static ;;
    apache2) echo apache2-bin ;;
    ab) echo apache2-utils ;;
    redis-benchmark) echo redis-tools ;;
    nginx) echo nginx-light ;;
    xz) echo xz-utils ;;
    mariadbd) echo mariadb-server-core ;;
    wasm-ld-19) echo lld-19 ;;
    wasm-std) echo rustc-web cargo-web rust-web-src ;;
    node) echo nodejs ;;
    python-venv) echo python3-venv ;;
    libelf) echo libelf-dev pkg-config ;;
    zlib) echo zlib1g-dev ;;
    libzstd | liblzma | libsqlite3) echo "$1-dev pkg-config" ;;
    *) echo "$1" ;;
    esac
}

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: Rust is missing: see https://rustup.rs" >&2
    exit 1
fi

packages=
for tool in $wanted; do
    have "$tool" || packages="$packages $(package "$tool")"
done
if [ -z "$packages" ]; then
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: please install the equivalents of these Debian packages:$packages" >&2
    exit 1
elif [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "setup: please install, as root:  apt-get install$packages" >&2
    exit 1
fi

echo "setup: installing$packages"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -qq update
# shellcheck disable=SC2086  # a list of packages
$as_root apt-get -qq install --yes --no-install-recommends $packages >/dev/null

for tool in $wanted; do
    have "$tool" || { echo "setup: $tool is still missing" >&2; exit 1; }
done
