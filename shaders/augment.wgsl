// augment: D[p] = I(c + M (p - c) + s + e(p)) for each pixel p of the images of rows first .. first + rows of a data set
// features (images I), distorted (images D) [samples, values] bytes in words of four, or f32 in vec4s
// A workgroup owns an image: its threads draw the lattice of e together, and then own four values each.
// Pixels outside the image are 0. Every thread reaches the barrier.
// Source: Simard, Steinkraus, Platt, "Best practices for convolutional neural networks", ICDAR 2003.
//#include blocks
//#include team
//#include record
//#include philox
//#include wave
//#include features
//#include distorted
override TEAM: u32 = 256u;
const AUGMENT_PURPOSE = 10u; // `Purpose::Augment` in src/random.rs
const MOST_POINTS = 1024u;
struct Params {
    height: u32,
    width: u32,
    channels: u32,
    flip: u32,            // 1 if half of the images are mirrored
    lattice_columns: u32, // points of the lattice of the displacement; 0 for none
    lattice_rows: u32,
    cutout: u32,          // side of the square of background
    density: f32,         // points of the lattice per pixel
    strength: f32,        // largest displacement at a point
    turn: f32,            // largest rotation in turns
    shear: f32,
    zoom: f32,
    shift: f32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;

// Displacements of the points of the lattice.
var<workgroup> lattice: array<vec2<f32>, MOST_POINTS>;

// Map from the pixels of a distorted image to the image, and its square of background.
struct Map {
    matrix: vec4<f32>, // row after row
    offset: vec2<f32>,
    hole: vec2<u32>,   // first pixel, plus half of the side
}

fn words(row: u32, block: u32) -> vec4<u32> {
    return philox(vec4<u32>(row, block, record.step, AUGMENT_PURPOSE), record.seed);
}

// Numbers from -1 to below 1, exactly.
fn signed(numbers: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(numbers >> vec4<u32>(8u)) * (1.0 / 8388608.0) - 1.0;
}

fn center() -> vec2<f32> {
    return 0.5 * (vec2<f32>(f32(params.width), f32(params.height)) - 1.0);
}

fn map_of(row: u32) -> Map {
    let first = signed(words(row, 0u));
    let second = words(row, 1u);
    let angle = vec4<f32>(first.x * params.turn);
    let sin = sine(angle).x;
    let cos = cosine(angle).x;
    let shear = first.y * params.shear;
    let mirrored = (params.flip & second.z & 1u) == 1u;
    let wider = (1.0 + first.z * params.zoom) * select(1.0, -1.0, mirrored);
    let higher = 1.0 + first.w * params.zoom;
    let matrix = vec4<f32>(cos * wider, (cos * shear - sin) * higher, sin * wider, (sin * shear + cos) * higher);
    let places = words(row, 2u).xy % vec2<u32>(params.width, params.height);
    return Map(matrix, center() + signed(second).xy * params.shift, places);
}

// Weights of the four points around a position: t is its distance from the second.
fn spline(t: f32) -> vec4<f32> {
    let rest = 1.0 - t;
    return vec4<f32>(
        rest * rest * rest / 6.0,
        (t * t * (3.0 * t - 6.0) + 4.0) / 6.0,
        (rest * rest * (3.0 * rest - 6.0) + 4.0) / 6.0,
        t * t * t / 6.0,
    );
}

fn displacement(pixel: vec2<f32>) -> vec2<f32> {
    let place = pixel * params.density;
    let first = min(vec2<u32>(place), vec2<u32>(params.lattice_columns, params.lattice_rows) - 4u);
    let across = spline(place.x - f32(first.x));
    let down = spline(place.y - f32(first.y));
    var sum = vec2<f32>();
    for (var i = 0u; i < 4u; i += 1u) {
        let start = (first.y + i) * params.lattice_columns + first.x;
        var line = vec2<f32>();
        for (var j = 0u; j < 4u; j += 1u) {
            line += across[j] * lattice[start + j];
        }
        sum += down[i] * line;
    }
    return sum;
}

// Value of a channel of a pixel of an image; 0 outside it.
fn tap(row: u32, pixel: vec2<i32>, channel: u32) -> f32 {
    let inner = clamp(pixel, vec2<i32>(), vec2<i32>(i32(params.width), i32(params.height)) - 1);
    let value = (u32(inner.y) * params.width + u32(inner.x)) * params.channels + channel;
    let four = feature(row * blocks(values()) + value / 4u);
    return select(0.0, four[value % 4u], all(pixel == inner));
}

fn values() -> u32 {
    return params.height * params.width * params.channels;
}

fn distorted_value(row: u32, map: Map, value: u32) -> f32 {
    let pixel = value / params.channels;
    let channel = value % params.channels;
    let place = vec2<u32>(pixel % params.width, pixel / params.width);
    // The square begins half of the side before its place.
    let within = place + params.cutout / 2u - map.hole;
    if within.x < params.cutout && within.y < params.cutout {
        return 0.0;
    }
    let p = vec2<f32>(place);
    let centered = p - center();
    var source = map.offset
        + vec2<f32>(dot(map.matrix.xy, centered), dot(map.matrix.zw, centered));
    if params.lattice_columns > 0u {
        source += displacement(p);
    }
    source = clamp(source, vec2<f32>(-1.0), vec2<f32>(f32(params.width), f32(params.height)));
    let corner = floor(source);
    let rest = source - corner;
    let pixel_above = vec2<i32>(corner);
    let pixel_below = pixel_above + vec2<i32>(0, 1);
    let right = vec2<i32>(1, 0);
    let above = mix(tap(row, pixel_above, channel), tap(row, pixel_above + right, channel), rest.x);
    let below = mix(tap(row, pixel_below, channel), tap(row, pixel_below + right, channel), rest.x);
    return mix(above, below, rest.y);
}

@compute @workgroup_size(TEAM)
fn augment(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let image = team(group, groups);
    let row = record.first + image;
    let points = params.lattice_columns * params.lattice_rows;
    for (var point = thread; point < points; point += TEAM) {
        let numbers = signed(words(row, 3u + point / 2u));
        lattice[point] = params.strength * select(numbers.xy, numbers.zw, point % 2u == 1u);
    }
    workgroupBarrier();
    if image < record.rows {
        let map = map_of(row);
        let width = blocks(values());
        for (var block = thread; block < width; block += TEAM) {
            var result = vec4<f32>();
            for (var i = 0u; i < 4u; i += 1u) {
                if 4u * block + i < values() {
                    result[i] = distorted_value(row, map, 4u * block + i);
                }
            }
            store_distorted(row * width + block, result);
        }
    }
}
