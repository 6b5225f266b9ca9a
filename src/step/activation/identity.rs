//! z itself.

use super::Function;

pub(super) struct Identity;
pub(super) const PIECE: Identity = Identity;

impl Function for Identity {
    fn name(&self) -> &'static str {
        "identity"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/activation/identity.wgsl")
    }

    fn keeps_z(&self) -> bool {
        false
    }

    fn value(&self, _: &mut [f32]) {}

    fn gradient(&self, _: &mut [f32], _: &[f32]) {}

    fn flop(&self) -> [usize; 2] {
        [0, 0]
    }
}
