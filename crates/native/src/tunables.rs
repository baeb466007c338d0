//! The values of a policy's tunables in one run.

use std::ops::Range;

use schedlab_input::{nearest, Diagnostic};

use crate::{Assignment, Policy, Tunable, Variant};

/// A policy, one of its variants, and a value for each of its tunables.
#[derive(Clone)]
pub struct Tuned {
    /// The policy.
    pub policy: Policy,
    /// The variant's name; empty if the policy has no variants.
    pub variant: &'static str,
    /// In the order of declaration, tables row by row: `struct tunables` of the C side.
    values: Vec<i64>,
    changed: Vec<Assignment>,
}

impl Tuned {
    /// The default variant with its initial values.
    pub fn defaults(policy: Policy) -> Tuned {
        Tuned::new(policy, None, &[])
            .expect("a policy's own defaults are valid; the tests check each")
    }

    /// A variant (`None`: the default one) with some tunables set by name, or name[row].
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
            values: policy
                .tunables()
                .iter()
                .flat_map(|t| t.initial)
                .copied()
                .collect(),
            changed: Vec::new(),
        };
        for assignment in chosen.map_or("", |v| v.set).split_whitespace() {
            tuned.assign(&Assignment::parse(assignment)?)?;
        }
        for (target, value) in set {
            tuned.set(Assignment::new(target, *value))?;
        }
        Ok(tuned)
    }

    /// The same settings for another policy with the same tunables.
    pub fn with_policy(self, policy: Policy) -> Tuned {
        Tuned { policy, ..self }
    }

    /// Is it the same policy, with the same values of all tunables?
    pub fn same_as(&self, other: &Tuned) -> bool {
        std::ptr::eq(self.policy.0, other.policy.0) && self.values() == other.values()
    }

    /// Is it the same source, the same variant, and the same values of all tunables?
    pub fn equals(&self, other: &Tuned) -> bool {
        self.name() == other.name()
            && self.values() == other.values()
            && self.policy.sources() == other.policy.sources()
    }

    /// "o1" or "o1:2.6.13".
    pub fn name(&self) -> String {
        match self.variant {
            "" => self.policy.name().to_string(),
            variant => format!("{}:{variant}", self.policy.name()),
        }
    }

    /// Applies an assignment of the user.
    ///
    /// # Errors
    /// There is no such tunable or row, there are too many or too few values, or one is out of range.
    pub fn set(&mut self, wanted: Assignment) -> Result<(), Diagnostic> {
        self.assign(&wanted)?;
        self.changed.push(wanted);
        Ok(())
    }

    /// The user's assignments, in the order given.
    pub fn changed(&self) -> &[Assignment] {
        &self.changed
    }

    /// "o1:2.6.11"; with the user's assignments "o1:2.6.11:max_timeslice_ms=50".
    pub fn full_name(&self) -> String {
        let set = self.changed.iter();
        let set = set.map(|set| format!(":{}={}", set.target(), set.values_text()));
        [self.name()].into_iter().chain(set).collect()
    }

    /// The value of a tunable, or the first row of a table; `None` if the policy has no such
    /// tunable.
    pub fn get(&self, name: &str) -> Option<i64> {
        let (_, all) = self.find(name)?;
        Some(self.values[all.start])
    }

    /// The rows of a table, or the one value of a plain tunable; `None` if the policy has no such
    /// tunable.
    pub fn table(&self, name: &str) -> Option<&[i64]> {
        let (_, all) = self.find(name)?;
        Some(&self.values[all])
    }

    /// All values in the order of declaration, as the C side reads them.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// A tunable and the range of its values.
    fn find(&self, name: &str) -> Option<(Tunable, Range<usize>)> {
        let mut start = 0;
        for tunable in self.policy.tunables() {
            let end = start + tunable.initial.len();
            if tunable.name == name {
                return Some((tunable, start..end));
            }
            start = end;
        }
        None
    }

    fn assign(&mut self, wanted: &Assignment) -> Result<(), Diagnostic> {
        let (tunable, all) = self
            .find(&wanted.name)
            .ok_or_else(|| self.unknown(wanted))?;
        let rows = rows(&tunable, wanted)?;
        for (row, &(line, value)) in rows.zip(&wanted.values) {
            if value < tunable.min || value > tunable.max {
                let key = match tunable.rows() {
                    Some(_) => format!("{}[{row}]", tunable.name),
                    None => tunable.name.to_string(),
                };
                return Err(Diagnostic::new(format!("{value} is out of range"))
                    .at(&wanted.file, line)
                    .key(key)
                    .expected(format!(
                        "{} to {}: {}",
                        tunable.min, tunable.max, tunable.doc
                    )));
            }
            self.values[all.start + row] = value;
        }
        Ok(())
    }

    fn unknown(&self, wanted: &Assignment) -> Diagnostic {
        let tunables = self.policy.tunables();
        let names: Vec<&str> = tunables.iter().map(|t| t.name).collect();
        let problem = format!("{} has no tunable of this name", self.policy.name());
        mistake(wanted, problem)
            .expected(match names.is_empty() {
                true => "none".into(),
                false => format!("one of {}", names.join(", ")),
            })
            .suggest(&wanted.name, names)
    }
}

/// The rows that an assignment sets.
fn rows(tunable: &Tunable, wanted: &Assignment) -> Result<Range<usize>, Diagnostic> {
    let nr = tunable.initial.len();
    let rows = match (wanted.row, tunable.rows()) {
        (Some(_), None) => {
            return Err(
                mistake(wanted, "the tunable is a single number, not a table")
                    .expected(format!("{}=VALUE", tunable.name)),
            )
        }
        (Some(row), Some(_)) if row >= nr => {
            return Err(mistake(wanted, format!("there is no row {row}"))
                .expected(format!("0 to {}", nr - 1)))
        }
        (Some(row), Some(_)) => row..row + 1,
        (None, _) => 0..nr,
    };
    let expected = match rows.len() {
        1 => "one value".to_string(),
        nr => format!("a table: {nr} values, or {}[ROW] for one row", tunable.name),
    };
    match wanted.values.len() == rows.len() {
        true => Ok(rows),
        false => Err(mistake(wanted, count(wanted.values.len())).expected(expected)),
    }
}

fn count(values: usize) -> String {
    match values {
        1 => "there is one value".into(),
        n => format!("there are {n} values"),
    }
}

fn mistake(wanted: &Assignment, problem: impl Into<String>) -> Diagnostic {
    let line = wanted.values.first().map_or(0, |&(line, _)| line);
    Diagnostic::new(problem)
        .at(&wanted.file, line)
        .key(wanted.target())
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
