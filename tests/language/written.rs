//! `ptx!`: instructions of the author's own.
//!
//! Invariant: what the instructions give on the virtual machine is what Rust computes on the host, wherever the
//! statement stands (scalars, elementwise closures, device functions, branches, loops). Witness: plain Rust of the
//! same meaning.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// The upper half of a product, and the lower one through a register of the text.
#[tiki::device]
fn halves(x: u32, y: u32) -> (u32, u32) {
    ptx!(
        "{
            .reg .b64 whole;
            mul.wide.u32 whole, a, b;
            mov.b64 {low, high}, whole;
        }",
        out high: u32,
        out low: u32,
        in a: u32 = x,
        in b: u32 = y
    )
}

/// Any function of three bits: the table is a parameter of the function.
#[tiki::device]
fn any_bits<const TABLE: u32>(a: u32, b: u32, c: u32) -> u32 {
    ptx!("lop3.b32 d, a, b, c, table", out d: u32, in a: u32 = a, in b: u32 = b, in c: u32 = c, const table: u32 = TABLE)
}

/// Saturating below at zero, by a predicate.
#[tiki::device]
fn below(x: i32, y: i32) -> i32 {
    let less = ptx!("setp.lt.s32 p, a, b;", out p: bool, in a: i32 = x, in b: i32 = y);
    ptx!(
        "mov.b32 d, 0; @!p sub.s32 d, a, b;",
        out d: i32,
        in p: bool = less,
        in a: i32 = x,
        in b: i32 = y,
    )
}

#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)], build((W = 0), (W = 1), (W = 2), (W = 3)))]
fn scalars<const W: usize>(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    let (x, y) = (a.get([i]), b.get([i]));
    let mut r = 0u32;
    if W == 0 {
        let (high, low) = halves(x, y);
        r = high ^ low;
    } else if W == 1 {
        r = any_bits::<0x96>(x, y, 7) + any_bits::<0xe8>(x, y, x >> 3);
    } else if W == 2 {
        // Under run-time control, and assigned there.
        for k in 0..y % 5 {
            if x % 2 == 0 {
                r += below(x as i32, (k * 1000) as i32) as u32;
            } else {
                r ^= ptx!("brev.b32 d, a", out d: u32, in a: u32 = r + k);
            }
        }
    } else {
        // A literal is an operand like any other; the lane comes from a special register.
        let lane = ptx!("mov.u32 d, %laneid;", out d: u32);
        r = ptx!("mad.lo.u32 d, a, b, c;", out d: u32, in a: u32 = x, in b: u32 = 3, in c: u32 = lane);
    }
    out.set([i], r);
}

#[test]
fn scalars_are_rusts() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let n = 256;
    let a: Vec<u32> = (0..n as u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let b: Vec<u32> = (0..n as u32).map(|i| i * 77 + 5).collect();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let s = device.stream();
    for w in 0..4 {
        let mut out = device.zeros::<u32, 1>([n])?;
        match w {
            0 => scalars::<0>::launch(&s, &da, &db, &mut out)?,
            1 => scalars::<1>::launch(&s, &da, &db, &mut out)?,
            2 => scalars::<2>::launch(&s, &da, &db, &mut out)?,
            _ => scalars::<3>::launch(&s, &da, &db, &mut out)?,
        }
        for (i, got) in out.to_vec()?.into_iter().enumerate() {
            let (x, y) = (a[i], b[i]);
            let want = match w {
                0 => {
                    let whole = u64::from(x) * u64::from(y);
                    (whole >> 32) as u32 ^ whole as u32
                }
                1 => {
                    let c = x >> 3;
                    (x ^ y ^ 7).wrapping_add((x & y) | (x & c) | (y & c))
                }
                2 => {
                    let mut r = 0u32;
                    for k in 0..y % 5 {
                        let (x, t) = (x as i32, (k * 1000) as i32);
                        if x % 2 == 0 {
                            r = r.wrapping_add(if x < t { 0 } else { x.wrapping_sub(t) } as u32);
                        } else {
                            r ^= r.wrapping_add(k).reverse_bits();
                        }
                    }
                    r
                }
                _ => x.wrapping_mul(3).wrapping_add(i as u32 % 32),
            };
            assert_eq!(got, want, "case {w} of {x} and {y}");
        }
    }
    Ok(())
}

