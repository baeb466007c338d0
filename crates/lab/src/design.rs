//! Designs of experiments: where in its range each sample of a parameter lies.

pub use oorandom::Rand64;

/// Positions in 0 to 1, below 1: the range is divided into as many equal parts as there are samples, and each part has one
/// position, in random order. Several such columns are a Latin hypercube (McKay, Beckman and Conover 1979).
pub fn stratified(samples: usize, random: &mut Rand64) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..samples).collect();
    shuffle(&mut parts, random);
    let position = |part: usize| (part as f64 + random.rand_float()) / samples as f64;
    parts.into_iter().map(position).collect()
}

/// Shuffle by Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut Rand64) {
    for i in (1..items.len()).rev() {
        let j = random.rand_range(0..i as u64 + 1) as usize;
        items.swap(i, j);
    }
}
