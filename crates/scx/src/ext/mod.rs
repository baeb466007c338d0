//! The model of kernel/sched/ext.c.

use crate::helpers::Kfunc;

/// State of the sched_ext class of one machine.
#[derive(Clone, Default, Debug)]
pub struct Ext {}

/// Kfuncs of this part, by name.
pub static KFUNCS: &[Kfunc] = &[];
