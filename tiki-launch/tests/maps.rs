//! Tensor maps that a kernel edits.
//!
//! Invariant: a copy by an edited map is the copy by a map that the host made so; each mistake on the way is found.
//! Witness: every field, set alone and together; a kernel that edits, publishes, acquires and copies, with one step
//! left out or moved.

use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Async, Checks, Code, Fault, Options, Swizzle, TensorMap, Vm};

/// Bytes of the two tensors, of which the second holds other values.
const BYTES: usize = 1 << 15;

struct Setup {
    vm: Vm,
    p: u64,
    q: u64,
    out: u64,
    place: u64,
}

fn setup() -> Setup {
    let vm = Vm::new();
    let alloc = |n: usize, name: &str| vm.alloc(n as u64, name).expect("memory");
    let (p, q) = (alloc(BYTES, "p"), alloc(BYTES, "q"));
    let (out, place) = (alloc(8192, "out"), alloc(256, "place"));
    let fill = |factor: u32| -> Vec<u8> {
        (0..BYTES as u32 / 4)
            .flat_map(|i| (i.wrapping_mul(factor) & 0x3fff_ffff).to_le_bytes())
            .collect()
    };
    vm.write(p, &fill(2_654_435_761)).expect("written");
    vm.write(q, &fill(2_246_822_519)).expect("written");
    Setup {
        vm,
        p,
        q,
        out,
        place,
    }
}

fn first(s: &Setup) -> TensorMap {
    TensorMap {
        ty: Ty::F32,
        address: s.p,
        dims: vec![32, 64],
        strides: vec![128],
        extent: vec![16, 8],
        swizzle: Swizzle::None,
        nan_outside: false,
    }
}

/// Thread 0 edits a copy of the map; the warp publishes and acquires it; thread 0 copies a box by it; all store it.
struct Kernel {
    edits: String,
    publish: &'static str,
    acquire: &'static str,
    rank: usize,
    bytes: u32,
}

const PUBLISH: &str = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%a2], [map_s], 128;";
const ACQUIRE: &str = "fence.proxy.tensormap::generic.acquire.gpu [%a2], 128;";

impl Kernel {
    fn new(edits: &str, rank: usize, bytes: u32) -> Kernel {
        Kernel {
            edits: edits.into(),
            publish: PUBLISH,
            acquire: ACQUIRE,
            rank,
            bytes,
        }
    }
    fn text(&self) -> String {
        let copy: String = (0..8)
            .map(|i| {
                format!("@%p0 ld.param.v4.u32 {{%t4, %t5, %t6, %t7}}, [map+{0}]; @%p0 st.shared.v4.u32 [map_s+{0}], {{%t4, %t5, %t6, %t7}};\n", 16 * i)
            })
            .collect();
        let (rank, bytes) = (self.rank, self.bytes);
        let at = ["%t2", "%t3", "%t3"][..rank].join(", ");
        format!(
            ".version 8.3\n.target sm_90a\n.address_size 64
            .visible .entry k(.param .u64 q, .param .u64 out, .param .u64 place, .param .align 64 .b8 map[128]) {{
            .reg .b64 %a<8>; .reg .b32 %t<16>; .reg .pred %p<4>;
            .shared .align 128 .b8 map_s[128]; .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b8 full[8];
            ld.param.u64 %a0, [q]; ld.param.u64 %a1, [out]; ld.param.u64 %a2, [place];
            mov.u32 %t0, %tid.x; setp.eq.u32 %p0, %t0, 0; mov.u32 %t2, 4; mov.u32 %t3, 1;
            {copy}
            {}
            @%p0 mbarrier.init.shared::cta.b64 [full], 1;
            @%p0 fence.mbarrier_init.release.cluster;
            bar.warp.sync 0xffffffff;
            {}
            {}
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};
            @%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a2, {{{at}}}], [full];
            W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
            @!%p2 bra W;
            mov.u32 %t9, tile; mad.lo.u32 %t9, %t0, 4, %t9; mul.wide.u32 %a4, %t0, 4; add.u64 %a4, %a1, %a4; mov.u32 %t8, 0;
            LOOP: ld.shared.u32 %t10, [%t9]; st.global.u32 [%a4], %t10;
            add.u32 %t9, %t9, 128; add.u64 %a4, %a4, 128; add.u32 %t8, %t8, 128; setp.lt.u32 %p3, %t8, {bytes}; @%p3 bra LOOP;
            ret; }}",
            self.edits, self.publish, self.acquire
        )
    }
    fn run(&self, s: &Setup, map: &TensorMap, completion: Async) -> Result<Vec<u8>, Box<Fault>> {
        let program = s.vm.load(&self.text()).unwrap_or_else(|e| panic!("{e}"));
        let o = Options {
            checks: Checks::All,
            completion,
            max_steps: 100_000,
            ..Options::default()
        };
        let map = map.encode().expect("a map").to_vec();
        let args = [
            Arg::Address(s.q),
            Arg::Address(s.out),
            Arg::Address(s.place),
            Arg::Bytes(map),
        ];
        s.vm.launch(&program, "k", [1; 3], [32, 1, 1], 0, &args, &o)?;
        let mut out = vec![0; self.bytes as usize];
        s.vm.read(s.out, &mut out).expect("read");
        Ok(out)
    }
}

