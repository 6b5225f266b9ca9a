//! All unsafe code on the GPU side: shaders without checks and cached pipelines.

/// Creates a shader module, with all of wgpu's run-time checks if `checked`, else without any.
pub(super) fn shader_module(
    device: &wgpu::Device,
    descriptor: wgpu::ShaderModuleDescriptor<'_>,
    checked: bool,
) -> wgpu::ShaderModule {
    if checked {
        return device.create_shader_module(descriptor);
    }
    #[expect(
        unsafe_code,
        reason = "clamps and loop counters cost time, and protect from nothing that occurs"
    )]
    // SAFETY: the source is from `shaders/`, its uniform comes from a `Kernel` of this crate (the trait is
    // sealed), and only `kernels::prepare` binds it (`Pipelines::prepare`, which others can call, compiles
    // with checks).
    //
    // Indices: `Kernel::extents` returns the accessed size of each buffer for the sizes in the uniform and in
    // the record, and `prepare` rejects smaller buffers; it computes in u64 and saturates. Buffers have fewer
    // than 2^32 - 2^24 words (`Context::largest_storage`), so no index within an extent wraps around. Indices
    // read from a buffer are compared with a size when they are used: rows of an order (`samples_order`,
    // `row`, `column`), classes (`row_metrics`, `targets_classes`), categories (`input_columns`), networks of
    // a pack (`members`, from the record). Indices in a step's record are checked with the record: for a
    // single dispatch with its own record, for a schedule with the upper bounds of its engine's records.
    // Indices into workgroup memory depend on thread, override constants and sizes; `extents` rejects sizes
    // that would lead out of bounds (taps of `convolve`, windows of `pool`).
    //
    // Loops count up by a constant to a size in the uniform or the record, each of which is part of an extent
    // (rows, columns, lengths, inner dimensions) and thus below 2^32 - 2^24, or is counted by ones (`rounds`,
    // `layers`, `groups`, `parts`); or they halve or double a number below the threads of a workgroup.
    // Constants are not 0: `Tuning::runs_on`.
    //
    // Divisors are sizes that are factors of the number of threads (a dispatch of none runs nothing),
    // constants, or clamped to at least 1.
    unsafe {
        device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
    }
}

/// Creates a pipeline cache with initial `data`, or an empty one if they are of another version or unknown to
/// the driver. Data of another adapter are a validation error.
pub(super) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("tinytrain"), data, fallback: true };
    #[expect(unsafe_code, reason = "drivers believe what they wrote themselves")]
    // SAFETY: the data were returned by `PipelineCache::get_data`: `Cache` reads only our files with the
    // right checksum; wgpu and the driver reject data of another device or version.
    unsafe {
        device.create_pipeline_cache(&descriptor)
    }
}
