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
    // SAFETY: the source stands in `shaders/`: nobody outside of this crate makes or changes a `Program` that counts as
    // trusted. Every loop counts up to a bound below 2^32 less its step (`Context::largest_storage`) or halves a number.
    // No divisor is 0 where a workgroup runs: they are sizes whose product is the number of threads. Indices are below
    // the sizes in the uniforms, which the host half of each kernel takes from the buffers that it binds; those that
    // come out of a buffer are proven in the header of the shader that reads them (`samples_order`, `compact`,
    // `radix_sort`) or guarded (`common/loss`). Who calls `Compute::run` with buffers of their own is told to size them.
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
