#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# usage: redis.sh redis-server redis-benchmark
# A server and eight clients over loopback TCP.
set -e
"$1" --save '' --port 6400 --dir /tmp >/tmp/log &
until "$2" -p 6400 -c 1 -n 1 -t ping -q >/dev/null 2>&1; do sleep 0.02; done
"$2" -p 6400 -c 8 -n 1000 -t set,get -q
kill %1
wait
