//! How rt-app files are read.

use clap::{Args, ValueEnum};
use schedlab_workload::rtapp;

/// How rt-app files are read.
#[derive(Args, Clone, Default)]
pub struct RtappArguments {
    /// Keys that occur twice in an object of an rt-app file.
    #[arg(long, value_name = "MEANING", default_value = "ordered")]
    pub rtapp_keys: RtappKeys,
    /// What `suspend` in an rt-app file waits on.
    #[arg(long, value_name = "MEANING", default_value = "auto")]
    pub rtapp_suspend: RtappSuspend,
}

/// The meaning of keys that occur twice in an object of an rt-app file.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RtappKeys {
    /// All are used, in their order.
    #[default]
    Ordered,
    /// The last value is used, at the place of the first, as json-c reads them.
    JsonC,
}

/// What `suspend` in an rt-app file waits on.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RtappSuspend {
    /// The given name if a task resumes it and no task has it as its name; else the task's own name.
    #[default]
    Auto,
    /// The task's own name, as rt-app does since May 2025.
    Own,
    /// The given name, as rt-app did before.
    Named,
}

impl RtappArguments {
    /// The options of the reader.
    pub fn options(&self) -> rtapp::Options {
        rtapp::Options {
            repeated: match self.rtapp_keys {
                RtappKeys::Ordered => rtapp::RepeatedKeys::Ordered,
                RtappKeys::JsonC => rtapp::RepeatedKeys::JsonC,
            },
            suspend: match self.rtapp_suspend {
                RtappSuspend::Auto => rtapp::SuspendMeaning::Auto,
                RtappSuspend::Own => rtapp::SuspendMeaning::Own,
                RtappSuspend::Named => rtapp::SuspendMeaning::Named,
            },
        }
    }

    /// The flags that are not at their defaults.
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let mut flags = Vec::new();
        if self.rtapp_keys != RtappKeys::Ordered {
            flags.push(("--rtapp-keys", name_of(&self.rtapp_keys)));
        }
        if self.rtapp_suspend != RtappSuspend::Auto {
            flags.push(("--rtapp-suspend", name_of(&self.rtapp_suspend)));
        }
        flags
    }
}

/// The name of a value on the command line.
fn name_of(value: &impl ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or_else(String::new, |value| value.get_name().to_string())
}
