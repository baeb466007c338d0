//! A policy as users write it: `POLICY[:VARIANT][:TUNABLE=VALUE]...`.

use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_policy::{Assignment, Policy};

/// Extensions of files that are policies, longest first.
const EXTENSIONS: [&str; 3] = [".bpf.o", ".so", ".c"];

/// The parts of a policy as a user writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written<'a> {
    /// A name, a file, or a program with its options.
    pub base: &'a str,
    /// The variant, if one is named.
    pub variant: Option<&'a str>,
    /// The settings in order, each `TUNABLE=VALUE` with the quotes it was written with.
    pub settings: Vec<&'a str>,
}

impl<'a> Written<'a> {
    /// Takes the text apart.  What stands behind the name of a program is the program's own.
    pub fn parse(text: &'a str) -> Written<'a> {
        let (base, rest) = split(text);
        let mut parts = parts(rest);
        let variant = match parts.first() {
            Some(first) if !first.contains('=') => Some(parts.remove(0)),
            _ => None,
        };
        Written {
            base,
            variant,
            settings: parts,
        }
    }

    /// The settings, read.  Mistakes name `flag`.
    ///
    /// # Errors
    /// One of them is not `TUNABLE=VALUE`.
    pub fn assignments(&self, flag: &str) -> Result<Vec<Assignment>, Diagnostic> {
        let read = |setting: &&str| {
            let plain: String = setting.chars().filter(|c| !is_quote(*c)).collect();
            let read = match plain.contains('=') {
                true => Assignment::parse(&plain),
                false => Err(Diagnostic::new(format!(
                    "\"{plain}\" follows a setting, and has no \"=\""
                ))),
            };
            let mut set = read.map_err(|mistake| Diagnostic {
                file: flag.into(),
                expected: FORM.into(),
                ..mistake
            })?;
            set.file = flag.into();
            Ok(set)
        };
        self.settings.iter().map(read).collect()
    }

    /// The file it names, with this extension.
    pub fn file(&self, extension: &str) -> Option<&'a Path> {
        self.base.ends_with(extension).then(|| Path::new(self.base))
    }

    /// The text again, with another variant.
    pub fn with_variant(&self, variant: &str) -> String {
        let variant = Some(variant).filter(|variant| !variant.is_empty());
        let parts = [self.base].into_iter().chain(variant);
        let parts = parts.chain(self.settings.iter().copied());
        parts.collect::<Vec<_>>().join(":")
    }
}

/// What a policy with settings looks like.
const FORM: &str =
    "POLICY:TUNABLE=VALUE or POLICY:VARIANT:TUNABLE=VALUE, VALUE being a whole number";

/// The base, and what stands behind its colon.
fn split(text: &str) -> (&str, &str) {
    let colon = |at: usize| (&text[..at], text.get(at + 1..).unwrap_or_default());
    for extension in EXTENSIONS {
        if text.ends_with(extension) {
            return (text, "");
        }
        if let Some(at) = text.rfind(&format!("{extension}:")) {
            return colon(at + extension.len());
        }
    }
    let at = text.find(':').unwrap_or(text.len());
    match Policy::find(&text[..at]).is_some() || !text.contains(char::is_whitespace) {
        true => colon(at),
        false => (text, ""),
    }
}

/// The parts between colons; colons in quotes are part of a part.
fn parts(text: &str) -> Vec<&str> {
    match text.is_empty() {
        true => Vec::new(),
        false => split_outside_quotes(text, ':'),
    }
}

/// The items between separators; separators in quotes are part of an item.
pub(super) fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match quote {
            None if c == separator => {
                items.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            None if is_quote(c) => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items
}

fn is_quote(c: char) -> bool {
    c == '"' || c == '\''
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (&str, Option<&str>, Vec<&str>) {
        let written = Written::parse(text);
        (written.base, written.variant, written.settings)
    }

    #[test]
    fn a_policy_has_a_variant_and_settings() {
        assert_eq!(parsed("o1"), ("o1", None, vec![]));
        assert_eq!(parsed("o1:2.6.13"), ("o1", Some("2.6.13"), vec![]));
        assert_eq!(parsed("o1:a=1:b[2]=3"), ("o1", None, vec!["a=1", "b[2]=3"]));
        assert_eq!(
            parsed("eevdf:7.1:slice_us=5"),
            ("eevdf", Some("7.1"), vec!["slice_us=5"])
        );
    }

    #[test]
    fn files_may_contain_colons() {
        assert_eq!(
            parsed("a:b/mine.c:fast:x=1"),
            ("a:b/mine.c", Some("fast"), vec!["x=1"])
        );
        assert_eq!(parsed("./x.bpf.o:s=5"), ("./x.bpf.o", None, vec!["s=5"]));
        assert_eq!(parsed("./x:y.bpf.o"), ("./x:y.bpf.o", None, vec![]));
    }

    #[test]
    fn the_options_of_a_program_are_its_own() {
        let text = "scx_a --map a:b=1";
        assert_eq!(parsed(text), (text, None, vec![]));
    }

    #[test]
    fn tables_stand_in_quotes() {
        let text = "svr4:quantum=\"1,2\":tqexp='3, 4'";
        assert_eq!(split_outside_quotes(text, ','), [text]);
        let sets = Written::parse(text).assignments("--policy").unwrap();
        let shown: Vec<String> = sets.iter().map(Assignment::values_text).collect();
        assert_eq!(shown, ["1,2", "3,4"]);
    }

    #[test]
    fn the_text_can_be_written_again() {
        let written = Written::parse("o1:a=1");
        assert_eq!(written.with_variant("2.6.11"), "o1:2.6.11:a=1");
        assert_eq!(written.with_variant(""), "o1:a=1");
    }

    #[test]
    fn what_is_no_setting_is_refused_with_the_flag() {
        let mistake = |text| {
            let written = Written::parse(text);
            written.assignments("--policies").unwrap_err().to_string()
        };
        assert_eq!(
            mistake("o1:a=x"),
            format!("--policies: a: \"x\" is not a whole number; expected {FORM}")
        );
        assert_eq!(
            mistake("o1:a=1:2.6.11"),
            format!("--policies: \"2.6.11\" follows a setting, and has no \"=\"; expected {FORM}")
        );
    }
}
