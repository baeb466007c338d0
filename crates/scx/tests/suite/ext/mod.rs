//! The model of sched_ext, by scripts of events whose outcome was worked out from kernel/sched/ext.c.

mod damaged;
mod errors;
mod groups;
mod idle;
mod kernel;
mod order;
mod queues;
mod recorded;
mod scheduler;
