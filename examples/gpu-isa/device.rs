//! RADV, the driver of Mesa for AMD GPUs, without a GPU: its null device compiles for any family and runs nothing.
//! All that is unsafe stands here.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use ash::vk::{self, PipelineCreateFlags as Flags};

use crate::compiled::Compiled;

/// Where drivers say that they are there.
const FOLDERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// A GPU that is not there.
pub struct Device {
    name: String,
    device: ash::Device,
    executables: ash::khr::pipeline_executable_properties::Device,
    instance: ash::Instance,
    /// The loader, which the instance calls.
    _entry: ash::Entry,
}

fn text(raw: &[c_char]) -> String {
    let bytes = raw.iter().take_while(|byte| **byte != 0).map(|byte| byte.cast_unsigned());
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// The Vulkan loader, and the file that says where RADV is.
///
/// # Errors
/// Where one of them is not there.
pub fn find_driver() -> Result<(ash::Entry, PathBuf)> {
    let files = FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let found = files.map(|file| file.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("radeon_icd") && name.ends_with(".json")
    });
    let file = found.context(
        "RADV is not installed: no radeon_icd*.json in /usr/share/vulkan/icd.d (Debian: mesa-vulkan-drivers)",
    )?;
    // SAFETY: the library is the system's Vulkan loader, whose initialisation has no demands.
    let entry = unsafe { ash::Entry::load() }.context("there is no Vulkan loader (Debian: libvulkan1)")?;
    Ok((entry, file))
}

impl Device {
    /// Opens the null device for a family, by RADV's name (`navi21`).
    ///
    /// # Errors
    /// Where RADV is not there, or does not know the family.
    pub fn open(family: &str) -> Result<Self> {
        static ENVIRONMENT: Mutex<()> = Mutex::new(());
        let _alone = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
        let (entry, driver) = find_driver()?;
        // SAFETY: threads of this program that read the environment do so through the standard library, which has a lock
        // of its own; C code that does not is called below alone, under the lock above, before the driver has threads.
        unsafe {
            std::env::set_var("RADV_FORCE_FAMILY", family);
            std::env::set_var("VK_DRIVER_FILES", &driver);
            std::env::set_var("VK_ICD_FILENAMES", &driver);
            std::env::set_var("MESA_SHADER_CACHE_DISABLE", "1");
        }
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the structures live until the call returns; `entry` is kept as long as the instance.
        let instance = unsafe { entry.create_instance(&info, None) }?;
        // SAFETY: the instance is there.
        let found = unsafe { instance.enumerate_physical_devices() }?;
        let Some(physical) = found.first().copied() else {
            bail!("RADV knows no GPU called {family:?}");
        };
        // SAFETY: the physical device is the instance's.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        let device = open_device(&instance, physical)?;
        let executables = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
        Ok(Self { name: text(&properties.device_name), device, executables, instance, _entry: entry })
    }

