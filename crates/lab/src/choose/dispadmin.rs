//! Dispatch tables in the format of Solaris' dispadmin(8): `dispadmin -c TS -g > table.dispadmin`.

use schedlab_input::Diagnostic;
use schedlab_policy::Assignment;

/// The columns of a row, with the names of the policy's tables.
const COLUMNS: [&str; 5] = ["quantum", "tqexp", "slpret", "maxwait", "lwait"];

/// The rate of the clock that counts a policy's quanta.
const TICKS_PER_SECOND: i64 = 100;

/// Units of a quantum per second, unless the file says otherwise.
const DEFAULT_RES: i64 = 1000;

/// The largest number: they have 32 bits in Solaris, too.
const MOST: i64 = i32::MAX as i64;

/// Reads one table for each column.
///
/// # Errors
/// A line is neither `RES=N`, a row of five numbers nor a comment.
pub fn parse(file: &str, text: &str) -> Result<Vec<Assignment>, Diagnostic> {
    let mut res = DEFAULT_RES;
    let mut columns = COLUMNS.map(|name| Assignment {
        file: file.to_string(),
        name: name.to_string(),
        row: None,
        values: Vec::new(),
    });
    for (line, text) in (1..).zip(text.lines()) {
        let mistake = |problem: String| Diagnostic::new(problem).at(file, line);
        let content = text.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(value) = content.strip_prefix("RES=") {
            let number = number(value).filter(|&n| n > 0);
            res = number.ok_or_else(|| resolution(mistake(format!("RES is \"{value}\""))))?;
            continue;
        }
        let row: Vec<Option<i64>> = content.split_whitespace().map(number).collect();
        let &[Some(quantum), Some(tqexp), Some(slpret), Some(maxwait), Some(lwait)] = &row[..]
        else {
            return Err(
                mistake(format!("\"{content}\" is not a row of a dispatch table"))
                    .expected(format!("five whole numbers: {}", COLUMNS.join(", "))),
            );
        };
        // A quantum is rounded up to whole ticks.
        let ticks = (quantum * TICKS_PER_SECOND + res - 1) / res;
        for (column, value) in columns
            .iter_mut()
            .zip([ticks, tqexp, slpret, maxwait, lwait])
        {
            column.values.push((line, value));
        }
    }
    match columns[0].values.is_empty() {
        true => Err(Diagnostic::new("there is no row")
            .at(file, 0)
            .expected("a dispatch table as \"dispadmin -c TS -g\" writes it")),
        false => Ok(columns.into()),
    }
}

fn number(text: &str) -> Option<i64> {
    let number = text.trim().parse().ok();
    number.filter(|n| (-MOST..=MOST).contains(n))
}

fn resolution(mistake: Diagnostic) -> Diagnostic {
    mistake.expected("units of a quantum per second, such as RES=1000")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# Time Sharing Dispatcher Configuration
RES=1000

# ts_quantum  ts_tqexp  ts_slpret  ts_maxwait ts_lwait  PRIORITY LEVEL
       200         0        50           0        50        #     0
        15         0         1           5         1        #     1
";

    fn values(column: &Assignment) -> Vec<i64> {
        column.values.iter().map(|&(_, value)| value).collect()
    }

    /// At 100 ticks per second 200/1000 s are 20 ticks, and 15/1000 s are 1.5, which makes 2.
    #[test]
    fn a_table_becomes_columns_and_quanta_ticks() {
        let columns = parse("t.dispadmin", TABLE).unwrap();
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["quantum", "tqexp", "slpret", "maxwait", "lwait"]);
        let all: Vec<Vec<i64>> = columns.iter().map(values).collect();
        assert_eq!(all, [[20, 2], [0, 0], [50, 1], [0, 5], [50, 1]]);
        assert_eq!(columns[0].values[1].0, 6, "the line");
        let coarse = parse("t", &TABLE.replace("RES=1000", "RES=100")).unwrap();
        assert_eq!(values(&coarse[0]), [200, 15]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let says = |from: &str, to: &str, message: &str| {
            let error = parse("t", &TABLE.replace(from, to)).unwrap_err();
            assert_eq!(error.to_string(), message);
        };
        says(
            "RES=1000",
            "RES=0",
            "t:2: RES is \"0\"; expected units of a quantum per second, such as RES=1000",
        );
        says(
            "  5         1        #     1",
            " #  1",
            "t:6: \"15         0         1\" is not a row of a dispatch table; \
             expected five whole numbers: quantum, tqexp, slpret, maxwait, lwait",
        );
        assert_eq!(
            parse("t", "# nothing\n").unwrap_err().to_string(),
            "t: there is no row; expected a dispatch table as \"dispadmin -c TS -g\" writes it"
        );
    }
}
