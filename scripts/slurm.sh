#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The Slurm array of examples/cluster on a real slurmctld and slurmd on the loopback interface: its merged results must
# be those of "schedlab sweep --jobs 1".
# usage: SCHEDLAB=PATH scripts/slurm.sh        (Debian: slurmctld slurmd slurm-client munge)
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
schedlab=$(realpath "${SCHEDLAB:-${CARGO_TARGET_DIR:-$top/target}/release/schedlab}")
PATH=$PATH:/usr/sbin
for program in "$schedlab" slurmctld slurmd sbatch munged python3; do
    command -v "$program" >/dev/null || { echo "slurm: $program is missing" >&2; exit 5; }
done

at=$(mktemp -d)
pids=
stop() {
    status=$?
    trap - EXIT
    if [ "$status" -ne 0 ]; then tail -n 20 "$at"/*.log "$at"/work/slurm-*.out >&2 || true; fi
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$at"
    exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$at"
mkdir -m 755 "$at/munge"
mkdir "$at/state" "$at/spool" "$at/work" "$at/bin"
ln -s "$schedlab" "$at/bin/schedlab"

head -c 1024 /dev/urandom > "$at/munge.key"
chmod 400 "$at/munge.key"
munged --foreground --force --key-file="$at/munge.key" --socket="$at/munge/socket" --pid-file="$at/munge/pid" \
    --seed-file="$at/munge.seed" --log-file="$at/munged.log" 2>"$at/munged-err.log" &
pids="$! $pids"

user=$(id -un)
node=$(hostname -s)
cat > "$at/slurm.conf" <<END
ClusterName=loopback
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$at/munge/socket
CredType=cred/munge
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
SLURM_CONF=$at/slurm.conf
export SLURM_CONF
slurmctld -D -L "$at/slurmctld.log" 2>"$at/slurmctld-err.log" &
pids="$! $pids"
slurmd -D -N "$node" -L "$at/slurmd.log" 2>"$at/slurmd-err.log" &
pids="$! $pids"

tries=0
until sinfo --noheader --format=%T 2>/dev/null | grep -q idle; do
    tries=$((tries + 1))
    if [ "$tries" -gt 60 ]; then echo "slurm: the node is not ready" >&2; exit 5; fi
    sleep 1
done

cd "$at/work"
cp "$top/examples/cluster/plan.toml" "$top/examples/cluster/slurm.sh" .
PATH=$at/bin:$PATH
# One CPU each: the example's four may be more than this machine has.
sbatch --wait --cpus-per-task=1 slurm.sh
schedlab merge part-*.db -o all.db
schedlab sweep plan.toml -o local.db --jobs 1
python3 - <<'END'
import sqlite3

RUNS = """SELECT key, hash, labels, command, seed, seed_used, trace_hash, ended, error
  FROM run JOIN setup ON setup.id = run.setup ORDER BY key"""
VALUES = """SELECT key, name, value FROM value JOIN metric ON metric.id = value.metric JOIN run ON run.id = value.run
  ORDER BY key, name"""
merged, local = ([sqlite3.connect(file).execute(query).fetchall() for query in (RUNS, VALUES)] for file in ("all.db", "local.db"))
if merged != local or not local[0]:
    raise SystemExit("slurm: the merged results differ from those of one process")
print(f"slurm: {len(local[0])} runs and {len(local[1])} values are those of one process")
END
