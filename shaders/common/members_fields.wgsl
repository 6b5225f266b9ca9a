    lengths: array<vec4<u32>, 2>,   // of what belongs to a network in the buffer at each binding, in vec4s; 0 where all share it
    members: vec4<u32>,             // how many networks
    numbers: array<vec4<u32>, 256>, // two of each network
