// A kernel for several networks of one shape, each a z of the grid: record z of the list belongs to the network with the number
// in its `next_rows`.
//#include record
var<private> member: u32;

// Call this first.
fn begin_member(group: vec3<u32>) {
    record = records.steps[group.z];
    member = min(record.next_rows, params.members.x - 1u);
}

// Start of the network's data in the buffer at a binding, in vec4s.
fn member_start(binding: u32) -> u32 {
    return member * params.lengths[binding / 4u][binding % 4u];
}

// Two numbers that differ between networks.
fn member_numbers(own: vec2<u32>) -> vec2<u32> {
    return params.numbers[member].xy;
}
