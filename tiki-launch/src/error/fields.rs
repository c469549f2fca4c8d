//! How errors are printed where nobody asked for a message: by `unwrap`, and by a `main` that returns them.
//!
//! First the message, as it is displayed; then, on a line of its own, the variant with its fields, which a program would
//! match on. An error that only carries another one is printed as that one.

use super::LaunchError;

/// `Debug` of an error with variants of named fields, then of one value, then of an error that is passed on.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_of_error {
    ($error:ident { $($variant:ident { $($field:ident),* })* } $(of $one:ident)* $(as $other:ident)*) => {
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $(if let $error::$other(error) = self {
                    return ::core::fmt::Debug::fmt(error, f);
                })*
                ::core::write!(f, "{self}\n  ")?;
                match self {
                    $($error::$variant { $($field),* } => f
                        .debug_struct(::core::stringify!($variant))
                        $(.field(::core::stringify!($field), $field))*
                        .finish(),)*
                    $($error::$one(one) => f
                        .debug_tuple(::core::stringify!($one))
                        .field(one)
                        .finish(),)*
                    $($error::$other(_) => Ok(()),)*
                }
            }
        }
    };
}

debug_of_error! {
    LaunchError {
        NoDriver { reason }
        OldDriver { missing }
        NoDevice { ordinal, count }
        DeviceName { given, variable }
        WrongTarget { kernel, target, device, capability }
        Refused { kernel, log, status }
        NoEntry { kernel, entry }
        Spills { kernel, local_bytes, registers }
        Driver { doing, status }
        Fault { doing, report, fault }
        OutOfMemory { bytes }
        TooLarge { shape, dtype }
        OtherDevice { place, there, here }
        ArgumentType { place, expected, given }
        NotContiguous { place, form, expected }
        Misaligned { place, address, align }
        Extent { place, axis, extent }
        Overlap { place, other }
        Grid { kernel, grid, limit, cluster }
        Arguments { kernel, given, expected }
        Shared { kernel, bytes, limit }
        Length { shape, expected, given }
        Shape { expected, given }
        View { shape, wanted }
        InCapture { doing }
        Streams { limit }
        Parameters { kernel, index, declared, described }
        TensorMap { place, why }
        PartialWave { kernel, blocks, resident, multiprocessors }
    }
    of Fact
    of Arithmetic
    of Data
}

#[cfg(test)]
mod tests {
    use super::LaunchError;

    #[test]
    fn an_error_is_printed_with_message_and_fields() {
        let error = LaunchError::Length {
            shape: vec![2, 3],
            expected: 6,
            given: 5,
        };
        let printed = format!("{error:?}");
        let (message, fields) = printed.split_once('\n').expect("two lines");
        assert_eq!(message, error.to_string());
        assert_eq!(fields, "  Length { shape: [2, 3], expected: 6, given: 5 }");
    }
}
