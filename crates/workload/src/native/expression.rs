//! `{expression}` in the strings of a workload file: `replies.{i}`, `ring.{(i + 1) % n}`, `run {write + 10ns}`.
//!
//! An expression calculates with whole numbers, times, sizes and words.  Its names are the file's options and
//! constants, `i` and `n` (this instance and the number of instances), and the variables of `for`.

use std::collections::BTreeMap;
use std::fmt;

use schedlab_input::{quantity, Diagnostic};

/// The longest expression; it also bounds how deep parentheses nest.
const MAX_LENGTH: usize = 200;

/// What numbers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Nothing in particular.
    One,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
    /// Thousandths of a decimal number.
    Milli,
}

/// The value of an expression, an option or a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(i64, Unit),
    Word(String),
    List(Vec<i64>),
}

impl Value {
    pub fn number(value: i64) -> Value {
        Value::Number(value, Unit::One)
    }

    /// Neither zero nor an empty word.
    pub fn is_true(&self) -> bool {
        !matches!(self, Value::Number(0, _)) && *self != Value::Word(String::new())
    }
}

/// As programs and keys write it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(value, Unit::One) => write!(f, "{value}"),
            Value::Number(ns, Unit::Time) => write!(f, "{ns}ns"),
            Value::Number(bytes, Unit::Size) => write!(f, "{bytes}B"),
            Value::Number(milli, Unit::Milli) => write!(f, "{}.{:03}", milli / 1000, milli % 1000),
            Value::Word(word) => f.write_str(word),
            Value::List(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                f.write_str(&numbers.join(","))
            }
        }
    }
}

/// The names an expression can use.
#[derive(Clone, Default, Debug)]
pub(super) struct Scope {
    names: BTreeMap<String, Value>,
}

impl Scope {
    /// Adds a name, or gives it another value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.names.insert(name.to_string(), value);
    }

    pub fn remove(&mut self, name: &str) {
        self.names.remove(name);
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.names.get(name)
    }

    /// For one instance of a task or of another table.
    pub fn of_instance(&self, i: u32, n: u32) -> Scope {
        let mut scope = self.clone();
        scope.set("i", Value::number(i.into()));
        scope.set("n", Value::number(n.into()));
        scope
    }
}

/// Does this text differ between instances?
pub(super) fn varies(text: &str) -> bool {
    let inside = text.split('{').skip(1).filter_map(|s| s.split('}').next());
    inside.into_iter().any(|expression| {
        let mut words = expression.split(|c: char| !is_of_name(c));
        words.any(|word| word == "i")
    })
}

