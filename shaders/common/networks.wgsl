// Several networks, of which a workgroup trains one: their tables, and what is known of its own.
//#include layer_table
//#include network_sizes
struct Network {
//#include network_fields
}
struct Networks {
    count: u32, // of those that are there
    unused0: u32,
    unused1: u32,
    unused2: u32,
    list: array<Network, MOST_NETWORKS>,
    layers: array<Layer, MOST_LAYERS>, // network after network
}
@group(0) @binding(0) var<uniform> networks: Networks;
var<private> params: Network; // of the workgroup's network

fn layer_at(l: u32) -> Layer {
    return networks.layers[params.start + l];
}

fn layers() -> u32 {
    return params.layers;
}

fn deltas() -> u32 {
    return params.deltas;
}
