//! Copies of pixels of images, in the order that a convolution wants.
//!
//! Invariant: pixel by pixel what the definition says: the window, row by row and image by image, and at each pixel the
//! channels of the place that lies by the offsets further on. Witness: windows, offsets and beginnings, those that were
//! tried on an H200 among them; mistakes of maps and of copies.

use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Async, Checks, Code, Fault, ImageMap, Options, Swizzle, TensorMap, Vm};

const C: usize = 8;
const W: usize = 7;
const H: usize = 6;
const N: usize = 3;

/// A copy: window, channels and pixels, where it begins, and offsets.
#[derive(Clone, Copy)]
struct Case {
    lower: [i16; 2],
    upper: [i16; 2],
    channels: u32,
    pixels: u32,
    at: [i32; 4],
    by: [u32; 2],
}

/// The first six were tried on a card.
const CASES: &[Case] = &[
    Case {
        lower: [-1, -1],
        upper: [-1, -1],
        channels: 8,
        pixels: 32,
        at: [0, -1, -1, 0],
        by: [0, 0],
    },
    Case {
        lower: [-1, -1],
        upper: [-1, -1],
        channels: 8,
        pixels: 32,
        at: [0, -1, -1, 0],
        by: [2, 1],
    },
    Case {
        lower: [0, 0],
        upper: [-2, -2],
        channels: 8,
        pixels: 32,
        at: [0, 3, 2, 1],
        by: [1, 2],
    },
    Case {
        lower: [-1, -2],
        upper: [1, 0],
        channels: 4,
        pixels: 64,
        at: [4, -1, -2, 0],
        by: [0, 1],
    },
    Case {
        lower: [0, 0],
        upper: [0, 0],
        channels: 8,
        pixels: 32,
        at: [0, 5, 4, 2],
        by: [0, 0],
    },
    Case {
        lower: [-1, -1],
        upper: [-1, -1],
        channels: 8,
        pixels: 32,
        at: [0, 2, 3, 1],
        by: [1, 1],
    },
    Case {
        lower: [0, -1],
        upper: [2, -3],
        channels: 8,
        pixels: 17,
        at: [4, 6, 1, 1],
        by: [3, 0],
    },
];

fn value(i: usize) -> f32 {
    1.0 + i as f32
}

/// What the copy brings, by its definition.
fn expected(k: &Case) -> Vec<f32> {
    let mut out = vec![];
    let [c, mut w, mut h, mut n] = k.at;
    for _ in 0..k.pixels {
        let (x, y) = (w + k.by[0] as i32, h + k.by[1] as i32);
        for c in c..c + k.channels as i32 {
            let inside = |v: i32, most: usize| (0..most as i32).contains(&v);
            let all = inside(c, C) && inside(x, W) && inside(y, H) && inside(n, N);
            let at = ((n * H as i32 + y) * W as i32 + x) * C as i32 + c;
            out.push(if all { value(at as usize) } else { 0.0 });
        }
        w += 1;
        if w > W as i32 - 1 + i32::from(k.upper[0]) {
            (w, h) = (i32::from(k.lower[0]), h + 1);
        }
        if h > H as i32 - 1 + i32::from(k.upper[1]) {
            (h, n) = (i32::from(k.lower[1]), n + 1);
        }
    }
    out
}

fn text(copy: &str, bytes: u32) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128], .param .u32 c, .param .u32 w, .param .u32 h, .param .u32 n, .param .u32 x, .param .u32 y) {{
        .reg .b64 %a<4>; .reg .b32 %t<16>; .reg .b16 %h<2>; .reg .pred %p<4>;
        .shared .align 128 .b8 tile[4096]; .shared .align 8 .b8 full[8];
        ld.param.u64 %a0, [out]; mov.u64 %a1, map; cvta.param.u64 %a1, %a1; mov.u32 %t0, %tid.x; setp.eq.u32 %p0, %t0, 0;
        ld.param.u32 %t1, [c]; ld.param.u32 %t2, [w]; ld.param.u32 %t3, [h]; ld.param.u32 %t4, [n];
        ld.param.u32 %t5, [x]; ld.param.u32 %t6, [y]; cvt.u16.u32 %h0, %t5; cvt.u16.u32 %h1, %t6;
        @%p0 mbarrier.init.shared::cta.b64 [full], 1;
        @%p0 fence.mbarrier_init.release.cluster;
        bar.warp.sync 0xffffffff;
        @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};
        {copy}
        W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
        @!%p2 bra W;
        mov.u32 %t9, tile; mad.lo.u32 %t9, %t0, 4, %t9; mul.wide.u32 %a2, %t0, 4; add.u64 %a2, %a0, %a2; mul.lo.u32 %t8, %t0, 4;
        LOOP: setp.ge.u32 %p3, %t8, {bytes}; @%p3 bra OUT; ld.shared.u32 %t10, [%t9]; st.global.u32 [%a2], %t10;
        add.u32 %t9, %t9, 128; add.u64 %a2, %a2, 128; add.u32 %t8, %t8, 128; bra LOOP;
        OUT: ret; }}"
    )
}

