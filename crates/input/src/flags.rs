//! The parts of a clap error, for a [`Diagnostic`](crate::Diagnostic).

use clap::error::{ContextKind, ContextValue};
use clap::Error;

/// What the value should have been: what its own parser says, or the valid values.
pub fn allowed(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => text(error, ContextKind::ValidValue),
    }
}

/// The flag, command or value clap thinks was meant.
pub fn suggestion(error: &Error) -> Option<String> {
    [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ]
    .into_iter()
    .find_map(|kind| list(error, kind).into_iter().next())
}

/// The first line of clap's own message, without its prefix.
pub fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_string()
}

/// One piece of the error's context; empty if it has none.
pub fn text(error: &Error, kind: ContextKind) -> String {
    list(error, kind).join(", ")
}

fn list(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        _ => Vec::new(),
    }
}
