//! Reads typed values from objects, as rt-app does, with errors that name the place.

use schedlab_input::{nearest, Diagnostic};

use super::json::{Member, Node, Value};

/// An object and where it is.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    /// The dotted keys that lead to it; none for the root.
    pub path: &'a str,
    pub line: usize,
    pub members: &'a [Member],
}

impl<'a> Object<'a> {
    /// A node as an object.
    pub fn of(path: &'a str, node: &'a Node) -> Result<Self, Diagnostic> {
        match &node.value {
            Value::Object(members) => Ok(Object {
                path,
                line: node.line,
                members,
            }),
            other => Err(Diagnostic {
                line: node.line,
                key: path.to_string(),
                problem: format!("is {}", other.kind()),
                expected: "an object (rt-app stops without it)".to_string(),
                ..Diagnostic::default()
            }),
        }
    }

    /// The dotted path of one of its keys.
    pub fn path_of(&self, key: &str) -> String {
        match self.path {
            "" => key.to_string(),
            path => format!("{path}.{key}"),
        }
    }

    /// The last member with this key, which is the one that counts; null counts as none, as in rt-app.
    pub fn get(&self, key: &str) -> Option<&'a Member> {
        let found = self.members.iter().rev().find(|member| member.key == key);
        found.filter(|member| member.node.value != Value::Null)
    }

    /// An error about one of its members.
    pub fn error(
        &self,
        member: &Member,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            line: member.line,
            key: self.path_of(&member.key),
            problem: problem.into(),
            expected: expected.into(),
            ..Diagnostic::default()
        }
    }

    /// An error about the whole object.
    pub fn error_here(&self, problem: &str, expected: &str) -> Diagnostic {
        Diagnostic {
            line: self.line,
            key: self.path.to_string(),
            problem: problem.to_string(),
            expected: expected.to_string(),
            ..Diagnostic::default()
        }
    }

    /// It has the wrong type, which ends rt-app.
    pub fn wrong_type(&self, member: &Member, expected: &str) -> Diagnostic {
        let problem = format!("is {}", member.node.value.kind());
        self.error(
            member,
            problem,
            format!("{expected} (rt-app stops without it)"),
        )
    }

    /// An integer of 32 bits.  FIDELITY: json-c cuts larger ones to that range; here they are errors.
    pub fn int(&self, key: &str) -> Result<Option<i32>, Diagnostic> {
        let Some(member) = self.get(key) else {
            return Ok(None);
        };
        self.int_of(member).map(Some)
    }

    /// The integer a member has to be.
    pub fn int_of(&self, member: &Member) -> Result<i32, Diagnostic> {
        match member.node.value {
            Value::Int(value) => i32::try_from(value).map_err(|_| {
                let range = format!("{} to {}", i32::MIN, i32::MAX);
                self.error(member, format!("{value} is out of range"), range)
            }),
            _ => Err(self.wrong_type(member, "an integer")),
        }
    }

    /// A string.
    pub fn string(&self, key: &str) -> Result<Option<&'a str>, Diagnostic> {
        let Some(member) = self.get(key) else {
            return Ok(None);
        };
        self.string_of(member).map(Some)
    }

    /// The string a member has to be.
    pub fn string_of(&self, member: &'a Member) -> Result<&'a str, Diagnostic> {
        match &member.node.value {
            Value::String(value) => Ok(value),
            _ => Err(self.wrong_type(member, "a string")),
        }
    }

    /// A boolean.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Diagnostic> {
        let Some(member) = self.get(key) else {
            return Ok(None);
        };
        match member.node.value {
            Value::Bool(value) => Ok(Some(value)),
            _ => Err(self.wrong_type(member, "true or false")),
        }
    }

    /// A warning for each key that is neither one of `known` nor accepted by `is_known`.
    pub fn warn_unknown(
        &self,
        known: &[&str],
        similar: &[&str],
        is_known: impl Fn(&str) -> bool,
        warnings: &mut Vec<Diagnostic>,
    ) {
        let strange = |m: &&Member| !known.contains(&m.key.as_str()) && !is_known(&m.key);
        for member in self.members.iter().filter(strange) {
            let names = known.iter().chain(similar).copied();
            warnings.push(Diagnostic {
                nearest: nearest(&member.key, names),
                ..self.error(member, "is unknown and ignored, as in rt-app", "")
            });
        }
    }
}
