//! Compiled instances as constants of the user's crate.

use super::{Compiled, Source, at_run_time};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use tiki_kernel::artifact::{Hidden, ParamKind};
use tiki_kernel::compile::{Arg, Output};
use tiki_kernel::dtype::DType;

/// The kernel's text, and one implementation of its trait for each instance; if it failed, one for all
/// parameters.
pub(crate) fn items(source: &Source, compiled: &Compiled) -> TokenStream {
    let (name, built) = (source.name(), source.built());
    let instance = source.lifetime(&quote!('instance));
    let parameters = source.generics();
    let (generics, args, _) = parameters.split_for_impl();
    let text = &compiled.text;
    let krate = &source.krate;
    // Not part of the surface: without the tokens of its device items there is no text to compile.
    let at_run_time = at_run_time::items(source, compiled.failed);
    let text = quote! {
        #at_run_time
        impl #generics #name #args {
            /// The kernel's canonical text: what it is compiled from at run time.
            pub const TEXT: &'static str = #text;
        }
    };
    if compiled.failed {
        return quote! {
            #text
            #[doc(hidden)]
            impl #generics #instance #built #instance for #name #args {
                const ARTIFACT: &'static #krate::__private::Artifact =
                    &#krate::__private::NOTHING_BUILT;
            }
        };
    }
    let impls = compiled.outputs.iter().map(|output| {
        let args = arguments(source, output);
        let artifact = literal(source, output, compiled);
        quote! {
            #[doc(hidden)]
            impl #instance #built #instance for #name #args {
                const ARTIFACT: &'static #krate::__private::Artifact = {
                    static ARTIFACT: #krate::__private::Artifact = #artifact;
                    &ARTIFACT
                };
            }
        }
    });
    quote!(#text #(#impls)*)
}

/// `<f16, 4096, 256>`.
pub(crate) fn arguments(source: &Source, output: &Output) -> TokenStream {
    if output.instance.args.is_empty() {
        return TokenStream::new();
    }
    let krate = &source.krate;
    let args = output.instance.args.iter().map(|(_, arg)| match arg {
        Arg::Type(dtype) => {
            let name = Ident::new(dtype.name(), Span::call_site());
            quote!(#krate::prelude::#name)
        }
        Arg::Int(value) => {
            let value = proc_macro2::Literal::i128_unsuffixed(*value);
            quote!({ #value })
        }
        Arg::Bool(value) => quote!(#value),
    });
    quote!(<#(#args),*>)
}

/// The artefact as an expression.
pub(crate) fn literal(source: &Source, output: &Output, compiled: &Compiled) -> TokenStream {
    let krate = &source.krate;
    let p = quote!(#krate::__private);
    let kernel = source.name().to_string();
    let line = source.name().span().start().line as u32;
    let (title, entry, ptx) = (&output.title, &output.entry, &output.ptx);
    let target = output.target.name();
    let [x, y, z] = output.threads;
    let (cluster, dynamic) = (output.cluster, output.dynamic_shared);
    let report = output.report.text(&compiled.places);
    let (file, fingerprint) = (compiled.file(), compiled.fingerprint);
    let params = output.params.iter().map(|(name, kind)| {
        let kind = match kind {
            ParamKind::Tensor {
                dtype,
                rank,
                writes,
                strided,
                align,
            } => {
                let dtype = dtype_const(&p, *dtype);
                quote!(#p::ParamKind::Tensor {
                    dtype: #dtype, rank: #rank, writes: #writes, strided: #strided, align: #align
                })
            }
            ParamKind::Scalar(dtype) => {
                let dtype = dtype_const(&p, *dtype);
                quote!(#p::ParamKind::Scalar(#dtype))
            }
        };
        quote!(#p::Param { name: #name, kind: #kind })
    });
    let hidden = output.hidden.iter().map(|hidden| {
        let Hidden::TensorMap {
            param,
            tile,
            swizzle,
        } = hidden;
        quote!(#p::Hidden::TensorMap { param: #param, tile: [#(#tile),*], swizzle: #swizzle })
    });
    let (deny_spills, dependent) = (output.deny_spills, output.dependent_launch);
    let u = output.usage;
    let (registers, shared, barriers) = (u.registers, u.shared, u.barriers);
    let (threads, blocks) = (u.threads, u.blocks_per_sm);
    quote! {
        #p::Artifact {
            kernel: #kernel,
            instance: #title,
            entry: #entry,
            target: #target,
            ptx: #ptx,
            threads: [#x, #y, #z],
            cluster: #cluster,
            dynamic_shared: #dynamic,
            params: &[#(#params),*],
            hidden: &[#(#hidden),*],
            usage: #p::Usage {
                registers: #registers,
                shared: #shared,
                barriers: #barriers,
                threads: #threads,
                blocks_per_sm: #blocks,
            },
            deny_spills: #deny_spills,
            dependent_launch: #dependent,
            report: #report,
            fingerprint: #fingerprint,
            source: (#file, #line),
        }
    }
}

fn dtype_const(p: &TokenStream, dtype: DType) -> TokenStream {
    let name = Ident::new(&dtype.name().to_uppercase(), Span::call_site());
    quote!(#p::DType::#name)
}
