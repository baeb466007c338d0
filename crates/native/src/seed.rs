//! The initial state of the policies' random generator.

/// The first state of the policies' generator in a run with this seed, on this CPU (the native host
/// has one generator, that of CPU 0). Different seeds have different states. 0 is excluded, because
/// xorshift never leaves it. `crates/bpf/include/machine.h` computes the same.
pub fn first_state(seed: u64, cpu: u32) -> u64 {
    match mix(mix(seed).wrapping_add(u64::from(cpu))) {
        0 => 1,
        state => state,
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_seeds_or_cpus_draw_alike() {
        let mut states: Vec<u64> = (0..1000).map(|seed| first_state(seed, 0)).collect();
        states.extend((1..1000).map(|cpu| first_state(7, cpu)));
        let all = states.len();
        states.sort_unstable();
        states.dedup();
        assert_eq!(states.len(), all);
        assert_ne!(states[0], 0);
    }

    #[test]
    fn mixing_is_splitmix64() {
        // The first numbers of the generator from 0 and from 1234567, as printed by its authors'
        // program.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }
}
