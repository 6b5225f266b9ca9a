// Parameters in `result` with their optimizer state: loaded together, before any store, so that no load waits for a store. An
// optimizer uses NUMBERS of the values: the parameter and its state; 0 if nothing is read.
//#include optimizer
struct Parameter {
    value: vec4<f32>,
    first: vec4<f32>,
    second: vec4<f32>,
}

fn state_place(index: u32, number: u32) -> u32 {
    return index + params.state + number * params.region;
}

fn load_parameter(index: u32) -> Parameter {
    var parameter = Parameter();
    if NUMBERS > 0u {
        parameter.value = result[index];
    }
    if NUMBERS > 1u {
        parameter.first = result[state_place(index, 0u)];
    }
    if NUMBERS > 2u {
        parameter.second = result[state_place(index, 1u)];
    }
    return parameter;
}

fn store_parameter(index: u32, parameter: Parameter) {
    result[index] = parameter.value;
    if NUMBERS > 1u {
        result[state_place(index, 0u)] = parameter.first;
    }
    if NUMBERS > 2u {
        result[state_place(index, 1u)] = parameter.second;
    }
}
