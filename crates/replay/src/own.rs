//! The policy that models a kernel's own scheduler.

use schedlab_trace::kernel_version;

/// Linux's own schedulers, latest first: first release, policy.
const OWN: [((u32, u32), &str); 4] = [
    ((7, 1), "eevdf:7.1"),
    ((6, 17), "eevdf:6.18"),
    ((6, 12), "eevdf:6.12"),
    ((6, 6), "eevdf:6.6"),
];

/// The policy closest to the own scheduler of a kernel of this release (`uname -r`); that of 6.12
/// if unknown. A sched_ext scheduler may have been loaded instead.
pub fn own_scheduler(release: Option<&str>) -> &'static str {
    match release.and_then(kernel_version) {
        None => "eevdf:6.12",
        Some(version) => OWN
            .iter()
            .find(|(since, _)| version >= *since)
            .map_or("cfs:6.5", |(_, policy)| policy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_its_own() {
        for (release, policy) in [
            ("7.2.13+deb14-amd64", "eevdf:7.1"),
            ("7.0.1", "eevdf:6.18"),
            ("6.17.0-rc3", "eevdf:6.18"),
            ("6.12.30-amd64", "eevdf:6.12"),
            ("6.12.0-schedlab", "eevdf:6.12"),
            ("6.8.0-45-generic", "eevdf:6.6"),
            ("6.5.0", "cfs:6.5"),
            ("5.15.0-91-generic", "cfs:6.5"),
            ("unreadable", "eevdf:6.12"),
        ] {
            assert_eq!(own_scheduler(Some(release)), policy, "{release}");
        }
        assert_eq!(own_scheduler(None), "eevdf:6.12");
    }
}
