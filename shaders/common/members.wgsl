// A kernel that computes for several networks of one shape, each a z of the grid: record z of the list is that of a network,
// and its `next_rows` says of which.
//#include record
var<private> member: u32;

// Call it first.
fn begin_member(group: vec3<u32>) {
    record = records.steps[group.z];
    member = min(record.next_rows, params.members.x - 1u);
}

// Where what belongs to the network begins in the buffer at a binding, in vec4s.
fn member_start(binding: u32) -> u32 {
    return member * params.lengths[binding / 4u][binding % 4u];
}

// Two numbers that differ from network to network.
fn member_numbers(own: vec2<u32>) -> vec2<u32> {
    return params.numbers[member].xy;
}
