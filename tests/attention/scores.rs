//! Scores that are a function of product and place, through kernels made outside the library.

#[path = "../../examples/attention_scores/main.rs"]
#[allow(dead_code)]
mod example;

#[test]
fn biases_caps_and_documents_of_both_schedules() {
    for device in crate::machines() {
        // A length that is no multiple of any tile; documents of 37 tokens.
        let off = example::distances(&device, 2, 150).expect("all passes run");
        for (kind, off) in off.iter().enumerate() {
            // The shares of out, dQ, dK and dV that three roundings to f16 leave.
            assert!(
                off.iter().all(|o| *o <= 1e-3),
                "{}, {kind}: {off:?}",
                device.name()
            );
        }
    }
}
