// A kernel for one network: every buffer begins with its data.

fn begin_member(group: vec3<u32>) {}

// Start of the network's data in the buffer at a binding, in vec4s.
fn member_start(binding: u32) -> u32 {
    return 0u;
}

// Two numbers that differ between networks.
fn member_numbers(own: vec2<u32>) -> vec2<u32> {
    return own;
}
