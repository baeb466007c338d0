//! Control groups: trees, members, operations, and what is said of mistakes.

use schedlab_trace::{CpuMax, GroupWeight};

use super::{file, ops, parse, read};
use crate::{Op, SpecId};

const GROUPS: &str = "[group.web]\nweight = 300\n[group.db]\nparent = \"web\"\nquota = \"50ms\"\n[group.pod]\ncount = 2\nparent = \"db\"\n";

#[test]
fn groups_come_after_those_they_are_in() {
    let tables =
        format!("{GROUPS}[task.u]\ngroup = \"pod.1\"\nkind = \"other\"\nprogram = \"run 1ms\"");
    let program =
        "group web\ngroup root\nregroup u db\nweight db 7\nquota web 5ms 10ms\nquota db none";
    let workload = read(&file(&tables, program));
    let names: Vec<&str> = workload.control_groups.iter().map(|g| &*g.name).collect();
    assert_eq!(names, ["web", "db", "pod.0", "pod.1"]);
    let parents: Vec<Option<u32>> = workload.control_groups.iter().map(|g| g.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(1)]);
    let max = |quota_us, period_us| CpuMax {
        quota_us,
        period_us,
        burst_us: 0,
    };
    assert_eq!(workload.control_groups[1].max, Some(max(50_000, 100_000)));
    assert_eq!(workload.control_groups[0].weight, GroupWeight::Weight(300));
    let (t, u) = (&workload.tasks[0], &workload.tasks[1]);
    assert_eq!((t.control_group, &*t.group), (None, "t"));
    assert_eq!((u.control_group, &*u.group), (Some(3), "other"));
    assert_eq!(
        ops(&workload, "t"),
        [
            Op::SetGroup(Some(0)),
            Op::SetGroup(None),
            Op::Regroup(SpecId(1), Some(1)),
            Op::Weigh(1, GroupWeight::Weight(7)),
            Op::Limit(0, Some(max(5000, 10_000))),
            Op::Limit(1, None),
        ]
    );
}

#[test]
fn mistakes_about_groups_are_named() {
    for (tables, message) in [
        ("[group.a]\nparent = \"b\"\n[group.b]\nparent = \"a\"", "w.toml:3: group.a.parent: group \"a\" would be in itself; expected groups that end in the root"),
        ("[group.a]\nparent = \"a\"", "w.toml:3: group.a.parent: group \"a\" would be in itself; expected groups that end in the root"),
        ("[group.web]\n[group.b]\nparent = \"wep\"", "w.toml:4: group.b.parent: there is no group \"wep\"; expected one with a table [group.wep], or \"root\" (did you mean \"web\"?)"),
        ("[group.a]\nquota = \"0ms\"", "w.toml:3: group.a.quota: 0 ns is out of range; expected whole microseconds from 1.00 ms to 102 s, 1024 CPUs for the period"),
        ("[group.a]\nquota = \"200s\"", "w.toml:3: group.a.quota: 200 s is out of range; expected whole microseconds from 1.00 ms to 102 s, 1024 CPUs for the period"),
        ("[group.a]\nquota = \"20ms\"\nperiod = \"2s\"", "w.toml:4: group.a.period: 2.00 s is out of range; expected whole microseconds from 1.00 ms to 1.00 s"),
        ("[group.a]\nperiod = \"20ms\"", "w.toml:3: group.a.period: there is no quota; expected quota = \"20ms\" or the like beside it"),
        ("[group.a]\nweight = 0", "w.toml:3: group.a.weight: 0 is out of range; expected a whole number from 1 to 10000"),
        ("[group.a]\nweight = 10\nnice = 5", "w.toml:4: group.a.nice: the group's weight is given already; expected one of weight, shares, nice and idle"),
        ("[group.a]\nwieght = 10", "w.toml:3: group.a.wieght: unknown key; expected one of when, count, parent, weight, shares, nice, idle, quota, period, burst (did you mean \"weight\"?)"),
        ("[group.root]", "w.toml:2: group.root: the root is there already; expected another name"),
    ] {
        let error = parse("w.toml", &file(tables, "run 1ms")).unwrap_err().to_string();
        assert_eq!(error, message);
    }
    let tables = format!("{GROUPS}[task.u]\ngroup = \"pot.1\"\nprogram = \"run 1ms\"");
    let error = parse("w.toml", &file(&tables, "run 1ms"))
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("there is no group \"pot.1\"; expected one with a table [group.pot.1] (did you mean \"pod.1\"?)"), "{error}");
    let error = parse("w.toml", &file(GROUPS, "run 1ms\ngroup pod"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("there are 2 groups \"pod\""), "{error}");
}

#[test]
fn deep_trees_are_refused() {
    let mut tables = "[group.g0]\n".to_string();
    for n in 1..20 {
        tables += &format!("[group.g{n}]\nparent = \"g{}\"\n", n - 1);
    }
    let error = parse("w.toml", &file(&tables, "run 1ms"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("groups nest too deep; expected at most 16 levels"),
        "{error}"
    );
}

#[test]
fn autogroups_are_one_for_each_session() {
    let tables = "autogroup = true\n[group.mail]\nnice = 5\n[task.u]\nsession = \"mail\"\nprogram = \"run 1ms\"";
    let workload = read(&file(tables, "run 1ms"));
    let groups: Vec<(&str, GroupWeight)> = workload
        .control_groups
        .iter()
        .map(|g| (&*g.name, g.weight))
        .collect();
    assert_eq!(
        groups,
        [("mail", GroupWeight::Nice(5)), ("t", GroupWeight::Nice(0))]
    );
    assert_eq!(workload.tasks[0].control_group, Some(1));
    assert_eq!(workload.tasks[1].control_group, Some(0));
}
