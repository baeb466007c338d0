//! Conditions that every set-up of a sweep must meet.

use schedlab_input::Diagnostic;
use schedlab_policy::Tuned;

/// A comparison of tunables, numbers and names: `o1.min_timeslice_ms <= 2 * o1.max_timeslice_ms`, `machine != server`.
#[derive(Clone, PartialEq, Debug)]
pub struct Constraint {
    /// The user's text.
    pub text: String,
    left: Side,
    order: Order,
    right: Side,
}

#[derive(Clone, PartialEq, Debug)]
struct Side {
    factor: i64,
    /// A name; `None`: only the factor.
    name: Option<String>,
}

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `==`, `=`
    Equal,
    /// `!=`
    NotEqual,
}

/// The operators, longer ones first.
const ORDERS: [(&str, Order); 7] = [
    ("<=", Order::AtMost),
    (">=", Order::AtLeast),
    ("!=", Order::NotEqual),
    ("==", Order::Equal),
    ("<", Order::Less),
    (">", Order::Greater),
    ("=", Order::Equal),
];

impl Order {
    /// The two sides of the first operator in a text; `None` without an operator.
    pub fn split(text: &str) -> Option<(&str, Order, &str)> {
        let found = ORDERS.iter().filter_map(|&(sign, order)| {
            let at = text.find(sign)?;
            Some((at, std::cmp::Reverse(sign.len()), order))
        });
        let (at, length, order) = found.min_by_key(|&(at, length, _)| (at, length))?;
        Some((text[..at].trim(), order, text[at + length.0..].trim()))
    }

    /// Is the comparison true?
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Order::AtMost => a <= b,
            Order::AtLeast => a >= b,
            Order::Less => a < b,
            Order::Greater => a > b,
            Order::Equal => a == b,
            Order::NotEqual => a != b,
        }
    }
}

/// The set-up that a constraint tests.
pub struct Subject<'a> {
    /// The policy with its settings.
    pub tuned: &'a Tuned,
    /// The user's name of its workload.
    pub workload: &'a str,
    /// The user's name of its machine.
    pub machine: &'a str,
}

enum Value {
    Number(i64),
    Text(String),
}

impl Constraint {
    /// Parses a constraint.
    ///
    /// # Errors
    /// The text is not a comparison.
    pub fn parse(text: &str) -> Result<Constraint, Diagnostic> {
        let mistake = || {
            Diagnostic::new(format!("\"{text}\" is not a comparison")).expected(
                "A OP B, such as \"o1.min_timeslice_ms <= 2 * o1.max_timeslice_ms\" or \"machine != server\"",
            )
        };
        let (left, order, right) = Order::split(text).ok_or_else(mistake)?;
        let side = |text: &str| Side::parse(text).ok_or_else(mistake);
        Ok(Constraint {
            text: text.trim().to_string(),
            left: side(left)?,
            order,
            right: side(right)?,
        })
    }

    /// Does a set-up meet it? True if it names a tunable that the policy lacks.
    pub fn holds(&self, subject: &Subject) -> bool {
        match (self.left.value(subject), self.right.value(subject)) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => self.order.holds(&a, &b),
            (Some(Value::Text(a)), Some(Value::Text(b))) => self.order.holds(&a, &b),
            _ => true,
        }
    }

    /// Names of tunables in it, without names that have another meaning.
    pub fn tunables(&self) -> Vec<&str> {
        let names = [&self.left, &self.right].into_iter();
        let names = names.filter_map(|side| side.name.as_deref());
        let about_text = [&self.left, &self.right].iter().any(|side| {
            side.name
                .as_deref()
                .is_some_and(|name| TEXTS.contains(&name))
        });
        names.filter(|_| !about_text).collect()
    }
}

/// Names with a text as their value.
const TEXTS: [&str; 3] = ["policy", "workload", "machine"];

impl Side {
    fn parse(text: &str) -> Option<Side> {
        let (factor, name) = match text.split_once('*') {
            Some((a, b)) => {
                let (a, b) = (a.trim(), b.trim());
                match (a.parse(), b.parse()) {
                    (Ok(factor), _) => (factor, b),
                    (_, Ok(factor)) => (factor, a),
                    _ => return None,
                }
            }
            None => (1, text),
        };
        if let Ok(number) = name.parse::<i64>() {
            return Some(Side {
                factor: factor * number,
                name: None,
            });
        }
        let plain = |c: char| c.is_alphanumeric() || "_.:-[]/ ".contains(c);
        (!name.is_empty() && name.chars().all(plain)).then(|| Side {
            factor,
            name: Some(name.to_string()),
        })
    }

    fn value(&self, subject: &Subject) -> Option<Value> {
        let Some(name) = &self.name else {
            return Some(Value::Number(self.factor));
        };
        match name.as_str() {
            "policy" => return Some(Value::Text(subject.tuned.policy.name().into())),
            "workload" => return Some(Value::Text(subject.workload.into())),
            "machine" => return Some(Value::Text(subject.machine.into())),
            _ => {}
        }
        let (scope, tunable) = match name.rfind('.') {
            Some(dot) => (Some(&name[..dot]), &name[dot + 1..]),
            None => (None, name.as_str()),
        };
        let tuned = subject.tuned;
        let concerns = |scope: &str| scope == tuned.policy.name() || scope == tuned.name();
        match scope {
            Some(scope) if !concerns(scope) => None,
            _ => match tuned.get(tunable) {
                Some(value) => Some(Value::Number(self.factor.saturating_mul(value))),
                // The other side of "machine == server" is text.
                None => Some(Value::Text(name.clone())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policy::Policy;

    #[test]
    fn tunables_numbers_and_names_compare() {
        let set = [
            ("min_timeslice_ms".to_string(), 10),
            ("max_timeslice_ms".to_string(), 15),
        ];
        let tuned = Tuned::new(Policy::find("o1").unwrap(), None, &set).unwrap();
        let subject = Subject {
            tuned: &tuned,
            workload: "late",
            machine: "desktop",
        };
        let holds = |text: &str| Constraint::parse(text).unwrap().holds(&subject);
        assert!(holds("o1.min_timeslice_ms < o1.max_timeslice_ms"));
        assert!(!holds("2 * min_timeslice_ms <= max_timeslice_ms"));
        assert!(holds("o1.max_timeslice_ms == 15"));
        assert!(holds("machine == desktop") && !holds("machine != desktop"));
        assert!(holds("elsc.list_width > 1"), "not this policy's");
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        for text in ["", "a", "a <", "< 1", "a * b < 1"] {
            assert!(Constraint::parse(text).is_err(), "{text}");
        }
    }
}
