//! `--set NAME=VALUE` and `--tunables FILE`: the values that each policy gets.

use std::path::{Path, PathBuf};

use schedlab_input::{nearest, read_text, Diagnostic, Document, Table};
use schedlab_policy::{Assignment, Tuned};

use super::dispadmin;

/// Most names a message lists.
const MOST_NAMES: usize = 12;

/// Everything the user set, in order; later values override earlier ones.
pub struct Assignments(Vec<Scoped>);

/// An assignment and the policy it is for.
struct Scoped {
    /// The policy or POLICY:VARIANT it is for; none: each that has such a tunable.
    scope: Option<String>,
    set: Assignment,
}

impl Assignments {
    /// Reads `--tunables` files, then `--set` flags.
    pub fn read(files: &[PathBuf], texts: &[String]) -> Result<Assignments, Diagnostic> {
        let mut all = Vec::new();
        for file in files {
            all.extend(read_file(file)?);
        }
        for text in texts {
            all.push(Scoped::parse(text)?);
        }
        Ok(Assignments(all))
    }

    /// Refuses an assignment that concerns none of `policies`.
    pub fn check(&self, policies: &[Tuned]) -> Result<(), Diagnostic> {
        self.0.iter().try_for_each(|set| set.check(policies))
    }

    /// One of several policies, with its values set.
    pub fn apply(&self, mut policy: Tuned) -> Result<Tuned, Diagnostic> {
        for scoped in &self.0 {
            if scoped.concerns(&policy) {
                policy.set(scoped.set.clone())?;
            }
        }
        Ok(policy)
    }
}

fn read_file(path: &Path) -> Result<Vec<Scoped>, Diagnostic> {
    let shown = path.display().to_string();
    match path.extension().and_then(|e| e.to_str()) {
        Some("toml") => {
            let document = Document::parse(&shown, &read_text(path)?)?;
            let root = document.root();
            let (tables, plain): (Vec<&str>, Vec<&str>) =
                root.keys().partition(|key| root.has_table(key));
            let mut all = of_table(&root, plain, None)?;
            for scope in tables {
                let table = root.table(scope)?.expect("it is a table");
                let names = table.keys().collect();
                all.extend(of_table(&table, names, Some(scope))?);
            }
            Ok(all)
        }
        Some("dispadmin") => {
            let columns = dispadmin::parse(&shown, &read_text(path)?)?;
            let for_all = |set| Scoped { scope: None, set };
            Ok(columns.into_iter().map(for_all).collect())
        }
        _ => Err(
            Diagnostic::new(format!("\"{shown}\" has no known extension"))
                .at("--tunables", 0)
                .expected("a file ending in .toml or .dispadmin"),
        ),
    }
}

fn of_table(
    table: &Table<'_>,
    names: Vec<&str>,
    scope: Option<&str>,
) -> Result<Vec<Scoped>, Diagnostic> {
    let one = |name: &str| {
        let values = table.integers(name)?.unwrap_or_default();
        if values.is_empty() {
            return Err(table
                .mistake(name, "there is no value")
                .expected("one for each row"));
        }
        Ok(Scoped {
            scope: scope.map(str::to_string),
            set: Assignment {
                file: table.file().to_string(),
                name: name.to_string(),
                row: None,
                values,
            },
        })
    };
    names.into_iter().map(one).collect()
}

impl Scoped {
    fn parse(text: &str) -> Result<Scoped, Diagnostic> {
        let (target, _) = text.split_once('=').unwrap_or((text, ""));
        // A variant may hold dots, a tunable cannot.
        let scope = target.rfind('.').map(|dot| &text[..dot]);
        let unscoped = scope.map_or(text, |scope| &text[scope.len() + 1..]);
        let set = Assignment::parse(unscoped).map_err(|mistake| match scope {
            Some(scope) if !mistake.key.is_empty() => {
                let key = format!("{scope}.{}", mistake.key);
                mistake.key(key)
            }
            _ => mistake,
        })?;
        Ok(Scoped {
            scope: scope.map(str::to_string),
            set,
        })
    }

    fn concerns(&self, policy: &Tuned) -> bool {
        match &self.scope {
            Some(scope) => *scope == policy.policy.name() || *scope == policy.name(),
            None => policy.get(&self.set.name).is_some(),
        }
    }

    fn check(&self, policies: &[Tuned]) -> Result<(), Diagnostic> {
        let line = self.set.values.first().map_or(0, |&(line, _)| line);
        let mistake = |problem: String| {
            Diagnostic::new(problem)
                .at(&self.set.file, line)
                .key(&self.set.name)
        };
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
        if meant.iter().any(|p| p.get(&self.set.name).is_some()) {
            return Ok(());
        }
        let names: Vec<&str> = meant
            .iter()
            .flat_map(|p| p.policy.tunables())
            .map(|t| t.name)
            .collect();
        let policies: Vec<String> = meant.iter().map(|p| p.name()).collect();
        Err(Diagnostic {
            nearest: nearest(&self.set.name, names.iter().copied()),
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
