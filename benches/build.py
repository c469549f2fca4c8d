"""Measures what Tiki costs a build, and appends to benches/results/build.csv.

    python3 benches/build.py --csv benches/results/build.csv [--parts user,gemm,expansion] [--note TEXT]

- `user`: a crate that depends on `tiki` with one kernel: a clean debug build by two jobs, without the feature `plot`; the
  seconds of its dearest crates; and the same crate, rebuilt after its kernel was changed.
- `gemm`: a crate with 64 instances of a matrix product for Ampere (`PRODUCT`): its build once `tiki` is built, its
  rebuilds after an unrelated function was touched and after the product was, and the binary's size beside one without.
- `expansion`: expansion of one instance by the macro's own clock (`TIKI_DUMP=time`) over example kernels, nothing kept, with
  the profile's `build-override` at opt-level 3 and at 0. The clock is the processor's, where the system tells it.

Wall time counts on an idle machine only; the processor's seconds (user and system, of cargo and all it starts) are given
beside it, with the load. Crates and target directory are temporary; their toolchain is the repository's.
"""

import argparse
import csv
import datetime
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = ["date", "note", "cpu", "load", "command", "what", "wall s", "processor s", "value", "unit", "limit"]
KERNEL = """use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = f16), (E = f32)))]
pub fn scaled<E: Element>(x: &Global<E>, out: &mut Global<E>, by: f32) {
    require!(x.dim(1) == 1024 && out.shape() == x.shape());
    let map = ThreadMap::linear(256).vector_up_to(4);
    let v = x.tile([1, 1024], [block_idx().x, 0]).load(map).cast::<f32>();
    let y = v.map(|a| a * by + SHIFT);
    out.tile_mut([1, 1024], [block_idx().x, 0]).store(&y.cast::<E>());
}

fn main() {
    println!("{}", scaled::<f16>::PTX.len() + scaled::<f32>::PTX.len());
}
"""
PRODUCT = """pub fn gemm_ampere<
    E: Half,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(
        a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0) && a.dim(1) % 8 == 0
    );
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let mut acc = gemm.zeros([BM, BN]);
    let steps = a.dim(1).div_ceil(BK);
    let fetch = |k: usize| {
        let s = pipe.acquire();
        load.copy(&a.tile([BM, BK], [m, k]), a_s.stage(s)); // past the last step: zero fill, no traffic
        load.copy(&b.tile([BN, BK], [n, k]), b_s.stage(s));
        pipe.commit();
    };
    for k in 0..STAGES - 1 {
        fetch(k);
    }
    for k in 0..steps {
        let s = pipe.wait(); // the group's wait, then the block's barrier
        gemm.accumulate(a_s.stage(s), b_s.stage(s), &mut acc); // acc += a @ b.T
        fetch(k + STAGES - 1);
    }
    c.tile_mut([BM, BN], [m, n]).store(&acc.cast::<E>());
}
"""
# What a wrapper of rustc notes: processor seconds, crate, whether for the host.
WRAPPER = """#!/usr/bin/env python3
import resource, subprocess, sys
args = sys.argv[1:]
code = subprocess.call(args)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if "--crate-name" in args and args[args.index("--crate-name") + 1] != "___":
    host = "" if any(a.startswith("debuginfo=") for a in args) else " (host)"
    with open(LOG, "a") as log:
        log.write(f"{used.ru_utime + used.ru_stime:.2f} {args[args.index('--crate-name') + 1]}{host}\\n")
sys.exit(code)
"""
EXAMPLES = ["add", "rms_norm", "softmax", "layer_norm_backward", "gemm", "attention", "attention_hopper"]


