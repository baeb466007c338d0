//! Programs that exploit bonuses for sleepers, beside an editor, a browser and a hog.

use std::sync::Arc;

use crate::classic::{longest_wait, of, p99, table, under_all, STOCK};
use crate::prelude::*;

/// The machine of these tests.
pub const MACHINE: &str = "pentium-4-3ghz";

/// An attack: its workload, its tasks, and the claims about it.
pub struct Attack {
    /// A workload that comes with the program; its attackers are a group of the same name.
    pub name: &'static str,
    /// Tasks that attack.
    pub tasks: u32,
    /// "The O(1) scheduler is prone to it."
    pub prone: &'static str,
    /// "CFS is not."
    pub fair: &'static str,
}

/// A full slice of a task of nice 0 under O(1), in ns.
const SLICE_NS: f64 = 1e8;
/// The largest delay that users do not notice, by interbench's author: 7 ms, in ns.
const FELT_NS: f64 = 7e6;
const CFS: [&str; 2] = ["cfs:2.6.24", "cfs"];

impl Attack {
    /// Runs it under every policy, and the same without attackers, and judges both claims.
    pub fn run(&self, lab: &Lab, findings: &mut Findings) -> Result<Vec<Arc<CaseResult>>, Error> {
        let done = under_all(lab, findings, |policy| {
            Case::new(policy, MACHINE, self.name)
        })?;
        let calm = under_all(lab, findings, |policy| {
            Case::new(policy, MACHINE, "victims")
        })?;
        self.judge_prone(findings, &done);
        self.judge_fair(findings, &done, &calm);
        findings.table(self.table(&done));
        Ok(done)
    }

    /// The hog, the editor and the browser are tasks, too.
    fn tasks(&self) -> f64 {
        f64::from(self.tasks) + 3.0
    }

    /// With equal treatment a hog waits for a slice of each of the others.
    pub fn is_starved(&self, outcome: &CaseResult) -> bool {
        outcome.each(|m| longest_wait(m, "hog")).min() > 2.0 * self.tasks() * SLICE_NS
    }

    fn judge_prone(&self, findings: &mut Findings, done: &[Arc<CaseResult>]) {
        let stock = of(done, STOCK);
        let wait = stock.each(|m| longest_wait(m, "hog"));
        findings.judge(self.prone, &wait, Unit::Time, self.is_starved(stock));
    }

    fn judge_fair(
        &self,
        findings: &mut Findings,
        done: &[Arc<CaseResult>],
        calm: &[Arc<CaseResult>],
    ) {
        let key =
            |done: &[Arc<CaseResult>], policy: &str| of(done, policy).each(|m| p99(m, "keystroke"));
        let more = CFS.map(|policy| key(done, policy).minus(&key(calm, policy)).max());
        let share = CFS.map(|policy| of(done, policy).share("hog").min() * self.tasks());
        let text = format!(
            "keystrokes {} and {} later; the hog gets {} and {} of its part",
            Unit::Time.show(more[0]),
            Unit::Time.show(more[1]),
            Unit::Share.show(share[0]),
            Unit::Share.show(share[1]),
        );
        let unharmed =
            more.iter().all(|ns| *ns < FELT_NS) && share.iter().all(|share| *share > 0.9);
        findings.judge_text(self.fair, text, "", unharmed);
    }

    fn table(&self, done: &[Arc<CaseResult>]) -> Table {
        let fields = vec![
            Field::new("keystroke, 99 %", Unit::Time),
            Field::new("page, 99 %", Unit::Time),
            Field::new("the hog's share", Unit::Share),
            Field::new("the hog's longest wait", Unit::Time),
            Field::new("the attackers' share", Unit::Share),
        ];
        table(
            &format!("{} beside an editor, a browser and a hog", self.name),
            fields,
            done,
            |outcome| {
                vec![
                    outcome.each(|m| p99(m, "keystroke")).cell(),
                    outcome.each(|m| p99(m, "page")).cell(),
                    outcome.share("hog").cell(),
                    outcome.each(|m| longest_wait(m, "hog")).cell(),
                    outcome.share(self.name).cell(),
                ]
            },
        )
    }
}

/// How long the hog had to wait at most, a bar for each policy.
pub fn figure(title: &str, done: &[Arc<CaseResult>]) -> schedlab_report::svg::Figure {
    let bar = |outcome: &Arc<CaseResult>| BarGroup {
        name: outcome.case.policy.clone(),
        bars: vec![Bar {
            name: "longest wait".to_string(),
            style: Style::Series(0),
            value: outcome.each(|m| longest_wait(m, "hog")).median(),
            interval: None,
        }],
    };
    Bars {
        title: title.to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups: done.iter().map(bar).collect(),
    }
    .figure()
}
