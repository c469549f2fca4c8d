//! Device memory of the operator: linear in the length, never a matrix of scores.

use tiki::attention::{self, Options};
use tiki::prelude::f16;
use tiki::vm::Options as Run;

/// The most that a forward and a backward pass hold, with inputs and results.
fn peak(capability: (u32, u32), length: usize) -> u64 {
    let device = crate::machine(capability, Run::default());
    let stream = device.stream();
    let one = || device.zeros::<f16, 4>([1, 1, length, 64]).unwrap();
    let (q, k, v, g) = (one(), one(), one(), one());
    // A narrow window: few blocks are computed, and as much memory is taken as for all of them.
    let options = Options {
        window: Some((16, 0)),
        ..Options::default()
    };
    let forward = attention::forward(&stream, &q, &k, &v, &options).unwrap();
    let back = attention::backward(&stream, &q, &k, &v, &forward, &g, None, &options).unwrap();
    assert_eq!(back.q.shape(), q.shape());
    device.memory().peak
}

#[test]
fn memory_is_linear_in_the_length() {
    const LONG: u64 = 64 * 1024;
    for capability in [(8, 0), (9, 0)] {
        let (short, long) = (peak(capability, 1024), peak(capability, LONG as usize));
        println!("{capability:?}: {short} bytes at 1024, {long} at {LONG}");
        // Eight tensors of the length in f16, dQ's sums in f32, and a few words a row.
        let row = 8 * 64 * 2 + 64 * 4 + 32;
        assert!(long <= LONG * row, "{long} bytes");
        assert!(long <= 65 * short, "{short} bytes, then {long}");
        // A matrix of scores, in f16, would be fifty times as much.
        assert!(long < 2 * LONG.pow(2) / 50);
    }
}
