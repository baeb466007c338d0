//! The engine behind the page of `site/`: requests and answers are JSON.
//!
//! A [`Session`] has policies and runs. [`Session::answer`] takes a [`Request`] and gives the answer; the page calls it
//! through [`abi`], the few functions that a module of WebAssembly exports. The page links each policy, a module of its
//! own, before it names it.
//!
//! ```text
//!   page  ── Request ──>  Session ──> simulator ──> hash, metrics, Record
//!         <── Answer ──             <── moments, sections of the report ──┘
//! ```

pub mod abi;
mod catalogue;
mod chosen;
mod moment;
mod record;
mod request;
mod run;
mod scene;
mod session;
mod text;

pub use record::{Record, MOST_EVENTS};
pub use request::{Choice, Request, SetUp, Source};
pub use run::Progress;
pub use session::Session;
