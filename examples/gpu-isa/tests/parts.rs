//! The parts, over machine code written by hand.

use crate::arguments::{Arguments, Dispatch};
use crate::assembly::{Assembly, Class, Loop, Operand, VCC};
use crate::banks;
use crate::clock::Hardware;
use crate::gpus::Generation;
use crate::model::{Cost, Footprint, time};
use crate::walk::{Walk, walk};
use crate::wave::{LANES, Lanes, Memory, Wave};

/// Costs that can be added up by hand.
pub const HARDWARE: Hardware = Hardware {
    name: "test",
    clock: 1000.0,
    memory: 300.0,
    scalar: 50.0,
    shared: 70.0,
    vector: 2.0,
    issue: 1.0,
    units: 10,
    schedulers: 2,
    registers: 65_536,
    threads: 2048,
    memory_bytes: 65_536,
    shared_ports: 1,
    bandwidth: 1e6,
    launch: 4.0,
};

/// What RADV says of a shader whose registers begin with: rings, descriptors, two words of the record, the number of
/// workgroups in three, the workgroup's position in two, the offset of scratch.
const NIR: &str = "
    vec1 32 con ssa_4 = load_const (0x00000004 = 0.000000)
    vec1 32 con ssa_5 = load_const (0x0000000c = 0.000000)
    vec3 32 con ssa_0 = intrinsic load_workgroup_id () ()
    vec3 32 con ssa_1 = intrinsic load_num_workgroups () ()
    vec1 32 con ssa_19 = intrinsic load_push_constant (ssa_4) (base=0, range=64)
    vec1 32 con ssa_20 = intrinsic load_push_constant (ssa_5) (base=0, range=64)
    vec1 32 con ssa_21 = imul ssa_0.y, ssa_1.x
    vec1 32 con ssa_22 = iadd ssa_21, ssa_0.x";
const ACO: &str = "BB0
     s2: %96:s[0-1],  s1: %97:s[2],  s1: %98:s[3],  s1: %99:s[4],  s3: %100:s[5-7],  s1: (kill)%101:s[8],  \
     s1: %102:s[9],  s1: %103:s[10],  v3: %104:v[0-2] = p_startpgm";

/// A loop of as many rounds as the second word of the uniform says, in each of which a row of A is waited for and
/// multiplied; threads beyond the first word of the uniform load nothing.
const PRODUCT: &str = "
BB0:
    s_movk_i32 s3, 0x8000                         ; b0038000
    s_load_dwordx4 s[12:15], s[2:3], null         ; f4080501
    s_waitcnt lgkmcnt(0)
    s_buffer_load_dwordx2 s[16:17], s[12:15], null
    v_mov_b32_e32 v4, 0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s20, 0
BB1:
    s_cmp_ge_u32 s20, s17
    s_cbranch_scc1 BB4
BB2:
    s_mov_b64 s[22:23], exec
    v_cmpx_gt_u32_e32 s16, v0
    s_cbranch_execz BB3
    v_lshlrev_b32_e32 v5, 4, v0
    buffer_load_dwordx4 v[8:11], v5, s[12:15], 0 offen
BB3:
    s_mov_b64 exec, s[22:23]
    s_waitcnt vmcnt(0)
    v_fmac_f32_e32 v4, v8, v9
    v_mul_f32_e32 v6, v10, v11
    s_add_u32 s20, s20, 1
    s_branch BB1
BB4:
    buffer_store_dword v4, v5, s[12:15], 0 offen
    s_endpgm
    v_mov_b32_e32 v99, 0";

fn dispatch(params: &[u8]) -> Dispatch<'_> {
    Dispatch { params, record: &[7; 64], list: 6, grid: [5, 3, 1], workgroup: [8, 8, 1], wave: 64 }
}

fn walked(text: &str, params: [u32; 4]) -> (Assembly, Walk) {
    let assembly = Assembly::parse(text);
    let arguments = Arguments::read(NIR, ACO, Generation::Rdna2).unwrap();
    let params = params.map(u32::to_le_bytes).concat();
    let walk = walk(&assembly, &arguments, &dispatch(&params), [0, 0], &[HARDWARE], true);
    (assembly, walk)
}

