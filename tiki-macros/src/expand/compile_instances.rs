//! Running the compiler on a kernel, an instance at a time.
//!
//! 1. The kernel and its device items become a program; what is wrong with their syntax ends it here.
//! 2. Instances that an earlier build has kept ([`crate::kept`]) are taken over.
//! 3. The others are compiled, on as many threads as the machine has. A defect of the compiler becomes a
//!    message.
//! 4. An override ([`crate::dump`]) takes the place of what was compiled.

use super::{Source, assume, facts};
use crate::bundle::{self, Bundle};
use crate::clock::Moment;
use crate::dump::Dumper;
use crate::folder;
use crate::kept::Kept;
use crate::parse::Reader;
use crate::report;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tiki_kernel::ast::{self, Places, Program};
use tiki_kernel::check;
use tiki_kernel::compile::{Instance, Output, compile_instance};
use tiki_kernel::diag::codes::{INTERNAL, SHARED_LIMIT};
use tiki_kernel::diag::{Diag, Severity, Sink};
use tiki_kernel::fit;

/// Room for the compiler's recursion: as much as rustc gives its own threads.
const STACK: usize = 16 << 20;

/// What compiling a kernel gave: instances (none if anything failed), and the messages as items.
pub(crate) struct Compiled {
    pub(crate) outputs: Vec<Output>,
    pub(crate) messages: TokenStream,
    /// Where the program's spans lie.
    pub(crate) places: Places,
    /// The kernel's canonical text; empty if it could not be read.
    pub(crate) text: String,
    /// The hash of what it says.
    pub(crate) fingerprint: u128,
    /// An error is among the messages.
    pub(crate) failed: bool,
    /// Such an error as rustc may find in the shadow too: of syntax, names, types, build-time values, shapes.
    pub(crate) refused: bool,
}

impl Compiled {
    /// Of a kernel that the compiler was not asked about.
    pub(crate) fn nothing() -> Compiled {
        Compiled {
            outputs: Vec::new(),
            messages: TokenStream::new(),
            places: Places::default(),
            text: String::new(),
            fingerprint: 0,
            failed: true,
            refused: false,
        }
    }

    /// The kernel's file.
    pub(crate) fn file(&self) -> &str {
        self.places.files.first().map_or("", String::as_str)
    }
}

