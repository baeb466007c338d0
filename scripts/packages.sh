#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds the packages into out/packages, and installs and uses each in a bare Debian tree.
# usage: scripts/packages.sh [archive|debian]...        (no argument: both)
#
# schedlab_VERSION_ARCH.deb: the program with man pages, completions and the policies' sources.
# schedlab_VERSION_ARCH.ddeb: its debug information.
# schedlab-VERSION-ARCH.tar.gz: the program alone, without libelf; it cannot load policies into the kernel. It is no
# static program: a policy that is a C file is loaded with dlopen, which a static program cannot do reliably.
set -eu

cd "$(dirname "$0")/.."
out=$PWD/out/packages
built=${CARGO_TARGET_DIR:-target}/release/schedlab
MOST_BYTES=$((25 * 1024 * 1024))

fail() {
    echo "packages: $*" >&2
    exit 5
}

check_size() {
    bytes=$(stat --format=%s "$1")
    [ "$bytes" -le "$MOST_BYTES" ] || fail "$1 has $bytes bytes; at most $MOST_BYTES are allowed"
    echo "packages: $(basename "$1"): $((bytes / 1024)) KiB"
}

# A bare Debian of this machine's release in a folder.
bare() {
    command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing (apt-get install mmdebstrap)"
    . /etc/os-release
    mmdebstrap --quiet --variant=apt "$VERSION_CODENAME" "$1"
    inside "$1" apt-get update --quiet --quiet
}

# Runs a command in such a tree, with a /proc that ends with the command.
inside() {
    unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LC_ALL=C.UTF-8 "$@"' "$@"
}

# The program is used as its users do; its version names the commit it was built from.
use() {
    commit=$(git rev-parse --short=12 HEAD)
    inside "$1" "$2" --version | grep --quiet "($commit)" || fail "--version does not name $commit"
    inside "$1" "$2" compare --policies o1,eevdf --workload late --duration 1s --machine ideal-2 | grep --quiet eevdf
    inside "$1" "$2" sweep -o /tmp/a.db --policies o1 --workload hogs --vary o1.max_timeslice_ms=20,50 --duration 100ms |
        grep --quiet "2 runs done"
    inside "$1" "$2" report /tmp/a.db >/dev/null
}

# The program alone.
archive() {
    cargo build --release --package schedlab --no-default-features
    folder=schedlab-$("$built" --version | cut -d' ' -f2)-$(uname -m)
    rm -rf "$out"/schedlab-*.tar.gz
    mkdir "$out/$folder"
    strip -o "$out/$folder/schedlab" "$built"
    cp LICENSE README.md "$out/$folder"
    tar --create --gzip --owner=0 --group=0 --directory="$out" --file="$out/$folder.tar.gz" "$folder"
    rm -r "${out:?}/$folder"
    bare "$trees/archive"
    tar --extract --directory="$trees/archive/opt" --strip-components=1 --file="$out/$folder.tar.gz"
    check_size "$trees/archive/opt/schedlab"
    use "$trees/archive" /opt/schedlab
    echo "packages: the archive works in a bare Debian"
}

# The Debian package.
debian() {
    command -v cargo-deb >/dev/null || cargo install --locked cargo-deb
    cargo build --release --package schedlab
    share
    rm -f "$out"/*.deb "$out"/*.ddeb
    cargo deb --package schedlab --no-build --dbgsym --output "$out/"
    rm -r "$out/share"
    bare "$trees/debian"
    cp "$out"/schedlab_*.deb "$trees/debian/tmp/schedlab.deb"
    install_in "$trees/debian" /tmp/schedlab.deb
    check_size "$trees/debian/usr/bin/schedlab"
    use "$trees/debian" schedlab
    for file in man/man1/schedlab-sweep.1.gz bash-completion/completions/schedlab schedlab/policies/o1/o1.c; do
        [ -s "$trees/debian/usr/share/$file" ] || fail "the package has no $file"
    done
    # With a compiler, a policy of the package is a policy of the user's.
    install_in "$trees/debian" gcc libc6-dev
    inside "$trees/debian" sh -c "cd /tmp && schedlab new mine && schedlab run --policy mine/mine.c --workload hogs --duration 10ms" >/dev/null
    inside "$trees/debian" schedlab run --policy /usr/share/schedlab/policies/fifo/fifo.c --workload hogs --duration 10ms >/dev/null
    inside "$trees/debian" apt-get remove --quiet --quiet --yes schedlab >/dev/null
    [ ! -e "$trees/debian/usr/share/schedlab" ] || fail "removing the package leaves files"
    echo "packages: the Debian package works in a bare Debian"
}

# What the program writes for the Debian package: man pages and completions.
share() {
    rm -rf "$out/share"
    mkdir -p "$out/share/man"
    "$built" man "$out/share/man"
    gzip --best --no-name "$out/share/man"/*
    "$built" completions bash > "$out/share/schedlab.bash"
    "$built" completions zsh > "$out/share/_schedlab"
    "$built" completions fish > "$out/share/schedlab.fish"
}

install_in() {
    root=$1
    shift
    # The sandbox's user cannot read the package in /tmp.
    inside "$root" apt-get install --quiet --quiet --yes --no-install-recommends -o APT::Sandbox::User=root "$@" >/dev/null
}

trees=$(mktemp -d)
trap 'rm -rf "$trees"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$trees"
mkdir -p "$out"
for step in ${*:-archive debian}; do
    case $step in
    archive | debian) "$step" ;;
    *) echo "usage: scripts/packages.sh [archive|debian]..." >&2; exit 2 ;;
    esac
done
