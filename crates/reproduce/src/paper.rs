//! What a paper says, as data.

use serde::Deserialize;
use toml::{Table, Value};

use crate::Error;

/// What a paper says about one experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// What the experiment shows: "Figure 3: VolanoMark throughput".
    pub title: String,
    /// The paper: authors, title, year.
    pub paper: String,
    /// A name of [`testbed`](crate::testbed).
    pub testbed: String,
    /// Its claims.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimData>,
    /// Its numbers.
    #[serde(default)]
    pub values: Table,
}

/// A claim, as the paper makes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimData {
    /// Its id ("E3").
    pub id: String,
    /// The claim in a sentence.
    pub sentence: String,
    /// The paper's own value.
    pub paper: String,
    /// The condition under which it holds here.
    #[serde(default)]
    pub criterion: String,
    /// Why it fails here and under which conditions it would hold; needed where it fails.
    pub explanation: Option<String>,
    /// Why it cannot be tested here; then it has no other verdict.
    pub not_testable: Option<String>,
}

impl Paper {
    /// Reads the text of an experiment's `paper.toml`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(id: &str, text: &str) -> Result<Paper, Error> {
        toml::from_str(text).map_err(|e| Error::experiment(id, format!("paper.toml: {e}")))
    }

    /// A number of the paper, by its path in `[values]` ("up.stock").
    ///
    /// # Panics
    /// There is no such number: the experiment and its data disagree.
    pub fn value(&self, path: &str) -> f64 {
        match self.find(path) {
            Some(Value::Float(x)) => *x,
            Some(Value::Integer(x)) => *x as f64,
            other => panic!("{}: values.{path} is {other:?}, not a number", self.title),
        }
    }

    /// Numbers of the paper, by their path in `[values]`.
    ///
    /// # Panics
    /// There is no such list of numbers.
    pub fn list(&self, path: &str) -> Vec<f64> {
        let Some(Value::Array(list)) = self.find(path) else {
            panic!("{}: values.{path} is not a list", self.title)
        };
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|x| x as f64));
        list.iter()
            .map(|value| {
                number(value).unwrap_or_else(|| panic!("{path}: {value:?} is not a number"))
            })
            .collect()
    }

    fn find(&self, path: &str) -> Option<&Value> {
        let (first, rest) = path
            .split_once('.')
            .map_or((path, None), |(a, b)| (a, Some(b)));
        let value = self.values.get(first)?;
        rest.map_or(Some(value), |rest| {
            rest.split('.').try_fold(value, |v, key| v.get(key))
        })
    }
}
