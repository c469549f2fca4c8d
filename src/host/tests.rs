use super::*;

fn says<T: fmt::Debug>(result: Result<T, HostMath>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn what_has_no_result_names_its_numbers() {
    assert_eq!(add(2usize, 3), Ok(5));
    assert_eq!(says(sub(2usize, 3)), "2 - 3, which is negative");
    assert_eq!(
        says(sub(i32::MIN, 3)),
        "-2147483648 - 3, which does not fit in i32"
    );
    assert_eq!(
        says(mul(1u32 << 31, 2)),
        "2147483648 * 2, which does not fit in u32"
    );
    assert_eq!(says(div(1usize, 0)), "1 / 0, a division by zero");
    assert_eq!(says(rem(1i64, 0)), "1 % 0, a division by zero");
    assert_eq!(says(div_ceil(1u32, 0)), "1.div_ceil(0), a division by zero");
    assert!(says(next_multiple_of(usize::MAX, 2)).ends_with("which does not fit in usize"));
    assert_eq!((div_ceil(7u32, 2), div_ceil(8usize, 2)), (Ok(4), Ok(4)));
    assert_eq!(div_ceil(usize::MAX, usize::MAX), Ok(1));
}

#[test]
fn shifts_signs_and_casts_are_checked_too() {
    assert_eq!((shl(1usize, 5u32), shr(-8i32, 1usize)), (Ok(32), Ok(-4)));
    assert_eq!(
        says(shl(1u32, 32usize)),
        "1 << 32, which does not fit in u32"
    );
    assert_eq!(says(shl(3u8, 7)), "3 << 7, which does not fit in u8");
    assert!(shl(1i32, 31).is_err() && shr(1u64, -1).is_err() && shr(1u64, 64).is_err());
    assert_eq!((neg(5i32), abs(-5i64), abs(7u32)), (Ok(-5), Ok(5), Ok(7)));
    assert!(neg(i32::MIN).is_err() && abs(i64::MIN).is_err() && neg(1usize).is_err());
    assert_eq!(cast::<usize, u32>(7), Ok(7));
    assert_eq!(
        says(cast::<usize, u32>(1 << 32)),
        "4294967296, which does not fit in u32"
    );
    assert_eq!(
        (cast::<f32, i32>(-1.5), cast::<i32, f32>(3)),
        (Ok(-1), Ok(3.0))
    );
    assert!(cast::<f32, u8>(-1.0).is_err() && cast::<f64, u8>(256.0).is_err());
    assert!(cast::<f32, i64>(f32::NAN).is_err() && cast::<f64, i64>(9.3e18).is_err());
    assert_eq!(cast::<bool, usize>(true), Ok(1));
    assert_eq!(extent(7u32), Ok(7));
    assert_eq!(says(extent(-7i32)), "-7, which does not fit in u64");
}

#[test]
fn what_is_not_said_of_a_grid_is_one() {
    assert_eq!(grid(&[7]), [7, 1, 1]);
}
