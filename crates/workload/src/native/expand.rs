//! `{i}`: what differs between the instances of a task.
//!
//! Between braces stands arithmetic with whole numbers, `i` (this instance, from 0) and `n`
//! (how many instances there are): `replies.{i}`, `ring.{(i + 1) % n}`, `sleep {10 * i}ms`.

use schedlab_input::Diagnostic;

/// The longest expression; it also bounds how deep parentheses nest.
const MAX_LENGTH: usize = 64;

/// An instance of a task.
#[derive(Clone, Copy)]
pub(super) struct Instance {
    /// Its number, from 0.
    pub i: u32,
    /// How many there are.
    pub n: u32,
}

/// Does this text differ between instances?
pub(super) fn varies(text: &str) -> bool {
    text.contains('{')
}

/// The text with every `{expression}` replaced by its value for this instance.
pub(super) fn fill(text: &str, instance: Instance) -> Result<String, Diagnostic> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = &rest[open + 1..];
        let close = after
            .find('}')
            .ok_or_else(|| Diagnostic::new("\"{\" without \"}\"").expected("such as {i}"))?;
        filled.push_str(&rest[..open]);
        filled.push_str(&evaluate(&after[..close], instance)?.to_string());
        rest = &after[close + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

fn evaluate(text: &str, instance: Instance) -> Result<i64, Diagnostic> {
    let mistake = |problem: &str| {
        Diagnostic::new(format!("{{{text}}} {problem}")).expected(
            "whole numbers, i (the instance), n (their number), + - * / % and parentheses",
        )
    };
    if text.len() > MAX_LENGTH {
        return Err(Diagnostic::new("an expression in braces is too long")
            .expected(format!("at most {MAX_LENGTH} characters")));
    }
    let mut parser = Parser {
        rest: text,
        instance,
    };
    let value = parser
        .sum()
        .ok_or_else(|| mistake("cannot be worked out"))?;
    match parser.peek() {
        None => Ok(value),
        Some(other) => Err(mistake(&format!("has \"{other}\" where it should end"))),
    }
}

/// A parser that works the value out as it goes.  None: not an expression, a division by zero or
/// a number too large.
struct Parser<'t> {
    rest: &'t str,
    instance: Instance,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.take();
            let right = self.product()?;
            value = match operator {
                '+' => value.checked_add(right)?,
                _ => value.checked_sub(right)?,
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            self.take();
            let right = self.atom()?;
            value = match operator {
                '*' => value.checked_mul(right)?,
                '/' => value.checked_div_euclid(right)?,
                _ => value.checked_rem_euclid(right)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        match self.peek()? {
            'i' => self.take().map(|_| i64::from(self.instance.i)),
            'n' => self.take().map(|_| i64::from(self.instance.n)),
            '(' => {
                self.take();
                let value = self.sum()?;
                (self.take()? == ')').then_some(value)
            }
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<i64> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIRD_OF_FIVE: Instance = Instance { i: 2, n: 5 };

    #[test]
    fn expressions_are_worked_out() {
        let filled = |text: &str| fill(text, THIRD_OF_FIVE).unwrap();
        assert_eq!(filled("send replies.{i} 1"), "send replies.2 1");
        assert_eq!(filled("ring.{(i + 3) % n} {i}{n}"), "ring.0 25");
        assert_eq!(filled("sleep {10*i+1}ms"), "sleep 21ms");
        assert_eq!(filled("nice {i - 4}"), "nice -2");
        assert_eq!(filled("room.{ i / 2 }"), "room.1");
        assert_eq!(filled("2 + 3 * {2 + 3 * 4}"), "2 + 3 * 14");
        assert_eq!(filled("plain"), "plain");
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let refused = |text: &str| fill(text, THIRD_OF_FIVE).unwrap_err().problem;
        assert_eq!(refused("a.{i"), "\"{\" without \"}\"");
        assert_eq!(refused("a.{}"), "{} cannot be worked out");
        assert_eq!(refused("a.{j}"), "{j} cannot be worked out");
        assert_eq!(refused("a.{i / 0}"), "{i / 0} cannot be worked out");
        assert_eq!(refused("a.{(i}"), "{(i} cannot be worked out");
        assert_eq!(refused("a.{i 3}"), "{i 3} has \"3\" where it should end");
        assert_eq!(
            refused("a.{99999999999 * 99999999999}"),
            "{99999999999 * 99999999999} cannot be worked out"
        );
        assert_eq!(
            refused(&format!("{{{}}}", "(".repeat(65))),
            "an expression in braces is too long"
        );
    }
}
