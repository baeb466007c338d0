//! From the lines of a program to its operations.

use schedlab_input::{Diagnostic, Text};

use super::expression::{fill, varies, Scope, Value};
use super::flow::Flow;
use super::names::check_name;
use super::pool::Pool;
use super::statement::{misused, Reader, Statement};
use crate::{Program, ProgramId};

/// The most lines of a program after its `for` are written out.
const MAX_LINES: usize = 1_000_000;

/// Does the program differ between instances?
pub(super) fn program_varies(text: &Text) -> bool {
    text.lines().any(|(_, line)| varies(code(line)))
}

/// Reads the program of an instance.  Mistakes carry their line; file and key are for the caller.
pub(super) fn program(
    text: &Text,
    scope: &Scope,
    pool: &mut Pool,
) -> Result<ProgramId, Diagnostic> {
    let written: Vec<_> = text.lines().map(|(n, line)| (n, code(line))).collect();
    let mut lines = Vec::new();
    write_out(&written, &mut scope.clone(), &mut lines)?;
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

/// Fills in expressions, repeats what is between `for` and `end`, and leaves out what is between an
/// `if` that does not hold and its `end`.
fn write_out(
    lines: &[(usize, &str)],
    scope: &mut Scope,
    out: &mut Vec<(usize, String)>,
) -> Result<(), Diagnostic> {
    let mut at = 0;
    while let Some(&(number, line)) = lines.get(at) {
        let placed = |mistake: Diagnostic| mistake.at("", number);
        if out.len() >= MAX_LINES {
            let problem = "the program is too long once it is written out";
            return Err(
                placed(Diagnostic::new(problem)).expected(format!("at most {MAX_LINES} lines"))
            );
        }
        at += 1;
        let verb = line.split_whitespace().next().unwrap_or_default();
        if verb != "for" && verb != "if" {
            out.push((number, fill(line, scope).map_err(placed)?));
            continue;
        }
        let length = body_length(&lines[at..]).ok_or_else(|| {
            placed(
                Diagnostic::new(format!("{verb} without \"end\""))
                    .expected("\"end\" on a line of its own"),
            )
        })?;
        let body = &lines[at..at + length];
        at += length + 1;
        let filled = fill(line, scope).map_err(placed)?;
        let words: Vec<&str> = filled.split_whitespace().collect();
        match words[..] {
            ["if", "0"] => {}
            ["if", "1"] => write_out(body, scope, out)?,
            ["for", name, count] => {
                check_variable(name, scope).map_err(placed)?;
                let times: u32 = count.parse().map_err(|_| placed(misused(&words)))?;
                for k in 0..times {
                    scope.set(name, Value::number(k.into()));
                    write_out(body, scope, out)?;
                }
                scope.remove(name);
            }
            _ => return Err(placed(misused(&words))),
        }
    }
    Ok(())
}

/// The number of lines up to the `end` of a block that is open.
fn body_length(lines: &[(usize, &str)]) -> Option<usize> {
    let mut open = 1;
    lines.iter().position(|(_, line)| {
        match line.split_whitespace().next() {
            Some("loop" | "forever" | "for" | "if") => open += 1,
            Some("end") => open -= 1,
            _ => {}
        }
        open == 0
    })
}

fn check_variable(name: &str, scope: &Scope) -> Result<(), Diagnostic> {
    check_name(name).map_err(Diagnostic::new)?;
    match scope.get(name) {
        None => Ok(()),
        Some(_) => Err(
            Diagnostic::new(format!("\"{name}\" is reserved or used already"))
                .expected("another name"),
        ),
    }
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