class Bench:
    def __init__(self, home, options):
        self.home, self.options, self.rows = home, options, []
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TIKI_", "CARGO_PROFILE", "CARGO_INCREMENTAL"))}
        self.env = dict(kept, CARGO_TARGET_DIR=os.path.join(home, "target"))
        model = [l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")]
        self.cpu = f"{len(model)} x {model[0]}" if model else str(os.cpu_count())

    def timed(self, command, cwd, **env):
        """Wall seconds and processor seconds."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, cwd=cwd, env=dict(self.env, **env), capture_output=True, text=True)
        wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(done.stderr)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def told(self, what, wall="", processor="", value="", unit="", limit=""):
        form = lambda x: f"{x:.2f}" if isinstance(x, float) else x
        row = [datetime.date.today().isoformat(), self.options.note, self.cpu, f"{os.getloadavg()[0]:.1f}"]
        row += ["python3 benches/build.py", what, form(wall), form(processor), form(value), unit, limit]
        self.rows.append(row)
        print(*row, sep=", ", flush=True)

    def crate(self, name, main):
        """A crate of one file."""
        folder = os.path.join(self.home, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "src"))
        with open(os.path.join(folder, "Cargo.toml"), "w") as file:
            file.write(f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n\n')
            file.write(f'[dependencies]\ntiki = {{ path = "{ROOT}", features = [{self.features()}] }}\n\n[workspace]\n')
        for own in ("Cargo.lock", "rust-toolchain.toml"):
            shutil.copy(os.path.join(ROOT, own), folder)
        self.write(folder, main)
        return folder

    def features(self):
        return ", ".join(f'"{name}"' for name in self.options.features.split(",") if name)

    def write(self, folder, main):
        with open(os.path.join(folder, "src", "main.rs"), "w") as file:
            file.write(main)

    def build(self, folder, **env):
        return self.timed(["cargo", "build", "-q", "-j", "2", "--offline"], folder, **env)

    def user(self):
        folder = self.crate("user", KERNEL.replace("SHIFT", "0.0"))
        log, wrapper = os.path.join(self.home, "crates"), os.path.join(self.home, "wrapper")
        if self.options.crates:
            with open(wrapper, "w") as file:
                file.write(WRAPPER.replace("LOG", repr(log)))
            os.chmod(wrapper, 0o755)
        env = {"RUSTC_WRAPPER": wrapper} if self.options.crates else {}
        self.told("clean debug build of a crate with one kernel", *self.build(folder, **env), limit="45 s")
        if self.options.crates:
            crates = sorted(((float(l.split(" ", 1)[0]), l.split(" ", 1)[1].strip()) for l in open(log)), reverse=True)
            for seconds, name in crates[:10]:
                self.told(f"  of which {name}", processor=seconds)
            # The wrapper is part of what cargo compares.
            self.build(folder)
        for n in range(1, 4):
            self.write(folder, KERNEL.replace("SHIFT", f"{n}.0"))
            self.told(f"rebuild after a change of the kernel, {n} of 3", *self.build(folder), limit="2 s")

    def gemm(self):
        lists = "(E = [f16, bf16], BM = [64, 128], BN = [64, 128], BK = [32, 64], STAGES = [2, 3, 4, 5])"
        head = '#[tiki::kernel(target = "sm_80", warps = 4, grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(BM)], build(BUILD))]\n'
        sums = [
            f"gemm_ampere::<{e}, {m}, {n}, {k}, {s}>::PTX.len()"
            for e in ("f16", "bf16") for m in (64, 128) for n in (64, 128) for k in (32, 64) for s in (2, 3, 4, 5)
        ]
        rest = "\nfn unrelated() -> usize {\n    UNRELATED\n}\n\nfn main() {\n    println!(\"{}\", unrelated()SUM);\n}\n"

        def main(build, total, unrelated):
            text = "use tiki::prelude::*;\n\n" + head.replace("BUILD", build) + PRODUCT + rest
            return text.replace("SUM", "".join(f"\n        + {s}" for s in total)).replace("UNRELATED", str(unrelated))

        alone = [s for s in sums if "<f16, 64, 64, 32, 2>" in s]
        folder = self.crate("products", main("(E = f16, BM = 64, BN = 64, BK = 32, STAGES = 2)", alone, 0))
        self.build(folder)
        binary = os.path.join(self.home, "target", "debug", "products")
        small = os.path.getsize(binary)
        self.write(folder, main(lists, sums, 0))
        self.told("build of a crate with 64 instances of a matrix product, tiki built", *self.build(folder))
        size = os.path.getsize(binary)
        self.told("its binary", value=size / 1e6, unit="MB")
        self.told("an instance more in it", value=(size - small) / 63e3, unit="kB")
        for n in range(1, 4):
            self.write(folder, main(lists, sums, n))
            self.told(f"its rebuild after an unrelated function was touched, {n} of 3", *self.build(folder), limit="3 s")
        self.write(folder, main(lists, sums, 3).replace("past the last step", "after the last step"))
        self.told("its rebuild after a comment of the product was touched", *self.build(folder))
        self.write(folder, main(lists, sums, 3).replace("a.dim(1) % 8 == 0", "a.dim(1) % 16 == 0"))
        self.told("its rebuild after the product was touched: 64 instances compiled", *self.build(folder))

    def expansion(self):
        """Milliseconds an instance of each example's kernels: the least of three expansions."""
        for level, limit in ((3, "20 ms"), (0, "150 ms")):
            best = {}
            for n in range(3):
                dumps = os.path.join(self.home, f"times{level}-{n}")
                env = {"TIKI_DUMP": "time", "TIKI_DUMP_DIR": dumps, "TIKI_CACHE": "off"}
                env["CARGO_PROFILE_DEV_BUILD_OVERRIDE_OPT_LEVEL"] = str(level)
                names = [a for e in EXAMPLES for a in ("--example", e)]
                self.timed(["cargo", "check", "-q", "-j", "2", "--offline", *names], ROOT, **env)
                for folder, _, files in os.walk(dumps):
                    for name in files:
                        text = open(os.path.join(folder, name)).read()
                        for read, compiled, count in re.findall(r"reading (\d+) us, compiling (\d+) us, (\d+) instances", text):
                            if int(count):
                                key = os.path.join(os.path.basename(folder), name)
                                ms = (int(read) + int(compiled)) / 1000 / int(count)
                                best[key] = min(ms, best.get(key, ms))
            at = f"expansion of one instance, build-override opt-level {level}"
            times = sorted((ms, name) for name, ms in best.items() if not name.startswith("tiki/"))
            self.told(f"{at}: median of {len(times)} kernels", value=times[len(times) // 2][0], unit="ms", limit=limit)
            for ms, name in times:
                self.told(f"{at}: {name[:-5]}", value=ms, unit="ms", limit=limit)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv")
    parser.add_argument("--note", default="")
    parser.add_argument("--features", default="", help="features of `tiki` that the crates ask for")
    parser.add_argument("--home", help="a folder to work in that stays, so that `gemm` and `expansion` find a built `tiki`")
    parser.add_argument("--parts", default="user,gemm,expansion")
    parser.add_argument("--crates", action="store_true", help="the seconds of single crates too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options.home or temporary, options)
        for part in options.parts.split(","):
            {"user": bench.user, "gemm": bench.gemm, "expansion": bench.expansion}[part]()
    if options.csv:
        new = not os.path.exists(options.csv)
        with open(options.csv, "a", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerows(([HEAD] if new else []) + bench.rows)


if __name__ == "__main__":
    main()
