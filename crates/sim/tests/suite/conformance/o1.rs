//! Shares and worst waits under the O(1) scheduler.

use super::hogs;

// Linux 2.6 O(1), at 1000 Hz.  Slices: -20: 800, -1: 420, 0: 100, 10: 50, 19: 5 ms.  Everybody
// gets one slice an epoch and waits for all the others': shares are slice / sum, waits sum - slice.

#[test]
fn o1_shares_of_nice_0_10_19() {
    hogs(
        "o1:2.6.11",
        &[0, 10, 19],
        &[0.645, 0.3225, 0.0323],
        &[55, 105, 150],
    );
}

#[test]
fn o1_shares_of_equals() {
    hogs("o1:2.6.11", &[0, 0, 0], &[1.0 / 3.0; 3], &[200; 3]);
}

#[test]
fn o1_shares_of_nice_minus_20_0_19() {
    hogs(
        "o1:2.6.11",
        &[-20, 0, 19],
        &[0.884, 0.1105, 0.0055],
        &[105, 805, 900],
    );
}

#[test]
fn o1_shares_across_the_slice_jump() {
    hogs("o1:2.6.11", &[-1, 0], &[0.808, 0.192], &[100, 420]);
}
