//! Values that users and variants assign to tunables.

use schedlab_input::Diagnostic;

/// `NAME=VALUE`, `NAME[ROW]=VALUE` for one row of a table, or `NAME=VALUE,VALUE,...` for all rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Where it was written: a file, or "--set".
    pub file: String,
    /// The tunable.
    pub name: String,
    /// The row of a table; `None`: the whole tunable.
    pub row: Option<usize>,
    /// The values, each with its line, from 1; 0 without a line.
    pub values: Vec<(usize, i64)>,
}

impl Assignment {
    /// One value for `target`: a NAME or NAME[ROW].
    pub fn new(target: &str, value: i64) -> Assignment {
        let (name, row) = split_row(target).unwrap_or((target, None));
        Assignment {
            file: "--set".into(),
            name: name.to_string(),
            row,
            values: vec![(0, value)],
        }
    }

    /// Reads `NAME=VALUE`, as on a command line or in a variant.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Assignment, Diagnostic> {
        let (target, values) = text
            .split_once('=')
            .ok_or_else(|| mistake(format!("\"{text}\" has no \"=\"")))?;
        let (name, row) = split_row(target)
            .ok_or_else(|| mistake("this is not a row of a table".into()).key(target))?;
        let number = |value: &str| match value.trim().parse() {
            Ok(number) => Ok((0, number)),
            Err(_) => Err(mistake(format!("\"{value}\" is not a whole number")).key(target)),
        };
        Ok(Assignment {
            file: "--set".into(),
            name: name.to_string(),
            row,
            values: values.split(',').map(number).collect::<Result<_, _>>()?,
        })
    }

    /// The target of the values: NAME or NAME[ROW].
    pub fn target(&self) -> String {
        match self.row {
            Some(row) => format!("{}[{row}]", self.name),
            None => self.name.clone(),
        }
    }

    /// The values, separated by commas.
    pub fn values_text(&self) -> String {
        let texts: Vec<String> = self.values.iter().map(|(_, v)| v.to_string()).collect();
        texts.join(",")
    }
}

/// "quantum[45]" is row 45 of quantum; `None` if the brackets do not contain a number.
fn split_row(target: &str) -> Option<(&str, Option<usize>)> {
    let Some((name, rest)) = target.split_once('[') else {
        return Some((target, None));
    };
    let row = rest.strip_suffix(']')?.parse().ok()?;
    Some((name, Some(row)))
}

fn mistake(problem: String) -> Diagnostic {
    Diagnostic::new(problem)
        .at("--set", 0)
        .expected("NAME=VALUE, NAME[ROW]=VALUE or POLICY.NAME=VALUE, VALUE being a whole number")
}