/// Reads the kernel and its items and runs the compiler. For a set, whose name and place are given, every message
/// stands there: the kernel is another place's.
pub(crate) fn compile_all(
    source: &Source,
    bundle: &Bundle,
    calls: &bundle::Calls,
    set: Option<(&str, (Span, Span))>,
) -> Compiled {
    let begun = Moment::now();
    let mut reader = Reader::new();
    let whole = reader.at(source.name().span());
    reader.renames = bundle.names_for(&calls.roots);
    let assumed = assume::items(&mut reader, source);
    let mut kernel = reader.kernel(&source.attribute, &source.item);
    facts::check(&mut reader, source);
    let end = reader.mark();
    let (mut items, mut foreign) = bundle.items(&mut reader, calls);
    items.extend(assumed);
    let lists = reader.mark();
    kernel.options.extend(reader.lists(&source.attribute));
    if let Some((_, call)) = set {
        foreign.iter_mut().for_each(|f| f.call = call);
        for (from, to) in [(0, end), (lists, reader.mark())] {
            let name = source.name().to_string();
            foreign.push(report::Foreign {
                from,
                to,
                name,
                call,
            });
        }
    }
    let program = Program {
        kernel,
        items,
        places: reader.places().clone(),
    };
    let name = source.name().to_string();
    let stem = folder::stem(set.map(|(set, _)| set), &name);
    let mut dumper = Dumper::from_env(&name, &stem);
    let read = begun.elapsed();
    let mut outputs = Vec::new();
    let mut diags = reader.sink.take();
    let mut compiled = 0;
    let mut by_others = Duration::ZERO;
    let readable = !diags.iter().any(|d| d.severity == Severity::Error);
    if readable {
        dumper.write("ast", "", &ast::print(&program));
        let mut sink = Sink::new();
        let instances = check::instances::run(&program, &mut sink);
        let kept = Kept::open(&program, lists, &stem);
        let mut results: Vec<Option<Output>> = match dumper.wants_stages() {
            true => vec![None; instances.len()],
            false => instances.iter().map(|i| kept.get(i)).collect(),
        };
        let missing: Vec<usize> = (0..instances.len())
            .filter(|i| results[*i].is_none())
            .collect();
        compiled = missing.len();
        let todo: Vec<&Instance> = missing.iter().map(|i| &instances[*i]).collect();
        for (i, done) in missing
            .into_iter()
            .zip(in_threads(&program, whole, &todo, &dumper))
        {
            results[i] = done.output;
            let refused = done.diags.iter().any(|d| d.severity == Severity::Error);
            by_others += done.took;
            for (stage, instance, text) in done.dumps {
                // What was refused can be looked at; it is no module, and does not have the name of one.
                let stage = if refused { stage + ".refused" } else { stage };
                dumper.write(&stage, &instance, &text);
            }
            for diag in done.diags {
                sink.push(diag);
            }
        }
        outputs = results.into_iter().flatten().collect();
        let told = sink.take();
        if told.is_empty() {
            kept.write(&outputs);
        }
        diags.extend(told);
    }
    let whole = begun.elapsed_with(by_others);
    let times = format!(
        "reading {} us, compiling {} us, {compiled} instances\n",
        read.as_micros(),
        (whole - read).as_micros(),
    );
    dumper.write("time", "", &times);
    let mut messages = report::items(&reader, &foreign, &diags);
    let span = source.name().span();
    for output in &mut outputs {
        if let Some(path) = dumper.overridden(output) {
            let path = path.display().to_string();
            let text = format!("the PTX of `{}` is that of {path}", output.title);
            messages.extend(report::warning(
                span,
                &text,
                1_000_000 + messages_len(&text),
            ));
            messages.extend(quote!(
                const _: &[u8] = ::core::include_bytes!(#path);
            ));
        }
    }
    let errors = || diags.iter().filter(|d| d.severity == Severity::Error);
    let mut failed = errors().next().is_some();
    let refused = errors().any(|d| d.code < SHARED_LIMIT);
    if let Some(failure) = &dumper.failure {
        failed = true;
        messages.extend(report::error((span, span), &format!("[TK099] {failure}\n  = help: see what the environment asks for: `TIKI_DUMP`, `TIKI_DUMP_DIR`, `TIKI_OVERRIDE`")));
    }
    Compiled {
        outputs: if failed { Vec::new() } else { outputs },
        messages,
        failed,
        refused,
        text: if readable {
            ast::print(&program)
        } else {
            String::new()
        },
        fingerprint: tiki_kernel::instance::fingerprint(&program),
        places: program.places,
    }
}

/// A number of a text's own, for the name of its warning.
fn messages_len(text: &str) -> usize {
    (bundle::hash(text) % 1_000_000) as usize
}

/// What came of one instance.
struct Done {
    output: Option<Output>,
    diags: Vec<Diag>,
    /// Stage, instance, text.
    dumps: Vec<(String, String, String)>,
    /// What its thread used of the processor.
    took: Duration,
}

/// Compiles instances side by side; the results in their order.
fn in_threads(
    program: &Program,
    whole: ast::Span,
    todo: &[&Instance],
    dumper: &Dumper,
) -> Vec<Done> {
    // A message carries a panic's text and place; the hook would print them a second time.
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if let (Some(location), Ok(mut seen)) = (info.location(), seen.lock()) {
            *seen = format!("{}:{}", location.file(), location.line());
        }
    }));
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Done>>> = todo.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(instance), Some(slot)) = (todo.get(at), results.get(at)) else {
                break;
            };
            let done = guarded(program, whole, instance, dumper, &place);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(todo.len()) {
            let thread = std::thread::Builder::new().stack_size(STACK);
            if thread.spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    // Where no thread could be had.
    work();
    std::panic::set_hook(hook);
    let results = results.into_iter();
    let results = results.map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner));
    results.flatten().collect()
}

/// Runs the compiler on one instance; a defect of it becomes a message.
fn guarded(
    program: &Program,
    whole: ast::Span,
    instance: &Instance,
    dumper: &Dumper,
    place: &Mutex<String>,
) -> Done {
    let begun = Moment::now();
    let mut dumps = Vec::new();
    let run = || {
        let mut sink = Sink::new();
        let output = compile_instance(program, instance, &mut sink, &mut |stage, title, text| {
            if dumper.wants(stage) {
                dumps.push((stage.to_owned(), title.to_owned(), text()));
            }
        });
        let mut diags = sink.take();
        fit::offer(program, instance, &mut diags);
        (output, diags)
    };
    let (output, diags) = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_default();
        let place = place.lock().map(|p| p.clone()).unwrap_or_default();
        let diag = Diag::error(
            INTERNAL,
            whole,
            format!("the compiler of Tiki failed: {text}"),
        )
        .note(format!(
            "this is a defect of Tiki, not of the kernel; it lies at {place}"
        ))
        .help("please report it, with the kernel and this text");
        (None, vec![diag])
    });
    Done {
        output,
        diags,
        dumps,
        took: begun.elapsed(),
    }
}
