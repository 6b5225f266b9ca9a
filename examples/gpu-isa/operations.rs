//! What instructions compute of whole words.

/// How a vector instruction makes the word of a thread from those of its operands.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Of one.
    Unary(fn(u32) -> u32),
    /// Of two.
    Binary(fn(u32, u32) -> u32),
    /// Of three.
    Ternary(fn(u32, u32, u32) -> u32),
}

/// The rule of a vector instruction. Those that compute with data have none.
pub fn rule(name: &str) -> Option<Rule> {
    let unary = unary(name).map(Rule::Unary);
    unary.or_else(|| binary(name).map(Rule::Binary)).or_else(|| ternary(name).map(Rule::Ternary))
}

fn unary(name: &str) -> Option<fn(u32) -> u32> {
    Some(match name {
        "v_mov_b32" => |a| a,
        "v_not_b32" => |a| !a,
        "v_bfrev_b32" => u32::reverse_bits,
        "v_cvt_f32_u32" => |a| (a as f32).to_bits(),
        "v_cvt_u32_f32" => |a| f32::from_bits(a) as u32,
        "v_rcp_f32" | "v_rcp_iflag_f32" => |a| (1.0 / f32::from_bits(a)).to_bits(),
        "v_ffbl_b32" | "v_ctz_i32_b32" => |a| if a == 0 { !0 } else { a.trailing_zeros() },
        "v_ffbh_u32" | "v_clz_i32_u32" => |a| if a == 0 { !0 } else { a.leading_zeros() },
        _ => return None,
    })
}

fn binary(name: &str) -> Option<fn(u32, u32) -> u32> {
    Some(match name {
        "v_add_u32" | "v_add_nc_u32" | "v_add_nc_i32" | "v_add_i32" => u32::wrapping_add,
        "v_sub_u32" | "v_sub_nc_u32" | "v_sub_nc_i32" | "v_sub_i32" => u32::wrapping_sub,
        "v_subrev_u32" | "v_subrev_nc_u32" => |a, b| b.wrapping_sub(a),
        "v_mul_lo_u32" => u32::wrapping_mul,
        "v_mul_hi_u32" => |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32,
        "v_mul_u32_u24" => |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
        "v_and_b32" => |a, b| a & b,
        "v_or_b32" => |a, b| a | b,
        "v_xor_b32" => |a, b| a ^ b,
        "v_xnor_b32" => |a, b| !(a ^ b),
        "v_lshlrev_b32" => |a, b| b << (a & 31),
        "v_lshrrev_b32" => |a, b| b >> (a & 31),
        "v_ashrrev_i32" => |a, b| ((b as i32) >> (a & 31)) as u32,
        "v_min_u32" => |a, b| a.min(b),
        "v_max_u32" => |a, b| a.max(b),
        "v_min_i32" => |a, b| (a as i32).min(b as i32) as u32,
        "v_max_i32" => |a, b| (a as i32).max(b as i32) as u32,
        "v_bfm_b32" => |a, b| ((1 << (a & 31)) - 1) << (b & 31),
        "v_mul_f32" => |a, b| (f32::from_bits(a) * f32::from_bits(b)).to_bits(),
        _ => return None,
    })
}

fn ternary(name: &str) -> Option<fn(u32, u32, u32) -> u32> {
    Some(match name {
        "v_add3_u32" => |a, b, c| a.wrapping_add(b).wrapping_add(c),
        "v_lshl_add_u32" => |a, b, c| (a << (b & 31)).wrapping_add(c),
        "v_add_lshl_u32" => |a, b, c| a.wrapping_add(b) << (c & 31),
        "v_lshl_or_b32" => |a, b, c| (a << (b & 31)) | c,
        "v_and_or_b32" => |a, b, c| (a & b) | c,
        "v_or3_b32" => |a, b, c| a | b | c,
        "v_xad_u32" => |a, b, c| (a ^ b).wrapping_add(c),
        "v_xor3_b32" => |a, b, c| a ^ b ^ c,
        "v_mad_u32_u24" => |a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c),
        "v_bfe_u32" => bit_field,
        "v_bfi_b32" => |a, b, c| (a & b) | (!a & c),
        "v_min3_u32" => |a, b, c| a.min(b).min(c),
        "v_max3_u32" => |a, b, c| a.max(b).max(c),
        "v_med3_u32" => |a, b, c| a.max(b).min(a.min(b).max(c)),
        "v_med3_f32" => |a, b, c| {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            a.max(b).min(a.min(b).max(c)).to_bits()
        },
        _ => return None,
    })
}