#[test]
fn instructions_are_read_as_they_stand() {
    let assembly = Assembly::parse(PRODUCT);
    assert_eq!(assembly.instructions.len(), 22);
    assert_eq!(assembly.loops, [Loop { head: 7, end: 19, back: 19 }]);
    let load = &assembly.instructions[13];
    assert_eq!((load.name.as_str(), load.class, load.words), ("buffer_load_dwordx4", Class::Load, 4));
    assert_eq!(load.operands[..3], [Operand::Vectors(8, 4), Operand::Vectors(5, 1), Operand::Scalars(12, 4)]);
    let classes = [
        ("v_fmac_f32_e32 v0, v1, v2", Class::MultiplyAdd, 1),
        ("v_dual_fmac_f32 v0, v1, v2", Class::MultiplyAdd, 1),
        ("v_mac_f32_e32 v0, v1, v2", Class::MultiplyAdd, 1),
        ("v_mul_lo_u32 v0, v1, v2", Class::Slow, 1),
        ("v_cndmask_b32_e64 v0, v1, v2, s[4:5]", Class::Vector, 1),
        ("buffer_load_b128 v[0:3], v4, s[8:11], 0 offen", Class::Load, 4),
        ("buffer_store_dwordx2 v[0:1], v4, s[8:11], 0 offen", Class::Store, 2),
        ("s_buffer_load_b64 s[0:1], s[8:11], 0x10", Class::ScalarLoad, 2),
        ("ds_read2_b64 v[0:3], v4 offset0:1 offset1:3", Class::Shared, 4),
        ("ds_load_2addr_b32 v[0:1], v4 offset0:1 offset1:3", Class::Shared, 2),
        ("scratch_load_dword v0, off, s2", Class::Scratch, 1),
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", Class::Wait, 1),
        ("s_barrier", Class::Barrier, 1),
        ("s_lshl_b32 s0, s1, 2", Class::Scalar, 1),
    ];
    for (line, class, words) in classes {
        let instruction = &Assembly::parse(line).instructions[0];
        assert_eq!((instruction.class, instruction.words), (class, words), "{line}");
    }
    let both = Assembly::parse("v_dual_mul_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5").instructions;
    assert_eq!([both[0].class, both[1].class], [Class::Vector, Class::MultiplyAdd]);
    let wait = &Assembly::parse("s_waitcnt vmcnt(3) lgkmcnt(0)").instructions[0];
    assert_eq!(
        [wait.number("vmcnt"), wait.number("lgkmcnt"), wait.number("expcnt")],
        [Some(3), Some(0), None]
    );
    let operands = &Assembly::parse("v_cmp_gt_u32_e64 vcc, -1, 0x10").instructions[0].operands;
    assert_eq!(*operands, [Operand::Scalars(VCC, 2), Operand::Literal(u32::MAX), Operand::Literal(16)]);
}

#[test]
fn a_walk_counts_rounds_and_waits() {
    let (assembly, walk) = walked(PRODUCT, [7, 3, 0, 0]);
    assert!(walk.resolved && !walk.assumed);
    assert_eq!(walk.count(&assembly, Class::MultiplyAdd), 3);
    assert_eq!(walk.round_trips(), 3);
    assert_eq!(
        (walk.clocks[0].vector, walk.clocks[0].bytes),
        (2.0 * (1.0 + 3.0 * 4.0), 3.0 * 56.0 * 16.0 + 64.0 * 4.0)
    );
    // Before the loop 1 + 1 for the descriptor, 50 until it is there, and so on; a round is 5 until the load, 4 + 300 for
    // it, and 2 + 2 + 1 + 4 + 12 behind its wait.
    let before = (1.0 + 1.0 + 50.0 + 1.0) + (1.0 + 50.0 + 1.0) + 1.0;
    let round = (1.0 + 4.0) + (1.0 + 2.0 + 4.0 + 2.0) + (4.0 + 300.0 + 1.0) + (2.0 + 2.0 + 1.0 + 4.0 + 12.0);
    assert_eq!(walk.clocks[0].now, before + 3.0 * round + (1.0 + 4.0) + 4.0 + 1.0);
    // Without a thread that loads nobody waits.
    let (_, idle) = walked(PRODUCT, [0, 3, 0, 0]);
    assert_eq!((idle.round_trips(), idle.clocks[0].bytes), (0, 256.0));
    let (_, none) = walked(PRODUCT, [7, 0, 0, 0]);
    assert_eq!((none.round_trips(), none.steps[17].visits), (0, 0));
}

#[test]
fn products_are_found_where_they_are_made() {
    let product = "v_fmac_f32_e32 v4, v8, v9\n".repeat(16)
        + &"v_mov_b32_e32 v7, 0\n".repeat(15)
        + "ds_read_b128 v[0:3], v7\nds_write_b128 v7, v[0:3]\n";
    let (assembly, walk) = walked(&PRODUCT.replace("v_fmac_f32_e32 v4, v8, v9\n", &product), [64, 5, 0, 0]);
    let products = walk.products(&assembly);
    assert_eq!(products.len(), 1);
    let found = products[0];
    assert_eq!((found.rounds, found.multiply_adds, found.trips, found.conflicts), (5, 16.0, 1.0, 1.0));
    // A vec4 for each of 64 threads, from 32 banks.
    assert_eq!(found.reads, 8.0);
    // A comparison, which also stands before the last, sixth look at the condition; a shift; the product; 15 moves.
    assert_eq!(found.share, 16.0 / (16.0 + 1.0 + 1.0 + 1.0 + 15.0));
    // A single multiply-add is no product.
    let (assembly, walk) = walked(PRODUCT, [64, 5, 0, 0]);
    assert_eq!(walk.products(&assembly), []);
}

