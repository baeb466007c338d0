#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# usage: redis.sh redis-server redis-benchmark
# Runs a server and eight clients over loopback TCP.
set -e
"$1" --save '' --port 6400 --dir /tmp >/tmp/log &
server=$!
until nc -w 1 127.0.0.1 6400 </dev/null >/dev/null 2>&1; do sleep 0.05; done
"$2" -p 6400 -c 8 -n 1000 -t set,get -q
kill $server
wait $server || true
