//! `schedlab explain`: why tasks had to wait.

use crate::arguments::ExplainArguments;
use crate::failure::Failure;

/// x
pub fn explain(_arguments: &ExplainArguments) -> Result<(), Failure> {
    Ok(())
}