/// In elementwise closures: 16-bit floats, captures, two results, build-time branches.
#[tiki::kernel(threads = 64, grid = [x.dim(0).div_ceil(4)], build((E = f16), (E = f32)))]
fn elements<E: Element>(x: &Global<E>, out: &mut Global<f32>, by: f32) {
    require!(x.dim(1) == 96 && out.dim(1) == 96 && out.dim(0) == x.dim(0));
    let map = ThreadMap::linear(64).vector_up_to(4);
    let v = x.tile([4, 96], [block_idx().x, 0]).load(map).cast::<f32>();
    let scaled = v.map(|e| ptx!("fma.rn.f32 d, e, by, one", out d: f32, in e: f32 = e, in by: f32 = by, in one: f32 = 1.0));
    let split = scaled.map(|e| {
        let (least, most) = ptx!(
            "min.f32 l, e, z; max.f32 m, e, z;",
            out l: f32, out m: f32, in e: f32 = e, in z: f32 = 0.0
        );
        if by > 2.0 { most } else { least }
    });
    let sums = split.row_sum();
    out.tile_mut([4, 96], [block_idx().x, 0])
        .store(&split.rows(&sums, |a, s| a + s));
}

#[test]
fn elements_are_rusts() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let (rows, n) = (7, 96);
    let host: Vec<f32> = (0..rows * n).map(|i| (i % 23) as f32 - 11.0).collect();
    let small: Vec<f16> = host.iter().map(|x| f16::from_f32(*x)).collect();
    let (wide, half) = (
        device.tensor_from(&host, [rows, n])?,
        device.tensor_from(&small, [rows, n])?,
    );
    for by in [0.5f32, 4.0] {
        let mut out = device.zeros::<f32, 2>([rows, n])?;
        let mut other = device.zeros::<f32, 2>([rows, n])?;
        elements::<f32>::launch(&device.stream(), &wide, &mut out, by)?;
        elements::<f16>::launch(&device.stream(), &half, &mut other, by)?;
        let got = out.to_vec()?;
        assert_eq!(got, other.to_vec()?);
        for r in 0..rows {
            let row: Vec<f32> = host[r * n..(r + 1) * n]
                .iter()
                .map(|x| x.mul_add(by, 1.0))
                .map(|x| if by > 2.0 { x.max(0.0) } else { x.min(0.0) })
                .collect();
            let sum: f32 = row.iter().sum();
            for (c, x) in row.iter().enumerate() {
                assert_eq!(got[r * n + c], x + sum, "row {r}, column {c}");
            }
        }
    }
    Ok(())
}

/// Without outputs, in a device function.
#[tiki::device]
fn put(out: &mut Global<u32>, at: [usize; 2], value: u32) {
    ptx!("st.global.u32 [p], v;", in p: u64 = out.address(at), in v: u32 = value, writes(out));
}

/// Memory: addresses of elements, declared effects, a copy of 16 bytes the language would not make.
#[tiki::kernel(threads = 32, grid = [1])]
fn memory(x: &Global<u32>, out: &mut Global<u32>) {
    require!(x.dim(0) == 32 && x.dim(1) == 4 && out.dim(0) == 32 && out.dim(1) == 4);
    let lane = lane_idx();
    let s = Shared::<u32>::new(Layout::row_major([32, 4]));
    ptx!("prefetch.global.L2 [p];", in p: u64 = x.address([lane, 0]), reads(x));
    let (a, b, c, d) = ptx!(
        "ld.global.v4.b32 {a, b, c, d}, [p];",
        out a: u32, out b: u32, out c: u32, out d: u32,
        in p: u64 = x.address([lane, 0]),
        reads(x)
    );
    ptx!(
        "st.shared.v4.b32 [p], {d, c, b, a};",
        in p: u32 = s.address([lane, 0]), in a: u32 = a, in b: u32 = b, in c: u32 = c, in d: u32 = d,
        writes(s)
    );
    sync_block();
    // Two of the shared row turned over, one through the language, one through an address with an offset.
    let first = s.get([31 - lane, 0]);
    let second = ptx!("ld.shared.b32 d, [p+8];", out d: u32, in p: u32 = s.address([31 - lane, 0]), reads(s));
    let old = ptx!("atom.global.add.u32 d, [p], v;", out d: u32, in p: u64 = out.address([lane, 0]), in v: u32 = first, reads(out), writes(out));
    put(out, [lane, 3], second + old);
}

