//! `[group.NAME]` tables: control groups.

use std::collections::BTreeMap;

use schedlab_input::{quantity, Diagnostic, Table};
use schedlab_trace::{CpuMax, GroupWeight, Ns};

use super::expression::Scope;
use super::filled::{applies, filled, integer};
use super::names::{check_name, MAX_THINGS};
use crate::{ControlGroup, MAX_GROUP_DEPTH};

const KEYS: [&str; 10] = [
    "when", "count", "parent", "weight", "shares", "nice", "idle", "quota", "period", "burst",
];

/// What the root is called.
pub(super) const ROOT: &str = "root";

/// cpu.max as cgroups begin, and what it can be (min_cfs_quota_period, max_cfs_quota_period; MAX_CPUS of them for the quota).
const USUAL_PERIOD: Ns = Ns::from_ms(100);
const LEAST: Ns = Ns::from_ms(1);
const LONGEST_PERIOD: Ns = Ns::from_ms(1000);
const MOST_CPUS: u64 = 1024;

const DURATION: &str = "a duration in quotes, such as \"20ms\"";

/// All control groups of a file.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<ControlGroup>,
    numbers: BTreeMap<String, u32>,
    /// Names of tables whose groups are numbered, with how many there are.
    counts: BTreeMap<String, u32>,
}

/// A group before its parent is known.
struct Draft {
    group: ControlGroup,
    /// What to say of its parent, if that is wrong.
    misplaced: Diagnostic,
    parent: Option<String>,
}

impl Groups {
    pub fn read(root: &Table<'_>, scope: &Scope) -> Result<Groups, Diagnostic> {
        let mut groups = Groups::default();
        let mut drafts = Vec::new();
        for (name, table) in root.tables("group")? {
            check_name(name).map_err(|problem| table.mistake("", problem))?;
            if name == ROOT {
                return Err(table
                    .mistake("", "the root is there already")
                    .expected("another name"));
            }
            let table = table.only(&KEYS)?;
            if !applies(&table, scope)? {
                continue;
            }
            let count = integer(&table, "count", 1..=i64::from(MAX_THINGS), scope)?;
            if let Some(count) = count {
                groups.counts.insert(name.to_string(), count as u32);
            }
            for i in 0..count.unwrap_or(1) as u32 {
                let scope = scope.of_instance(i, count.unwrap_or(1) as u32);
                let name = match count {
                    Some(_) => format!("{name}.{i}"),
                    None => name.to_string(),
                };
                drafts.push(draft(name, &table, &scope)?);
            }
        }
        groups.arrange(drafts)?;
        Ok(groups)
    }

    /// Numbers the groups, each after the one it is in, those of one depth in the order of their names.
    fn arrange(&mut self, mut drafts: Vec<Draft>) -> Result<(), Diagnostic> {
        let places: BTreeMap<String, usize> = (0..)
            .zip(&drafts)
            .map(|(place, draft)| (draft.group.name.clone(), place))
            .collect();
        let depths = (0..drafts.len())
            .map(|place| depth(&drafts, &places, place))
            .collect::<Result<Vec<_>, _>>()?;
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        order.sort_by_key(|&place| depths[place]);
        for place in order {
            let draft = &mut drafts[place];
            draft.group.parent = draft.parent.as_ref().map(|parent| self.numbers[parent]);
            self.add(draft.group.clone());
        }
        Ok(())
    }

    fn add(&mut self, group: ControlGroup) -> u32 {
        let number = self.all.len() as u32;
        self.numbers.insert(group.name.clone(), number);
        self.all.push(group);
        number
    }

    /// Does the file declare any?
    pub fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// The group of this name; none for the root.
    pub fn find(&self, name: &str) -> Result<Option<u32>, Diagnostic> {
        if name == ROOT {
            return Ok(None);
        }
        self.number(name).map(Some)
    }

    /// The group of this name, which is not the root.
    pub fn number(&self, name: &str) -> Result<u32, Diagnostic> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if let Some(count) = self.counts.get(name) {
            return Err(
                Diagnostic::new(format!("there are {count} groups \"{name}\""))
                    .expected(format!("one of them, such as \"{name}.0\"")),
            );
        }
        Err(Diagnostic::new(format!("there is no group \"{name}\""))
            .expected(format!("one with a table [group.{name}]"))
            .suggest(name, self.numbers.keys().map(String::as_str)))
    }

    /// The autogroup of a session: the group of its name, or one that weighs as much as a task.
    pub fn of_session(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.add(ControlGroup {
            name: name.to_string(),
            parent: None,
            weight: GroupWeight::Nice(0),
            max: None,
        })
    }

    pub fn finish(self) -> Vec<ControlGroup> {
        self.all
    }
}

