//! The papers' testbeds: which machine files describe which hardware.
//!
//! Chosen once for each testbed, from the paper's hardware and stated sources: an experiment
//! names its testbed, and the lab runs nothing of it on another machine.

/// A testbed's name and its machine files: one for each kernel it was used with.
pub const TESTBEDS: &[(&str, &[&str])] = &[
    (
        "netfinity-7000",
        &[
            "netfinity-7000-up",
            "netfinity-7000-1p",
            "netfinity-7000-2p",
            "netfinity-7000-4p",
        ],
    ),
    (
        "netfinity-5500",
        &["netfinity-5500-up", "netfinity-5500-2p"],
    ),
    ("xeon-700", &["xeon-700-8p", "xeon-700-up"]),
    ("athlon-xp-1800", &["athlon-xp-1800"]),
    ("pentium-4", &["pentium-4-3ghz"]),
    (
        "athlon-mp-1900",
        &["athlon-mp-1900-1p", "athlon-mp-1900-2p"],
    ),
    ("dual-xeon-ht", &["dual-xeon-ht"]),
    // Claims about an algorithm alone: hardware without costs.
    ("ideal", &["ideal-1", "ideal-2", "ideal-4", "ideal-8"]),
    ("desktop", &["desktop"]),
    ("server", &["server"]),
];

/// The machines of a testbed; none if there is no such testbed.
pub fn machines(testbed: &str) -> Option<&'static [&'static str]> {
    let found = TESTBEDS.iter().find(|(name, _)| *name == testbed);
    found.map(|(_, machines)| *machines)
}
