//! Whether the machine may have a GPU, asked before drivers are loaded: where nothing is found but one that computes on the
//! processor, that costs 50 MiB of memory and 0.1 s.
//!
//! On Linux, drivers reach a GPU through a device node. There is none if all of this holds: each character device in /dev is
//! known to be something else, all drivers that are installed are known to need a node, and no variable names others. What
//! is unknown or cannot be read may be a GPU.

/// Whether there may be a GPU: always, on systems other than Linux.
pub fn may_have_gpu() -> bool {
    #[cfg(target_os = "linux")]
    return !linux::has_none().unwrap_or(false);
    #[cfg(not(target_os = "linux"))]
    true
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::ffi::OsString;
    use std::fs::{read_dir, read_to_string};
    use std::io::{ErrorKind, Result};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::{Path, PathBuf};

    use rustix::fs::{major, minor};

    /// What /proc/devices calls the drivers of character devices that are no GPU.
    const OTHER_DRIVERS: &str = "/dev/console /dev/ptmx /dev/tty /dev/vc/0 alsa bsg cec cpu/cpuid cpu/msr dax dimmctl gpiochip \
        hidraw hvc i2c input ipmidev lp mei mem misc mtd ndctl nvme nvme-generic ppdev ppp pps ptm ptp pts rtc sg st tap tty \
        ttyACM ttyAMA ttyS ttyUSB usb usb_device usbmon vcs vfio video4linux virtio-portsdev watchdog";

    /// The same of /proc/misc.
    const OTHER_MISC: &str = "autofs btrfs-control cachefiles cpu_dma_latency cuse device-mapper ecryptfs fuse hpet hw_random kvm \
        loop-control mcelog microcode ntsync nvram psaux rfkill rtc sev sev-guest sgx_enclave sgx_provision snapshot tdx_guest \
        tpm0 tun udmabuf uhid uinput userfaultfd vfio vga_arbiter vhci vhost-net vhost-vsock vmci vsock watchdog";

    /// File systems of their own in /dev, which hold no nodes of drivers.
    const OTHER_FOLDERS: [&str; 4] = ["hugepages", "mqueue", "pts", "shm"];

    /// Manifests of drivers that need a node, or compute on the processor: how the names of these files begin. NVIDIA's are
    /// not among them: that driver may make its nodes when it is first asked.
    const KNOWN_MANIFESTS: [&str; 14] = [
        "50_mesa.json",
        "amd_icd",
        "asahi_icd",
        "broadcom_icd",
        "dzn_icd",
        "freedreno_icd",
        "intel_hasvk_icd",
        "intel_icd",
        "lvp_icd",
        "nouveau_icd",
        "panfrost_icd",
        "powervr_mesa_icd",
        "radeon_icd",
        "virtio_icd",
    ];

    /// How the names of variables begin that name drivers, or the way in which they reach a GPU.
    const VARIABLES: [&str; 7] = ["EGL_", "GALLIUM_", "LIBGL_", "MESA_", "VK_", "VN_", "__EGL_"];

    /// Whether there is certainly no GPU.
    pub fn has_none() -> Result<bool> {
        if std::env::vars_os().any(|(name, _)| names_drivers(&name)) {
            return Ok(false);
        }
        let drivers = Drivers::new(&read_to_string("/proc/devices")?, &read_to_string("/proc/misc")?);
        Ok(drivers.own_all_in(Path::new("/dev"))?
            && needs_nodes(&manifest_folders(|name| std::env::var_os(name)))?)
    }

    pub(super) fn names_drivers(variable: &OsString) -> bool {
        VARIABLES.iter().any(|begin| variable.as_bytes().starts_with(begin.as_bytes()))
    }

    /// Drivers that have nothing to do with GPUs.
    pub(super) struct Drivers {
        /// Major numbers of character devices, and whether all drivers of that number are such ones.
        majors: HashMap<u32, bool>,
        /// Minor numbers of the drivers that share a major number.
        misc: HashMap<u32, bool>,
    }

    impl Drivers {
        /// From the texts of /proc/devices and /proc/misc.
        pub fn new(devices: &str, misc: &str) -> Self {
            let table = |lines: &mut dyn Iterator<Item = &str>, known: &str| {
                let mut table = HashMap::new();
                for (number, name) in lines.filter_map(|line| line.trim().split_once(' ')) {
                    if let Ok(number) = number.parse() {
                        *table.entry(number).or_insert(true) &=
                            known.split_whitespace().any(|it| it == name.trim());
                    }
                }
                table
            };
            let is_block = |line: &&str| line.starts_with("Block devices");
            Self {
                majors: table(&mut devices.lines().take_while(|line| !is_block(line)), OTHER_DRIVERS),
                misc: table(&mut misc.lines(), OTHER_MISC),
            }
        }

        /// Whether a character device belongs to them.
        pub fn own(&self, device: u64) -> bool {
            const MISC: u32 = 10;
            let (major, minor) = (major(device), minor(device));
            let is_known = |table: &HashMap<u32, bool>, number| table.get(&number).copied().unwrap_or(false);
            is_known(&self.majors, major) && (major != MISC || is_known(&self.misc, minor))
        }

        /// Whether all in a folder, and in those below it, belong to them.
        pub fn own_all_in(&self, folder: &Path) -> Result<bool> {
            for entry in read_dir(folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let is_other = if kind.is_dir() {
                    OTHER_FOLDERS.iter().any(|name| entry.file_name() == *name)
                        || self.own_all_in(&entry.path())?
                } else {
                    !kind.is_char_device() || self.own(entry.metadata()?.rdev())
                };
                if !is_other {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }

    /// Where manifests of Vulkan and EGL drivers may lie, by the variables of the environment.
    pub(super) fn manifest_folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> =
            ["/etc", "/etc/xdg", "/usr/local/etc", "/usr/local/share", "/usr/share"]
                .map(PathBuf::from)
                .to_vec();
        if let Some(home) = variable("HOME") {
            roots.extend([".config", ".local/share"].map(|folder| Path::new(&home).join(folder)));
        }
        for name in ["XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS"] {
            roots.extend(variable(name).iter().flat_map(std::env::split_paths));
        }
        let folders = ["vulkan/icd.d", "glvnd/egl_vendor.d"];
        roots.iter().flat_map(|root| folders.map(|folder| root.join(folder))).collect()
    }

    /// Whether all manifests in these folders, as far as there are any, are of drivers that need a node.
    pub(super) fn needs_nodes(folders: &[PathBuf]) -> Result<bool> {
        for folder in folders {
            let entries = match read_dir(folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let name = entry?.file_name();
                if !KNOWN_MANIFESTS.iter().any(|begin| name.as_bytes().starts_with(begin.as_bytes())) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{create_dir, write};
    use std::path::{Path, PathBuf};

    use rustix::fs::makedev;

    use super::linux::{Drivers, manifest_folders, names_drivers, needs_nodes};

    const DEVICES: &str = "Character devices:\n  1 mem\n  4 tty\n  4 ttyS\n  5 /dev/ptmx\n 10 misc\n 29 fb\n195 nvidia\n\
        195 mem\n226 drm\n249 ptp\n508 nvidia-uvm\n\nBlock devices:\n  8 sd\n 11 mem\n";
    const MISC: &str = "232 kvm\n200 tun\n 63 dxg\n 62 mali0\n";

    #[test]
    fn only_what_is_known_is_no_gpu() {
        let drivers = Drivers::new(DEVICES, MISC);
        let owns = |major, minor| drivers.own(makedev(major, minor));
        // A container, a virtual machine and a server.
        for (major, minor) in [(1, 3), (4, 64), (5, 2), (10, 232), (10, 200), (249, 0)] {
            assert!(owns(major, minor), "{major} {minor}");
        }
        // Cards of three makers, a frame buffer, WSL; a number of two drivers, of a disk, of none.
        for (major, minor) in
            [(226, 128), (195, 255), (508, 0), (10, 62), (29, 0), (10, 63), (8, 0), (11, 0), (10, 1), (99, 0)]
        {
            assert!(!owns(major, minor), "{major} {minor}");
        }
        assert!(!Drivers::new("", "").own(makedev(1, 3)));
    }

    #[test]
    fn nodes_are_found_in_folders() {
        // There is /dev/null, whose driver is not among none.
        let devices = Path::new("/dev");
        assert!(!Drivers::new("", "").own_all_in(devices).unwrap_or(false));
        let folder = tempfile::tempdir().unwrap();
        create_dir(folder.path().join("dri")).unwrap();
        write(folder.path().join("dri/file"), "").unwrap();
        assert!(Drivers::new("", "").own_all_in(folder.path()).unwrap());
        assert!(Drivers::new("", "").own_all_in(&folder.path().join("none")).is_err());
    }

    #[test]
    fn drivers_that_need_no_node_are_seen() {
        let home = tempfile::tempdir().unwrap();
        let folders = manifest_folders(|name| (name == "XDG_DATA_DIRS").then(|| home.path().into()));
        let folders: Vec<PathBuf> =
            folders.into_iter().filter(|folder| folder.starts_with(home.path())).collect();
        assert_eq!(folders, ["vulkan/icd.d", "glvnd/egl_vendor.d"].map(|folder| home.path().join(folder)));
        assert!(needs_nodes(&folders).unwrap());
        std::fs::create_dir_all(&folders[0]).unwrap();
        write(folders[0].join("lvp_icd.x86_64.json"), "").unwrap();
        assert!(needs_nodes(&folders).unwrap());
        for unknown in ["remote_icd.json", "nvidia_icd.json"] {
            write(folders[0].join(unknown), "").unwrap();
            assert!(!needs_nodes(&folders).unwrap(), "{unknown}");
            std::fs::remove_file(folders[0].join(unknown)).unwrap();
        }
        assert!(needs_nodes(&[folders[0].join("lvp_icd.x86_64.json")]).is_err());
    }

    #[test]
    fn variables_name_drivers() {
        let names = [
            "VK_DRIVER_FILES",
            "VK_ICD_FILENAMES",
            "LIBGL_DRIVERS_PATH",
            "VN_DEBUG",
            "HOME",
            "PATH",
            "LEVK_",
        ];
        assert_eq!(
            names.map(|name| names_drivers(&name.into())),
            [true, true, true, true, false, false, false]
        );
    }
}
