#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# usage: nginx.sh nginx ab
# Runs a web server with one process for eight clients.
set -e
mkdir -p /tmp/www /var/lib/nginx /var/log/nginx
printf '%4000s' page >/tmp/www/index.html
cat >/tmp/nginx.conf <<CONFIGURATION
user root root;
daemon off;
master_process off;
pid /tmp/pid;
error_log /tmp/error;
events { worker_connections 64; }
http {
    access_log off;
    server { listen 127.0.0.1:8080; root /tmp/www; }
}
CONFIGURATION
"$1" -c /tmp/nginx.conf &
server=$!
until nc -w 1 127.0.0.1 8080 </dev/null >/dev/null 2>&1; do sleep 0.05; done
"$2" -q -n 400 -c 8 http://127.0.0.1:8080/index.html
kill $server
wait $server || true
