//! What the host needs of a process: a compiler, shared objects, signals.

mod compile;
mod crash;
mod source_line;
mod statics;
mod text;

pub use compile::{
    check_undefined, compile_shared, write_headers, CompileError, COMPILER_FLAGS, INCLUDE_FOLDERS,
};
#[cfg(target_os = "linux")]
pub use crash::HookTimer;
pub(crate) use crash::{enter, leave};
pub use crash::{install_crash_handler, remove_on_crash};
