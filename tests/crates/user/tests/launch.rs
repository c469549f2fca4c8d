//! Instances of another crate's kernel have their own artefacts.

use gpu::prelude::*;
use tiki_test_library::activate;
use tiki_test_user::Mine;

#[test]
fn a_set_builds_its_own_instances() {
    let (mine, also) = (
        Mine::activate_artifact::<f16>(),
        Mine::activate_artifact::<bf16>(),
    );
    assert_ne!(mine.entry, also.entry);
    assert_ne!(mine.entry, activate::<f32>::ARTIFACT.entry);
    assert!(mine.ptx.contains(mine.entry));
}
