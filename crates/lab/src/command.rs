//! The command that reproduces a result.

use std::borrow::Cow;
use std::fmt;

use schedlab_trace::Ns;

/// A command line of schedlab, as words; printed with the quotes a shell needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandLine {
    words: Vec<String>,
    /// A command after "--".
    last: Vec<String>,
}

impl CommandLine {
    /// `schedlab COMMAND`.
    pub fn new(command: &str) -> CommandLine {
        CommandLine {
            words: vec!["schedlab".to_string(), command.to_string()],
            last: Vec::new(),
        }
    }

    /// With one more word.
    pub fn word(mut self, word: impl Into<String>) -> CommandLine {
        self.words.push(word.into());
        self
    }

    /// With more words.
    pub fn words(mut self, words: impl IntoIterator<Item = String>) -> CommandLine {
        self.words.extend(words);
        self
    }

    /// With a command after "--"; flags added later stand before it.
    pub fn behind_dashes(mut self, command: impl IntoIterator<Item = String>) -> CommandLine {
        self.last.extend(command);
        self
    }

    /// With a flag and its value.
    pub fn flag(self, flag: &str, value: impl Into<String>) -> CommandLine {
        self.word(flag).word(value)
    }

    /// With a flag and its value, if there is one.
    pub fn flag_if(self, flag: &str, value: Option<impl Into<String>>) -> CommandLine {
        match value {
            Some(value) => self.flag(flag, value),
            None => self,
        }
    }

    /// With a flag for each value.
    pub fn flags<V: Into<String>>(
        self,
        flag: &str,
        values: impl IntoIterator<Item = V>,
    ) -> CommandLine {
        let add = |line: CommandLine, value: V| line.flag(flag, value);
        values.into_iter().fold(self, add)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.words))?;
        match self.last.is_empty() {
            true => Ok(()),
            false => write!(f, " -- {}", quoted(&self.last)),
        }
    }
}

/// A command line with the quotes a shell needs.
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
    let unit = units.iter().find(|(_, ns)| time.0.is_multiple_of(*ns));
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
        let command = CommandLine::new("run")
            .flag("--workload", "volanomark --rooms 10")
            .flag_if("--duration", Some(exact(Ns::from_ms(1500))))
            .behind_dashes(["sh".to_string(), "-c".to_string(), "a b".to_string()])
            .flags("--set", ["a=1", "b=2"]);
        let expected =
            "schedlab run --workload 'volanomark --rooms 10' --duration 1500ms --set a=1 --set b=2";
        assert_eq!(command.to_string(), format!("{expected} -- sh -c 'a b'"));
        assert_eq!(
            command.flag("--report", "it's.html").to_string(),
            format!("{expected} --report \"it's.html\" -- sh -c 'a b'")
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
