//! Timing: medians of repeated work, pairs measured in turn, and the CSV they are recorded in.
//!
//! A sample is the time between two events of the stream: on a GPU the device's own clock, so the host's
//! cost of launching does not count while the stream is kept busy; on the virtual machine, which finishes
//! each launch before it returns, the wall clock. Launch-bound work is measured by repeating it within a sample.
//!
//! To compare two programs, measure them in turn ([`Bench::pair`]): clocks and neighbours change over seconds,
//! and the ratio within a pair does not see it. The interval given is for the median of the ratios
//! and supposes nothing about their distribution.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::device::Device;
use crate::error::LaunchError;
use crate::machine::{Kind, RawEvent};
use crate::stream::Stream;

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bench {
    /// Runs before the first sample; on a GPU more, if they took less than its clocks need to rise (0: none
    /// at all).
    pub warm_up: usize,
    /// Samples.
    pub samples: usize,
    /// Runs in one sample; its time is divided by this.
    pub repeat: usize,
}

/// Work of this length brings a GPU's clocks up.
const CLOCK_RISE: Duration = Duration::from_millis(200);

impl Default for Bench {
    fn default() -> Bench {
        Bench {
            warm_up: 5,
            samples: 50,
            repeat: 1,
        }
    }
}

/// Times of one program, in microseconds per run, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// From times in any order.
    #[must_use]
    pub fn new(mut us: Vec<f64>) -> Samples {
        us.sort_by(f64::total_cmp);
        Samples(us)
    }
    /// The time that this share of the samples does not exceed; NaN without samples.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        match self.0.len() {
            0 => f64::NAN,
            n => {
                let place = share.clamp(0.0, 1.0) * (n - 1) as f64;
                let (low, high) = (
                    self.0[place.floor() as usize],
                    self.0[place.ceil() as usize],
                );
                low + (high - low) * place.fract()
            }
        }
    }
    /// The middle one.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }
    /// The shortest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.quantile(0.0)
    }
    /// All of them, ascending.
    #[must_use]
    pub fn all(&self) -> &[f64] {
        &self.0
    }
}

/// Two programs measured in turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// Times of the first.
    pub a: Samples,
    /// Times of the second.
    pub b: Samples,
    /// Median of the ratios a / b within each pair: above 1, the second is faster.
    pub ratio: f64,
    /// The interval that holds the true median of the ratios with 95% confidence.
    pub interval: (f64, f64),
}

impl Bench {
    /// Times `work`.
    pub fn run(
        &self,
        stream: &Stream,
        work: impl FnMut() -> Result<(), LaunchError>,
    ) -> Result<Samples, LaunchError> {
        self.run_after(stream, || Ok(()), work)
    }

    /// Times `work`; `prepare` runs before each sample and is not timed (to clear a cache, say).
    pub fn run_after(
        &self,
        stream: &Stream,
        mut prepare: impl FnMut() -> Result<(), LaunchError>,
        mut work: impl FnMut() -> Result<(), LaunchError>,
    ) -> Result<Samples, LaunchError> {
        let begin = Instant::now();
        let mut runs = 0;
        while runs < self.warm_up || self.cold(stream, begin)? {
            prepare()?;
            work()?;
            runs += 1;
        }
        let mut timers = Timers::new(stream.device());
        for _ in 0..self.samples {
            prepare()?;
            timers.time(stream, self.repeat, &mut work)?;
        }
        stream.synchronize()?;
        Ok(Samples::new(timers.read(self.repeat)?))
    }

    /// Whether the device's clocks may still be rising: an idle GPU runs at a fraction of its clock and
    /// takes tens of milliseconds of work to reach it. The machine has no such clock.
    fn cold(&self, stream: &Stream, begin: Instant) -> Result<bool, LaunchError> {
        if self.warm_up == 0 || stream.device().kind() == Kind::Vm {
            return Ok(false);
        }
        stream.synchronize()?;
        Ok(begin.elapsed() < CLOCK_RISE)
    }

