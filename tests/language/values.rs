//! Values of every shape: ranges from their end, arrays and structs that a run-time branch gives, coordinates.
//!
//! Invariant and witness as in [`super::leaving`].

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Ranges from their end.
#[tiki::device]
fn backwards(x: u32, y: u32) -> u32 {
    let mut hash = 7u32;
    for i in (0..y).rev() {
        hash = hash % 9973 * 31 + i;
    }
    for i in (x..y + 4).rev() {
        hash = hash % 9973 * 33 + (i ^ 5);
    }
    for i in (2..y + 9).rev().step_by(3) {
        hash = hash % 9973 * 37 + i;
    }
    for i in (x % 4..y + 9).step_by(3).rev() {
        hash = hash % 9973 * 41 + i;
        if i == 5 {
            continue;
        }
        hash += 1;
    }
    for i in (0..=x % 9).rev() {
        hash = hash % 9973 * 43 + i;
    }
    for i in (-3..x as i32 - 4).rev() {
        hash = hash % 9973 * 47 + (i + 100) as u32;
    }
    for i in (1..x as usize).rev() {
        if i == 2 {
            break;
        }
        hash = hash % 9973 * 53 + (i * 2) as u32;
    }
    #[unroll]
    for i in (0..5u32).rev() {
        hash = hash % 9973 * 59 + i;
    }
    #[unroll]
    for i in (1..12u32).step_by(4).rev() {
        hash = hash % 9973 * 61 + i;
    }
    #[unroll]
    for i in (1..12u32).rev().step_by(4) {
        hash = hash % 9973 * 67 + i;
    }
    hash
}

#[tiki::device]
struct Span {
    from: u32,
    width: f32,
}

/// Arrays, tuples and structs that a run-time branch gives or changes.
#[tiki::device]
fn shapes(x: u32, y: u32) -> u32 {
    let a = if x > y { [x, y, 1] } else { [y, 2, x] };
    let [p, q, r] = a;
    let mut b = [0u32; 3];
    if x % 2 == 0 {
        b = a;
    } else {
        b[1] = x;
    }
    let mut total = p + 2 * q + 3 * r + a.len() as u32;
    for v in b {
        total += v;
    }
    let nested = match x % 3 {
        0 => ([x, 1], 0.5f32),
        1 => ([y, 2], 1.5),
        _ => ([7, total], 2.5),
    };
    let span = if y % 2 == 0 {
        Span {
            from: x,
            width: 1.5,
        }
    } else {
        Span {
            from: y,
            width: x as f32,
        }
    };
    let mut other = Span {
        from: 1,
        width: 2.0,
    };
    if x > 7 {
        other.from += span.from;
        other.width = span.width + nested.1;
    }
    total + nested.0[0] * 3 + nested.0[1] + other.from + (other.width * 4.0) as u32 + span.from
}

#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)], build((W = 0), (W = 1)))]
fn values<const W: usize>(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    let (x, y) = (a.get([i]), b.get([i]));
    out.set(
        [i],
        if W == 0 {
            backwards(x, y)
        } else {
            shapes(x, y)
        },
    );
}

#[test]
fn values_are_rustcs() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let a: Vec<u32> = (0..900).map(|i| i % 30).collect();
    let b: Vec<u32> = (0..900).map(|i| i / 30).collect();
    let n = a.len();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let s = device.stream();
    let mut down = device.zeros::<u32, 1>([n])?;
    let mut formed = device.zeros::<u32, 1>([n])?;
    values::<0>::launch(&s, &da, &db, &mut down)?;
    values::<1>::launch(&s, &da, &db, &mut formed)?;
    let (down, formed) = (down.to_vec()?, formed.to_vec()?);
    for i in 0..n {
        assert_eq!(down[i], backwards(a[i], b[i]), "{} and {}", a[i], b[i]);
        assert_eq!(formed[i], shapes(a[i], b[i]), "{} and {}", a[i], b[i]);
    }
    Ok(())
}

/// `map_at` and `mask` count in the tile they are called on, of memory or of registers.
#[tiki::kernel(threads = 64, grid = [2])]
fn coordinates(out: &mut Global<u32>) {
    require!(out.dim(0) == 16 && out.dim(1) == 32);
    let map = ThreadMap::new(layout!((8, 8):(8, 1)), layout!((1, 4):(4, 1)));
    let at = [block_idx().x, 0];
    let v = out.tile_mut([8, 32], at).load(map);
    let w = v
        .map_at(|x, [i, j]| x + (i * 100 + j) as u32)
        .mask(|[i, j]| i + j < 30, 9);
    let right = v.tile([8, 32], [0, 0]).map_at(|_, [i, _]| i as u32);
    out.tile_mut([8, 32], at)
        .store(&w.zip(&right, |a, b| a + 10_000 * b));
}

#[test]
fn coordinates_are_those_of_the_tile() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let mut out = device.tensor_from(&[1u32; 512], [16, 32])?;
    coordinates::launch(&device.stream(), &mut out)?;
    for (at, got) in out.to_vec()?.into_iter().enumerate() {
        let (i, j) = (at as u32 / 32 % 8, at as u32 % 32);
        let inner = if i + j < 30 { 1 + i * 100 + j } else { 9 };
        assert_eq!(got, inner + 10_000 * i, "element {at}");
    }
    Ok(())
}
