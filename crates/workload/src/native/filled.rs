//! Values of keys after their `{expressions}` are replaced.

use std::ops::RangeInclusive;

use schedlab_input::{Diagnostic, Table};

use super::expression::{fill, Scope};

/// The value of a key that is a string.
pub(super) fn filled<T>(
    table: &Table<'_>,
    key: &str,
    expected: &str,
    scope: &Scope,
    read: impl FnOnce(&str) -> Result<T, Diagnostic>,
) -> Result<Option<T>, Diagnostic> {
    table.quantity(key, expected, |text| read(&fill(text, scope)?))
}

/// A whole number, or a string with an expression.
pub(super) fn integer(
    table: &Table<'_>,
    key: &str,
    range: RangeInclusive<i64>,
    scope: &Scope,
) -> Result<Option<i64>, Diagnostic> {
    if !matches!(table.string(key), Ok(Some(text)) if text.contains('{')) {
        return table.integer(key, range);
    }
    filled(table, key, "", scope, |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(
            Diagnostic::new(format!("{text} is out of range")).expected(format!(
                "a whole number from {} to {}",
                range.start(),
                range.end()
            )),
        ),
    })
}

/// Is the table part of the workload?  `when` says so if it is there.
pub(super) fn applies(table: &Table<'_>, scope: &Scope) -> Result<bool, Diagnostic> {
    let expected = "a condition in braces, such as \"{clients > 0}\"";
    let when = filled(table, "when", expected, scope, |text| match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Diagnostic::new(format!("{text} is neither 0 nor 1")).expected(expected)),
    })?;
    Ok(when.unwrap_or(true))
}
