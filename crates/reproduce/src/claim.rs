//! Claims and verdicts.

use serde::Serialize;

/// What became of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Verdict {
    /// It was seen here too.
    #[serde(rename = "holds")]
    Holds,
    /// It was not.
    #[serde(rename = "fails")]
    Fails,
    /// A simulator, or this one, cannot tell.
    #[serde(rename = "not testable here")]
    NotTestable,
}

impl Verdict {
    /// As it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
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
    /// From where to where it lies over the seeds; empty for a single seed.
    pub interval: String,
    /// What the paper says.
    pub paper: String,
    /// When it is said to hold here.
    pub criterion: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it fails or cannot be tested; empty where it holds.
    pub reason: String,
    /// What happens to it when a mechanism is taken away.
    pub ablations: Vec<Ablation>,
}

/// A claim's number with one thing changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ablation {
    /// What was changed ("exit_learning=0").
    pub change: String,
    /// What was measured then.
    pub measured: String,
    /// What that shows.
    pub lesson: String,
}
