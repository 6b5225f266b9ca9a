// First layer of `row`: its products are partial sums, one for each part of the inputs.

// Returns a block of the partial sums of a part, or 0 if the part is missing. Loads have no branch, unless the number of parts
// is known.
fn part_of(at: u32, part: u32, alone: bool) -> vec4<f32> {
    let there = part < parts_of_inputs();
    if LAYERS > 0u && alone && !there {
        return vec4<f32>();
    }
    let pitch = capacity() * blocks(layer_at(0u).outputs);
    return select(vec4<f32>(), parameters[select(0u, at + part * pitch, there)], there);
}

// Computes the outputs of the first layer from the partial sums. Surplus threads share the parts.
fn first_layer() {
    let owner = layer_at(0u);
    let width = blocks(owner.outputs);
    let parts = parts_of_inputs();
    let slices = min(THREADS / (ROWS * min(most(), width)), (parts + 15u) / 16u);
    // Drivers unroll such loops only if the steps add up to the end.
    let end = pieces(width, most()) * most();
    for (var n0 = 0u; n0 < end; n0 += most()) {
        let chunk = min(most(), width - n0);
        let team = ROWS * chunk;
        let slice = select(quotient(team), 0u, slices == 1u);
        let unit = local - slice * team;
        let lane = lane_of(unit, chunk);
        let block = n0 + unit - lane * chunk;
        let own = local < team;
        var sum = vec4<f32>();
        if slice < slices && unit < team && is_live(lane) {
            let at = first_sums_of(first + lane) + block;
            let alone = slices == 1u;
            let bias = parameters[owner.offset + owner.inputs * width + block];
            // Overlaps sixteen loads.
            let turns = pieces(parts, 16u * slices);
            for (var turn = 0u; turn < turns; turn += 1u) {
                let part = turn * 16u * slices + slice;
                let value0 = part_of(at, part, alone);
                let value1 = part_of(at, part + slices, alone);
                let value2 = part_of(at, part + 2u * slices, alone);
                let value3 = part_of(at, part + 3u * slices, alone);
                let value4 = part_of(at, part + 4u * slices, alone);
                let value5 = part_of(at, part + 5u * slices, alone);
                let value6 = part_of(at, part + 6u * slices, alone);
                let value7 = part_of(at, part + 7u * slices, alone);
                let value8 = part_of(at, part + 8u * slices, alone);
                let value9 = part_of(at, part + 9u * slices, alone);
                let value10 = part_of(at, part + 10u * slices, alone);
                let value11 = part_of(at, part + 11u * slices, alone);
                let value12 = part_of(at, part + 12u * slices, alone);
                let value13 = part_of(at, part + 13u * slices, alone);
                let value14 = part_of(at, part + 14u * slices, alone);
                let value15 = part_of(at, part + 15u * slices, alone);
                // Added in the loop: drivers would otherwise load it only where it is needed, and wait.
                sum += select(vec4<f32>(), bias, own & (turn == 0u));
                sum += ((value0 + value1) + (value2 + value3)) + ((value4 + value5) + (value6 + value7));
                sum += ((value8 + value9) + (value10 + value11)) + ((value12 + value13) + (value14 + value15));
            }
        }
        if slices > 1u {
            sums[local] = sum;
            workgroupBarrier();
        }
        if own {
            if slices > 1u {
                sum = added_up(local, team, slices);
            }
            store_outputs(0u, lane, block, sum);
        }
    }
    publish(width);
    workgroupBarrier();
}
