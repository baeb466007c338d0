#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Apache with one process for each connection, as 2.0.49 was by default, and a page drawn by a script in it.
set -e
mkdir /tmp/www
cd /tmp/www
cat >calendar.lua <<'END'
local names = { "Mo", "Tu", "We", "Th", "Fr", "Sa", "Su" }

local function noon(year, month, day)
  return os.time { year = year, month = month, day = day, hour = 12 }
end

local function draw(r, year, month)
  local last = os.date("*t", noon(year, month + 1, 0)).day
  local before = (os.date("*t", noon(year, month, 1)).wday + 5) % 7
  r:puts("<table><tr><th>", table.concat(names, "<th>"), "<tr>", string.rep("<td>", before))
  for day = 1, last do
    r:puts(string.format('<td><a href="?day=%d-%02d-%02d">%d</a>', year, month, day, day))
    if (before + day) % 7 == 0 then r:puts("<tr>") end
  end
  r:puts("</table>")
end

function handle(r)
  r.content_type = "text/html"
  for month = 1, 12 do draw(r, 2005, month) end
  return apache2.OK
end
END
cat >httpd.conf <<'END'
ServerRoot /tmp/www
ServerName localhost
Listen 127.0.0.1:80
PidFile /tmp/www/pid
ErrorLog /tmp/www/errors
DocumentRoot /tmp/www
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule lua_module /usr/lib/apache2/modules/mod_lua.so
<Files calendar.lua>
SetHandler lua-script
</Files>
StartServers 150
MaxSpareServers 150
MaxRequestWorkers 150
END
apache2 -f /tmp/www/httpd.conf
while [ ! -e pid ]; do sleep 0.1; done
ab -c 150 -n 600 http://127.0.0.1/calendar.lua
