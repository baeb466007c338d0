#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# usage: pipeline.sh xz FILE
# Runs three pipelines of cat, xz and wc at the same time.
for n in 1 2 3; do
    head -c 600000 "$2" | "$1" -0 -c | wc -c &
done
wait
