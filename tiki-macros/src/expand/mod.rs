//! What a kernel becomes.
//!
//! 1. [`surface`]: the type named like the kernel, its `launch`, the trait of what was built and the
//!    shadow. They depend on the signature alone, so they are there whatever the compiler says.
//! 2. If the body names device items, their tokens are fetched ([`crate::bundle`]); then, or at once,
//! 3. [`instances`]: the compiler runs; each instance becomes an artefact and an implementation of the
//!    trait. If it fails, the errors and one implementation for all parameters take their place, so that
//!    the rest of the file is checked as if the kernel were right.

pub(crate) mod artifact;
mod assume;
mod facts;
pub(crate) mod launch;
mod shadow;
pub(crate) mod test;

pub(crate) use assume::keys as assumed;
pub(crate) use shadow::without_unroll;

use crate::bundle::{self, Bundle};
use crate::dump::{self, Dumper};
use crate::parse::{Attribute, Reader};
use crate::report;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tiki_kernel::ast::Program;
use tiki_kernel::compile::{Output, compile};
use tiki_kernel::diag::codes::INTERNAL;
use tiki_kernel::diag::{Diag, Severity, Sink};

/// A kernel as the door sees it.
pub(crate) struct Source {
    pub(crate) attribute: Attribute,
    pub(crate) attribute_tokens: TokenStream,
    pub(crate) item: syn::ItemFn,
    pub(crate) krate: TokenStream,
    /// Constants the launcher's expressions need where the kernel's own are out of reach, and the names
    /// that paths have there.
    pub(crate) constants: TokenStream,
    pub(crate) renames: HashMap<String, String>,
}

impl Source {
    pub(crate) fn parse(attribute: TokenStream, item: TokenStream) -> syn::Result<Source> {
        let mut item = syn::parse2::<syn::ItemFn>(item)?;
        inline_bounds(&mut item.sig.generics);
        let parsed = Attribute::parse(attribute.clone());
        Ok(Source {
            krate: parsed.krate(),
            attribute: parsed,
            attribute_tokens: attribute,
            item,
            constants: TokenStream::new(),
            renames: HashMap::new(),
        })
    }

    pub(crate) fn name(&self) -> &Ident {
        &self.item.sig.ident
    }

    /// The kernel's parameters; a lifetime is refused, so it is left out.
    pub(crate) fn generics(&self) -> syn::Generics {
        let mut generics = self.item.sig.generics.clone();
        let params = std::mem::take(&mut generics.params);
        let kept = params
            .into_iter()
            .filter(|p| !matches!(p, syn::GenericParam::Lifetime(_)));
        generics.params = kept.collect();
        generics
    }

