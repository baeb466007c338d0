//! The values a policy's tunables have in one run.

use schedlab_input::{nearest, Diagnostic};

use crate::{Policy, Variant};

/// A policy, one of its variants, and a value for each of its tunables.
#[derive(Clone)]
pub struct Tuned {
    /// The policy.
    pub policy: Policy,
    /// The variant's name; empty if the policy has no variants.
    pub variant: &'static str,
    values: Vec<i64>,
    changed: Vec<(String, i64)>,
}

impl Tuned {
    /// The policy as its papers have it: default variant, initial values.
    pub fn defaults(policy: Policy) -> Tuned {
        Tuned::new(policy, None, &[])
            .expect("a policy's own defaults are valid; the tests check each")
    }

    /// A variant (none: the default one) with some tunables set by name.
    ///
    /// # Errors
    /// An unknown variant or tunable, or a value out of range: a [`Diagnostic`] about `--policy` or `--set`.
    pub fn new(
        policy: Policy,
        variant: Option<&str>,
        set: &[(String, i64)],
    ) -> Result<Tuned, Diagnostic> {
        let chosen = find_variant(policy, variant)?;
        let mut tuned = Tuned {
            policy,
            variant: chosen.map_or("", |v| v.name),
            values: policy.tunables().iter().map(|t| t.initial).collect(),
            changed: Vec::new(),
        };
        for (name, value) in chosen.map_or(Vec::new(), |v| assignments(v.set)) {
            tuned.set(&name, value)?;
        }
        for (name, value) in set {
            tuned.set(name, *value)?;
            tuned.changed.push((name.clone(), *value));
        }
        Ok(tuned)
    }

    /// "o1" or "o1:2.6.13".
    pub fn name(&self) -> String {
        match self.variant {
            "" => self.policy.name().to_string(),
            variant => format!("{}:{variant}", self.policy.name()),
        }
    }

    /// What the user set, in the order given.
    pub fn changed(&self) -> &[(String, i64)] {
        &self.changed
    }

    /// The value of a tunable; none if the policy has no such tunable.
    pub fn get(&self, name: &str) -> Option<i64> {
        let index = self.policy.tunables().iter().position(|t| t.name == name)?;
        Some(self.values[index])
    }

    /// All values in the order of declaration, as the C side reads them.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    fn set(&mut self, name: &str, value: i64) -> Result<(), Diagnostic> {
        let tunables = self.policy.tunables();
        let place = || Diagnostic {
            file: "--set".into(),
            key: name.into(),
            ..Diagnostic::default()
        };
        let Some(index) = tunables.iter().position(|t| t.name == name) else {
            let names: Vec<&str> = tunables.iter().map(|t| t.name).collect();
            return Err(Diagnostic {
                problem: format!("{} has no tunable of this name", self.policy.name()),
                expected: if names.is_empty() {
                    "none".into()
                } else {
                    format!("one of {}", names.join(", "))
                },
                nearest: nearest(name, names),
                ..place()
            });
        };
        let tunable = &tunables[index];
        if value < tunable.min || value > tunable.max {
            return Err(Diagnostic {
                problem: format!("{value} is out of range"),
                expected: format!("{} to {}: {}", tunable.min, tunable.max, tunable.doc),
                ..place()
            });
        }
        self.values[index] = value;
        Ok(())
    }
}

fn find_variant(policy: Policy, wanted: Option<&str>) -> Result<Option<Variant>, Diagnostic> {
    let variants = policy.variants();
    let Some(wanted) = wanted else {
        return Ok(variants.first().copied());
    };
    let names: Vec<&str> = variants.iter().map(|v| v.name).collect();
    variants
        .iter()
        .find(|v| v.name == wanted)
        .copied()
        .map(Some)
        .ok_or_else(|| Diagnostic {
            file: "--policy".into(),
            key: format!("{}:{wanted}", policy.name()),
            problem: "no such variant".into(),
            expected: if names.is_empty() {
                "no variant".into()
            } else {
                format!("one of {}", names.join(", "))
            },
            nearest: nearest(wanted, names),
            ..Diagnostic::default()
        })
}

/// Reads "name=value name=value".  A variant that is not written so is a mistake in the
/// policy; what cannot be read is passed on under a name no tunable has, and so reported.
fn assignments(text: &str) -> Vec<(String, i64)> {
    text.split_whitespace()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => match value.parse() {
                Ok(value) => (name.to_string(), value),
                Err(_) => (pair.to_string(), 0),
            },
            None => (pair.to_string(), 0),
        })
        .collect()
}
