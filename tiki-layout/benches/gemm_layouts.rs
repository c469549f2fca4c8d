//! How long the compiler waits for the algebra: the layouts of the GEMM and attention kernels.
//!
//! `cargo bench -p tiki-layout`; with `TIKI_RESULTS=FILE` it appends lines of CSV. Every operation is meant to take
//! less than 2 microseconds. A sample is the mean of a few calls; of many samples the least and the median are told:
//! other work on the host makes single samples longer by orders of magnitude.

use std::hint::black_box;
use std::time::Instant;
use tiki_layout::atoms::SharedAtom;
use tiki_layout::{Composed, Coordinates, Layout, Tiler, Tuple};

/// Calls of a sample, and samples.
const CALLS: u32 = 32;
const SAMPLES: usize = 4000;

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn tiler(text: &str) -> Tiler {
    text.parse().expect("a tiler")
}

const COMPOSITIONS: &[(&str, &str)] = &[
    // A shared stage of 128 by 64 in 8 by 64 patterns, read through a warp's 16 by 16 tile.
    ("((8,16),(64,1)):((64,512),(1,0))", "(16,16):(1,128)"),
    // The accumulator of a warpgroup over a 64 by 256 tile.
    (
        "(64,256):(256,1)",
        "((4,8,4),(2,2,32)):((128,1,16),(64,8,512))",
    ),
    // An m16n8 accumulator over a row-major tile.
    ("(128,128):(128,1)", "((4,8),(2,2)):((256,1),(128,1024))"),
    // 256 threads, 8 values each.
    ("(128,64):(64,1)", "(256,(8,4)):(8,(1,2048))"),
];

const DIVISIONS: &[(&str, &str)] = &[
    ("(4096,4096):(4096,1)", "<128,64>"),
    ("(128,64):(64,1)", "<16,16>"),
    ("((8,16),(64,1)):((64,512),(1,0))", "<64,16>"),
    ("(128,256):(256,1)", "<32:1,16:2>"),
];

const COMPLEMENTS: &[(&str, i64)] = &[
    ("(16,16):(1,128)", 16384),
    ("(8,64):(64,1)", 8192),
    ("((4,8),(2,2)):((32,1),(16,8))", 2048),
    ("128:1", 4096),
];

/// What was measured of one operation, in nanoseconds.
struct Row {
    case: String,
    least: f64,
    median: f64,
}

#[derive(Default)]
struct Bench {
    rows: Vec<Row>,
    only: Option<String>,
}

impl Bench {
    fn run<T, E: std::fmt::Debug>(&mut self, case: String, f: impl Fn() -> Result<T, E>) {
        if self.only.as_ref().is_some_and(|only| !case.contains(only)) {
            return;
        }
        f().expect("an answer");
        let mut samples: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..CALLS {
                    black_box(f()).expect("an answer");
                }
                start.elapsed().as_nanos() as f64 / f64::from(CALLS)
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        let (least, median) = (samples[0], samples[SAMPLES / 2]);
        println!("{case:<64} least {least:7.0} ns  median {median:7.0} ns");
        self.rows.push(Row {
            case,
            least,
            median,
        });
    }
}

fn main() {
    let mut bench = Bench {
        only: std::env::args().nth(1).filter(|arg| !arg.starts_with('-')),
        ..Bench::default()
    };
    for (a, b) in COMPOSITIONS {
        let (a, b) = (layout(a), layout(b));
        bench.run(format!("compose {a} with {b}"), || {
            black_box(&a).compose(black_box(&b))
        });
    }
    for (a, t) in DIVISIONS {
        let (a, t) = (layout(a), tiler(t));
        bench.run(format!("logical divide {a} by {t}"), || {
            black_box(&a).logical_divide(black_box(&t))
        });
        bench.run(format!("zipped divide {a} by {t}"), || {
            black_box(&a).zipped_divide(black_box(&t))
        });
    }
    for (a, bound) in COMPLEMENTS {
        let a = layout(a);
        bench.run(format!("complement of {a} in {bound}"), || {
            black_box(&a).complement_in(black_box(*bound))
        });
    }
    let a = layout("((8,16),(64,1)):((64,512),(1,0))");
    bench.run(format!("coalesce {a}"), || black_box(&a).coalesce());
    let a = layout("((4,8,4),(2,2,32)):((128,1,16),(64,8,512))");
    bench.run(format!("right inverse of {a}"), || {
        black_box(&a).right_inverse()
    });
    bench.run("shared stage of 128 by 64".into(), || {
        SharedAtom::k_major(black_box(128), 64, 16)
    });
    let stage: Composed = SharedAtom::k_major(128, 64, 16).expect("a stage");
    let tile = tiler("<64,16>");
    bench.run("slice of a swizzled stage".into(), || {
        black_box(&stage).local_tile(&tile, [1, 2], None)
    });
    let all = Coordinates::identity(Tuple::from([4096, 4096])).expect("coordinates");
    let tile = tiler("<128,64>");
    bench.run("coordinates of a tile".into(), || {
        black_box(&all).local_tile(&tile, [3, 5])
    });
    if let Ok(file) = std::env::var("TIKI_RESULTS") {
        record(&file, &bench.rows);
    }
}

/// Appends rows to a file of CSV.
fn record(file: &str, rows: &[Row]) {
    let mut text = std::fs::read_to_string(file)
        .unwrap_or_else(|_| "date,note,command,cpu,load,case,least ns,median ns\n".into());
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (info, load) = (read("/proc/cpuinfo"), read("/proc/loadavg"));
    let name = info.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split(": ").nth(1));
    let (name, load) = (name.unwrap_or("unknown"), load.split(' ').next());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let note = std::env::var("TIKI_NOTE").unwrap_or_default();
    for row in rows {
        text += &format!(
            "{},{note},cargo bench -p tiki-layout,{cores} x {name},{},\"{}\",{:.0},{:.0}\n",
            date(),
            load.unwrap_or_default(),
            row.case,
            row.least,
            row.median
        );
    }
    std::fs::write(file, text).expect("the file of results can be written");
}

/// Today, from the days since 1970.
fn date() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |s| s.as_secs() / 86400) as i64;
    // Years begin in March, so that the leap day is the last.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day = of_era - (365 * year + year / 4 - year / 100);
    let m = (5 * day + 2) / 153;
    let (d, month) = (
        day - (153 * m + 2) / 5 + 1,
        if m < 10 { m + 3 } else { m - 9 },
    );
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{d:02}")
}
