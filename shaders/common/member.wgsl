// A kernel that computes for one network: every buffer begins with what is its own.

fn begin_member(group: vec3<u32>) {}

// Where what belongs to the network begins in the buffer at a binding, in vec4s.
fn member_start(binding: u32) -> u32 {
    return 0u;
}

// Two numbers that differ from network to network.
fn member_numbers(own: vec2<u32>) -> vec2<u32> {
    return own;
}
