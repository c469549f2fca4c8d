use super::*;
use crate::codes::Code;

#[test]
fn names_of_devices_are_checked() {
    for name in [
        "",
        "gpu",
        "vm:",
        "vm:hopper",
        "cuda",
        "cuda:",
        "cuda:x",
        "cuda:-1",
        "VM",
    ] {
        let error = Device::named(name).unwrap_err();
        assert_eq!(error.code(), Code::DeviceName, "{name}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        for target in Target::all() {
            assert!(error.to_string().contains(target.name()), "{error}");
        }
    }
}

/// Runs everywhere: with a driver the GPU opens or the answer says how many there are; without one it says so.
#[test]
fn asking_for_a_gpu_never_panics() {
    match Device::cuda(0) {
        Ok(device) => {
            assert_eq!(device.kind(), Kind::Gpu(0));
            assert_eq!(
                Device::cuda(0).unwrap(),
                device,
                "one device, however often it is opened"
            );
        }
        Err(error) => {
            let expected = [Code::NoDriver, Code::OldDriver, Code::NoDevice];
            assert!(expected.contains(&error.code()), "{error}");
        }
    }
    let far = Device::cuda(1000).unwrap_err();
    assert!(
        [Code::NoDriver, Code::OldDriver, Code::NoDevice].contains(&far.code()),
        "{far}"
    );
}

#[test]
fn the_default_device_is_one() {
    let first = Device::open_default().unwrap();
    assert_eq!(Device::open_default().unwrap(), first);
    assert_ne!(
        Device::vm().unwrap(),
        Device::vm().unwrap(),
        "but each of these is its own"
    );
}

#[test]
fn a_device_knows_itself() {
    let (device, _) = crate::double::device();
    assert_eq!(device.clone(), device);
    assert_ne!(crate::double::device().0, device);
    assert_eq!(device.to_string(), "a test double (vm)");
    let row = Target::default_target().row();
    assert_eq!(
        (device.capability(), device.multiprocessors()),
        (row.capability, 4)
    );
    assert!(device.runs(Target::default_target()));
    fn usable_from_any_thread<T: Clone + Send + Sync>(_: &T) {}
    usable_from_any_thread(&device);
    usable_from_any_thread(&device.stream());
    fn sendable<T: Send + Sync>(_: &T) {}
    sendable(&device.zeros::<f32, 1>([1]).unwrap());
}
