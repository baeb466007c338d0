//! Each row of each table: its numbers and their effect.

use schedlab_policy::{Policy, Tuned};

use super::*;

/// quantum, tqexp, slpret, maxwait, lwait
type Row = (i32, i32, i32, u32, i32);

type Table = fn(i32) -> Row;

/// The default table as the specification prints it.
fn solaris(row: i32) -> Row {
    let quantum = match row {
        0..=9 => 20,
        10..=19 => 16,
        20..=29 => 12,
        30..=39 => 8,
        40..=58 => 4,
        _ => 2,
    };
    let slpret = match row {
        0..=9 => 50,
        10..=19 => 51,
        20..=29 => 52,
        30..=34 => 53,
        35..=39 => 54,
        40..=44 => 55,
        45 => 56,
        46 => 57,
        47..=58 => 58,
        _ => 59,
    };
    let lwait = if row >= 49 { 59 } else { slpret };
    let maxwait = if row == 59 { 32000 } else { 0 };
    (quantum, (row - 10).max(0), slpret, maxwait, lwait)
}

/// The other table of Solaris.
fn large_server(row: i32) -> Row {
    let quantum = match row {
        0 => 40,
        1..=19 => 38,
        20..=40 => 36,
        _ => 34,
    };
    let tqexp = if row < 20 { row / 2 } else { row - 10 };
    let up = (row + 1).min(59);
    (quantum, tqexp, up, 2, up.max(40))
}

/// The manual's sample: 100 90 … 10; 0 0 1 1 …; 1 2 … 9 9; 5; as slpret.
fn sample(row: i32) -> Row {
    let up = (row + 1).min(9);
    (100 - 10 * row, row / 2, up, 5, up)
}

#[test]
fn every_row_is_that_of_the_specification() {
    let check = |variant: &str, rows: i32, expected: Table| {
        let tuned = Tuned::new(Policy::find("svr4").unwrap(), Some(variant), &[]).unwrap();
        let column = |name: &str, row: i32| tuned.table(name).unwrap()[row as usize] as i32;
        for row in 0..rows {
            let found = (
                column("quantum", row),
                column("tqexp", row),
                column("slpret", row),
                column("maxwait", row) as u32,
                column("lwait", row),
            );
            assert_eq!(found, expected(row), "{variant}, row {row}");
        }
    };
    check("solaris", 60, solaris);
    check("illumos", 60, solaris);
    check("large-server", 60, large_server);
    check("svr4.2", 10, sample);
}

/// The task runs its quantum to the last tick, no longer, and falls to tqexp with that row's quantum.
fn obeys_tqexp(variant: &str, row: i32, table: Table) {
    let mut m = Machine::new(&format!("svr4:{variant}"), 1, &[]);
    let task = m.start(&normal(0));
    m.schedule(0);
    let (quantum, tqexp, ..) = table(row);
    place(&m, task, row, quantum, 0);
    assert!(!m.ticks(0, quantum as u32 - 1), "row {row}");
    assert!(m.ticks(0, 1), "row {row}");
    assert_eq!(m.priority(task), tqexp, "row {row}");
    assert_eq!(m.schedule(0), Some(task));
    assert_eq!(
        standing(&m, task),
        (tqexp, tqexp, table(tqexp).0, 0),
        "row {row}"
    );
}

/// One update more than maxwait earns slpret at the next sleep; maxwait itself does not.
fn obeys_slpret(variant: &str, row: i32, table: Table) {
    let (_, _, slpret, maxwait, _) = table(row);
    let expected = [
        (maxwait, (row, row, 1, maxwait)),
        (maxwait + 1, (slpret, slpret, table(slpret).0, 0)),
    ];
    for (dispwait, after) in expected {
        let mut m = Machine::new(&format!("svr4:{variant}"), 1, &[]);
        let task = m.start(&normal(0));
        m.schedule(0);
        place(&m, task, row, 1, dispwait);
        m.block(0);
        assert_eq!(standing(&m, task), after, "row {row}");
    }
}

