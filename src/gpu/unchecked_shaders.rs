//! What the device takes on trust: all that is unsafe on the GPU's side stands here.

/// A shader module: `checked` with all of wgpu's run-time checks, else without any.
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
    // SAFETY: the source stands in `shaders/`, its uniform is what a `Kernel` of this crate says (the trait is sealed), and
    // it is bound by `kernels::prepare` alone (`Pipelines::prepare`, which others can call, compiles with checks).
    //
    // Indices: `Kernel::extents` says how far the shader reaches into each buffer with the sizes in its uniform and in the
    // record, and `prepare` refuses smaller buffers; it computes in u64 and saturates. Buffers have fewer than
    // 2^32 - 2^24 words (`Context::largest_storage`), so no index within an extent wraps around. Indices that come out of a
    // buffer are compared with a size where they are used: rows of an order (`samples_order`, `row`, `column`), classes
    // (`row_metrics`, `targets_classes`), places of elements (`compact`, `radix_sort`), networks of a pack (`resident`; of
    // `members`, where they are part of a record). Those of a step's record are checked with the record: of a single dispatch
    // with its own, of a schedule with the furthest that its engine makes.
    // Indices into workgroup memory depend on thread, override constants and sizes that `extents` refuses where they would
    // lead out (taps of `convolve`, windows of `pool`, passes of `radix_sort`).
    //
    // Loops count up by a constant to a size in the uniform or the record, of which every one is part of an extent (rows,
    // columns, lengths, inner dimensions) and thus below 2^32 - 2^24, or is counted by ones (`rounds`, `layers`, `groups`,
    // `parts`); or they halve or double a number below the threads of a workgroup. Constants are not 0: `Tuning::runs_on`.
    //
    // Divisors are sizes that are factors of the number of threads (a dispatch of none runs nothing), constants, or
    // clamped to 1 and more.
    unsafe {
        device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
    }
}

/// A pipeline cache that begins with `data`, or empty where they are of another version or the driver does not know
/// them. Those of another adapter are a validation error.
pub(super) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("tinytrain"), data, fallback: true };
    #[expect(unsafe_code, reason = "drivers believe what they wrote themselves")]
    // SAFETY: the data are what `PipelineCache::get_data` gave: `Cache` reads only files of ours with the right check
    // sum; wgpu and the driver refuse those of another device or version.
    unsafe {
        device.create_pipeline_cache(&descriptor)
    }
}
