#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# MariaDB with its files in memory: without its system tables it needs no installation.
set -e
mkdir -p /tmp/db/sbtest
cd /tmp/db
mariadbd --no-defaults --user=root --datadir=/tmp/db --socket=/tmp/db/socket --skip-networking \
    --skip-grant-tables --lc-messages-dir=/usr/share/mysql --innodb-buffer-pool-size=64M \
    --innodb-log-file-size=16M --innodb-stats-persistent=0 --innodb-use-native-aio=0 2>log &
while [ ! -e socket ]; do
    kill -0 $! || { cat log >&2; exit 1; }
    sleep 0.1
done
on_it() {
    sysbench oltp_read_write --mysql-socket=/tmp/db/socket --mysql-user=root --table-size=10000 \
        --rand-seed=1 --threads=8 --time=0 --events=300 "$1"
}
on_it prepare >/dev/null
on_it run
kill -KILL $!