/// The update after maxwait of them raises a waiting task to lwait; it gets that row's quantum if it moved.
fn obeys_lwait(variant: &str, row: i32, table: Table) {
    let mut m = Machine::new(&format!("svr4:{variant}"), 1, &[]);
    let task = m.add(&normal(0));
    m.start(&real_time(Class::Fifo, 1));
    m.schedule(0);
    let (_, _, _, maxwait, lwait) = table(row);
    place(&m, task, row, 1, 0);
    m.wake(task);
    if maxwait > 0 {
        state(&m, task).dispwait = maxwait - 1;
        m.timer(0);
        assert_eq!(standing(&m, task), (row, row, 1, maxwait), "row {row}");
    }
    m.timer(0);
    let quantum = if lwait == row { 1 } else { table(lwait).0 };
    assert_eq!(standing(&m, task), (lwait, lwait, quantum, 0), "row {row}");
    assert_eq!(m.priority(task), lwait);
}

#[test]
fn every_row_is_obeyed() {
    let tables: [(&str, i32, Table); 3] = [
        ("solaris", 60, solaris),
        ("large-server", 60, large_server),
        ("svr4.2", 10, sample),
    ];
    for (variant, rows, table) in tables {
        for row in 0..rows {
            obeys_tqexp(variant, row, table);
            obeys_slpret(variant, row, table);
            obeys_lwait(variant, row, table);
        }
    }
}

#[test]
fn absurd_rows_are_refused() {
    let says = |set: &[(&str, i64)], message: &str| {
        let error = Machine::try_new("svr4", 1, set).err().expect("refused");
        let place = "policy svr4:solaris, hook init: policy_error: ";
        assert_eq!(error, format!("{place}{message}"));
    };
    says(
        &[("tqexp[10]", 11)],
        "tqexp is above its row: a task would gain by using up a quantum (row 10)",
    );
    says(
        &[("slpret[55]", 54)],
        "slpret is below its row: a task would lose by sleeping (row 55)",
    );
    says(
        &[("lwait[59]", 58)],
        "lwait is below its row: a task would lose by waiting (row 59)",
    );
    says(
        &[("levels", 50)],
        "the dispatch table leads to a level that it does not have (row 0)",
    );
    assert!(Machine::try_new("svr4", 1, &[("quantum[45]", 4), ("tqexp[10]", 10)]).is_ok());
}

/// upri = -3 * nice, added to cpupri 29 and kept within the table.
#[test]
fn nice_is_a_user_priority() {
    let mut m = Machine::new("svr4", 1, &[]);
    for (nice, upri, umdpri) in [
        (-20, 60, 59),
        (-15, 45, 59),
        (-10, 30, 59),
        (-5, 15, 44),
        (-1, 3, 32),
        (0, 0, 29),
        (5, -15, 14),
        (9, -27, 2),
        (10, -30, 0),
        (15, -45, 0),
        (19, -57, 0),
    ] {
        let task = m.add(&normal(nice));
        assert_eq!(state(&m, task).upri, upri, "nice {nice}");
        assert_eq!(state(&m, task).umdpri, umdpri, "nice {nice}");
    }
    // SVR4 had 20 user priorities each way.
    let mut m = Machine::new("svr4", 1, &[("maxupri", 20)]);
    let task = m.add(&normal(-15));
    assert_eq!(state(&m, task).upri, 15);
}

/// cpupri is the row of all columns but maxwait, which umdpri chooses: at nice -20 it is row 59's.
#[test]
fn cpupri_and_umdpri_are_different_rows() {
    let mut m = Machine::new("svr4", 1, &[]);
    let task = m.start(&normal(-20));
    m.schedule(0);
    assert_eq!(standing(&m, task), (29, 59, 12, 0));
    m.timer(0);
    m.block(0);
    assert_eq!(
        standing(&m, task),
        (29, 59, 12, 1),
        "1 is not more than 32000"
    );
    m.wake(task);
    m.schedule(0);
    assert!(!m.ticks(0, 11));
    assert!(m.ticks(0, 1));
    assert_eq!(
        state(&m, task).cpupri,
        19,
        "its own row says where it falls"
    );
    assert_eq!(m.priority(task), 59, "where it is does not change");
}
