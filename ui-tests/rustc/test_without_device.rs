#[tiki::test]
fn nothing_to_run_on() {}

#[tiki::test(mode = "late")]
fn no_such_option(device: &tiki::Device) {
    let _ = device;
}

fn main() {}