#[test]
fn the_way_out_of_a_loop_may_be_the_way_back_of_the_one_round_it() {
    // Four rounds of the inner one, in each of which products are made; the load is in the outer one.
    let inner = "    s_add_u32 s20, s20, 1\n    s_mov_b32 s21, 0\nBB5:\n    s_cmp_ge_u32 s21, 4\n    s_cbranch_scc1 BB1\n"
        .to_owned()
        + &"    v_fmac_f32_e32 v4, v8, v9\n".repeat(16)
        + "    s_add_u32 s21, s21, 1\n    s_branch BB5\nBB4:";
    let (before, rest) = PRODUCT.split_once("    v_fmac_f32").unwrap();
    let (_, behind) = rest.split_once("BB4:").unwrap();
    let (assembly, walk) = walked(&[before, &inner, behind].concat(), [64, 5, 0, 0]);
    assert_eq!(assembly.loops, [Loop { head: 7, end: 37, back: 19 }, Loop { head: 18, end: 37, back: 37 }]);
    let products = walk.products(&assembly);
    assert_eq!(products.len(), 1);
    assert_eq!((products[0].rounds, products[0].multiply_adds, products[0].trips), (5, 64.0, 1.0));
}

#[test]
fn what_data_decide_is_not_guessed() {
    // The bound of the loop comes out of a storage buffer.
    let (_, unknown) =
        walked(&PRODUCT.replace("s_cmp_ge_u32 s20, s17", "s_cmp_ge_u32 s20, s30"), [64, 3, 0, 0]);
    assert!(!unknown.resolved);
    // Which threads load is decided by what was loaded: every second is taken to.
    let (_, assumed) =
        walked(&PRODUCT.replace("v_cmpx_gt_u32_e32 s16, v0", "v_cmpx_gt_u32_e32 s16, v9"), [64, 3, 0, 0]);
    assert!(assumed.resolved && assumed.assumed);
    assert_eq!(assumed.clocks[0].bytes, 3.0 * 32.0 * 16.0 + 64.0 * 4.0);
}

#[test]
fn registers_are_filled_as_the_driver_does() {
    let arguments = Arguments::read(NIR, ACO, Generation::Rdna2).unwrap();
    let params = [0; 16];
    let record: Vec<u8> = (0..16u32).flat_map(u32::to_le_bytes).collect();
    let dispatch = Dispatch { record: &record, ..dispatch(&params) };
    let mut wave = arguments.start(&dispatch, [7, 0]);
    // 100 * words 1 and 3 of the record, the grid across, the position: 7 of 5 x 3 is (2, 1).
    let text = "s_mul_i32 s20, s3, 100\ns_mul_i32 s21, s4, 100\ns_mov_b32 s22, s5\ns_mov_b32 s23, s8\ns_mov_b32 s24, s9";
    for instruction in Assembly::parse(text).instructions {
        wave.execute(&instruction, &dispatch);
    }
    assert_eq!(
        [20, 21, 22, 23, 24].map(|register| wave.scalar_word(register)),
        [100, 300, 5, 2, 1].map(Some)
    );
    assert_eq!(wave.vector_words(1), Lanes::of(std::array::from_fn(|lane| lane as u32 / 8)).values);
    // What is not as expected is not guessed.
    assert!(Arguments::read(NIR, ACO, Generation::Rdna3).is_none());
    assert!(Arguments::read(NIR, "", Generation::Rdna2).is_none());
    assert!(Arguments::read(&NIR.replace("(0x0000000c", "(ssa_9"), ACO, Generation::Rdna2).is_none());
}

struct Nothing;

impl Memory for Nothing {
    fn word(&self, _: u64) -> Option<u32> {
        None
    }

    fn buffer(&self, _: u32, _: u32) -> Option<u32> {
        None
    }
}

