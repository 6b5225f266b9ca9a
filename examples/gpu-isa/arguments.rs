//! What stands in a wave's registers when it starts, as RADV's intermediate representations tell it.

use crate::gpus::Generation;
use crate::wave::{LANES, Memory, Wave};

/// Where the descriptors stand, the number of workgroups, the record: any addresses that differ in these bits.
const PAGE: u64 = 0x1000;
const DESCRIPTORS: u32 = 0x1000;
const GRID: u32 = 0x2000;
const RECORD: u32 = 0x3000;
/// The first word of the descriptor of binding 0; those of the others follow.
const DESCRIPTOR: u32 = 0x0100_0000;

/// What a dispatch gives to its shader.
pub struct Dispatch<'a> {
    /// The uniform at binding 0.
    pub params: &'a [u8],
    /// The push constants, or the first of a list of records; those behind it are 0.
    pub record: &'a [u8],
    /// Where the uniform of such a list is bound.
    pub list: u32,
    /// Workgroups.
    pub grid: [u32; 3],
    /// Threads of a workgroup.
    pub workgroup: [u32; 3],
    /// Threads of a wave.
    pub wave: u32,
}

impl Dispatch<'_> {
    /// Workgroups in all.
    pub fn groups(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// Waves of a workgroup.
    pub fn waves(&self) -> u64 {
        u64::from(self.threads().div_ceil(self.wave))
    }

    /// Threads of a workgroup in all.
    pub fn threads(&self) -> u32 {
        self.workgroup.iter().product()
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset + 4)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

impl Memory for Dispatch<'_> {
    fn word(&self, address: u64) -> Option<u32> {
        // Only the low half of an address is told by the host.
        let low = address as u32;
        let offset = low as usize % PAGE as usize;
        match low - offset as u32 {
            DESCRIPTORS => offset.is_multiple_of(16).then_some(DESCRIPTOR + offset as u32 / 16),
            GRID => self.grid.get(offset / 4).copied(),
            RECORD => word(self.record, offset),
            _ => None,
        }
    }

    fn buffer(&self, descriptor: u32, offset: u32) -> Option<u32> {
        match descriptor.checked_sub(DESCRIPTOR)? {
            0 => word(self.params, offset as usize),
            list if list == self.list => Some(word(self.record, offset as usize).unwrap_or(0)),
            _ => None,
        }
    }
}

/// Which registers hold what at the start.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The address of the descriptors.
    descriptors: usize,
    /// The address of the push constants, where not all come in registers.
    record: Option<usize>,
    /// Words of the push constants: register and position.
    words: Vec<(usize, usize)>,
    /// The number of workgroups in three registers, or its address in two.
    grid: Vec<usize>,
    /// The position of the workgroup: register and dimension.
    group: Vec<(usize, usize)>,
    /// The position of a thread stands in one register, ten bits a dimension.
    packed: bool,
}

impl Arguments {
    /// Reads NIR and ACO's own representation. Nothing where they are not as expected.
    pub fn read(nir: &str, aco: &str, generation: Generation) -> Option<Self> {
        let line = aco.lines().find(|line| line.contains("= p_startpgm"))?;
        let registers: Vec<(char, usize, usize)> = line
            .split(" = p_startpgm")
            .next()?
            .split(',')
            .map(|definition| {
                // `s2: (kill)%96:s[0-1]`
                let definition = definition.trim();
                let (class, count) = (definition.chars().next()?, definition[1..].split(':').next()?);
                let first = definition.rsplit('[').next()?.split(['-', ']']).next()?;
                Some((class, first.parse().ok()?, count.parse().ok()?))
            })
            .collect::<Option<_>>()?;
        let packed = registers.iter().any(|(class, _, count)| (*class, *count) == ('v', 1));
        // The address of the rings comes first, in two.
        let scalars = registers.iter().filter(|(class, ..)| *class == 's').skip(1);
        let mut scalars = scalars.flat_map(|(_, first, count)| *first..first + count);

        let positions = push_constants(nir)?;
        let grid_registers =
            if nir.contains("intrinsic load_num_workgroups") { generation.grid_registers() } else { 0 };
        // As radv_shader_args.c counts: 16 registers, of which the rings take two, the descriptors one.
        let rest = 16usize.checked_sub(3 + grid_registers)?;
        let all = positions.len() <= rest;
        let inline = if all { positions.len() } else { rest - 1 };
        let descriptors = scalars.next()?;
        let record = if all { None } else { Some(scalars.next()?) };
        let words =
            positions[..inline].iter().map(|at| Some((scalars.next()?, *at))).collect::<Option<_>>()?;
        let grid = (0..grid_registers).map(|_| scalars.next()).collect::<Option<_>>()?;
        let group =
            dimensions(nir).into_iter().map(|at| Some((scalars.next()?, at))).collect::<Option<_>>()?;
        // If anything is left that is not expected, then the others are not what they seem either.
        (scalars.count() == generation.scratch_registers()).then_some(Self {
            descriptors,
            record,
            words,
            grid,
            group,
            packed,
        })
    }

