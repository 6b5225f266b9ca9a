# Vulkan on machines that were set up for CUDA alone: there the loader, or the file that tells it of NVIDIA's driver, may be
# missing while the driver is there.

loader_here() {
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk '$1 == "libvulkan.so.1" { print $NF; exit }'
}

# The folders that a driver may have been put in, besides those of the system.
readonly NVIDIA_PLACES=(/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64)

find_vulkan() {
    local place library found=''
    if [ -z "$(loader_here)" ] && [ -f "$(dirname "$tinytrain")/libvulkan.so.1" ]; then
        export LD_LIBRARY_PATH="$(dirname "$tinytrain")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        echo "no Vulkan loader here: the packed one is taken" >&2
    fi
    [ -e /dev/nvidiactl ] && [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
    # The file that is there may name a library that needs a window system.
    ! timeout 20 "$tinytrain" devices | grep -qi nvidia || return 0
    # The second needs no window system.
    for library in libGLX_nvidia.so.0 libEGL_nvidia.so.0; do
        for place in "${NVIDIA_PLACES[@]}"; do
            [ -e "$place/$library" ] || continue
            printf '{"file_format_version": "1.0.1", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
                "$place/$library" >"$work/$library.json"
            found=${found:+$found:}$work/$library.json
            break
        done
    done
    [ -z "$found" ] || export VK_DRIVER_FILES=$found
    echo "no file here leads to NVIDIA's driver for Vulkan: ${found:-and no driver was found}" >&2
}
