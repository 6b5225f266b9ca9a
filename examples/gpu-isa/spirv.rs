//! WGSL to SPIR-V, as wgpu's Vulkan back end makes it of a shader that is trusted.

use anyhow::{Context, Result, anyhow};
use naga::back::{pipeline_constants::process_overrides, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy::Unchecked};
use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};

/// A compute shader as a Vulkan driver takes it.
pub struct Spirv {
    /// The module.
    pub words: Vec<u32>,
    /// Threads of a workgroup in x, y and z.
    pub workgroup: [u32; 3],
}

/// Compiles the entry point `entry` of `source` with these values of its override constants.
///
/// # Errors
/// For source that is not valid WGSL, with naga's message.
pub fn spirv(source: &str, entry: &str, constants: &[(&str, f64)]) -> Result<Spirv> {
    let module =
        naga::front::wgsl::parse_str(source).map_err(|error| anyhow!("{}", error.emit_to_string(source)))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::IMMEDIATES)
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(&module)
        .map_err(|error| anyhow!("{}", error.emit_to_string(source)))?;
    let stage = naga::ShaderStage::Compute;
    let constants = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let (module, info) = process_overrides(&module, &info, Some((stage, entry)), &constants)?;
    let pipeline = spv::PipelineOptions { entry_point: entry.to_owned(), shader_stage: stage };
    let words = spv::write_vec(&module, &info, &options(), Some(&pipeline))?;
    let found = module.entry_points.iter().find(|found| found.name == entry);
    let workgroup = found.with_context(|| format!("no entry point {entry}"))?.workgroup_size;
    Ok(Spirv { words, workgroup })
}

/// Those of `wgpu_hal::vulkan` on a GPU of today without any run-time check.
fn options() -> spv::Options<'static> {
    use spv::Capability as C;
    let capabilities = [
        C::Shader,
        C::Matrix,
        C::GroupNonUniform,
        C::GroupNonUniformVote,
        C::GroupNonUniformArithmetic,
        C::GroupNonUniformBallot,
        C::GroupNonUniformShuffle,
        C::GroupNonUniformShuffleRelative,
        C::GroupNonUniformQuad,
        C::DotProductInputAllKHR,
        C::DotProductInput4x8BitKHR,
        C::DotProductInput4x8BitPackedKHR,
        C::DotProductKHR,
        C::Int8,
    ];
    spv::Options {
        lang_version: (1, 4),
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        capabilities: Some(capabilities.into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: Unchecked,
            buffer: Unchecked,
            image_load: Unchecked,
            binding_array: Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        ray_query_initialization_tracking: false,
        emit_int_div_checks: false,
        ..spv::Options::default()
    }
}
