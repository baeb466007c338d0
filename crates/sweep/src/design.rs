//! Combinations of the values of axes.

use schedlab_input::Diagnostic;
use schedlab_lab::design::{stratified, Rand64};

use crate::axis::{Axis, Values};
use crate::plan::{Design, Draw};

/// A value for each axis, in the order of the axes.
pub type Combination = Vec<String>;

/// The number of combinations of a design.
///
/// # Errors
/// An axis of a grid has no steps.
pub fn count(axes: &[Axis], design: Design) -> Result<u128, Diagnostic> {
    if let Some(draw) = design.draw() {
        return Ok(draw.samples as u128);
    }
    axes.iter().try_fold(1u128, |product, axis| {
        let count = axis.values.count().ok_or_else(|| {
            axis.mistake("a grid needs a step").expected(
                "LOW..HIGH/STEP, a list, or a design with random samples: --design latin-hypercube",
            )
        })?;
        Ok(product.saturating_mul(count as u128))
    })
}

/// The combinations of a design, in a fixed order; [`count`] gives their number.
pub fn combinations(axes: &[Axis], design: Design) -> Vec<Combination> {
    match design {
        Design::Grid => grid(axes),
        Design::Random(draw) => random(axes, draw),
        Design::LatinHypercube(draw) => latin_hypercube(axes, draw),
    }
}

/// All combinations; the last axis changes fastest.
fn grid(axes: &[Axis]) -> Vec<Combination> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        let values = match &axis.values {
            Values::List(values) => values.as_slice(),
            Values::Range { .. } => &[],
        };
        let extended = |combination: &Combination| -> Vec<Combination> {
            let with =
                |value: &String| [combination.as_slice(), std::slice::from_ref(value)].concat();
            values.iter().map(with).collect()
        };
        combinations.iter().flat_map(extended).collect()
    })
}

/// Each value is drawn independently.
fn random(axes: &[Axis], draw: Draw) -> Vec<Combination> {
    let mut random = Rand64::new(u128::from(draw.seed));
    (0..draw.samples)
        .map(|_| {
            axes.iter()
                .map(|axis| axis.at(random.rand_float()))
                .collect()
        })
        .collect()
}

/// A Latin hypercube: of each axis every part of equal probability is used once.
fn latin_hypercube(axes: &[Axis], draw: Draw) -> Vec<Combination> {
    let mut random = Rand64::new(u128::from(draw.seed));
    let column = |axis: &Axis| -> Vec<String> {
        let positions = stratified(draw.samples, &mut random);
        positions.into_iter().map(|at| axis.at(at)).collect()
    };
    let columns: Vec<Vec<String>> = axes.iter().map(column).collect();
    (0..draw.samples)
        .map(|i| columns.iter().map(|column| column[i].clone()).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(texts: &[&str]) -> Vec<Axis> {
        texts
            .iter()
            .map(|text| Axis::parse(text).unwrap())
            .collect()
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let axes = axes(&["a=1,2", "b=x,y,z"]);
        let all: Vec<String> = combinations(&axes, Design::Grid)
            .iter()
            .map(|values| values.concat())
            .collect();
        assert_eq!(all, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        assert_eq!(count(&axes, Design::Grid), Ok(6));
        assert_eq!(combinations(&[], Design::Grid), [Vec::<String>::new()]);
    }

    #[test]
    fn large_grids_are_counted_without_being_made() {
        let axes = axes(&["a=1..1000/1", "b=1..1000/1", "c=1..1000/1"]);
        assert_eq!(count(&axes, Design::Grid), Ok(1_000_000_000));
        let axes = self::axes(&["a=1..9"]);
        let message = count(&axes, Design::Grid).unwrap_err().to_string();
        assert!(
            message.starts_with("--vary: a: a grid needs a step"),
            "{message}"
        );
    }

    /// Ten samples of ten values: each axis has each value once.
    #[test]
    fn a_latin_hypercube_covers_each_axis_evenly() {
        let axes = axes(&["a=0..9", "b=0,1,2,3,4,5,6,7,8,9"]);
        let draw = Draw {
            samples: 10,
            seed: 3,
        };
        let drawn = combinations(&axes, Design::LatinHypercube(draw));
        for axis in 0..2 {
            let mut values: Vec<&str> = drawn.iter().map(|c| c[axis].as_str()).collect();
            values.sort_unstable();
            assert_eq!(values.concat(), "0123456789");
        }
        assert!(
            drawn.iter().any(|c| c[0] != c[1]),
            "the axes are independent"
        );
    }

    #[test]
    fn a_draw_depends_on_its_seed_alone() {
        let axes = axes(&["a=0..1000000"]);
        let drawn = |seed| combinations(&axes, Design::Random(Draw { samples: 5, seed }));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