fn bit_field(value: u32, from: u32, width: u32) -> u32 {
    (value >> (from & 31)) & ((1 << (width & 31)) - 1)
}

/// A comparison, by a name such as `gt_u32`.
pub fn compare(name: &str) -> Option<fn(u32, u32) -> bool> {
    Some(match name {
        "eq_u32" | "eq_i32" => |a, b| a == b,
        "ne_u32" | "ne_i32" | "lg_u32" | "lg_i32" => |a, b| a != b,
        "gt_u32" => |a, b| a > b,
        "ge_u32" => |a, b| a >= b,
        "lt_u32" => |a, b| a < b,
        "le_u32" => |a, b| a <= b,
        "gt_i32" => |a, b| (a as i32) > b as i32,
        "ge_i32" => |a, b| a as i32 >= b as i32,
        "lt_i32" => |a, b| (a as i32) < b as i32,
        "le_i32" => |a, b| a as i32 <= b as i32,
        _ => return None,
    })
}

/// A scalar operation: the word that stood in the register it writes, its operands and the condition before; what it
/// writes, and the condition behind it where it writes that.
pub fn scalar(name: &str, old: u32, a: u32, b: u32, condition: Option<bool>) -> Option<(u32, Option<bool>)> {
    let tested = |value: u32| Some((value, Some(value != 0)));
    let carry = condition.map(u64::from);
    let wide = |sum: u64| Some((sum as u32, Some(sum >> 32 != 0)));
    match name {
        "s_movk_i32" => Some((a as u16 as i16 as u32, None)),
        "s_cmov_b32" => Some((if condition? { a } else { old }, None)),
        "s_add_u32" => wide(u64::from(a) + u64::from(b)),
        "s_addc_u32" => wide(u64::from(a) + u64::from(b) + carry?),
        "s_sub_u32" => Some((a.wrapping_sub(b), Some(a < b))),
        "s_subb_u32" => {
            let taken = u64::from(b) + carry?;
            Some((a.wrapping_sub(taken as u32), Some(u64::from(a) < taken)))
        }
        "s_add_i32" => {
            let (sum, overflow) = (a as i32).overflowing_add(b as i32);
            Some((sum as u32, Some(overflow)))
        }
        "s_sub_i32" => {
            let (difference, overflow) = (a as i32).overflowing_sub(b as i32);
            Some((difference as u32, Some(overflow)))
        }
        "s_addk_i32" => {
            let (sum, overflow) = (old as i32).overflowing_add(i32::from(a as u16 as i16));
            Some((sum as u32, Some(overflow)))
        }
        "s_mulk_i32" => Some((old.wrapping_mul(a as u16 as i16 as u32), None)),
        "s_mul_i32" => Some((a.wrapping_mul(b), None)),
        "s_mul_hi_u32" => Some((((u64::from(a) * u64::from(b)) >> 32) as u32, None)),
        "s_lshl_b32" => tested(a << (b & 31)),
        "s_lshr_b32" => tested(a >> (b & 31)),
        "s_ashr_i32" => tested(((a as i32) >> (b & 31)) as u32),
        "s_min_u32" => Some((a.min(b), Some(a < b))),
        "s_max_u32" => Some((a.max(b), Some(a > b))),
        "s_min_i32" => Some(((a as i32).min(b as i32) as u32, Some((a as i32) < b as i32))),
        "s_max_i32" => Some(((a as i32).max(b as i32) as u32, Some(a as i32 > b as i32))),
        "s_lshl1_add_u32" => wide((u64::from(a) << 1) + u64::from(b)),
        "s_lshl2_add_u32" => wide((u64::from(a) << 2) + u64::from(b)),
        "s_lshl3_add_u32" => wide((u64::from(a) << 3) + u64::from(b)),
        "s_lshl4_add_u32" => wide((u64::from(a) << 4) + u64::from(b)),
        "s_bfe_u32" => tested(bit_field(a, b, b >> 16)),
        "s_bfm_b32" => Some((((1 << (a & 31)) - 1) << (b & 31), None)),
        "s_brev_b32" => Some((a.reverse_bits(), None)),
        "s_ff1_i32_b32" | "s_ctz_i32_b32" => Some((if a == 0 { !0 } else { a.trailing_zeros() }, None)),
        "s_flbit_i32_b32" | "s_clz_i32_u32" => Some((if a == 0 { !0 } else { a.leading_zeros() }, None)),
        "s_bcnt1_i32_b32" => tested(a.count_ones()),
        "s_abs_i32" => tested((a as i32).unsigned_abs()),
        _ => None,
    }
}