const COPY: &str = "@%p0 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [tile], [%a1, {%t1, %t2, %t3, %t4}], [full], {%h0, %h1};";

fn image(address: u64, k: &Case) -> ImageMap {
    ImageMap {
        ty: Ty::F32,
        address,
        dims: vec![C as u64, W as u64, H as u64, N as u64],
        strides: vec![4 * C as u64, (4 * C * W) as u64, (4 * C * W * H) as u64],
        lower: k.lower.to_vec(),
        upper: k.upper.to_vec(),
        channels: k.channels,
        pixels: k.pixels,
        swizzle: Swizzle::None,
        nan_outside: false,
    }
}

fn run(
    k: &Case,
    text: &str,
    completion: Async,
    map: impl Fn(u64) -> Vec<u8>,
) -> Result<Vec<f32>, Box<Fault>> {
    let vm = Vm::new();
    let data: Vec<u8> = (0..C * W * H * N)
        .flat_map(|i| value(i).to_le_bytes())
        .collect();
    let x = vm.alloc(data.len() as u64, "x").expect("memory");
    vm.write(x, &data).expect("written");
    let out = vm.alloc(4096, "out").expect("memory");
    let program = vm.load(text).unwrap_or_else(|e| panic!("{e}"));
    let mut args = vec![Arg::Address(out), Arg::Bytes(map(x))];
    args.extend(k.at.iter().map(|v| Arg::U32(*v as u32)));
    args.extend(k.by.iter().map(|v| Arg::U32(*v)));
    let o = Options {
        checks: Checks::All,
        completion,
        max_steps: 100_000,
        ..Options::default()
    };
    vm.launch(&program, "k", [1; 3], [32, 1, 1], 0, &args, &o)?;
    let mut bytes = vec![0; 4 * (k.channels * k.pixels) as usize];
    vm.read(out, &mut bytes).expect("read");
    let word = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    Ok(bytes.chunks(4).map(word).collect())
}

#[test]
fn pixels_come_in_the_window_s_order() {
    for (n, k) in CASES.iter().enumerate() {
        let text = text(COPY, 4 * k.channels * k.pixels);
        for completion in [Async::Eager, Async::Late, Async::Seed(3)] {
            let map = |x| image(x, k).encode().expect("a map").to_vec();
            let got = run(k, &text, completion, map).unwrap_or_else(|f| panic!("{n}: {f}"));
            assert_eq!(got, expected(k), "case {n}");
        }
    }
}

#[test]
fn mistakes_are_found() {
    let k = &CASES[0];
    let bytes = 4 * k.channels * k.pixels;
    let made = |x| image(x, k).encode().expect("a map").to_vec();
    let code = |text: &str, map: &dyn Fn(u64) -> Vec<u8>| {
        run(k, text, Async::Eager, map).map_err(|f| f.code).err()
    };
    assert_eq!(code(&text(COPY, bytes), &made), None);
    assert_eq!(code(&text(COPY, bytes - 16), &made), Some(Code::Bytes));
    assert_eq!(code(&text(COPY, bytes + 16), &made), Some(Code::Bytes));
    let tiled = |x| {
        let map = TensorMap {
            extent: vec![8, 1, 1, 1],
            ..boxes(x)
        };
        map.encode().expect("a map").to_vec()
    };
    assert_eq!(
        code(&text(COPY, bytes), &tiled),
        Some(Code::TensorMap),
        "a map of boxes"
    );
    let boxed = "@%p0 cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a1, {%t1, %t2, %t3, %t4}], [full];";
    assert_eq!(code(&text(boxed, 32), &tiled), None);
    assert_eq!(
        code(&text(boxed, 32), &made),
        Some(Code::TensorMap),
        "a map of an image"
    );
    let refused = |change: &dyn Fn(&mut ImageMap)| {
        let mut map = image(1 << 40, k);
        change(&mut map);
        map.encode().expect_err("it is not valid")
    };
    assert!(refused(&|m| m.pixels = 1025).contains("1025 pixels"));
    assert!(refused(&|m| m.lower = vec![-129, 0]).contains("-129"));
    assert!(refused(&|m| m.upper = vec![-8, 0]).contains("without pixels"));
    assert!(refused(&|m| m.lower = vec![0]).contains("1 and 2 corners"));
    assert!(refused(&|m| m.channels = 3).contains("12 bytes"));
    assert!(refused(&|m| m.dims.truncate(2)).contains("rank 2"));
}

fn boxes(address: u64) -> TensorMap {
    let k = &CASES[0];
    let m = image(address, k);
    TensorMap {
        ty: m.ty,
        address,
        dims: m.dims,
        strides: m.strides,
        extent: vec![],
        swizzle: Swizzle::None,
        nan_outside: false,
    }
}
