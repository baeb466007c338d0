#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measures the cost of schedulers in a real kernel and updates the tables of docs/overhead.md.
set -eu
cd "$(dirname "$0")/.."
schedlab=${SCHEDLAB:-${CARGO_TARGET_DIR:-target}/release/schedlab}
tables=$(mktemp)
page=$(mktemp)
trap 'rm -f "$tables" "$page"' EXIT

"$schedlab" vm --no-record --timeout 1h -- schedlab dev overhead --format markdown >"$tables"

# Replaces the text between the two marks.
awk -v tables="$tables" '
    /^<!-- tables end -->$/ { skip = 0 }
    !skip { print }
    /^<!-- tables -->$/ {
        skip = 1
        while ((getline line < tables) > 0) print line
    }
' docs/overhead.md >"$page"
cat "$page" >docs/overhead.md
