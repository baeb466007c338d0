//! The program's version.

/// The program's version: with the commit, if it was built from a checkout.
pub const VERSION: &str = env!("SCHEDLAB_VERSION");

/// The program and its version.
pub fn program() -> String {
    format!("schedlab {VERSION}")
}
