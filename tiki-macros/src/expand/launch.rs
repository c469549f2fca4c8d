//! The type named like the kernel and its typed `launch`.

use super::{Source, facts, local};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{GenericArgument, PathArguments, Type};
use tiki_kernel::dtype::{Bound, DType};

/// A kernel's argument as the launcher takes it.
enum Argument {
    Input,
    Output,
    Optional(TokenStream),
    Scalar,
}

pub(crate) fn items(source: &Source) -> TokenStream {
    let krate = &source.krate;
    let name = source.name();
    let built = source.built();
    let vis = &source.item.vis;
    let attrs = source.item.attrs.iter().filter(|a| {
        let kept = ["doc", "deprecated", "must_use"];
        kept.iter().any(|k| a.path().is_ident(k))
    });
    let attrs: Vec<_> = attrs.collect();
    let generics = &source.generics();
    let (impl_generics, args, _) = generics.split_for_impl();
    let types = generics.type_params().map(|t| &t.ident);
    let marker = quote!(::core::marker::PhantomData<fn() -> (#(#types,)*)>);
    let bound = source.bound();
    let instance = source.lifetime(&quote!('instance));
    let any = source.lifetime(&quote!('static));
    let (message, label, notes) = not_built(source);
    quote! {
        #(#attrs)*
        #[allow(non_camel_case_types, missing_debug_implementations, dead_code)]
        #vis struct #name #impl_generics {
            compiled: #krate::Compiled,
            parameters: #marker,
        }

        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #[diagnostic::on_unimplemented(message = #message, label = #label, #(note = #notes),*)]
        #vis trait #built #instance {
            const ARTIFACT: &'static #krate::__private::Artifact;
        }

        #[allow(dead_code)]
        impl #impl_generics #name #args where #bound {
            /// The compiled instance.
            pub const ARTIFACT: &'static #krate::__private::Artifact =
                <Self as #built #any>::ARTIFACT;
            /// What the instance uses, as bounded at build time.
            pub const BUDGET: #krate::__private::Usage = Self::ARTIFACT.usage;
            /// The PTX text.
            pub const PTX: &'static str = Self::ARTIFACT.ptx;
            /// What the compiler chose, and why.
            pub const REPORT: &'static str = Self::ARTIFACT.report;
        }
    }
}

/// The typed `launch`.
pub(crate) fn launcher(source: &Source, failed: bool) -> TokenStream {
    let (name, built) = (source.name(), source.built());
    let generics = &source.generics();
    let (impl_generics, args, _) = generics.split_for_impl();
    let (bound, any) = (source.bound(), source.lifetime(&quote!('static)));
    let function = Function {
        name: quote!(launch),
        generics: quote!(),
        receiver: quote!(),
        parameters: quote!(),
        bound: quote!(where #bound,),
        artifact: quote!(<Self as #built #any>::ARTIFACT),
        failed,
    };
    let launch = function.tokens(source);
    quote! {
        #[allow(dead_code)]
        impl #impl_generics #name #args {
            #launch
        }
    }
}

/// A launcher: a kernel's own `launch`, or a function of a set.
pub(crate) struct Function {
    pub(crate) name: TokenStream,
    pub(crate) generics: TokenStream,
    /// `&self,` or nothing.
    pub(crate) receiver: TokenStream,
    /// Parameters whose value is known only at run time, as variables.
    pub(crate) parameters: TokenStream,
    /// What holds only for instances that were built.
    pub(crate) bound: TokenStream,
    pub(crate) artifact: TokenStream,
    /// The kernel did not compile: its callers are checked all the same, and what is wrong with it is told once.
    pub(crate) failed: bool,
}

impl Function {
    pub(crate) fn tokens(&self, source: &Source) -> TokenStream {
        let krate = &source.krate;
        let Function {
            name,
            generics,
            receiver,
            parameters: variables,
            bound,
            artifact,
            failed,
        } = self;
        let [params, lend, pass] = parameters(source);
        if *failed {
            let stream = local("stream");
            return quote! {
                #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, unused_variables)]
                #[doc = "Of a kernel that did not compile."]
                pub fn #name #generics(
                    #receiver
                    #stream: &#krate::Stream,
                    #(#params),*
                ) -> ::core::result::Result<(), #krate::LaunchError>
                #bound
                {
                    ::core::unreachable!("a kernel that did not compile")
                }
            };
        }
        let (stream, call) = (local("stream"), local("call"));
        let grid = facts::grid(source, artifact);
        let facts = facts::checks(source);
        let constants = &source.constants;
        let text = format!(
            "Enqueues one launch of `{}` on the stream, over a grid computed from the arguments.\n\n\
             # Errors\n\n\
             If a shape, a stride, an alignment or a `require!` does not hold, and if the device refuses.",
            source.name()
        );
        quote! {
            #[doc = #text]
            #[allow(
                clippy::too_many_arguments,
                clippy::needless_pass_by_value,
                clippy::needless_question_mark
            )]
            pub fn #name #generics(
                #receiver
                #stream: &#krate::Stream,
                #(#params),*
            ) -> ::core::result::Result<(), #krate::LaunchError>
            #bound
            {
                #variables
                #constants
                let mut #call = #krate::__private::Call::new(#stream, #artifact)?;
                #facts
                #grid
                #(#lend)*
                #(#pass)*
                #call.launch()
            }
        }
    }
}

/// The launcher's parameters, the shapes of workspaces, and how each argument is passed on.
fn parameters(source: &Source) -> [Vec<TokenStream>; 3] {
    let call = local("call");
    let mut params = Vec::new();
    let (mut lend, mut pass) = (Vec::new(), Vec::new());
    for (i, input) in source.item.sig.inputs.iter().enumerate() {
        let syn::FnArg::Typed(input) = input else {
            continue;
        };
        let name = match &*input.pat {
            syn::Pat::Ident(p) => p.ident.clone(),
            _ => quote::format_ident!("argument_{i}"),
        };
        if let Some(shape) = facts::workspace(source, &name) {
            // Before the outputs are lent: the shape may name their extents.
            let lent = local(&format!("shape_of_{i}"));
            lend.push(quote!(let #lent = #shape;));
            pass.push(quote!(#call.workspace(#i, #lent)?;));
            continue;
        }
        let Some((kind, ty)) = host_type(source, &input.ty) else {
            // Refused by the compiler, in its words; a caller's argument is not looked at.
            params.push(quote!(#name: impl ::core::marker::Sized));
            continue;
        };
        params.push(quote!(#name: #ty));
        pass.push(match kind {
            Argument::Input => quote!(#call.tensor(#i, #name)?;),
            Argument::Output => quote!(#call.tensor_mut(#i, #name)?;),
            Argument::Optional(give) => {
                quote!(if let ::core::option::Option::Some(t) = #name { #call.#give(#i, t)?; })
            }
            Argument::Scalar => quote!(#call.scalar(#i, #name)?;),
        });
    }
    [params, lend, pass]
}

/// Whether a kernel can have an argument of this type.
pub(crate) fn takes(source: &Source, ty: &Type) -> bool {
    host_type(source, ty).is_some()
}

/// `&Global<E, 1>` is `&Tensor<E, 1>` to the launcher; scalars stay; other types no kernel takes.
fn host_type(source: &Source, ty: &Type) -> Option<(Argument, TokenStream)> {
    match ty {
        Type::Paren(p) => host_type(source, &p.elem),
        Type::Group(g) => host_type(source, &g.elem),
        Type::Reference(r) => {
            let tensor = tensor_type(source, &r.elem)?;
            let (and, mutable) = (&r.and_token, &r.mutability);
            let kind = if mutable.is_some() {
                Argument::Output
            } else {
                Argument::Input
            };
            Some((kind, quote!(#and #mutable #tensor)))
        }
        Type::Path(p) => {
            if let Some(last) = p.path.segments.last()
                && last.ident == "Option"
                && let PathArguments::AngleBracketed(a) = &last.arguments
                && let Some(GenericArgument::Type(inner)) = a.args.first()
            {
                let (kind, inner) = host_type(source, inner)?;
                let give = match kind {
                    Argument::Input => quote!(tensor),
                    // Refused by the compiler, in its words.
                    Argument::Output => quote!(tensor_mut),
                    _ => return None,
                };
                return Some((
                    Argument::Optional(give),
                    quote!(::core::option::Option<#inner>),
                ));
            }
            let scalar = last_is(ty, "usize") || is_element(source, ty);
            scalar.then(|| (Argument::Scalar, ty.to_token_stream()))
        }
        _ => None,
    }
}

fn last_is(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == name))
}

/// An element type, or a parameter that stands for one.
fn is_element(source: &Source, ty: &Type) -> bool {
    let mut parameters = source.item.sig.generics.type_params();
    let elements = DType::all().filter(|t| Bound::by_name("Element").is_some_and(|b| b.holds(*t)));
    let mut elements = elements.map(DType::name);
    parameters.any(|t| last_is(ty, &t.ident.to_string())) || elements.any(|n| last_is(ty, n))
}

fn tensor_type(source: &Source, ty: &Type) -> Option<TokenStream> {
    let Type::Path(p) = ty else { return None };
    let last = p.path.segments.last()?;
    if last.ident != "Global" {
        return None;
    }
    let PathArguments::AngleBracketed(a) = &last.arguments else {
        return None;
    };
    let mut args = a.args.iter();
    let element = args.next()?;
    match element {
        GenericArgument::Type(ty) if is_element(source, ty) => {}
        _ => return None,
    }
    let rank = args
        .next()
        .map_or_else(|| quote!(2), ToTokens::to_token_stream);
    let krate = &source.krate;
    Some(quote!(#krate::Tensor<#element, #rank>))
}

/// What rustc says where an instance is named that was not built.
fn not_built(source: &Source) -> (String, String, Vec<String>) {
    let name = source.name();
    let build = source.attribute.get("build");
    let built: Vec<String> = build
        .iter()
        .flat_map(|b| &b.args)
        .map(|a| crate::parse::text_of(a.to_token_stream()))
        .collect();
    let list = if built.is_empty() {
        format!("`{name}` has no `build(..)`")
    } else {
        format!("built are: {}", built.join(", "))
    };
    let help = format!(
        "add it to `build(..)` at the kernel `{name}`, or build it in your own crate: \
         `tiki::kernel_set! {{ pub struct Mine; {name} = path::to::{name}<..>; }}`"
    );
    (
        "[TK104] `{Self}` was not built".to_owned(),
        "this instance was not built".to_owned(),
        vec![list, help],
    )
}
