//! The state behind a page: linked policies, and runs.

use schedlab_measure::Headline;
use schedlab_policy::Policy;
use schedlab_report::{render_sections, Run};
use serde_json::{json, Value};

use crate::catalogue::catalogue;
use crate::chosen::Chosen;
use crate::request::{Mistake, Part, Request, SetUp};
use crate::run::{run, Progress, Ran};

/// Policies and runs.
#[derive(Default)]
pub struct Session {
    policies: Vec<Policy>,
    runs: Vec<Ran>,
}

impl Session {
    /// A session without policies.
    pub const fn new() -> Session {
        Session {
            policies: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds a policy; one of the same name is replaced.
    pub fn link(&mut self, policy: Policy) {
        self.policies.retain(|other| other.name() != policy.name());
        self.policies.push(policy);
        self.policies.sort_by_key(Policy::name);
    }

    /// The answer to a question in JSON: `{"ok": …}`, or `{"mistakes": [{part, index, line, message}, …]}`.
    pub fn answer(&mut self, question: &str, progress: &mut dyn FnMut(Progress)) -> String {
        let answered = match serde_json::from_str(question) {
            Ok(request) => self.dispatch(request, progress),
            Err(error) => Err(vec![general(error.to_string())]),
        };
        let answer = match answered {
            Ok(answer) => json!({ "ok": answer }),
            Err(mistakes) => {
                let mistakes: Vec<Value> = mistakes.iter().map(Mistake::json).collect();
                json!({ "mistakes": mistakes })
            }
        };
        answer.to_string()
    }

    fn dispatch(
        &mut self,
        request: Request,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Value, Vec<Mistake>> {
        match request {
            Request::Catalogue => Ok(catalogue(&self.policies)),
            Request::Check(set_up) => Chosen::read(&set_up, &self.policies).map(|_| json!({})),
            Request::Run { set_up, policy } => self.run(&set_up, policy, progress),
            Request::Moment { run, event } => {
                let found = self.runs.get(run).and_then(|ran| ran.record.moment(event));
                found.ok_or_else(|| vec![general("there is no such event".into())])
            }
            Request::Report => {
                let runs: Vec<Run> = self.runs.iter().map(|ran| ran.run.clone()).collect();
                Ok(json!({ "html": render_sections(&runs) }))
            }
        }
    }

    fn run(
        &mut self,
        set_up: &SetUp,
        policy: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Value, Vec<Mistake>> {
        let chosen = Chosen::read(set_up, &self.policies)?;
        let tuned = chosen.policies.get(policy);
        let tuned = tuned.ok_or_else(|| vec![general("there is no such policy".into())])?;
        let ran = run(set_up, &chosen, tuned, progress).map_err(|failed| {
            let (part, line, message) = (Part::Policy(policy), 0, failed.error.to_string());
            vec![Mistake {
                part,
                line,
                message,
            }]
        })?;
        let summary = ran.summary();
        self.runs.push(ran);
        Ok(summary)
    }
}

impl Ran {
    /// What the page shows at once.
    fn summary(&self) -> Value {
        let Ran {
            run,
            record,
            events,
            seed_used,
        } = self;
        json!({
            "label": label(run),
            "hash": run.trace_hash,
            "end": run.end,
            "duration_ns": run.duration_ns,
            "events": events,
            "trace_events": record.seen,
            "kept_events": record.events.len(),
            "kept_until_ns": record.end.0,
            "seed_used": seed_used,
            "headlines": headlines(run),
            "command": run.command,
            "warnings": run.warnings,
            "nr_cpus": record.info.nr_cpus,
            "tasks": record.tasks_json(),
            "columns": record.columns(),
        })
    }
}

/// The headlines with their values; those that the run does not have are left out.
fn headlines(run: &Run) -> Vec<Value> {
    let all = Headline::all([&run.metrics]);
    let valued = all.iter().filter_map(|headline| {
        let value = headline.value(&run.metrics)?;
        Some(json!({ "headline": headline, "value": value }))
    });
    valued.collect()
}

fn label(run: &Run) -> String {
    let parts = [run.policy.clone(), run.variant.clone(), run.tunables_text()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// A mistake of the page itself.
fn general(message: String) -> Mistake {
    Mistake {
        part: Part::Run,
        line: 0,
        message,
    }
}
