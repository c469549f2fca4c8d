//! A warp's products of a sparse A against a card's.
//!
//! Invariant: the same bits, for every type, shape and selector. Witness: `tests/sparse/h200.txt` (`TIKI_SPARSE` names a
//! longer record). A place, a selector or an order of elements that were wrong would show: each is changed in turn.

use tiki_launch::vm::{Arg, Options, Vm};

struct Line {
    instruction: String,
    selector: u32,
    /// Words of A, B, C, the places, and of D.
    words: [Vec<u32>; 5],
}

fn lines() -> Vec<Line> {
    let file = std::env::var("TIKI_SPARSE")
        .unwrap_or_else(|_| format!("{}/tests/sparse/h200.txt", env!("CARGO_MANIFEST_DIR")));
    let text = std::fs::read_to_string(file).expect("a record");
    let word = |hex: &[u8]| {
        let hex = std::str::from_utf8(hex).expect("digits");
        u32::from_str_radix(hex, 16).expect("a word")
    };
    let line = |line: &str| {
        let f: Vec<&str> = line.split(' ').collect();
        let words = |k: usize| f[k].as_bytes().chunks(8).map(word).collect();
        Line {
            instruction: f[0].into(),
            selector: f[1].parse().expect("a selector"),
            words: [2, 3, 4, 5, 6].map(words),
        }
    };
    text.lines().skip(1).map(line).collect()
}

impl Line {
    fn text(&self) -> String {
        let [a, b, c, _, d] = self.words.each_ref().map(|w| w.len() / 32);
        let kind = if self.instruction.ends_with("f32") {
            "f32"
        } else {
            "b32"
        };
        let list = |p: &str, n: usize| {
            let all: Vec<String> = (0..n).map(|i| format!("%{p}{i}")).collect();
            format!("{{{}}}", all.join(", "))
        };
        let mut body = String::new();
        let mut plane = 0;
        for (p, n, t) in [
            ("a", a, "b32"),
            ("b", b, "b32"),
            ("c", c, kind),
            ("m", 1, "b32"),
        ] {
            for i in 0..n {
                body += &format!("ld.global.{t} %{p}{i}, [%x+{}];\n", 128 * plane);
                plane += 1;
            }
        }
        body += &format!(
            "{} {}, {}, {}, {}, %m0, {};\n",
            self.instruction,
            list("d", d),
            list("a", a),
            list("b", b),
            list("c", c),
            self.selector
        );
        for i in 0..d {
            body += &format!("st.global.{kind} [%y+{}], %d{i};\n", 128 * i);
        }
        format!(
            ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {{
            .reg .b64 %x, %y, %o; .reg .b32 %t, %a<4>, %b<4>, %m<1>; .reg .{kind} %c<4>, %d<4>;
            ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
            add.u64 %x, %x, %o; add.u64 %y, %y, %o;
            {body} ret; }}"
        )
    }
    fn load(&self, vm: &Vm) -> Result<tiki_launch::vm::Program, String> {
        vm.load(&self.text()).map_err(|e| e.to_string())
    }
    fn run(&self) -> Vec<u32> {
        let vm = Vm::new();
        let program = self.load(&vm).unwrap_or_else(|e| panic!("{e}"));
        let inputs: Vec<u8> = self.words[..4]
            .iter()
            .flatten()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let x = vm.alloc(inputs.len() as u64, "x").expect("memory");
        vm.write(x, &inputs).expect("written");
        let mut out = vec![0; 4 * self.words[4].len()];
        let y = vm.alloc(out.len() as u64, "y").expect("memory");
        let args = [Arg::Address(x), Arg::Address(y)];
        vm.launch(
            &program,
            "k",
            [1; 3],
            [32, 1, 1],
            0,
            &args,
            &Options::default(),
        )
        .unwrap_or_else(|f| panic!("{f}"));
        vm.read(y, &mut out).expect("read");
        out.chunks(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }
}

#[test]
fn sparse_products_are_a_card_s() {
    let all = lines();
    assert!(all.len() >= 25, "{} products", all.len());
    let mut wrong = vec![];
    for l in &all {
        let got = l.run();
        let differ = got.iter().zip(&l.words[4]).filter(|(a, b)| a != b).count();
        if differ > 0 {
            let at = got
                .iter()
                .zip(&l.words[4])
                .position(|(a, b)| a != b)
                .unwrap_or(0);
            wrong.push(format!(
                "{} {}: {differ} of {}, first {at}: machine {:08x}, card {:08x}",
                l.instruction,
                l.selector,
                got.len(),
                got[at],
                l.words[4][at]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
}

#[test]
fn places_selectors_and_order_matter() {
    for mut l in lines() {
        let right = l.run();
        // The first place of row 0 becomes the other one of its pair.
        let (lanes, name) = (l.words[3].clone(), l.instruction.clone());
        let step = if name.contains("tf32") { 0xa } else { 0xf };
        l.words[3].iter_mut().for_each(|w| *w ^= step);
        assert_ne!(l.run(), right, "{name}: places");
        l.words[3] = lanes;
        let a = l.words[0].clone();
        l.words[0].rotate_left(1);
        assert_ne!(l.run(), right, "{name}: lanes of A");
        l.words[0] = a;
        let most = match &name {
            n if n.contains("k64") => 0,
            n if n.contains("m16n8k32") || (n.contains("k16") && n.contains("tf32")) => 1,
            _ => 3,
        };
        if most > 0 {
            l.selector = (l.selector + 1) % (most + 1);
            assert_ne!(l.run(), right, "{name}: selector");
        }
        l.selector = most + 1;
        let told = l.load(&Vm::new()).expect_err("no such selector");
        assert!(
            told.contains(&format!("0 to {most} are possible")),
            "{told}"
        );
    }
}
