//! A timeline as trace events, the form that Perfetto and Chrome's viewer open.
//!
//! A block is a process, a warp a thread; a warp's own spans are complete events, what runs beside it are pairs of
//! asynchronous events. A tick is shown as a microsecond, since the form has no other unit.

use super::{Span, Timeline};
use serde_json::{Value, json};

impl Timeline {
    /// Trace events: an object with `traceEvents` and what the timeline is of.
    #[must_use]
    pub fn to_trace(&self) -> Value {
        let mut blocks: Vec<[u32; 3]> = self.rows.iter().map(|r| r.block).collect();
        blocks.dedup();
        let place = |row: usize| {
            let row = &self.rows[row];
            let block = blocks.iter().position(|b| *b == row.block).unwrap_or(0);
            (block, row.warp)
        };
        let mut events: Vec<Value> = vec![];
        for (pid, [x, y, z]) in blocks.iter().enumerate() {
            let name = format!("{} block ({x}, {y}, {z})", self.kernel);
            events.push(json!({
                "ph": "M", "pid": pid, "name": "process_name", "args": { "name": name },
            }));
        }
        for (row, r) in self.rows.iter().enumerate() {
            let (pid, tid) = place(row);
            let name = format!("warp {}", r.warp);
            events.push(json!({
                "ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": { "name": name },
            }));
        }
        for (id, s) in self.spans.iter().enumerate() {
            let (pid, tid) = place(s.row);
            let mut event = json!({
                "pid": pid, "tid": tid, "name": s.phase.text(), "cat": s.phase.text(), "ts": s.from,
                "args": about(s),
            });
            if s.beside {
                event["ph"] = "b".into();
                event["id"] = id.into();
                let mut end = event.clone();
                end["ph"] = "e".into();
                end["ts"] = s.to.into();
                events.extend([event, end]);
            } else {
                event["ph"] = "X".into();
                event["dur"] = (s.to - s.from).into();
                events.push(event);
            }
        }
        json!({
            "traceEvents": events,
            "otherData": {
                "kernel": self.kernel, "unit": "warp instructions", "ticks": self.end(), "left_out": self.left_out,
            },
        })
    }
}

fn about(s: &Span) -> Value {
    let mut args = json!({ "ptx_line": s.ptx_line });
    if let Some(at) = &s.source {
        args["source"] = format!("{}:{}:{}", at.file, at.line, at.col).into();
    }
    if let Some(on) = s.on {
        args["on"] = on.to_string().into();
    }
    args
}