    /// Times two programs in turn, each first in every other pair.
    pub fn pair(
        &self,
        stream: &Stream,
        mut a: impl FnMut() -> Result<(), LaunchError>,
        mut b: impl FnMut() -> Result<(), LaunchError>,
    ) -> Result<Pair, LaunchError> {
        let begin = Instant::now();
        let mut runs = 0;
        while runs < self.warm_up || self.cold(stream, begin)? {
            a()?;
            b()?;
            runs += 1;
        }
        let (mut a_timers, mut b_timers) =
            (Timers::new(stream.device()), Timers::new(stream.device()));
        for i in 0..self.samples {
            if i % 2 == 0 {
                a_timers.time(stream, self.repeat, &mut a)?;
                b_timers.time(stream, self.repeat, &mut b)?;
            } else {
                b_timers.time(stream, self.repeat, &mut b)?;
                a_timers.time(stream, self.repeat, &mut a)?;
            }
        }
        stream.synchronize()?;
        Ok(paired(
            a_timers.read(self.repeat)?,
            b_timers.read(self.repeat)?,
        ))
    }
}

fn paired(a: Vec<f64>, b: Vec<f64>) -> Pair {
    let ratios = Samples::new(a.iter().zip(&b).map(|(a, b)| a / b).collect());
    let interval = match median_ranks(ratios.0.len()) {
        Some((low, high)) => (ratios.0[low], ratios.0[high]),
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    Pair {
        ratio: ratios.median(),
        interval,
        a: Samples::new(a),
        b: Samples::new(b),
    }
}

/// Ranks of the sorted samples between which the true median lies with at least 95% confidence: how many
/// samples fall below it is a fair coin's count. None if there are too few samples (under 6).
fn median_ranks(n: usize) -> Option<(usize, usize)> {
    let mut log_chance = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = None;
    for k in 0..n / 2 {
        below += log_chance.exp();
        if below > 0.025 {
            break;
        }
        rank = Some(k);
        log_chance += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    rank.map(|k| (k, n - 1 - k))
}

/// Pairs of events, read after the work so that reading does not disturb it.
struct Timers<'a> {
    device: &'a Device,
    events: Vec<(RawEvent, RawEvent)>,
}

impl<'a> Timers<'a> {
    fn new(device: &'a Device) -> Timers<'a> {
        Timers {
            device,
            events: Vec::new(),
        }
    }
    fn time(
        &mut self,
        stream: &Stream,
        repeat: usize,
        work: &mut impl FnMut() -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let machine = self.device.machine();
        let start = machine.new_event(true)?;
        let end = machine
            .new_event(true)
            .inspect_err(|_| machine.drop_event(start))?;
        self.events.push((start, end));
        let raw = stream.machine_stream();
        machine.record(start, raw)?;
        for _ in 0..repeat.max(1) {
            work()?;
        }
        machine.record(end, raw)
    }
    fn read(&self, repeat: usize) -> Result<Vec<f64>, LaunchError> {
        let machine = self.device.machine();
        let per_run = |us: f64| us / repeat.max(1) as f64;
        self.events
            .iter()
            .map(|&(start, end)| machine.elapsed_us(start, end).map(per_run))
            .collect()
    }
}

impl Drop for Timers<'_> {
    fn drop(&mut self) {
        for &(start, end) in &self.events {
            self.device.machine().drop_event(start);
            self.device.machine().drop_event(end);
        }
    }
}

/// Columns every record begins with.
const ORIGIN: [&str; 4] = ["date", "card", "driver", "command"];

/// Measurements with their origin, as CSV.
#[derive(Debug, Clone)]
pub struct Record {
    origin: [String; ORIGIN.len()],
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Record {
    /// A record of measurements on a device, made by a command, with these columns of its own.
    #[must_use]
    pub fn new(device: &Device, command: &str, columns: &[&str]) -> Record {
        Record {
            origin: [
                today(),
                device.name().into(),
                device.driver().into(),
                command.into(),
            ],
            columns: columns.iter().map(|c| (*c).to_string()).collect(),
            rows: Vec::new(),
        }
    }
    /// Adds a row.
    ///
    /// # Panics
    /// If it has not one value a column.
    pub fn row(&mut self, values: &[&dyn Display]) {
        assert_eq!(
            values.len(),
            self.columns.len(),
            "one value for each of {:?}",
            self.columns
        );
        self.rows
            .push(values.iter().map(|v| v.to_string()).collect());
    }
    /// The header and the rows.
    #[must_use]
    pub fn to_csv(&self) -> String {
        self.header() + &self.body()
    }
    /// Appends to a file; a new one gets the header. A file with other columns is refused.
    pub fn append_to(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        let path = path.as_ref();
        let header = match std::fs::read_to_string(path) {
            Ok(text) if text.is_empty() || text.starts_with(&self.header()) => text.is_empty(),
            Ok(_) => {
                let words = format!(
                    "{} has other columns than {:?}",
                    path.display(),
                    self.columns
                );
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, words));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?;
        let text = if header { self.to_csv() } else { self.body() };
        file.write_all(text.as_bytes())
    }
    fn header(&self) -> String {
        line(
            ORIGIN
                .iter()
                .copied()
                .chain(self.columns.iter().map(String::as_str)),
        )
    }
    fn body(&self) -> String {
        self.rows
            .iter()
            .map(|row| line(self.origin.iter().chain(row).map(String::as_str)))
            .collect()
    }
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = fields
        .map(|field| match field.contains(['"', ',', '\n']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.to_string(),
        })
        .collect();
    quoted.join(",") + "\n"
}

/// Today's date (UTC), year first.
fn today() -> String {
    let days = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs() / 86_400);
    date(days)
}

/// The date so many days after 1 January 1970: whole years first, then whole months.
fn date(mut days: u64) -> String {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let months = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!("{year:04}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles() {
        let samples = Samples::new(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(
            (samples.min(), samples.median(), samples.quantile(1.0)),
            (1.0, 2.5, 4.0)
        );
        assert!(Samples::new(Vec::new()).median().is_nan());
    }

    /// Oracle: the table of confidence intervals for a median in statistics books (ranks counted from 1).
    #[test]
    fn interval_of_a_median_has_the_known_ranks() {
        for (n, low, high) in [
            (6, 1, 6),
            (10, 2, 9),
            (20, 6, 15),
            (25, 8, 18),
            (50, 18, 33),
            (100, 40, 61),
        ] {
            assert_eq!(median_ranks(n), Some((low - 1, high - 1)), "{n}");
        }
        assert_eq!(median_ranks(5), None);
        assert!(
            median_ranks(5000)
                .is_some_and(|(low, high)| low < 2500 && high > 2499 && high - low < 200)
        );
    }

    #[test]
    fn a_pair_sees_through_drift() {
        let drift: Vec<f64> = (0..100).map(|i| 10.0 + i as f64).collect();
        let pair = paired(drift.iter().map(|t| t * 1.1).collect(), drift);
        assert!(
            (pair.ratio - 1.1).abs() < 1e-12 && pair.interval.0 > 1.09 && pair.interval.1 < 1.11
        );
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_454), "2026-01-01");
    }

    #[test]
    fn records_append_under_one_header_and_quote() {
        let (device, _) = crate::double::device();
        let mut record = Record::new(&device, "cargo bench, all", &["kernel", "us"]);
        record.row(&[&"a \"b\"", &1.5]);
        let path = std::env::temp_dir().join(format!("tiki-record-{}.csv", std::process::id()));
        let _ = std::fs::remove_file(&path);
        record.append_to(&path).unwrap();
        record.append_to(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "date,card,driver,command,kernel,us");
        assert!(
            lines[1] == lines[2] && lines[1].ends_with(",\"cargo bench, all\",\"a \"\"b\"\"\",1.5")
        );
        let other = Record::new(&device, "x", &["other"]);
        assert!(other.append_to(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
