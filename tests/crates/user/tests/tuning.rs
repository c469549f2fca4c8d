//! Tuning another crate's kernel over the space that it declares, on the virtual machine.

use gpu::Device;
use gpu::compiler::tuned::Tuned;
use gpu::tune::{Tuner, Verdict};
use tiki_test_library::scaled;

type Scaled = scaled<f32, 256, 64>;

#[test]
fn candidates_are_checked_measured_and_recorded() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::vm()?;
    let x = device.tensor_from(&vec![1.0f32; 8192], [8192])?;
    let mut out = device.zeros([8192])?;
    let candidates = Scaled::candidates(&[])?;
    // 4 x 3 values, of which N >= 2 * T holds for all, and the type's own first.
    assert_eq!(candidates.len(), 12);
    let tuner = Tuner {
        first: 6,
        most: 12,
        repeat: 1,
        ..Tuner::default()
    };
    let mut heard = 0;
    let decision = tuner.choose(
        &device.stream(),
        candidates,
        |kernel| kernel.run(&device.stream(), &x, &mut out, 2.0),
        |_, _| heard += 1,
    )?;
    assert_eq!(heard, 12);
    let verdict = |n: i128, t: i128| {
        let wanted = [("N", n), ("T", t)];
        let mut log = decision.log.iter();
        let (_, verdict) = log
            .find(|(i, _)| {
                wanted
                    .iter()
                    .all(|(k, v)| i.args.contains(&((*k).into(), (*v).into())))
            })
            .expect("it was looked at");
        verdict
    };
    assert_eq!(*verdict(256, 64), Verdict::First);
    // 48 threads are no whole warps: the compiler's own check, with its code.
    match verdict(256, 48) {
        Verdict::Illegal(why) => assert!(why.contains("TK105") && why.contains("48"), "{why}"),
        other => panic!("{other:?}"),
    }
    // 8192 is no multiple of 1000: the launch's own check, with the fact.
    match verdict(1000, 32) {
        Verdict::Refused(why) => assert!(why.contains("x.dim(0) % N == 0"), "{why}"),
        other => panic!("{other:?}"),
    }
    // Sixteen times the blocks with sixteen times the overhead: whichever way, it was measured.
    match verdict(4096, 32) {
        Verdict::Faster(m) | Verdict::Slower(m) | Verdict::Same(m) => {
            assert!(m.pairs >= 6 && m.candidate_us > 0.0, "{m:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(decision.measure.contains("not a GPU's"));
    // The record is what a build takes; it names this text and no other.
    let record: Tuned = decision.tuned.to_string().parse()?;
    assert_eq!(record, decision.tuned);
    assert_eq!(record.text, Scaled::ARTIFACT.fingerprint);
    assert!(decision.to_json().starts_with("{\"kernel\":\"scaled\""));
    Ok(())
}

/// The set's instances are of the same text as the library's: a record of one is good for the other.
#[test]
fn a_text_has_one_fingerprint_in_every_crate() {
    use gpu::prelude::*;
    let own = tiki_test_library::activate::<f32>::ARTIFACT;
    let mine = tiki_test_user::Mine::activate_artifact::<f16>();
    assert_eq!(own.fingerprint, mine.fingerprint);
    assert_ne!(own.fingerprint, Scaled::ARTIFACT.fingerprint);
}