    /// As the driver calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compiles the entry point `entry` of a SPIR-V module that binds a uniform and so many storage buffers, behind them
    /// `list` uniforms, and takes `record` bytes of push constants; with all texts, or with statistics alone, which takes half the time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn compile(
        &self,
        words: &[u32],
        entry: &str,
        [storage, list]: [usize; 2],
        record: u32,
        texts: bool,
    ) -> Result<Compiled> {
        let name = CString::new(entry)?;
        let bindings: Vec<_> = (0..=(storage + list) as u32)
            .map(|binding| {
                let ty = match binding as usize {
                    0 => vk::DescriptorType::UNIFORM_BUFFER,
                    uniform if uniform > storage => vk::DescriptorType::UNIFORM_BUFFER,
                    _ => vk::DescriptorType::STORAGE_BUFFER,
                };
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(ty)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let range =
            [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(record)];
        let ranges = if record > 0 { &range[..] } else { &[] };
        let flags = match texts {
            true => Flags::CAPTURE_STATISTICS_KHR | Flags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
            false => Flags::CAPTURE_STATISTICS_KHR,
        };
        let device = &self.device;
        // SAFETY: the module is valid SPIR-V from naga, whose bindings and push constants are those of the layout; every
        // handle is of this device, made before it is used, and destroyed once, after its last use; structures and slices
        // live as long as the calls that read them.
        unsafe {
            let module =
                device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None)?;
            let set = device.create_descriptor_set_layout(
                &vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings),
                None,
            )?;
            let sets = [set];
            let layout = device.create_pipeline_layout(
                &vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(ranges),
                None,
            )?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&name)
                // As wgpu does.
                .flags(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE);
            let info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout);
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            let compiled = match &made {
                Ok(pipelines) => self.read(pipelines[0], texts),
                Err((_, error)) => Err((*error).into()),
            };
            for pipeline in made.unwrap_or_else(|(pipelines, _)| pipelines) {
                device.destroy_pipeline(pipeline, None);
            }
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set, None);
            device.destroy_shader_module(module, None);
            compiled
        }
    }

    /// What the driver says of a pipeline.
    ///
    /// # Safety
    /// The pipeline is this device's, made with the flag that captures statistics, and with `texts` that for texts.
    unsafe fn read(&self, pipeline: vk::Pipeline, texts: bool) -> Result<Compiled> {
        use vk::PipelineExecutableStatisticFormatKHR as Format;
        let which = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        // SAFETY: as this function's; a compute pipeline has one executable, so 0 is an index.
        let (properties, found) = unsafe {
            let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
            let properties = self.executables.get_pipeline_executable_properties(&info)?;
            (properties, self.executables.get_pipeline_executable_statistics(&which)?)
        };
        let wave = properties.first().context("a pipeline without an executable")?.subgroup_size;
        let values = found.iter().filter_map(|statistic| {
            // SAFETY: the format says which member of the union was written.
            let value = unsafe {
                match statistic.format {
                    Format::UINT64 => statistic.value.u64,
                    Format::INT64 => u64::try_from(statistic.value.i64).ok()?,
                    _ => return None,
                }
            };
            Some((text(&statistic.name), value))
        });
        let statistics = values.collect();
        // SAFETY: as this function's.
        let texts = if texts { unsafe { self.texts(&which) }? } else { BTreeMap::new() };
        Ok(Compiled { wave, statistics, texts })
    }

    /// # Safety
    /// As [`Device::read`] with texts.
    unsafe fn texts(&self, which: &vk::PipelineExecutableInfoKHR<'_>) -> Result<BTreeMap<String, String>> {
        // ash has no function for the texts: one asks for the number, the sizes, then the data.
        let get = self.executables.fp().get_pipeline_executable_internal_representations_khr;
        let device = self.device.handle();
        let mut count = 0;
        // SAFETY: as this function's; without a place to write to, the number alone is written.
        unsafe { get(device, which, &mut count, ptr::null_mut()) }.result()?;
        let mut list = vec![vk::PipelineExecutableInternalRepresentationKHR::default(); count as usize];
        // SAFETY: the list has `count` elements, none of which points anywhere: the sizes alone are written.
        unsafe { get(device, which, &mut count, list.as_mut_ptr()) }.result()?;
        let mut data: Vec<Vec<u8>> = list.iter().map(|each| vec![0; each.data_size]).collect();
        for (each, data) in list.iter_mut().zip(&mut data) {
            each.p_data = data.as_mut_ptr().cast();
        }
        // SAFETY: each element points to as many bytes as it said it needs.
        unsafe { get(device, which, &mut count, list.as_mut_ptr()) }.result()?;
        let read = |bytes: &[u8]| {
            let written = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
            String::from_utf8_lossy(written).into_owned()
        };
        Ok(list.iter().zip(&data).map(|(each, bytes)| (text(&each.name), read(bytes))).collect())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: all that `compile` makes it has destroyed; the device goes before its instance.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// A device with the features that wgpu asks for where they are there.
fn open_device(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<ash::Device> {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
    let extensions =
        [ash::khr::pipeline_executable_properties::NAME.as_ptr(), ash::ext::robustness2::NAME.as_ptr()];
    let core = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
    let mut executable =
        vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default()
        .robust_buffer_access2(true)
        .robust_image_access2(true);
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().shader_int8(true);
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default()
        .subgroup_size_control(true)
        .shader_integer_dot_product(true)
        .shader_zero_initialize_workgroup_memory(true)
        .robust_image_access(true)
        .maintenance4(true);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .enabled_features(&core)
        .push_next(&mut executable)
        .push_next(&mut robust)
        .push_next(&mut v12)
        .push_next(&mut v13);
    // SAFETY: the physical device is the instance's; the structures live until the call returns.
    Ok(unsafe { instance.create_device(physical, &info, None) }?)
}
