//! Control flow of a program: loops, unreachable statements, locks held, and whether time passes.

use std::collections::BTreeSet;

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::pool::Pool;
use crate::{Amount, Op, Program, Times, MAX_LOOP_DEPTH};

/// The operations of a program so far and the loops that are open.
pub(super) struct Flow {
    ops: Vec<Op>,
    blocks: Vec<Block>,
    held: BTreeSet<u32>,
    forks: bool,
}

/// The body of a loop, or the program as a whole.
struct Block {
    /// Index of the loop's start and its line; meaningless for the program as a whole.
    start: usize,
    line: usize,
    times: Times,
    /// The mutexes held when it began.
    held: BTreeSet<u32>,
    /// Does going through it once take time or block?
    passes_time: bool,
    /// Why the following statements are never reached.
    closed: Option<&'static str>,
}

impl Block {
    fn new(start: usize, line: usize, times: Times, held: BTreeSet<u32>) -> Block {
        Block {
            start,
            line,
            times,
            held,
            passes_time: false,
            closed: None,
        }
    }
}

impl Flow {
    pub fn new() -> Flow {
        Flow {
            ops: Vec::new(),
            blocks: vec![Block::new(0, 0, Times::Fixed(1), BTreeSet::new())],
            held: BTreeSet::new(),
            forks: false,
        }
    }

    fn block(&mut self) -> &mut Block {
        self.blocks
            .last_mut()
            .expect("the program itself is never closed")
    }

    /// Appends an operation that is not part of a loop's frame.
    pub fn add(&mut self, op: Op, pool: &Pool) -> Result<(), Diagnostic> {
        self.check_reached()?;
        self.check_locks(op, pool)?;
        self.forks |= matches!(op, Op::Fork(_));
        let passes_time = passes_time(op, self.forks);
        let block = self.block();
        block.passes_time |= passes_time;
        if op == Op::Exit {
            block.closed = Some("the task exits before");
        }
        if op != Op::Run(Amount::Fixed(Ns::ZERO)) {
            self.ops.push(op);
        }
        Ok(())
    }

    /// Opens a loop.
    pub fn begin(&mut self, times: Times, line: usize) -> Result<(), Diagnostic> {
        self.check_reached()?;
        if self.blocks.len() > MAX_LOOP_DEPTH {
            return Err(Diagnostic::new("loops are nested too deep")
                .expected(format!("at most {MAX_LOOP_DEPTH} levels")));
        }
        if times == Times::Received
            && !self
                .ops
                .iter()
                .any(|op| matches!(op, Op::ReceiveAll { .. }))
        {
            return Err(Diagnostic::new("nothing has been received")
                .expected("\"receive CHANNEL all\" before \"loop received\""));
        }
        self.blocks
            .push(Block::new(self.ops.len(), line, times, self.held.clone()));
        self.ops.push(Op::Loop { times, end: 0 });
        Ok(())
    }

    /// Closes the innermost loop.
    pub fn end(&mut self, pool: &Pool) -> Result<(), Diagnostic> {
        if self.blocks.len() == 1 {
            return Err(Diagnostic::new("\"end\" without a loop")
                .expected("\"loop N\" or \"forever\" before it"));
        }
        let block = self.blocks.pop().expect("more than one");
        if block.closed.is_none() && block.held != self.held {
            let differing: Vec<_> = block
                .held
                .symmetric_difference(&self.held)
                .map(|m| pool.mutex_name(*m))
                .collect();
            return Err(Diagnostic::new(format!(
                "the loop ends with other mutexes held than it began with ({})",
                differing.join(", ")
            ))
            .expected("as many locks as unlocks in a loop"));
        }
        if block.times == Times::Forever && !block.passes_time && block.closed.is_none() {
            let problem = "would loop without time passing";
            return Err(Diagnostic::new(problem).at("", block.line).expected(
                "a statement inside that takes time or blocks, such as run, sleep or receive",
            ));
        }
        self.close(block);
        Ok(())
    }

    fn close(&mut self, block: Block) {
        let end = self.ops.len() as u32;
        self.ops.push(Op::EndLoop {
            start: block.start as u32,
        });
        self.ops[block.start] = Op::Loop {
            times: block.times,
            end,
        };
        let outer = self.block();
        outer.passes_time |= block.passes_time && block.times != Times::Fixed(0);
        if block.times == Times::Forever {
            outer.closed = Some("the loop before goes on for ever");
        }
        self.held = block.held;
    }

    /// The finished program, which ends on this line.
    pub fn finish(mut self, last_line: usize, pool: &Pool) -> Result<Program, Diagnostic> {
        if self.blocks.len() > 1 {
            let line = self.block().line;
            return Err(Diagnostic::new("loop without \"end\"")
                .at("", line)
                .expected("\"end\" on a line of its own"));
        }
        if self.ops.is_empty() {
            return Err(Diagnostic::new("the program is empty")
                .at("", last_line)
                .expected("at least one statement"));
        }
        if self.block().closed.is_none() {
            self.check_nothing_held(pool)
                .map_err(|d| d.at("", last_line))?;
        }
        Ok(Program { ops: self.ops })
    }

    fn check_reached(&mut self) -> Result<(), Diagnostic> {
        match self.block().closed {
            Some(why) => Err(Diagnostic::new(format!("never reached, since {why}"))),
            None => Ok(()),
        }
    }

    fn check_locks(&mut self, op: Op, pool: &Pool) -> Result<(), Diagnostic> {
        let not_held = |mutex: u32| {
            let name = pool.mutex_name(mutex);
            Diagnostic::new(format!("mutex \"{name}\" is not held here"))
                .expected(format!("\"lock {name}\" before it"))
        };
        match op {
            Op::Lock(mutex) if !self.held.insert(mutex) => Err(Diagnostic::new(format!(
                "mutex \"{}\" is held already: the task would wait for itself",
                pool.mutex_name(mutex)
            ))),
            Op::Unlock(mutex) if !self.held.remove(&mutex) => Err(not_held(mutex)),
            Op::CondWait {
                mutex: Some(mutex), ..
            } if !self.held.contains(&mutex) => Err(not_held(mutex)),
            Op::Exit => self.check_nothing_held(pool),
            _ => Ok(()),
        }
    }

    fn check_nothing_held(&self, pool: &Pool) -> Result<(), Diagnostic> {
        match self.held.first() {
            Some(mutex) => {
                let name = pool.mutex_name(*mutex);
                Err(
                    Diagnostic::new(format!("the task ends while it holds mutex \"{name}\""))
                        .expected(format!("\"unlock {name}\" before")),
                )
            }
            None => Ok(()),
        }
    }
}

/// Does an operation take time or block, at least after a while?  Taking a mutex or giving up the
/// CPU does neither when no other task wants it.
fn passes_time(op: Op, forks: bool) -> bool {
    match op {
        Op::Run(amount) | Op::RunFor(amount) | Op::Sleep(amount) | Op::TimedSleep(amount) => {
            some(amount)
        }
        Op::Disk { service, .. } => some(service),
        Op::Send { count, .. } | Op::Receive { count, .. } => count > 0,
        Op::Timer { .. }
        | Op::ReceiveAll { .. }
        | Op::SemWait(_)
        | Op::Barrier(_)
        | Op::CondWait { .. } => true,
        Op::WaitChild | Op::WaitAll => forks,
        _ => false,
    }
}

fn some(amount: Amount) -> bool {
    amount != Amount::Fixed(Ns::ZERO)
}
