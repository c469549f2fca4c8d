//! `#[tiki::test]`: a function of a device becomes a test that runs it on each.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{ItemFn, LitStr, Path};
use tiki_kernel::near;

/// What stands in the attribute.
struct Options {
    krate: Path,
    target: Option<LitStr>,
}

impl syn::parse::Parse for Options {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Options> {
        let mut options = Options {
            krate: syn::parse_quote!(::tiki),
            target: None,
        };
        while !input.is_empty() {
            if input.peek(syn::Token![crate]) {
                input.parse::<syn::Token![crate]>()?;
                input.parse::<syn::Token![=]>()?;
                options.krate = input.call(Path::parse_mod_style)?;
            } else {
                let name: syn::Ident = input.parse()?;
                if name != "target" {
                    let near = near::question(&name.to_string(), ["target", "crate"]);
                    let near = near.map_or(String::new(), |q| format!("; {q}"));
                    let text = format!("`{name}` is no option of a test: `target`, `crate`{near}");
                    return Err(syn::Error::new(name.span(), text));
                }
                input.parse::<syn::Token![=]>()?;
                options.target = Some(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(options)
    }
}

pub(crate) fn tokens(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(attribute, item).unwrap_or_else(|error| error.into_compile_error())
}

fn expand(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let Options { krate, target } = syn::parse2(attribute)?;
    let mut item: ItemFn = syn::parse2(item)?;
    let wrong = |span| {
        let text = "a test takes the device: `fn name(device: &Device) -> Result<(), LaunchError>`";
        syn::Error::new(span, text)
    };
    let one = item.sig.inputs.len() == 1 && item.sig.asyncness.is_none();
    if !one || !item.sig.generics.params.is_empty() {
        return Err(wrong(item.sig.span()));
    }
    let name = std::mem::replace(&mut item.sig.ident, format_ident!("on"));
    let attrs = std::mem::take(&mut item.attrs);
    let vis = std::mem::replace(&mut item.vis, syn::Visibility::Inherited);
    let target = match target {
        Some(target) => quote!(::core::option::Option::Some(#target)),
        None => quote!(::core::option::Option::None),
    };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attrs)*
        #vis fn #name() {
            #item
            #krate::__private::testing::run(#target, on)
        }
    })
}
