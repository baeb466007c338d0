#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds the site: the playground, the documentation, the policies' pages and the results, as static files.
# usage: site/build.sh [FOLDER]     writes into FOLDER (default: out/site)
#
# The engine needs a Rust with the standard library for wasm32-unknown-unknown ("rustup target add
# wasm32-unknown-unknown"), or Debian's rustc-web, cargo-web and rust-web-src, with which it is compiled here.
# SITE_COMPILER=yes adds the compiler that runs in the page (npm, @yowasp/clang).
# Policies need clang and lld (CLANG, WASM_LD), the engine lld.
set -eu
cd "$(dirname "$0")/.."
out=${1:-out/site}
clang=${CLANG:-clang-19}
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/site"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="${WASM_LD:-wasm-ld-19}"
mkdir -p "$out/policies"

# Policies are linked into the engine's memory and its table of functions, and use its stack.
flags='-C link-arg=--export-table -C link-arg=--growable-table -C link-arg=--export=__stack_pointer'
engine() {
    RUSTFLAGS="$flags" "$@" --package schedlab-playground --profile site --target wasm32-unknown-unknown --crate-type cdylib --lib
}
if [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]; then
    engine cargo rustc
elif [ -d /usr/lib/rustlib/src/rust/library ]; then
    engine env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 /usr/bin/cargo rustc -Zbuild-std=std,panic_abort
else
    echo "site/build.sh: no Rust for wasm32-unknown-unknown: rustup target add wasm32-unknown-unknown, or apt install rustc-web cargo-web rust-web-src" >&2
    exit 5
fi
cp "$CARGO_TARGET_DIR/wasm32-unknown-unknown/site/schedlab_playground.wasm" "$out/engine.wasm"

# One module for each policy; see site/policy-flags.txt and site/engine.js, which links it.
for source in policies/*/*.c; do
    name=$(basename "$source" .c)
    [ "$(basename "$(dirname "$source")")" = "$name" ] || continue
    # shellcheck disable=SC2046
    "$clang" $(cat crates/native/src/cflags.txt site/policy-flags.txt) -g0 -w -Ipolicy -Ipolicies -Icrates/native/include \
        "-Wl,--export=schedlab_policy_$name" -o "$out/policies/$name.wasm" "$source"
done

# The page itself, and what it shares with reports.
cp site/*.html site/*.js site/*.css site/*.svg "$out/"
cp crates/report/templates/report.css crates/report/templates/report.js crates/report/src/svg/figure.css "$out/"
ls "$out"/policies/*.wasm | sed 's|.*/||; s|\.wasm$||' |
    awk 'BEGIN { printf "[" } { printf "%s\"%s\"", (NR > 1 ? "," : ""), $0 } END { print "]" }' >"$out/policies/names.json"

# What the page shows of policies and compiles: their files and the compiler's flags.
SITE_COMPILER=${SITE_COMPILER:-} site/sources.py >"$out/policies/sources.json"

# The compiler for the page: LLVM's clang and lld as WebAssembly, about 100 MB.
if [ -n "${SITE_COMPILER:-}" ]; then
    npm install --prefix out/site-compiler --no-audit --no-fund --no-save @yowasp/clang@22.0.0-git20542-10
    mkdir -p "$out/compiler"
    cp out/site-compiler/node_modules/@yowasp/clang/gen/* "$out/compiler/"
fi

# Pages of text.
cargo run --quiet --package schedlab-playground --example pages --target-dir "${CARGO_TARGET_DIR%/site}" -- "$out"
