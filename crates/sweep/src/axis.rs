//! An axis of a sweep: a name and its values.

use schedlab_input::{nearest, Diagnostic};

/// Most values of one axis.
const MOST_VALUES: i64 = 100_000;

/// A parameter that a sweep varies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// `TUNABLE`, `POLICY.TUNABLE`, `workload.OPTION`, or `duration`.
    pub name: String,
    /// Its values.
    pub values: Values,
    /// The place of its definition: "--vary" or a file, and the line.
    pub origin: (String, usize),
}

/// The values of an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// These values, in this order.
    List(Vec<String>),
    /// All whole numbers from `low` to `high`; only for designs with random samples.
    Range {
        /// The smallest.
        low: i64,
        /// The largest.
        high: i64,
        /// Equal ratios are equally likely, not equal differences.
        log: bool,
    },
}

impl Axis {
    /// Parses `NAME=VALUES`: "10,20,50", "10..50/10" (10 to 50 in steps of 10), "10..200" or
    /// "10..200 log".
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Axis, Diagnostic> {
        let Some((name, values)) = text.split_once('=') else {
            let mistake = Diagnostic::new(format!("\"{text}\" has no \"=\""));
            return Err(mistake.at("--vary", 0).expected(FORM));
        };
        let words: Vec<&str> = values.split(',').collect();
        Axis::new(name.trim(), &words, ("--vary".into(), 0))
    }

    /// An axis with these values; each word is a value or a range.
    ///
    /// # Errors
    /// There is no value, a value is given twice, or a range is invalid.
    pub fn new(name: &str, words: &[&str], origin: (String, usize)) -> Result<Axis, Diagnostic> {
        let mistake = |problem: String| {
            Diagnostic::new(problem)
                .at(origin.0.clone(), origin.1)
                .key(name)
        };
        let mut list: Vec<String> = Vec::new();
        let mut values = None;
        for word in words.iter().map(|word| word.trim()) {
            match read(word).map_err(|problem| mistake(problem).expected(FORM))? {
                Word::Values(more) => list.extend(more),
                Word::Range(range) => values = Some(range),
            }
        }
        if list.is_empty() && values.is_none() {
            return Err(mistake("there is no value".into()).expected(FORM));
        }
        if values.is_some() && words.len() > 1 {
            let problem = "a range without a step cannot be combined with other values".to_string();
            return Err(mistake(problem).expected(FORM));
        }
        if let Some(i) = (1..list.len()).find(|&i| list[..i].contains(&list[i])) {
            return Err(mistake(format!("{} is given twice", list[i])).expected("each value once"));
        }
        Ok(Axis {
            name: name.to_string(),
            values: values.unwrap_or(Values::List(list)),
            origin,
        })
    }

    /// An error about this axis.
    pub fn mistake(&self, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::new(problem)
            .at(self.origin.0.clone(), self.origin.1)
            .key(&self.name)
    }

    /// An error about this axis, from the error of a setting made from it.
    pub fn own(&self, mistake: Diagnostic) -> Diagnostic {
        Diagnostic {
            file: self.origin.0.clone(),
            line: self.origin.1,
            key: self.name.clone(),
            ..mistake
        }
    }

    /// The value at a fraction of its range, 0 to 1 (excluded).
    pub fn at(&self, part: f64) -> String {
        match &self.values {
            Values::List(values) => {
                let index = (part * values.len() as f64) as usize;
                values[index.min(values.len() - 1)].clone()
            }
            &Values::Range { low, high, log } => drawn(low, high, log, part).to_string(),
        }
    }
}

impl Values {
    /// The number of values in a grid; `None` for a range without a step.
    pub fn count(&self) -> Option<usize> {
        match self {
            Values::List(values) => Some(values.len()),
            Values::Range { .. } => None,
        }
    }
}

/// The form of an axis, for messages.
pub const FORM: &str = "NAME=10,20,50, NAME=10..50/10 (in steps of 10), or for designs with random samples NAME=10..200 or \"NAME=10..200 log\"";