/// An edit, and what the host would have made.
struct Case {
    edits: &'static str,
    change: fn(&mut TensorMap, &Setup),
}

const CASES: &[Case] = &[
    Case { edits: "", change: |_, _| {} },
    Case {
        edits: "@%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map_s], %a0;",
        change: |m, s| m.address = s.q,
    },
    Case {
        edits: "@%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map_s], 0, 12; mov.u32 %t11, 5;
            @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map_s], 1, %t11;",
        change: |m, _| m.dims = vec![12, 5],
    },
    Case {
        edits: "mov.u64 %a5, 256; @%p0 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map_s], 0, %a5;",
        change: |m, _| m.strides = vec![256],
    },
    Case {
        edits: "@%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map_s], 0, 8;
            @%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map_s], 1, 16;",
        change: |m, _| m.extent = vec![8, 16],
    },
    Case {
        edits: "@%p0 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map_s], 2;",
        change: |m, _| m.swizzle = Swizzle::B64,
    },
    Case {
        edits: "@%p0 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map_s], 1;
            @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map_s], 0, 12;",
        change: |m, _| (m.nan_outside, m.dims[0]) = (true, 12),
    },
    Case {
        edits: "@%p0 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map_s], 2;
            @%p0 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map_s], 1;
            @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map_s], 0, 6;",
        // Whole numbers have no NaN to be filled with.
        change: |m, _| (m.ty, m.nan_outside, m.dims[0]) = (Ty::U32, true, 6),
    },
    // A third dimension, whose rank is told less one.
    Case {
        edits: "@%p0 tensormap.replace.tile.rank.shared::cta.b1024.b32 [map_s], 2; mov.u64 %a5, 1024;
            @%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map_s], 2, 6;
            @%p0 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map_s], 1, %a5;
            @%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map_s], 1, 4;
            @%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map_s], 2, 2;
            @%p0 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map_s], 2, 1;
            @%p0 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map_s], 0;",
        change: |m, _| {
            m.dims.push(6);
            m.strides.push(1024);
            m.extent = vec![16, 4, 2];
        },
    },
];

#[test]
fn an_edited_map_is_the_host_s() {
    let mut results = vec![];
    for case in CASES {
        for completion in [Async::Eager, Async::Late, Async::Seed(2)] {
            let s = setup();
            let mut want = first(&s);
            (case.change)(&mut want, &s);
            let kernel = |edits: &str| Kernel::new(edits, want.dims.len(), 512);
            let edited = kernel(case.edits).run(&s, &first(&s), completion);
            let made = kernel("").run(&s, &want, completion);
            let (edited, made) = (
                edited.unwrap_or_else(|f| panic!("{}: {f}", case.edits)),
                made,
            );
            assert_eq!(
                edited,
                made.unwrap_or_else(|f| panic!("{f}")),
                "{}",
                case.edits
            );
            results.push(edited);
        }
    }
    results.dedup();
    assert_eq!(results.len(), CASES.len(), "each field makes a difference");
}

