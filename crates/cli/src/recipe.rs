//! The command that gives a result again.

use std::borrow::Cow;
use std::fmt;

use schedlab_trace::Ns;

use crate::seeds::Seeds;

/// The command, in a shell's words.
pub struct Recipe {
    /// "run" or "compare".
    pub command: &'static str,
    /// The policies with their variants.
    pub policies: Vec<String>,
    pub workload: String,
    pub machine: String,
    pub duration: Option<Ns>,
    pub seed: u64,
    pub seeds: Option<Seeds>,
    /// Files of tunables.
    pub tunables: Vec<String>,
    pub set: Vec<String>,
    /// Flags about rt-app files that are not at their defaults.
    pub rtapp: Vec<(&'static str, String)>,
}

impl Recipe {
    /// The command with one more flag.
    pub fn with(&self, flag: &str, value: &str) -> String {
        let mut words = self.words();
        words.extend([flag.to_string(), value.to_string()]);
        quoted(&words)
    }

    fn words(&self) -> Vec<String> {
        let policies = match self.command {
            "run" => "--policy",
            _ => "--policies",
        };
        let mut flags = vec![
            (policies, self.policies.join(",")),
            ("--workload", self.workload.clone()),
            ("--machine", self.machine.clone()),
        ];
        flags.extend(self.duration.map(|time| ("--duration", exact(time))));
        flags.push(match &self.seeds {
            Some(seeds) => ("--seeds", seeds.to_string()),
            None => ("--seed", self.seed.to_string()),
        });
        let files = self.tunables.iter();
        flags.extend(files.map(|file| ("--tunables", file.clone())));
        flags.extend(self.set.iter().map(|set| ("--set", set.clone())));
        flags.extend(self.rtapp.iter().cloned());
        let words = flags
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_string(), value]);
        ["schedlab".to_string(), self.command.to_string()]
            .into_iter()
            .chain(words)
            .collect()
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.words()))
    }
}

/// A command line in a shell's words.
pub fn quoted(words: &[String]) -> String {
    words
        .iter()
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell reads it, quoted only where it must be.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    // Only a NUL byte cannot be quoted, and no command line can hold one.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// A duration in the largest unit that keeps it whole.
pub fn exact(time: Ns) -> String {
    let units = [
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    let unit = units.iter().find(|(_, ns)| time.0 % ns == 0);
    match unit {
        Some((name, ns)) => format!("{}{name}", time.0 / ns),
        None => format!("{}ns", time.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let command = Recipe {
            command: "run",
            policies: vec!["o1:2.6.10".into()],
            workload: "volanomark --rooms 10".into(),
            machine: "desktop".into(),
            duration: Some(Ns::from_ms(1500)),
            seed: 7,
            seeds: None,
            tunables: vec!["my.toml".into()],
            set: vec!["granularity=5".into()],
            rtapp: vec![],
        };
        let expected = "schedlab run --policy o1:2.6.10 --workload 'volanomark --rooms 10' \
                        --machine desktop --duration 1500ms --seed 7 --tunables my.toml --set granularity=5";
        assert_eq!(command.to_string(), expected);
        assert_eq!(
            command.with("--report", "it's.html"),
            format!("{expected} --report \"it's.html\"")
        );
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(exact(Ns::from_secs(120)), "2min");
        assert_eq!(exact(Ns::from_secs(10)), "10s");
        assert_eq!(exact(Ns(16_666_667)), "16666667ns");
        assert_eq!(exact(Ns(2_500)), "2500ns");
    }
}
