//! From diagnostics to what rustc shows.
//!
//! An error becomes a `compile_error!` whose first and last token are the user's, so that rustc
//! underlines the stretch between them. A warning becomes the use of a deprecated constant on the
//! user's token: the one way to warn on stable Rust. What lies in a device item of another place is
//! shown on the call that brought it in, with the item's file and line in the text.

use crate::parse::Reader;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use tiki_kernel::diag::{Code, Diag, Severity};

/// Which spans belong to a device item, and where the kernel calls it.
pub(crate) struct Foreign {
    /// Its spans: from this index,
    pub(crate) from: u32,
    /// up to, without, this one.
    pub(crate) to: u32,
    /// Its name.
    pub(crate) name: String,
    /// The path in the kernel that brought it in.
    pub(crate) call: (Span, Span),
}

/// All diagnostics as items.
pub(crate) fn items(reader: &Reader, foreign: &[Foreign], diags: &[Diag]) -> TokenStream {
    let mut out = TokenStream::new();
    for (i, diag) in diags.iter().enumerate() {
        let mut text = diag.text(reader.places());
        let mut tokens = reader.tokens_of(diag.span);
        let index = diag.span.0;
        if let Some(item) = foreign.iter().find(|f| f.from <= index && index < f.to) {
            let place = reader.places().at(diag.span);
            let file = &reader.places().files[place.file as usize];
            text = format!("{text}\n  = in `{}` at {file}:{}", item.name, place.line);
            tokens = item.call;
        }
        out.extend(match diag.severity {
            Severity::Error => error(tokens, &text),
            Severity::Warning => warning(tokens.0, &text, i),
        });
    }
    out
}

/// One error, underlined from the first token to the last.
pub(crate) fn error((first, last): (Span, Span), text: &str) -> TokenStream {
    let text = &cured(text);
    let path = quote_spanned!(first=> ::core::compile_error);
    let args = quote_spanned!(last=> { #text });
    let bang = quote_spanned!(first=> !);
    quote!(#path #bang #args)
}

/// A text with the cure of its code, where it has none of its own.
fn cured(text: &str) -> String {
    let code = text.strip_prefix('[').and_then(|t| t.split(']').next());
    match code.and_then(Code::by_name) {
        Some(code) if !text.contains("= help: ") => {
            format!("{text}\n  = help: {}", code.cure())
        }
        _ => text.to_owned(),
    }
}

/// A warning on a token; `index` tells it from others of the kernel.
pub(crate) fn warning(at: Span, text: &str, index: usize) -> TokenStream {
    // The name is part of what rustc prints; the note carries the text.
    let name = Ident::new(&format!("NOTE_{index}"), at.resolved_at(Span::mixed_site()));
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            #[allow(non_upper_case_globals)]
            const #name: () = ();
            #name
        };
    }
}