    /// The lifetime of the trait of what was built. Where there are no parameters, the bound is kept open
    /// by one: rustc would check it at once, and say that the kernel was not built where only the tokens
    /// of a device item are missing.
    pub(crate) fn lifetime(&self, name: &TokenStream) -> TokenStream {
        if self.generics().params.is_empty() {
            quote!(<#name>)
        } else {
            TokenStream::new()
        }
    }

    /// What holds for an instance that was built.
    pub(crate) fn bound(&self) -> TokenStream {
        let built = self.built();
        if self.generics().params.is_empty() {
            quote!(for<'instance> Self: #built<'instance>)
        } else {
            quote!(Self: #built)
        }
    }

    /// The hidden trait of this kernel's instances.
    pub(crate) fn built(&self) -> Ident {
        format_ident!("{}_is_built", self.name())
    }
}

/// `where E: Element` becomes `<E: Element>`.
fn inline_bounds(generics: &mut syn::Generics) {
    let Some(clause) = generics.where_clause.take() else {
        return;
    };
    let mut kept = clause.clone();
    kept.predicates.clear();
    for predicate in clause.predicates {
        if let syn::WherePredicate::Type(p) = &predicate
            && let syn::Type::Path(path) = &p.bounded_ty
            && let Some(name) = path.path.get_ident()
            && let Some(param) = generics.type_params_mut().find(|t| t.ident == *name)
        {
            param.colon_token.get_or_insert_with(Default::default);
            param.bounds.extend(p.bounds.iter().cloned());
        } else {
            kept.predicates.push(predicate);
        }
    }
    if !kept.predicates.is_empty() {
        generics.where_clause = Some(kept);
    }
}

/// `#[tiki::kernel(..)]`.
pub(crate) fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let source = match Source::parse(attribute, item.clone()) {
        Ok(source) => source,
        Err(error) => {
            let text = format!("[TK005] a kernel is a function: {error}");
            let error = report::error((error.span(), error.span()), &text);
            return quote!(#error #item);
        }
    };
    let surface = surface(&source);
    let pending = bundle::paths_of_kernel(&source);
    let rest = if pending.is_empty() {
        instances(&source, &Bundle::default(), &bundle::Calls::default())
    } else {
        bundle::fetch_for_kernel(&source, pending)
    };
    quote!(#surface #rest)
}

/// The items of a kernel of which no instance was built.
pub(crate) fn only_checked(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match Source::parse(attribute, item) {
        Ok(source) => {
            let (surface, stub) = (surface(&source), artifact::items(&source, &[], "", true));
            quote!(#surface #stub)
        }
        Err(error) => error.to_compile_error(),
    }
}

/// Everything that depends on the signature alone.
fn surface(source: &Source) -> TokenStream {
    let launch = launch::items(source);
    let shadow = shadow::item(source);
    quote!(#launch #shadow)
}

/// What compiling a kernel gave: instances (none if anything failed), and the messages as items.
pub(crate) struct Compiled {
    pub(crate) outputs: Vec<Output>,
    pub(crate) messages: TokenStream,
    pub(crate) file: String,
    /// An error is among the messages.
    pub(crate) failed: bool,
}

/// Compiles, and writes what came of it.
pub(crate) fn instances(source: &Source, bundle: &Bundle, calls: &bundle::Calls) -> TokenStream {
    let compiled = compile_all(source, bundle, calls, None);
    let mut out = compiled.messages;
    out.extend(artifact::items(
        source,
        &compiled.outputs,
        &compiled.file,
        compiled.failed,
    ));
    out.extend(assume::asserts(source));
    out.extend(bundle::export_kernel(source, bundle, calls));
    out.extend(dump::watched());
    out
}

/// Reads the kernel and its items and runs the compiler. With `shown`, every message stands there: the
/// kernel is another place's.
pub(crate) fn compile_all(
    source: &Source,
    bundle: &Bundle,
    calls: &bundle::Calls,
    shown: Option<(Span, Span)>,
) -> Compiled {
    let begun = Instant::now();
    let mut reader = Reader::new();
    let whole = reader.at(source.name().span());
    reader.renames = bundle.names_for(&calls.roots);
    let assumed = assume::items(&mut reader, source);
    let kernel = reader.kernel(&source.attribute, &source.item);
    facts::check(&mut reader, source);
    let end = reader.mark();
    let (mut items, mut foreign) = bundle.items(&mut reader, calls);
    items.extend(assumed);
    if let Some(call) = shown {
        foreign.iter_mut().for_each(|f| f.call = call);
        foreign.push(report::Foreign {
            from: 0,
            to: end,
            name: source.name().to_string(),
            call,
        });
    }
    let program = Program {
        kernel,
        items,
        places: reader.places().clone(),
    };
    let mut dumper = Dumper::from_env(&source.name().to_string());
    let read = begun.elapsed();
    let (outputs, mut diags) = if reader.sink.has_errors() {
        (Vec::new(), Vec::new())
    } else {
        guarded(whole, &program, &mut dumper)
    };
    let (instances, whole) = (outputs.len(), begun.elapsed());
    let times = format!(
        "reading {} us, compiling {} us, {instances} instances\n",
        read.as_micros(),
        (whole - read).as_micros()
    );
    dumper.write("time", "", &times);
    diags.splice(0..0, reader.sink.take());
    let failed = diags.iter().any(|d| d.severity == Severity::Error);
    let mut messages = report::items(&reader, &foreign, &diags);
    if let Some(failure) = &dumper.failure {
        let span = source.name().span();
        messages.extend(report::error((span, span), &format!("[TK099] {failure}")));
    }
    Compiled {
        outputs: if failed { Vec::new() } else { outputs },
        messages,
        failed,
        file: program.places.files.first().cloned().unwrap_or_default(),
    }
}

/// Runs the compiler; a defect of it becomes a message.
fn guarded(
    whole: tiki_kernel::ast::Span,
    program: &Program,
    dumper: &mut Dumper,
) -> (Vec<Output>, Vec<Diag>) {
    let run = || {
        let mut sink = Sink::new();
        let outputs = compile(program, &mut sink, &mut |stage, instance, text| {
            dumper.write(stage, instance, text);
        });
        (outputs, sink.take())
    };
    // The message carries the panic's text and place; the hook would print them a second time.
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if let (Some(location), Ok(mut seen)) = (info.location(), seen.lock()) {
            *seen = format!("{}:{}", location.file(), location.line());
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(run));
    std::panic::set_hook(hook);
    result.unwrap_or_else(|panic| {
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
        (Vec::new(), vec![diag])
    })
}

/// A local name that no name of the user's can meet.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
