#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# usage: build.sh make gcc CC1 as
# Compiles eight small preprocessed C files, four at a time.
set -e
mkdir -p /tmp/build
cd /tmp/build
for n in 1 2 3 4 5 6 7 8; do
    for f in 1 2 3 4 5 6 7 8 9 10 11 12; do
        echo "int f${n}_$f(int a, int *b) { int s = 0; for (int i = 0; i < a; i++) s += b[i] * $f + (b[a - i] ^ s); return s; }"
    done >"c$n.i"
done
printf 'all: %s\n%%.o: %%.i\n\t%s -O2 -c $< -o $@\n' "$(echo c1.o c2.o c3.o c4.o c5.o c6.o c7.o c8.o)" "$2" >Makefile
"$1" -s -j4