#[test]
fn what_is_known_stays_known_and_nothing_else_does() {
    let mut wave = Wave::new(64, 64);
    wave.set_vector(0, std::array::from_fn(|lane| lane as u32));
    wave.set_scalar(4, 17);
    let mut run = |text: &str| {
        for instruction in Assembly::parse(text).instructions {
            wave.execute(&instruction, &Nothing);
        }
        [wave.scalar_word(10), wave.scalar_word(11)]
    };
    // Division by a reciprocal, as compilers write it: 1000 / 17, rounded down by the correction.
    let divided = run(
        "v_cvt_f32_u32_e32 v2, s4\nv_rcp_f32_e32 v2, v2\nv_mul_f32_e32 v2, 0x4f7ffffe, v2\nv_cvt_u32_f32_e32 v2, v2
         v_readfirstlane_b32 s5, v2\ns_mul_i32 s6, s4, s5\ns_sub_i32 s6, 0, s6\ns_mul_hi_u32 s6, s5, s6
         s_add_u32 s5, s5, s6\ns_mul_hi_u32 s10, 1000, s5",
    );
    assert_eq!(divided[0], Some(58));
    // Bits that a known 0 decides.
    assert_eq!(run("s_and_b32 s10, s40, 0\ns_or_b32 s11, s40, -1"), [Some(0), Some(u32::MAX)]);
    assert_eq!(run("s_add_u32 s10, s40, 0\ns_mov_b32 s11, 5"), [None, Some(5)]);
    // Masks: threads from 40 on; carries into the upper half.
    assert_eq!(run("v_cmp_le_u32_e64 s[10:11], 40, v0"), [Some(0), Some(0xffff_ff00)]);
    assert_eq!(run("s_add_u32 s10, -1, 2\ns_addc_u32 s11, 0, 0"), [Some(1), Some(1)]);
    // Spilled to another register's lanes, and to memory.
    assert_eq!(
        run("v_writelane_b32 v9, s4, 63\nv_readlane_b32 s10, v9, 63\nv_readlane_b32 s11, v9, 62"),
        [Some(17), None]
    );
    let spilled = run(
        "scratch_store_b64 off, v[0:1], s9 offset:-8\nv_mov_b32_e32 v0, 0\nscratch_load_b32 v2, off, s9 offset:-8
         v_readlane_b32 s10, v2, 5\nscratch_load_b32 v2, off, s9 offset:-4\nv_readlane_b32 s11, v2, 5",
    );
    assert_eq!(spilled, [Some(5), None]);
    assert_eq!(run("v_cmp_le_f32_e64 s[10:11], 0, v0"), [None, None]);
    assert_eq!(
        run("s_cmp_lt_u32 s4, 18\ns_cselect_b32 s10, 3, 4\ns_lshl2_add_u32 s11, s4, 1"),
        [Some(3), Some(69)]
    );
}

#[test]
fn banks_are_counted_by_address() {
    let addresses = |stride: u32| Lanes::of(std::array::from_fn(|lane| lane as u32 * stride));
    let cycles =
        |line: &str, stride| banks::cycles(&Assembly::parse(line).instructions[0], &addresses(stride), !0);
    // 64 words in two goes; the same word for all; 32 apart, so that all are in one bank.
    assert_eq!(
        ["ds_read_b32 v0, v1"; 3]
            .iter()
            .zip([4, 0, 128])
            .map(|(line, stride)| cycles(line, stride))
            .collect::<Vec<_>>(),
        [2, 2, 64]
    );
    // vec4s side by side, and 64 bytes apart: 8 threads at a time, which share 2 of 8 groups of banks.
    assert_eq!([16, 64].map(|stride| cycles("ds_read_b128 v[0:3], v8", stride)), [8, 32]);
    assert_eq!(cycles("ds_read2_b32 v[0:1], v8 offset0:0 offset1:32", 4), 8);
    let ideal = banks::ideal(&Assembly::parse("ds_read_b128 v[0:3], v8").instructions[0], (1 << 33) - 1);
    assert_eq!(ideal, 5);
    assert_eq!(LANES, 64);
}

#[test]
fn the_model_takes_the_longest() {
    let cost =
        Cost { slowest: 5000.0, latency: 4000.0, vector: 1000.0, shared: 10.0, bytes: 100.0, meets: false };
    let footprint = Footprint { groups: 10, waves: 4, lanes: 64, registers: 64, memory: 16_384 };
    let found = |cost, footprint| {
        let time = time(&HARDWARE, &cost, &footprint);
        (time.microseconds, time.bound)
    };
    assert_eq!(found(cost, footprint), (5.0, "latency"));
    // Four waves on two schedulers that wait for one another.
    assert_eq!(found(Cost { meets: true, ..cost }, footprint), (6.0, "latency"));
    // Four workgroups fit on a unit: nine of them take three rounds.
    assert_eq!(found(cost, Footprint { groups: 90, ..footprint }), (18.0, "vector"));
    assert_eq!(
        found(Cost { vector: 100.0, ..cost }, Footprint { groups: 90, ..footprint }),
        (12.0, "latency")
    );
    assert_eq!(found(Cost { shared: 600.0, ..cost }, Footprint { groups: 40, ..footprint }), (9.6, "shared"));
    assert_eq!(found(Cost { bytes: 1e6, ..cost }, footprint), (40.0, "memory"));
}