    /// A wave of a workgroup as it starts; waves of a workgroup are counted from 0.
    pub fn start(&self, dispatch: &Dispatch<'_>, [group, wave]: [u64; 2]) -> Wave {
        let size = u64::from(dispatch.wave);
        let first = wave * size;
        let mut started =
            Wave::new(size as usize, u64::from(dispatch.threads()).saturating_sub(first) as usize);
        started.set_scalar(self.descriptors, DESCRIPTORS);
        if let Some(register) = self.record {
            started.set_scalar(register, RECORD);
        }
        for (register, position) in &self.words {
            if let Some(value) = word(dispatch.record, 4 * position) {
                started.set_scalar(*register, value);
            }
        }
        let grid = if self.grid.len() == 2 { [GRID, 0, 0] } else { dispatch.grid };
        for (register, value) in self.grid.iter().zip(grid) {
            started.set_scalar(*register, value);
        }
        let position = split(group, dispatch.grid);
        for (register, dimension) in &self.group {
            started.set_scalar(*register, position[*dimension]);
        }
        let threads: [[u32; 3]; LANES] =
            std::array::from_fn(|lane| split(first + lane as u64, dispatch.workgroup));
        if self.packed {
            started.set_vector(0, threads.map(|[x, y, z]| x | y << 10 | z << 20));
        } else {
            for dimension in 0..3 {
                started.set_vector(dimension, threads.map(|thread| thread[dimension]));
            }
        }
        started
    }
}

/// A number as a position in three dimensions, of which the first runs fastest.
fn split(number: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(x), u64::from(y));
    [(number % x) as u32, (number / x % y) as u32, (number / (x * y)) as u32]
}

/// Which words of the push constants a shader reads, in order.
fn push_constants(nir: &str) -> Option<Vec<usize>> {
    let mut positions = Vec::new();
    for line in nir.lines().filter(|line| line.contains("intrinsic load_push_constant")) {
        // `vec1 32 con ssa_19 = intrinsic load_push_constant (ssa_18) (base=0, range=64)`
        let mut words = line.split_whitespace();
        let components: usize = words.next()?.strip_prefix("vec")?.parse().ok()?;
        let bits: usize = words.next()?.parse().ok()?;
        let source = line.split("load_push_constant (").nth(1)?.split(')').next()?;
        let base: usize = line.split("base=").nth(1)?.split([',', ')']).next()?.parse().ok()?;
        let offset = base + constant(nir, source)?;
        positions.extend((0..components * bits / 32).map(|at| offset / 4 + at));
    }
    positions.sort_unstable();
    positions.dedup();
    Some(positions)
}

/// The value of `ssa_18 = load_const (0x00000004 = 0.000000)`.
fn constant(nir: &str, name: &str) -> Option<usize> {
    let start = format!(" {name} = load_const (0x");
    let at = nir.find(&start)? + start.len();
    usize::from_str_radix(nir[at..].split([' ', ')', ',']).next()?, 16).ok()
}

/// Which dimensions of the workgroup's position a shader reads.
fn dimensions(nir: &str) -> Vec<usize> {
    let names: Vec<&str> = nir
        .lines()
        .filter(|line| line.contains("intrinsic load_workgroup_id"))
        .filter_map(|line| line.split(" = ").next()?.split_whitespace().last())
        .collect();
    let reads = |part: &char| {
        names.iter().any(|name| {
            let used = format!(" {name}.{part}");
            nir.match_indices(&used)
                .any(|(at, _)| !nir[at + used.len()..].starts_with(|next: char| next.is_ascii_alphanumeric()))
        })
    };
    ['x', 'y', 'z'].iter().enumerate().filter(|(_, part)| reads(part)).map(|(at, _)| at).collect()
}
