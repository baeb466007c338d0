//! Claims and verdicts.

use std::fmt;

use serde::Serialize;

use crate::Region;

/// The verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Verdict {
    /// It is true here, too.
    #[serde(rename = "holds")]
    Holds,
    /// It is not true here.
    #[serde(rename = "fails")]
    Fails,
    /// It is true in a part of the region of what its paper does not state.
    #[serde(rename = "depends")]
    Depends,
    /// A simulator, or this one, cannot test it.
    #[serde(rename = "not testable here")]
    NotTestable,
}

impl Verdict {
    /// As it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Depends => "depends",
            Verdict::NotTestable => "not testable here",
        }
    }
}

/// A claim, judged.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// The experiment that judged it.
    pub experiment: String,
    /// The claim in a sentence.
    pub sentence: String,
    /// What was measured, with its unit; empty where nothing was.
    pub measured: String,
    /// Its interval over the seeds; empty for a single seed.
    pub interval: String,
    /// What the paper says.
    pub paper: String,
    /// The condition under which it holds here.
    pub criterion: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it fails or cannot be tested; empty where it holds.
    pub reason: String,
    /// Its number without a mechanism, or with another parameter.
    pub ablations: Vec<Ablation>,
    /// Where it holds, if that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

impl Claim {
    /// The figure of its region; empty without one.
    pub(crate) fn region_figure(&self) -> String {
        let region = self.region.as_ref();
        region.map_or_else(String::new, |region| region.figure(&self.id).inline())
    }
}

/// A claim's number with one thing changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ablation {
    /// What was changed ("exit_learning=0").
    pub change: String,
    /// What was measured then.
    pub measured: String,
    /// What this shows.
    pub lesson: String,
}

/// The number of claims with each verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verdicts {
    /// Claims that hold.
    pub holds: usize,
    /// Claims that fail.
    pub fails: usize,
    /// Claims that depend on what their papers do not state.
    pub depend: usize,
    /// Claims that cannot be tested here.
    pub not_testable: usize,
}

impl<'a> FromIterator<&'a Claim> for Verdicts {
    fn from_iter<I: IntoIterator<Item = &'a Claim>>(claims: I) -> Verdicts {
        let mut verdicts = Verdicts::default();
        for claim in claims {
            match claim.verdict {
                Verdict::Holds => verdicts.holds += 1,
                Verdict::Fails => verdicts.fails += 1,
                Verdict::Depends => verdicts.depend += 1,
                Verdict::NotTestable => verdicts.not_testable += 1,
            }
        }
        verdicts
    }
}

impl Verdicts {
    /// All claims.
    pub fn all(self) -> usize {
        self.holds + self.fails + self.depend + self.not_testable
    }
}

impl fmt::Display for Verdicts {
    /// "3 claims: 1 holds, 2 fail, 0 not testable here".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |n: usize, one: &'static str, many: &'static str| if n == 1 { one } else { many };
        write!(
            f,
            "{} {}: {} {}, {} {}, ",
            self.all(),
            one(self.all(), "claim", "claims"),
            self.holds,
            one(self.holds, "holds", "hold"),
            self.fails,
            one(self.fails, "fails", "fail"),
        )?;
        if self.depend > 0 {
            write!(
                f,
                "{} {}, ",
                self.depend,
                one(self.depend, "depends", "depend")
            )?;
        }
        write!(f, "{} not testable here", self.not_testable)
    }
}
