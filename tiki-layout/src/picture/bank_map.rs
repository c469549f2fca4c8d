//! The bank map: which lane meets which bank, and when it is served.

use super::{Cell, Key, Legend, Paint, Panel, Picture, count_axis};
use crate::banks::{BANKS, SharedAccess};

/// A row per lane, a column per bank. The number is the wavefront of the phase in which the word is read, from 1; words
/// of wavefront 2 and later are conflicts, coloured and outlined. Heavy lines separate the phases.
pub fn bank_map(title: &str, access: &SharedAccess) -> Picture {
    let report = access.report();
    let lanes = access.addresses().len();
    let mut cells = vec![vec![Cell::empty(); BANKS as usize]; lanes];
    for s in access.services() {
        let paint = Paint::Wave(s.wavefront.min(usize::from(u16::MAX)) as u16);
        cells[s.lane][s.bank as usize] = Cell {
            text: vec![(s.wavefront + 1).to_string()],
            paint,
            mark: s.wavefront > 0,
        };
    }
    let verdict = match report.degree {
        0 | 1 => "free of conflicts".to_owned(),
        n => format!("{n}-way conflict in the worst phase"),
    };
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|p| p.wavefronts.to_string())
        .collect();
    Picture {
        title: title.to_owned(),
        notes: vec![
            format!(
                "{} bytes a lane, {} lanes a phase",
                access.width(),
                access.lanes_per_phase()
            ),
            format!(
                "wavefronts {} (phases {}), ideal {}: {verdict}",
                report.wavefronts,
                phases.join("+"),
                report.ideal
            ),
        ],
        panels: vec![Panel {
            caption: "lane by bank".into(),
            rows: count_axis("lane", lanes as i64, access.lanes_per_phase() as i64),
            columns: count_axis("bank", BANKS, 8),
            cells,
            place: (0, 0),
        }],
        legend: Legend {
            number: "wavefront of the phase, from 1; outlined: conflict".into(),
            colour: "wavefront".into(),
            key: Key::Waves(report.degree.max(1).min(usize::from(u16::MAX)) as u16),
        },
    }
}
