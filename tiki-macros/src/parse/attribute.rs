//! The kernel's attribute: `name`, `name = value`, `name(arguments)`, separated by commas.
//!
//! Which names there are and what they take is the compiler's to say; the door itself reads four:
//! `grid` (the launcher evaluates it), `deny(partial_waves)` (the launcher checks it), `crate` (where
//! `tiki` is) and `assume`.

use super::Reader;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Token};
use tiki_kernel::ast::{Expr, ExprKind, KernelOption};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::BAD_OPTION;

/// Options that say which instances there are.
const LISTS: &[&str] = &["build", "tune"];

/// The options as written.
#[derive(Default)]
pub(crate) struct Attribute {
    pub(crate) options: Vec<Written>,
    error: Option<syn::Error>,
}

/// One option.
pub(crate) struct Written {
    pub(crate) name: Ident,
    pub(crate) value: Option<syn::Expr>,
    pub(crate) args: Vec<syn::Expr>,
}

impl Attribute {
    pub(crate) fn parse(tokens: TokenStream) -> Attribute {
        let mut attribute = Attribute::default();
        let read = |input: ParseStream<'_>| {
            while !input.is_empty() {
                match one(input) {
                    Ok(option) => attribute.options.push(option),
                    Err(error) => {
                        attribute.error = Some(error);
                        // The rest cannot be told apart any more.
                        input.parse::<TokenStream>()?;
                        break;
                    }
                }
                if input.is_empty() {
                    break;
                }
                if let Err(error) = input.parse::<Token![,]>() {
                    attribute.error = Some(error);
                    input.parse::<TokenStream>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = read.parse2(tokens) {
            attribute.error.get_or_insert(error);
        }
        attribute
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Written> {
        self.options.iter().find(|o| o.name == name)
    }

    /// `crate = path`: where the user has put `tiki`.
    pub(crate) fn krate(&self) -> TokenStream {
        match self.get("crate").and_then(|o| o.value.as_ref()) {
            Some(syn::Expr::Path(path)) => path.to_token_stream(),
            _ => quote::quote!(::tiki),
        }
    }

    /// Whether `deny(..)` names it.
    pub(crate) fn denies(&self, name: &str) -> bool {
        let named = |e: &syn::Expr| matches!(e, syn::Expr::Path(p) if p.path.is_ident(name));
        self.get("deny").is_some_and(|o| o.args.iter().any(named))
    }

    /// Whether `grid = persistent`.
    pub(crate) fn is_persistent(&self) -> bool {
        let grid = self.get("grid").and_then(|o| o.value.as_ref());
        matches!(grid, Some(syn::Expr::Path(p)) if p.path.is_ident("persistent"))
    }
}

fn one(input: ParseStream<'_>) -> syn::Result<Written> {
    let name = input.call(Ident::parse_any)?;
    let mut option = Written {
        name,
        value: None,
        args: Vec::new(),
    };
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        option.value = Some(input.parse()?);
    } else if input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in input);
        let args = Punctuated::<syn::Expr, Token![,]>::parse_terminated(&inner)?;
        option.args = args.into_iter().collect();
    }
    Ok(option)
}

impl Reader {
    /// The options for the compiler but for its lists of instances, which are read last ([`Reader::lists`]);
    /// what only the door reads is left out.
    pub(crate) fn options(&mut self, attribute: &Attribute) -> Vec<KernelOption> {
        if let Some(error) = &attribute.error {
            let at = self.at(error.span());
            self.sink.push(
                Diag::error(BAD_OPTION, at, format!("cannot read the options: {error}"))
                    .help("options are `name`, `name = value` or `name(..)`, separated by commas"),
            );
        }
        let mut out = Vec::new();
        for option in &attribute.options {
            if option.name == "crate" {
                if !matches!(option.value, Some(syn::Expr::Path(_))) {
                    let at = self.at(option.name.span());
                    self.sink.push(
                        Diag::error(BAD_OPTION, at, "`crate` takes the path of the tiki crate")
                            .help("`crate = ::my_name_for_tiki`"),
                    );
                }
                continue;
            }
            if !LISTS.iter().any(|list| option.name == list) {
                out.push(self.option(option));
            }
        }
        out
    }

    /// The lists of instances. Their places come after all others: another list moves none of them.
    pub(crate) fn lists(&mut self, attribute: &Attribute) -> Vec<KernelOption> {
        let is_list = |o: &&Written| LISTS.iter().any(|list| o.name == list);
        let lists = attribute.options.iter().filter(is_list);
        lists.map(|option| self.option(option)).collect()
    }

    fn option(&mut self, option: &Written) -> KernelOption {
        let name = self.name(&option.name);
        let value = option.value.as_ref().map(|v| self.expr(v));
        let args = option.args.iter().map(|a| self.argument(a)).collect();
        KernelOption { name, value, args }
    }

    /// As an expression, but `(E = f16)` is a list of one.
    fn argument(&mut self, arg: &syn::Expr) -> Expr {
        match arg {
            syn::Expr::Paren(p) => {
                let span = self.at(p.paren_token.span.join());
                Expr {
                    kind: ExprKind::Tuple(vec![self.expr(&p.expr)]),
                    span,
                }
            }
            other => self.expr(other),
        }
    }
}
