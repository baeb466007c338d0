//! `schedlab volanomark` and `schedlab chat`: chat rooms over TCP.

use schedlab_programs::chat::{run, Plan};

use crate::failure::Failure;

use super::print;

/// Runs server and client on this machine and prints the score.
pub fn chat<'a, T>(name: &str, options: &'a T) -> Result<(), Failure>
where
    Plan: From<&'a T>,
{
    let score = run(Plan::from(options));
    let score = score.map_err(|error| Failure::Other(format!("{name}: {error}")))?;
    let seconds = score.time.0 as f64 / 1e9;
    let per_second = (score.sent + score.received) as f64 / seconds;
    print(&format!(
        "{name}: {} messages sent, {} received, {seconds:.6} s: {per_second:.0} messages/s\n",
        score.sent, score.received
    ))
}
