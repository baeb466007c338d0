//! Reading what people write: one clear message for each mistake.

mod diagnostic;

pub use diagnostic::{nearest, Diagnostic};
