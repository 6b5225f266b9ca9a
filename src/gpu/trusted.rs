//! What the device takes on trust: all that is unsafe on the GPU's side stands here.

use super::context::Context;

/// A shader module: with wgpu's run-time checks if the device was opened so or the source is not ours, else without any.
pub(super) fn shader_module(
    context: &Context,
    descriptor: wgpu::ShaderModuleDescriptor<'_>,
    trusted: bool,
) -> wgpu::ShaderModule {
    if context.opening.checked || !trusted {
        return context.device.create_shader_module(descriptor);
    }
    #[expect(
        unsafe_code,
        reason = "clamps and loop counters cost time, and protect from nothing that occurs"
    )]
    // SAFETY: the sources are those of `shaders/`: nothing outside of this crate can make a `Shader` or a trusted
    // `Program`. Every loop counts up to a
    // bound below 2^32 less its step (`Context::largest_storage`) or halves a number. No divisor is 0 where a workgroup
    // runs: they are sizes whose product is the number of threads. Indices are below the sizes in the uniforms, which
    // the host half of each kernel takes from the buffers that it binds; those that come out of a buffer are proven in
    // the header of the shader that reads them (`gather`, `compact`, `radix_sort`) or guarded (`common/loss`).
    unsafe {
        context.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
    }
}

/// A pipeline cache that begins with `data`, or empty where wgpu or the driver do not know them.
pub(super) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("tinytrain"), data, fallback: true };
    #[expect(unsafe_code, reason = "drivers believe what they wrote themselves")]
    // SAFETY: the data are what `PipelineCache::get_data` gave: `Cache` reads only files of ours with the right check
    // sum; wgpu and the driver refuse those of another device or version.
    unsafe {
        device.create_pipeline_cache(&descriptor)
    }
}