enum Word {
    Values(Vec<String>),
    Range(Values),
}

fn read(word: &str) -> Result<Word, String> {
    if word.is_empty() {
        return Err("a value is empty".into());
    }
    let Some((low, rest)) = word.split_once("..") else {
        return Ok(Word::Values(vec![word.to_string()]));
    };
    // Only numbers are a range: a path may contain "..".
    let Ok(low) = low.trim().parse::<i64>() else {
        return Ok(Word::Values(vec![word.to_string()]));
    };
    let (rest, log) = match rest.trim().strip_suffix("log") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (high, step) = match rest.split_once('/') {
        Some((high, step)) => (high, Some(step)),
        None => (rest, None),
    };
    let number = |text: &str| {
        let text = text.trim();
        let number = text.parse::<i64>();
        number.map_err(|_| format!("\"{text}\" is not a whole number"))
    };
    let high = number(high)?;
    if high < low || (log && low < 1) {
        return Err(format!("{low}..{high} is not a valid range"));
    }
    match step {
        None => Ok(Word::Range(Values::Range { low, high, log })),
        Some(step) => steps(low, high, number(step)?).map(Word::Values),
    }
}

fn steps(low: i64, high: i64, step: i64) -> Result<Vec<String>, String> {
    if step < 1 {
        return Err(format!("{step} is not a valid step"));
    }
    let last = high.checked_sub(low).map(|width| width / step);
    match last {
        Some(last) if last < MOST_VALUES => {
            Ok((0..=last).map(|i| (low + i * step).to_string()).collect())
        }
        _ => Err(format!(
            "{low}..{high}/{step} has more than {MOST_VALUES} values"
        )),
    }
}

fn drawn(low: i64, high: i64, log: bool, part: f64) -> i64 {
    let value = match log {
        false => low as f64 + part * (high as f64 - low as f64 + 1.0),
        true => {
            let (from, to) = ((low as f64).ln(), (high as f64 + 1.0).ln());
            (from + part * (to - from)).exp()
        }
    };
    (value.floor() as i64).clamp(low, high)
}

/// The most similar of these names.
pub(crate) fn like<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        match Axis::parse(text).unwrap().values {
            Values::List(values) => values,
            range => panic!("{range:?}"),
        }
    }

    #[test]
    fn lists_and_steps() {
        assert_eq!(values("o1.a=10,20,50"), ["10", "20", "50"]);
        assert_eq!(values("a=10..30/10,100"), ["10", "20", "30", "100"]);
        assert_eq!(values("a=1..6/2"), ["1", "3", "5"]);
        assert_eq!(values("workload=../x.toml,y"), ["../x.toml", "y"]);
    }

    #[test]
    fn ranges_are_drawn_from() {
        let axis = Axis::parse("a=10..19").unwrap();
        let drawn: Vec<String> = [0.0, 0.05, 0.55, 0.999].map(|part| axis.at(part)).to_vec();
        assert_eq!(drawn, ["10", "10", "15", "19"]);
        // The middle of 1 to 100 in ratios is 10.
        let axis = Axis::parse("a=1..99 log").unwrap();
        assert_eq!((axis.at(0.0), axis.at(0.5)), ("1".into(), "10".into()));
    }

    #[test]
    fn nonsense_is_refused() {
        let says = |text: &str, problem: &str| {
            let message = Axis::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(problem), "{message}");
        };
        says("a", "--vary: \"a\" has no \"=\"; expected NAME=10,20,50");
        says("a=", "--vary: a: a value is empty");
        says("a=1,1", "--vary: a: 1 is given twice");
        says("a=5..1", "--vary: a: 5..1 is not a valid range");
        says("a=0..9 log", "--vary: a: 0..9 is not a valid range");
        says("a=1..9/0", "--vary: a: 0 is not a valid step");
        says(
            "a=1..9,20",
            "--vary: a: a range without a step cannot be combined with other values",
        );
        says(
            "a=1..9223372036854775807/1",
            "--vary: a: 1..9223372036854775807/1 has more than",
        );
    }
}