#[test]
fn memory_is_moved_and_the_line_is_told() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..128).map(|i| i * i).collect();
    let x = device.tensor_from(&host, [32, 4])?;
    let mut out = device.tensor_from(&[5u32; 128], [32, 4])?;
    memory::launch(&device.stream(), &x, &mut out)?;
    let got = out.to_vec()?;
    for lane in 0..32 {
        let row = &host[(31 - lane) * 4..][..4];
        assert_eq!(
            got[lane * 4..][..4],
            [5 + row[3], 5, 5, row[1] + 5],
            "lane {lane}"
        );
    }
    // The statement's own line stands before its instruction.
    let source = include_str!("written.rs");
    let line = 1 + source
        .lines()
        .position(|l| l.trim().starts_with("ptx!(\"prefetch"))
        .unwrap();
    let lines: Vec<&str> = memory::PTX.lines().collect();
    let at = lines
        .iter()
        .position(|l| l.contains("prefetch.global.L2"))
        .unwrap();
    let place = lines[..at]
        .iter()
        .rev()
        .find(|l| l.contains(".loc"))
        .unwrap();
    assert!(
        place.trim().starts_with(&format!(".loc 1 {line} ")),
        "{place}"
    );
    assert!(
        memory::REPORT.contains("these instructions of several threads write one element of `out`")
    );
    Ok(())
}

/// A clock is read where it stands: two readings are two values, in order.
#[tiki::kernel(threads = 32, grid = [1])]
fn clock(out: &mut Global<u32, 1>) {
    let start = ptx!("mov.u32 d, %clock;", out d: u32);
    let mut sum = 0u32;
    for i in 0..100u32 {
        sum += i * i;
    }
    let end = ptx!("mov.u32 d, %clock;", out d: u32);
    out.set([lane_idx()], if end > start { sum } else { 0 });
}

#[test]
fn two_readings_of_a_clock_differ() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let mut out = device.zeros::<u32, 1>([32])?;
    clock::launch(&device.stream(), &mut out)?;
    assert_eq!(out.to_vec()?, [(0..100).map(|i| i * i).sum::<u32>(); 32]);
    assert_eq!(clock::PTX.matches("%clock").count(), 2);
    Ok(())
}

/// A carry goes from one instruction to the next, whatever becomes of the lower half.
#[tiki::device]
fn upper(a: u64, b: u64) -> u32 {
    ptx!(
        "{
            .reg .b32 al, ah, bl, bh, low;
            mov.b64 {al, ah}, a;
            mov.b64 {bl, bh}, b;
            add.cc.u32 low, al, bl;
            addc.u32 d, ah, bh;
        }",
        out d: u32, in a: u64 = a, in b: u64 = b
    )
}

#[tiki::kernel(threads = 32, grid = [1])]
fn carries(a: &Global<u64, 1>, b: &Global<u64, 1>, out: &mut Global<u32, 1>) {
    let i = lane_idx();
    out.set([i], upper(a.get([i]), b.get([i])) + upper(b.get([i]), 1));
}

#[test]
fn a_carry_is_kept() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let a: Vec<u64> = (0..32).map(|i| (i << 32) + 0xffff_fff0 + i).collect();
    let b: Vec<u64> = (0..32).map(|i| i * 0x1_2345_6789).collect();
    let (da, db) = (device.tensor_from(&a, [32])?, device.tensor_from(&b, [32])?);
    let mut out = device.zeros::<u32, 1>([32])?;
    carries::launch(&device.stream(), &da, &db, &mut out)?;
    for (i, got) in out.to_vec()?.into_iter().enumerate() {
        let want = ((a[i] + b[i]) >> 32) as u32 + ((b[i] + 1) >> 32) as u32;
        assert_eq!(got, want, "lane {i}");
    }
    Ok(())
}
