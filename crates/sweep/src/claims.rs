//! Claims: which process executes which run.

use std::fs;

use rusqlite::{params, Connection, OptionalExtension, Transaction};

use crate::batch::Setup;
use crate::store::Claim;

/// Claims a run for this process, unless it is done or claimed.
pub(crate) fn claim(
    tx: &Transaction,
    owner: i64,
    setup: &Setup,
    seed: u64,
    key: &str,
) -> rusqlite::Result<Claim> {
    let done = tx
        .prepare_cached("SELECT 1 FROM run WHERE key = ?")?
        .exists([key])?;
    if done {
        return Ok(Claim::Done);
    }
    // If a run of this set-up drew no random number, its result holds for all seeds.
    let sibling = tx
        .prepare_cached(
            "SELECT run.id FROM run JOIN setup ON setup.id = run.setup WHERE setup.hash = ? AND seed_used = 0 LIMIT 1",
        )?
        .query_row([setup.hash.to_string()], |row| row.get::<_, i64>(0))
        .optional()?;
    if let Some(sibling) = sibling {
        copy(tx, sibling, key, seed)?;
        return Ok(Claim::Done);
    }
    let other = tx
        .prepare_cached("SELECT owner FROM claim WHERE key = ?")?
        .query_row([key], |row| row.get::<_, i64>(0))
        .optional()?;
    match other {
        Some(other) if other != owner && is_alive(tx, other)? => return Ok(Claim::Theirs),
        Some(other) if other != owner => died(tx, other, key)?,
        _ => {}
    }
    tx.prepare_cached("INSERT OR REPLACE INTO claim VALUES (?, ?)")?
        .execute(params![key, owner])?;
    Ok(Claim::Ours)
}

/// Records that the process that executed this run died during it.
fn died(tx: &Connection, owner: i64, key: &str) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO crash SELECT ?, 1 FROM owner WHERE id = ? AND NOT elsewhere
         ON CONFLICT (key) DO UPDATE SET times = times + 1",
        params![key, owner],
    )
    .map(|_| ())
}

/// Removes the claims of processes that have ended.
pub(crate) fn forget_dead(tx: &Transaction) -> rusqlite::Result<()> {
    let owners: Vec<i64> = tx
        .prepare("SELECT id FROM owner")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for owner in owners {
        if is_alive(tx, owner)? {
            continue;
        }
        let keys: Vec<String> = tx
            .prepare("SELECT key FROM claim WHERE owner = ?")?
            .query_map([owner], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for key in keys {
            died(tx, owner, &key)?;
        }
        tx.execute("DELETE FROM claim WHERE owner = ?", [owner])?;
        tx.execute("DELETE FROM owner WHERE id = ?", [owner])?;
    }
    Ok(())
}

/// Removes a claim, with or without a result.
pub(crate) fn end_claim(tx: &Connection, key: &str) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM claim WHERE key = ?")?
        .execute([key])?;
    Ok(())
}

/// Registers this process in the file; `elsewhere` if others execute its runs.
pub(crate) fn new_owner(tx: &Transaction, elsewhere: bool) -> rusqlite::Result<i64> {
    let pid = std::process::id();
    let started = started(pid).unwrap_or_default();
    tx.execute(
        "INSERT INTO owner (boot, pid, started, elsewhere) VALUES (?, ?, ?, ?)",
        params![boot(), pid, started, elsewhere],
    )?;
    Ok(tx.last_insert_rowid())
}

/// Does the process of a claim still run? A reused process id has another start time.
fn is_alive(tx: &Connection, owner: i64) -> rusqlite::Result<bool> {
    let known = tx
        .query_row(
            "SELECT boot, pid, started FROM owner WHERE id = ?",
            [owner],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, u32>(1)?,
                    row.get::<_, String>(2)?,
                ))
            },
        )
        .optional()?;
    Ok(known.is_some_and(|(was, pid, began)| was == boot() && started(pid) == Some(began)))
}

/// An identifier of the machine's current boot.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_string()
}

/// Start time of a process in ticks since the boot; `None` if there is no such process.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; the 22nd field is the 20th after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_gone = matches!(*fields.first()?, "Z" | "X");
    (!is_gone).then(|| fields.get(19).map(|ticks| (*ticks).to_string()))?
}

/// Copies the result of another seed to this seed.
fn copy(tx: &Transaction, sibling: i64, key: &str, seed: u64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO run (key, setup, seed, seed_used, trace_hash, ended, error)
         SELECT ?, setup, ?, seed_used, trace_hash, ended, error FROM run WHERE id = ?",
    )?
    .execute(params![key, seed.to_string(), sibling])?;
    let run = tx.last_insert_rowid();
    tx.prepare_cached("INSERT INTO value SELECT ?, metric, value FROM value WHERE run = ?")?
        .execute([run, sibling])?;
    Ok(())
}