#[test]
fn each_mistake_is_found() {
    let address = "@%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map_s], %a0;";
    let with = |change: &dyn Fn(&mut Kernel)| {
        let mut k = Kernel::new(address, 2, 512);
        change(&mut k);
        let s = setup();
        let map = first(&s);
        k.run(&s, &map, Async::Eager)
            .map_err(|f| (f.code, f.text))
            .err()
    };
    let code = |change: &dyn Fn(&mut Kernel)| with(change).map(|f| f.0);
    assert_eq!(code(&|_| ()), None);
    assert_eq!(
        code(&|k| k.publish = ""),
        Some(Code::TensorMap),
        "nothing is there"
    );
    assert_eq!(code(&|k| k.acquire = ""), Some(Code::ProxyFence));
    assert_eq!(
        code(&|k| (k.publish, k.acquire) = (ACQUIRE, PUBLISH)),
        Some(Code::ProxyFence),
        "acquired before it was published"
    );
    assert_eq!(
        code(
            &|k| k.acquire = "mov.u64 %a5, 128; add.u64 %a5, %a2, %a5; fence.proxy.tensormap::generic.acquire.gpu [%a5], 128;"
        ),
        Some(Code::ProxyFence),
        "another map"
    );
    let edit = |edit: &str| code(&|k| k.edits = format!("{address} {edit}"));
    let map = "tensormap.replace.tile";
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.elemtype.shared::cta.b1024.b32 [map_s], 10;"
        )),
        Some(Code::TensorMap),
        "of another size"
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.rank.shared::cta.b1024.b32 [map_s], 5;"
        )),
        Some(Code::TensorMap)
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.element_stride.shared::cta.b1024.b32 [map_s], 0, 2;"
        )),
        Some(Code::TensorMap)
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.interleave_layout.shared::cta.b1024.b32 [map_s], 1;"
        )),
        Some(Code::TensorMap)
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.box_dim.shared::cta.b1024.b32 [map_s], 0, 257;"
        )),
        Some(Code::TensorMap),
        "when it is used"
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.global_dim.shared::cta.b1024.b32 [tile], 0, 8;"
        )),
        Some(Code::Undefined)
    );
    assert_eq!(
        edit(&format!(
            "mov.u32 %t11, 0; @%p0 st.shared.v2.u32 [tile], {{%t11, %t11}}; @%p0 {map}.global_dim.shared::cta.b1024.b32 [tile], 0, 8;"
        )),
        Some(Code::TensorMap)
    );
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.global_dim.shared::cta.b1024.b32 [map_s+8], 0, 8;"
        )),
        Some(Code::Alignment)
    );
    // Bytes that differ from those that come: the map says what comes.
    assert_eq!(
        edit(&format!(
            "@%p0 {map}.box_dim.shared::cta.b1024.b32 [map_s], 1, 4;"
        )),
        Some(Code::Bytes)
    );
}

#[test]
fn what_the_assembler_refuses_is_refused() {
    let loads = |edit: &str| {
        let text = Kernel::new(
            &format!("mov.u32 %t11, 1; mov.u64 %a5, 16; tensormap.replace.tile.{edit};"),
            2,
            512,
        )
        .text();
        (
            Vm::new().load(&text).is_ok(),
            Vm::new().load(&text.replace("sm_90a", "sm_90")).is_ok(),
        )
    };
    for (edit, ok) in [
        ("rank.shared::cta.b1024.b32 [map_s], %t11", true),
        ("elemtype.shared::cta.b1024.b32 [map_s], 7", true),
        ("elemtype.shared::cta.b1024.b32 [map_s], %t11", false),
        ("swizzle_mode.shared::cta.b1024.b32 [map_s], %t11", false),
        ("box_dim.shared::cta.b1024.b32 [map_s], 1, %t11", true),
        ("box_dim.shared::cta.b1024.b64 [map_s], 1, %a5", false),
        ("global_stride.shared::cta.b1024.b64 [map_s], 0, %a5", true),
        (
            "global_stride.shared::cta.b1024.b32 [map_s], 0, %t11",
            false,
        ),
        ("global_address.shared::cta.b1024.b32 [map_s], %t11", false),
        ("global_address.global.b1024.b64 [%a2], %a5", true),
        ("global_address.b1024.b64 [%a2], %a5", true),
    ] {
        assert_eq!(loads(edit), (ok, false), "{edit}");
    }
}
