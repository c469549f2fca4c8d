//! Instances that a tuner has chosen: `gemm = lib::gemm<tuned = "gemm.tuned">;`.
//!
//! The file lies beside the crate (its path begins at the crate's manifest) and is part of the build: changing
//! it builds again. A record of another kernel, or of another text of this one, is refused: the instance it
//! names was fastest for a kernel that no longer is.

use crate::report;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use std::path::{Path, PathBuf};
use syn::LitStr;
use tiki_kernel::compile::Arg;
use tiki_kernel::tuned::Tuned;

/// A record, and the file it stands in.
pub(super) struct Recorded {
    path: PathBuf,
    span: Span,
    tuned: Tuned,
}

impl Recorded {
    /// Reads the file that a literal names.
    pub(super) fn read(literal: &LitStr) -> syn::Result<Recorded> {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let path = Path::new(&root).join(literal.value());
        let error = |text: String| {
            syn::Error::new(literal.span(), format!("`{}`: {text}", literal.value()))
        };
        let text = std::fs::read_to_string(&path).map_err(|e| error(e.to_string()))?;
        Ok(Recorded {
            tuned: text
                .parse()
                .map_err(|e: tiki_kernel::tuned::TunedError| error(e.to_string()))?,
            span: literal.span(),
            path,
        })
    }

    /// Its parameters that were not `given`: what is given must agree.
    pub(super) fn args(&self, given: &TokenStream) -> syn::Result<TokenStream> {
        let given: Vec<String> = given
            .to_string()
            .split(',')
            .map(|p| p.trim().to_owned())
            .collect();
        let mut out = TokenStream::new();
        for (name, arg) in &self.tuned.instance.args {
            let written = given
                .iter()
                .find_map(|part| part.strip_prefix(&format!("{name} = ")));
            if let Some(written) = written {
                if Arg::by_text(written) != Some(*arg) {
                    let text =
                        format!("the record says `{name} = {arg}`, this line `{name} = {written}`");
                    return Err(syn::Error::new(self.span, text));
                }
                continue;
            }
            let name: Ident = syn::parse_str(name).map_err(|_| {
                syn::Error::new(self.span, format!("the record's `{name}` is no parameter"))
            })?;
            let name = Ident::new(&name.to_string(), self.span);
            let value: TokenStream = arg.to_string().parse().map_err(|_| {
                syn::Error::new(self.span, format!("the record's `{name}` is no value"))
            })?;
            out.extend(quote!(#name = #value,));
        }
        Ok(out)
    }

    /// That the build depends on the file, and an error if it is of something else.
    pub(super) fn checked(&self, kernel: &str, text: u128) -> TokenStream {
        let path = self.path.display().to_string();
        let watched = quote!(
            const _: &[u8] = ::core::include_bytes!(#path);
        );
        let wrong = if self.tuned.kernel != kernel {
            format!(
                "the record is of kernel `{}`, not of `{kernel}`",
                self.tuned.kernel
            )
        } else if self.tuned.text != text {
            format!(
                "the record is stale: `{kernel}` has changed since it was tuned\n  = help: tune it again, or name \
                 the instance"
            )
        } else {
            return watched;
        };
        let error = report::error((self.span, self.span), &format!("[TK104] {wrong}"));
        quote!(#watched #error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Recorded {
        let text = "tiki-tuned 1\nkernel k\ntext 07\ndevice d\nset E = f16\nset N = 64\n";
        Recorded {
            path: "/k.tuned".into(),
            span: Span::call_site(),
            tuned: text.parse().expect("a record"),
        }
    }

    #[test]
    fn it_gives_what_the_line_does_not() {
        let args = |given: TokenStream| recorded().args(&given).map(|t| t.to_string());
        assert_eq!(args(quote!()).expect("args"), "E = f16 , N = 64 ,");
        assert_eq!(args(quote!(E = f16,)).expect("args"), "N = 64 ,");
        let odd = "tiki-tuned 1\nkernel k\ntext 07\ndevice d\nset fn = 1\n";
        let odd = Recorded {
            tuned: odd.parse().expect("a record"),
            ..recorded()
        };
        let error = odd.args(&quote!()).expect_err("a word of Rust");
        assert_eq!(error.to_string(), "the record's `fn` is no parameter");
        let error = args(quote!(N = 128,))
            .expect_err("another value")
            .to_string();
        assert_eq!(error, "the record says `N = 64`, this line `N = 128`");
    }

    #[test]
    fn another_text_and_another_kernel_are_refused() {
        let said = |kernel, text| recorded().checked(kernel, text).to_string();
        assert!(!said("k", 7).contains("compile_error"));
        assert!(said("k", 8).contains("the record is stale: `k` has changed"));
        assert!(said("l", 7).contains("is of kernel `k`, not of `l`"));
        // The file is part of the build, fresh or stale.
        assert!(said("k", 7).contains("include_bytes"));
        assert!(said("k", 8).contains("include_bytes"));
    }
}
