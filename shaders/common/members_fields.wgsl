    lengths: array<vec4<u32>, 2>,   // of a network's data in the buffer at each binding, in vec4s; 0 if shared
    members: vec4<u32>,             // number of networks
    numbers: array<vec4<u32>, 256>, // two per network
