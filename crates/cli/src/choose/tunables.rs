//! `--set NAME=VALUE`: which policy gets which value.

use schedlab_input::{nearest, Diagnostic};
use schedlab_policy::Tuned;

/// Most names a message lists.
const MOST_NAMES: usize = 12;

/// Everything the user set.
pub struct Assignments(Vec<Assignment>);

/// One `--set`.
struct Assignment {
    /// As it was written.
    text: String,
    /// The policy or POLICY:VARIANT it is for; none: each that has such a tunable.
    scope: Option<String>,
    name: String,
    value: i64,
}

impl Assignments {
    /// Reads `--set` flags.
    pub fn parse(texts: &[String]) -> Result<Assignments, Diagnostic> {
        let parsed = texts.iter().map(|text| Assignment::parse(text));
        parsed.collect::<Result<_, _>>().map(Assignments)
    }

    /// Refuses an assignment that concerns none of `policies`.
    pub fn check(&self, policies: &[Tuned]) -> Result<(), Diagnostic> {
        self.0.iter().try_for_each(|set| set.check(policies))
    }

    /// What one of several policies gets.
    pub fn of(&self, policy: &Tuned) -> Vec<(String, i64)> {
        let mine = self.0.iter().filter(|set| set.concerns(policy));
        mine.map(|set| (set.name.clone(), set.value)).collect()
    }

    /// The assignments as they were written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|set| set.text.as_str())
    }
}

impl Assignment {
    fn parse(text: &str) -> Result<Assignment, Diagnostic> {
        let mistake = |problem: String| {
            Diagnostic::new(problem)
                .at("--set", 0)
                .expected("NAME=VALUE or POLICY.NAME=VALUE, VALUE being a whole number")
        };
        let (target, value) = text
            .split_once('=')
            .ok_or_else(|| mistake(format!("\"{text}\" has no \"=\"")))?;
        let value = value
            .parse()
            .map_err(|_| mistake(format!("\"{value}\" is not a whole number")).key(target))?;
        // A variant may hold dots, a tunable cannot.
        let (scope, name) = match target.rsplit_once('.') {
            Some((scope, name)) => (Some(scope.to_string()), name),
            None => (None, target),
        };
        Ok(Assignment {
            text: text.to_string(),
            scope,
            name: name.to_string(),
            value,
        })
    }

    fn concerns(&self, policy: &Tuned) -> bool {
        match &self.scope {
            Some(scope) => *scope == policy.policy.name() || *scope == policy.name(),
            None => policy.get(&self.name).is_some(),
        }
    }

    fn check(&self, policies: &[Tuned]) -> Result<(), Diagnostic> {
        let mistake = |problem: String| Diagnostic::new(problem).at("--set", 0).key(&self.name);
        let meant: Vec<&Tuned> = match &self.scope {
            Some(_) => policies.iter().filter(|p| self.concerns(p)).collect(),
            None => policies.iter().collect(),
        };
        if meant.is_empty() {
            let names: Vec<String> = policies.iter().map(Tuned::name).collect();
            let scope = self.scope.as_deref().unwrap_or_default();
            return Err(mistake(format!("\"{scope}\" is not a policy of this run"))
                .expected(names.join(", "))
                .suggest(scope, names.iter().map(String::as_str)));
        }
        if meant.iter().any(|p| p.get(&self.name).is_some()) {
            return Ok(());
        }
        let names: Vec<&str> = meant
            .iter()
            .flat_map(|p| p.policy.tunables())
            .map(|t| t.name)
            .collect();
        let policies: Vec<String> = meant.iter().map(|p| p.name()).collect();
        Err(Diagnostic {
            nearest: nearest(&self.name, names.iter().copied()),
            ..mistake(format!("{} has no such tunable", policies.join(", ")))
                .expected(one_of(names, meant[0].policy.name()))
        })
    }
}

fn one_of(mut names: Vec<&str>, policy: &str) -> String {
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "none: it has no tunables".into(),
        1..=MOST_NAMES => format!("one of {}", names.join(", ")),
        _ => format!("one that \"schedlab list policies {policy}\" shows"),
    }
}
