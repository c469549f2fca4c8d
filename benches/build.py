"""Measures what Tiki costs a build, and writes benches/results/build.csv.

    python3 benches/build.py --csv benches/results/build.csv

1. Expansion of one instance: the macro's own clock (`TIKI_DUMP=time`) over the example kernels, with the profile's
   `build-override` at opt-level 3 and at 0; the whole file's time over its instances.
2. A crate that depends on `tiki` with one kernel: a clean debug build by two jobs, without the feature `plot`.
3. The same crate, rebuilt after its kernel was changed.

Wall time counts on an idle machine only; the seconds of the processor are given beside it, and the load. The crate and its
target directory are temporary.
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
KERNEL = """use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = f16), (E = f32)))]
pub fn scaled<E: Element>(x: &Global<E>, out: &mut Global<E>, by: f32) {
    require!(x.dim(1) == 1024 && out.shape() == x.shape());
    let map = ThreadMap::linear(256).vector_up_to(4);
    let v = x.tile([1, 1024], [block_idx().x, 0]).load(map).cast::<f32>();
    let y = v.map(|a| a * by + SHIFT);
    out.tile_mut([1, 1024], [block_idx().x, 0]).store(&y.cast::<E>());
}
"""


def timed(command, cwd, env):
    """Wall seconds and processor seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def expansions(env, target, level):
    """Milliseconds an instance of each example's kernels."""
    env = dict(env, TIKI_DUMP="time", TIKI_DUMP_DIR=os.path.join(target, f"times{level}"), CARGO_TARGET_DIR=target)
    env["CARGO_PROFILE_DEV_BUILD_OVERRIDE_OPT_LEVEL"] = str(level)
    timed(["cargo", "check", "-q", "-j", "2", "--examples"], ROOT, env)
    times = []
    for folder, _, names in os.walk(env["TIKI_DUMP_DIR"]):
        for name in names:
            text = open(os.path.join(folder, name)).read()
            for reading, compiling, count in re.findall(r"reading (\d+) us, compiling (\d+) us, (\d+) instances", text):
                if int(count):
                    times.append((int(reading) + int(compiling)) / 1000 / int(count))
    return sorted(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv")
    parser.add_argument("--expansions", type=int, default=1)
    options = parser.parse_args()
    env = {k: v for k, v in os.environ.items() if not k.startswith("TIKI_") and k != "CARGO_TARGET_DIR"}
    rows = []
    date, cores = datetime.date.today().isoformat(), os.cpu_count()

    def told(what, value, unit, limit, processor=""):
        load = f"{os.getloadavg()[0]:.1f}"
        rows.append([date, cores, "python3 benches/build.py", what, f"{value:.2f}", unit, limit, processor and f"{processor:.2f}", load])
        print(*rows[-1], sep=", ", flush=True)

    with tempfile.TemporaryDirectory() as home:
        crate = os.path.join(home, "user")
        os.makedirs(os.path.join(crate, "src"))
        with open(os.path.join(crate, "Cargo.toml"), "w") as file:
            file.write(f'[package]\nname = "user"\nversion = "0.1.0"\nedition = "2024"\n\n[dependencies]\ntiki = {{ path = "{ROOT}" }}\n\n[workspace]\n')
        shutil.copy(os.path.join(ROOT, "Cargo.lock"), crate)
        source = os.path.join(crate, "src", "main.rs")

        def write(shift):
            with open(source, "w") as file:
                file.write(KERNEL.replace("SHIFT", f"{shift}.0") + "\nfn main() {}\n")

        write(0)
        subprocess.run(["cargo", "fetch", "-q"], cwd=crate, env=env, check=True)
        wall, processor = timed(["cargo", "build", "-q", "-j", "2"], crate, env)
        told("clean debug build of a crate with one kernel", wall, "s", 45, processor)
        for n in range(1, 4):
            write(n)
            wall, processor = timed(["cargo", "build", "-q", "-j", "2"], crate, env)
            told(f"rebuild after a change of the kernel, {n} of 3", wall, "s", 2, processor)
        if options.expansions:
            for level, limit in ((3, 20), (0, 150)):
                times = expansions(env, os.path.join(home, "target"), level)
                told(f"expansion of one instance, build-override opt-level {level}: median of {len(times)} kernels", times[len(times) // 2], "ms", limit)
                told(f"expansion of one instance, build-override opt-level {level}: longest", times[-1], "ms", limit)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["date", "cores", "command", "what", "measured", "unit", "limit", "processor seconds", "load"])
            out.writerows(rows)


if __name__ == "__main__":
    main()
