//! From the lines of a program to its operations.

use schedlab_input::{Diagnostic, Text};

use super::expand::{fill, varies, Instance};
use super::flow::Flow;
use super::pool::Pool;
use super::statement::{Reader, Statement};
use crate::{Program, ProgramId};

/// Does the program differ between instances?
pub(super) fn program_varies(text: &Text) -> bool {
    text.lines().any(|(_, line)| varies(code(line)))
}

/// Reads the program of an instance.  Mistakes carry their line; file and key are for the caller.
pub(super) fn program(
    text: &Text,
    instance: Instance,
    pool: &mut Pool,
) -> Result<ProgramId, Diagnostic> {
    let fill_line = |(number, line)| {
        let filled =
            fill(code(line), instance).map_err(|mistake: Diagnostic| mistake.at("", number))?;
        Ok((number, filled))
    };
    let lines = text.lines().map(fill_line).collect::<Result<Vec<_>, _>>()?;
    let key = lines
        .iter()
        .map(|(_, line)| line.trim())
        .collect::<Vec<_>>()
        .join("\n");
    if let Some(known) = pool.known_program(&key) {
        return Ok(known);
    }
    let program = compile(&lines, text.last_line(), pool)?;
    pool.keep_program(key, program)
        .map_err(|mistake| mistake.at("", text.last_line()))
}

/// A line without its comment.
fn code(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

fn compile(
    lines: &[(usize, String)],
    last_line: usize,
    pool: &mut Pool,
) -> Result<Program, Diagnostic> {
    let mut reader = Reader::new(pool);
    let mut flow = Flow::new();
    for (number, line) in lines {
        reader.line = *number;
        step(line, &mut reader, &mut flow).map_err(|mistake| match mistake.line {
            0 => mistake.at("", *number),
            _ => mistake,
        })?;
    }
    flow.finish(last_line, reader.pool)
}

fn step(line: &str, reader: &mut Reader<'_>, flow: &mut Flow) -> Result<(), Diagnostic> {
    match reader.statement(line)? {
        None => Ok(()),
        Some(Statement::Do(op)) => flow.add(op, reader.pool),
        Some(Statement::Loop(times)) => flow.begin(times, reader.line),
        Some(Statement::End) => flow.end(reader.pool),
    }
}