/// The text with every `{expression}` replaced by its value.
pub(super) fn fill(text: &str, scope: &Scope) -> Result<String, Diagnostic> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = &rest[open + 1..];
        let close = after
            .find('}')
            .ok_or_else(|| Diagnostic::new("\"{\" without \"}\"").expected("such as {i}"))?;
        filled.push_str(&rest[..open]);
        filled.push_str(&evaluate(&after[..close], scope)?);
        rest = &after[close + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value as text; `A of B` is A with as many digits as the largest number below B.
fn evaluate(text: &str, scope: &Scope) -> Result<String, Diagnostic> {
    let placed = |mistake: Diagnostic| Diagnostic {
        problem: format!("{{{text}}}: {}", mistake.problem),
        ..mistake
    };
    if text.len() > MAX_LENGTH {
        return Err(Diagnostic::new("an expression in braces is too long")
            .expected(format!("at most {MAX_LENGTH} characters")));
    }
    let mut parser = Parser { rest: text, scope };
    let value = parser.choice().map_err(placed)?;
    let digits = match parser.takes_word("of") {
        false => 0,
        true => match parser.choice().map_err(placed)? {
            Value::Number(limit, Unit::One) if limit > 0 => (limit - 1).to_string().len(),
            other => return Err(placed(unfit(&other, "a number above 0 after \"of\""))),
        },
    };
    match parser.peek() {
        None => Ok(format!("{:0>digits$}", value.to_string())),
        Some(other) => Err(placed(mistake(format!("\"{other}\" is not expected here")))),
    }
}

fn mistake(problem: impl Into<String>) -> Diagnostic {
    Diagnostic::new(problem).expected(
        "numbers, times, 'words', names, + - * / % ^, comparisons, A ? B : C, min(), max(), power2(), len() and parentheses",
    )
}

fn unfit(value: &Value, expected: &str) -> Diagnostic {
    Diagnostic::new(format!("\"{value}\" does not fit")).expected(expected)
}

/// Comparisons, the longer ones first.
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// A parser that works the value out as it goes.
struct Parser<'t> {
    rest: &'t str,
    scope: &'t Scope,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Goes past this, if it comes next.
    fn takes(&mut self, token: &str) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let whole = |rest: &str| !rest.starts_with(is_of_name);
        self.peek();
        let comes = self.rest.strip_prefix(word).is_some_and(whole);
        comes && self.takes(word)
    }

    /// The first of these operators that comes next.
    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        operators.iter().copied().find(|token| self.takes(token))
    }

    fn need(&mut self, token: &str) -> Result<(), Diagnostic> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(mistake(format!("\"{token}\" is missing"))),
        }
    }

    fn choice(&mut self) -> Result<Value, Diagnostic> {
        let condition = self.comparison()?;
        if !self.takes("?") {
            return Ok(condition);
        }
        let then = self.choice()?;
        self.need(":")?;
        let otherwise = self.choice()?;
        Ok(if condition.is_true() { then } else { otherwise })
    }

    fn comparison(&mut self) -> Result<Value, Diagnostic> {
        let left = self.chain(&["+", "-"], Self::product)?;
        let Some(operator) = self.operator(&COMPARISONS) else {
            return Ok(left);
        };
        let right = self.chain(&["+", "-"], Self::product)?;
        let (a, b) = match (&left, &right) {
            (Value::Number(a, u), Value::Number(b, v)) if u == v => (*a, *b),
            (Value::Word(a), Value::Word(b)) => (a.cmp(b) as i64, 0),
            _ => {
                return Err(mistake(format!(
                    "\"{left}\" and \"{right}\" cannot be compared"
                )))
            }
        };
        let holds = match operator {
            "==" => a == b,
            "!=" => a != b,
            "<=" => a <= b,
            ">=" => a >= b,
            "<" => a < b,
            _ => a > b,
        };
        Ok(Value::number(holds.into()))
    }

    fn product(&mut self) -> Result<Value, Diagnostic> {
        self.chain(&["*", "/", "%"], |parser| parser.chain(&["^"], Self::atom))
    }

    /// Operands with operators of one rank between them, worked out from the left.
    fn chain(
        &mut self,
        operators: &[&'static str],
        operand: impl Fn(&mut Self) -> Result<Value, Diagnostic>,
    ) -> Result<Value, Diagnostic> {
        let mut value = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            value = calculate(operator, value, operand(self)?)?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Value, Diagnostic> {
        match self.peek() {
            Some('(') => {
                self.need("(")?;
                let value = self.choice()?;
                self.need(")").map(|()| value)
            }
            Some('\'') => {
                let text = &self.rest[1..];
                let (word, rest) = text
                    .split_once('\'')
                    .ok_or_else(|| mistake("a word without its second '"))?;
                self.rest = rest;
                Ok(Value::Word(word.to_string()))
            }
            Some(c) if c.is_ascii_digit() => self.literal(),
            Some(c) if is_of_name(c) => self.name(),
            Some(other) => Err(mistake(format!("\"{other}\" is not expected here"))),
            None => Err(mistake("a value is missing")),
        }
    }

    /// "20", "1.5ms", "64KiB".
    fn literal(&mut self) -> Result<Value, Diagnostic> {
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '.' && c != 'µ';
        let text = self.split_off(end);
        if let Ok(number) = text.parse() {
            return Ok(Value::number(number));
        }
        let time = quantity::duration(text).map(|ns| Value::Number(ns.0 as i64, Unit::Time));
        let size = |_| quantity::size(text).map(|bytes| Value::Number(bytes as i64, Unit::Size));
        time.or_else(|mistake| size(()).map_err(|_| mistake))
    }

    fn split_off(&mut self, end: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    /// A name, one of a list of values, or a function.
    fn name(&mut self) -> Result<Value, Diagnostic> {
        let name = self.split_off(|c| !is_of_name(c)).to_string();
        if self.takes("(") {
            return self.call(&name);
        }
        let Some(value) = self.scope.get(&name) else {
            let known = self.scope.names.keys().map(String::as_str);
            return Err(Diagnostic::new(format!("there is no value \"{name}\""))
                .expected("an option, a constant, i, n or a variable of \"for\"")
                .suggest(&name, known));
        };
        if !self.takes("[") {
            return Ok(value.clone());
        }
        let index = self.choice()?;
        self.need("]")?;
        match (value, &index) {
            (Value::List(items), Value::Number(at, Unit::One)) => {
                let item = usize::try_from(*at).ok().and_then(|at| items.get(at));
                let item = item.ok_or_else(|| {
                    Diagnostic::new(format!("\"{name}\" has no item {at}"))
                        .expected(format!("0 to {}", items.len() as i64 - 1))
                })?;
                Ok(Value::number(*item))
            }
            _ => Err(unfit(&index, "LIST[NUMBER]")),
        }
    }

    fn call(&mut self, function: &str) -> Result<Value, Diagnostic> {
        let first = self.choice()?;
        let second = self.takes(",").then(|| self.choice()).transpose()?;
        self.need(")")?;
        match (function, first, second) {
            ("len", Value::List(items), None) => Ok(Value::number(items.len() as i64)),
            ("power2", Value::Number(x, Unit::One), None) => {
                let power = u64::try_from(x)
                    .ok()
                    .and_then(u64::checked_next_power_of_two);
                let power = power.and_then(|power| i64::try_from(power).ok());
                power
                    .map(Value::number)
                    .ok_or_else(|| mistake("the number is too large"))
            }
            ("min" | "max", Value::Number(a, u), Some(Value::Number(b, v))) if u == v => {
                let chosen = if function == "min" {
                    a.min(b)
                } else {
                    a.max(b)
                };
                Ok(Value::Number(chosen, u))
            }
            _ => Err(
                Diagnostic::new(format!("{function}() cannot be calculated"))
                    .expected("min(A, B), max(A, B), power2(NUMBER) or len(LIST)"),
            ),
        }
    }
}

/// Equal units add; a plain number scales; a quotient of equal units is plain.
fn calculate(operator: &str, left: Value, right: Value) -> Result<Value, Diagnostic> {
    let impossible = || {
        mistake(format!(
            "\"{left} {operator} {right}\" cannot be calculated"
        ))
    };
    let (Value::Number(a, u), Value::Number(b, v)) = (&left, &right) else {
        return Err(impossible());
    };
    let (a, b, u, v) = (*a, *b, *u, *v);
    let (value, unit) = match operator {
        "+" if u == v => (a.checked_add(b), u),
        "-" if u == v => (a.checked_sub(b), u),
        "*" if v == Unit::One => (a.checked_mul(b), u),
        "*" if u == Unit::One => (a.checked_mul(b), v),
        "/" if v == Unit::One => (a.checked_div_euclid(b), u),
        "/" if u == v => (a.checked_div_euclid(b), Unit::One),
        "%" if u == v => (a.checked_rem_euclid(b), u),
        "^" if v == Unit::One => (u32::try_from(b).ok().and_then(|b| a.checked_pow(b)), u),
        _ => (None, u),
    };
    let value = value.ok_or_else(impossible)?;
    Ok(Value::Number(value, unit))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn third_of_five() -> Scope {
        let mut scope = Scope::default();
        scope.set("write", Value::Number(600, Unit::Time));
        scope.set("sigma", Value::Number(250, Unit::Milli));
        scope.set("nice", Value::List(vec![-5, 0, 10]));
        scope.set("load", Value::Word("io".into()));
        scope.of_instance(2, 5)
    }

    #[test]
    fn expressions_are_worked_out() {
        let filled = |text: &str| fill(text, &third_of_five()).unwrap();
        assert_eq!(filled("send replies.{i} 1"), "send replies.2 1");
        assert_eq!(filled("ring.{(i + 3) % n} {i}{n}"), "ring.0 25");
        assert_eq!(filled("sleep {10*i+1}ms"), "sleep 21ms");
        assert_eq!(filled("nice {i - 4}"), "nice -2");
        assert_eq!(filled("2 + 3 * {2 + 3 * 4}"), "2 + 3 * 14");
        assert_eq!(filled("run {write + 20 * 1.5us / 1000}"), "run 630ns");
        assert_eq!(filled("{2 ^ i + power2(33)} {sigma}"), "68 0.250");
        assert_eq!(filled("a-{i of 1000} {max(i, 7) of 10}"), "a-002 7");
        assert_eq!(filled("{nice[i - 2]},{len(nice)},{nice}"), "-5,3,-5,0,10");
        assert_eq!(filled("{load == 'io' ? 'yes' : 'no'} {i >= 3}"), "yes 0");
        assert_eq!(filled("plain"), "plain");
    }

    #[test]
    fn only_what_mentions_the_instance_differs() {
        assert!(varies("a {i} b") && varies("{n - (i+1)}"));
        assert!(!varies("i") && !varies("{n}") && !varies("{pi} i {init}"));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let refused = |text: &str| fill(text, &third_of_five()).unwrap_err().problem;
        assert_eq!(refused("a.{i"), "\"{\" without \"}\"");
        assert_eq!(refused("a.{}"), "{}: a value is missing");
        assert_eq!(refused("a.{j}"), "{j}: there is no value \"j\"");
        assert_eq!(
            refused("{i / 0}"),
            "{i / 0}: \"2 / 0\" cannot be calculated"
        );
        assert_eq!(refused("a.{(i}"), "{(i}: \")\" is missing");
        assert_eq!(refused("a.{i 3}"), "{i 3}: \"3\" is not expected here");
        assert_eq!(
            refused("{write + 1}"),
            "{write + 1}: \"600ns + 1\" cannot be calculated"
        );
        assert_eq!(refused("{nice[3]}"), "{nice[3]}: \"nice\" has no item 3");
        assert_eq!(
            refused("{99999999999 ^ 9}"),
            "{99999999999 ^ 9}: \"99999999999 ^ 9\" cannot be calculated"
        );
        assert_eq!(
            refused(&format!("{{{}}}", "(".repeat(MAX_LENGTH + 1))),
            "an expression in braces is too long"
        );
        let mistake = fill("{wirte}", &third_of_five()).unwrap_err();
        assert_eq!(mistake.nearest.as_deref(), Some("write"));
    }
}