/// How many groups this one is in.
fn depth(
    drafts: &[Draft],
    places: &BTreeMap<String, usize>,
    place: usize,
) -> Result<usize, Diagnostic> {
    let misplaced = |place: usize, problem: String| Diagnostic {
        problem,
        ..drafts[place].misplaced.clone()
    };
    let (mut depth, mut at) = (0, place);
    while let Some(parent) = &drafts[at].parent {
        let Some(&next) = places.get(parent) else {
            let problem = format!("there is no group \"{parent}\"");
            return Err(misplaced(at, problem)
                .expected(format!("one with a table [group.{parent}], or \"{ROOT}\""))
                .suggest(parent, places.keys().map(String::as_str)));
        };
        if next == place {
            let name = &drafts[place].group.name;
            let problem = format!("group \"{name}\" would be in itself");
            return Err(misplaced(place, problem).expected("groups that end in the root"));
        }
        depth += 1;
        if depth > drafts.len() {
            // A cycle that this group leads into; its members are told.
            return Ok(depth);
        }
        at = next;
    }
    if depth >= MAX_GROUP_DEPTH {
        return Err(misplaced(place, "groups nest too deep".to_string())
            .expected(format!("at most {MAX_GROUP_DEPTH} levels")));
    }
    Ok(depth)
}

fn draft(name: String, table: &Table<'_>, scope: &Scope) -> Result<Draft, Diagnostic> {
    let parent = filled(table, "parent", "the name of a group", scope, |text| {
        Ok(text.to_string())
    })?;
    let group = ControlGroup {
        name,
        parent: None,
        weight: weight(table, scope)?,
        max: limit(table, scope)?,
    };
    Ok(Draft {
        group,
        misplaced: table.mistake("parent", ""),
        parent: parent.filter(|parent| parent != ROOT),
    })
}

fn weight(table: &Table<'_>, scope: &Scope) -> Result<GroupWeight, Diagnostic> {
    let weight = integer(table, "weight", 1..=10_000, scope)?;
    let shares = integer(table, "shares", 2..=262_144, scope)?;
    let nice = integer(table, "nice", -20..=19, scope)?;
    let idle = table.boolean("idle")?.unwrap_or(false);
    let said = [
        weight.map(|weight| ("weight", GroupWeight::Weight(weight as u16))),
        shares.map(|shares| ("shares", GroupWeight::Shares(shares as u32))),
        nice.map(|nice| ("nice", GroupWeight::Nice(nice as i8))),
        idle.then_some(("idle", GroupWeight::Idle)),
    ];
    let mut said = said.into_iter().flatten();
    let first = said.next().map(|(_, weight)| weight);
    match said.next() {
        Some((key, _)) => Err(table
            .mistake(key, "the group's weight is given already")
            .expected("one of weight, shares, nice and idle")),
        None => Ok(first.unwrap_or_default()),
    }
}

fn limit(table: &Table<'_>, scope: &Scope) -> Result<Option<CpuMax>, Diagnostic> {
    let period = filled(table, "period", DURATION, scope, quantity::duration)?;
    let burst = filled(table, "burst", DURATION, scope, quantity::duration)?;
    let Some(quota) = filled(table, "quota", DURATION, scope, quantity::duration)? else {
        for (key, value) in [("period", period), ("burst", burst)] {
            if value.is_some() {
                return Err(table
                    .mistake(key, "there is no quota")
                    .expected("quota = \"20ms\" or the like beside it"));
            }
        }
        return Ok(None);
    };
    let period = period.unwrap_or(USUAL_PERIOD);
    check_period(period).map_err(|mistake| place(table, "period", mistake))?;
    check_quota(quota, period).map_err(|mistake| place(table, "quota", mistake))?;
    let burst = burst.unwrap_or(Ns::ZERO);
    if burst > quota || burst.0 % 1000 != 0 {
        return Err(table
            .mistake("burst", format!("{burst} is out of range"))
            .expected(format!("whole microseconds, at most the quota of {quota}")));
    }
    Ok(Some(cpu_max(quota, period, burst)))
}

fn place(table: &Table<'_>, key: &str, mistake: Diagnostic) -> Diagnostic {
    Diagnostic {
        expected: mistake.expected,
        ..table.mistake(key, mistake.problem)
    }
}

fn check_period(period: Ns) -> Result<(), Diagnostic> {
    if (LEAST..=LONGEST_PERIOD).contains(&period) && period.0 % 1000 == 0 {
        return Ok(());
    }
    Err(
        Diagnostic::new(format!("{period} is out of range")).expected(format!(
            "whole microseconds from {LEAST} to {LONGEST_PERIOD}"
        )),
    )
}

fn check_quota(quota: Ns, period: Ns) -> Result<(), Diagnostic> {
    let most = Ns(period.0 * MOST_CPUS);
    if (LEAST..=most).contains(&quota) && quota.0 % 1000 == 0 {
        return Ok(());
    }
    Err(
        Diagnostic::new(format!("{quota} is out of range")).expected(format!(
            "whole microseconds from {LEAST} to {most}, {MOST_CPUS} CPUs for the period"
        )),
    )
}

fn cpu_max(quota: Ns, period: Ns, burst: Ns) -> CpuMax {
    CpuMax {
        quota_us: (quota.0 / 1000) as u32,
        period_us: (period.0 / 1000) as u32,
        burst_us: (burst.0 / 1000) as u32,
    }
}

/// The words of a statement: a quota and perhaps its period, or "none".
pub(super) fn read_limit(words: &[&str]) -> Result<Option<CpuMax>, Diagnostic> {
    if words == ["none"] {
        return Ok(None);
    }
    let quota = quantity::duration(words[0])?;
    let period = words.get(1).map(|text| quantity::duration(text));
    let period = period.transpose()?.unwrap_or(USUAL_PERIOD);
    check_period(period)?;
    check_quota(quota, period)?;
    Ok(Some(cpu_max(quota, period, Ns::ZERO)))
}
