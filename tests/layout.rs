//! Without a GPU: every shader parses and validates in every variant, and its bindings, uniforms and barriers
//! match the Rust code and the requirements of browsers.

#[path = "layout/imports.rs"]
mod imports;
#[path = "support/variants.rs"]
mod variants;
#[path = "layout/words.rs"]
mod words;

use std::collections::BTreeSet;

use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{
    AddressSpace, Binding, Block, BuiltIn, Expression, Function, Handle, Module, Statement, StorageAccess,
};
use tinytrain::gpu::{Access, RecordTransport};
use tinytrain::kernels::{Kernel, MOST_BUFFERS, StepRecord, Tuning, program};
use variants::variants;

/// Returns every tuning with both transports.
fn settings() -> impl Iterator<Item = (&'static Tuning, RecordTransport)> {
    Tuning::ALL.iter().flat_map(|tuning| RecordTransport::ALL.map(|carrier| (tuning, carrier)))
}

/// Parses and validates every variant, under every shipped tuning and with both transports.
fn each(check: impl Fn(&dyn Kernel, &Module)) {
    for (tuning, carrier) in settings() {
        for kernel in variants(tuning) {
            let program = program(&*kernel, tuning, carrier);
            let name = program.entry();
            let module = naga::front::wgsl::parse_str(program.source())
                .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(program.source())));
            Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::IMMEDIATES)
                .subgroup_stages(ShaderStages::COMPUTE)
                .subgroup_operations(SubgroupOperationSet::all())
                .validate(&module)
                .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(program.source())));
            check(&*kernel, &module);
        }
    }
}

/// `tests/gpu/check.rs` requires a case of each.
#[test]
fn every_shader_file_has_a_kernel() {
    let files: BTreeSet<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let kernels: BTreeSet<String> =
        variants(&Tuning::GPU).iter().map(|kernel| kernel.shader().name.to_owned()).collect();
    assert_eq!(files, kernels);
}

/// The texts that `scripts/mutate-shaders` replaces exist in the shaders, and their replacements differ.
#[test]
fn mutations_are_of_text_in_the_shaders() {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let list = read("scripts/mutations").replace("\\\n", "");
    let mut count = 0;
    for line in list.lines().filter_map(|line| line.strip_prefix("mutate ")) {
        let (file, mutations) = line.split_once(' ').unwrap();
        let shader = read(&format!("shaders/{file}"));
        for mutation in mutations.split('\'').map(str::trim).filter(|mutation| !mutation.is_empty()) {
            let parts: Vec<&str> = mutation.split(['⟨', '→', '⟩']).collect();
            let [before, from, to, after] = parts[..] else { panic!("{file}: {mutation}") };
            assert!(shader.contains(&[before, from, after].concat()) && from != to, "{file}: {mutation}");
            count += 1;
        }
    }
    assert!(count > 350);
}

#[test]
fn every_variant_is_valid_and_named_after_its_file() {
    each(|kernel, module| {
        let shader = kernel.shader();
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, [shader.name]);
        assert!(shader.source().starts_with(&format!("// {}: ", shader.name)), "{}: header", shader.name);
        let header = shader.source().lines().take_while(|line| line.starts_with("// ")).count();
        assert!(header <= 8, "{}: a header of {header} lines", shader.name);
    });
}

#[test]
fn bindings_and_uniforms_match_the_host() {
    each(|kernel, module| {
        let shader = kernel.shader();
        let name = shader.name;
        let mut storage = Vec::new();
        let (mut uniforms, mut immediates) = (Vec::new(), Vec::new());
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else {
                if variable.space == AddressSpace::Immediate {
                    immediates.push(module.types[variable.ty].inner.size(module.to_ctx()) as usize);
                    continue;
                }
                let private = matches!(variable.space, AddressSpace::WorkGroup | AddressSpace::Private);
                assert!(private, "{name}: a variable without a binding");
                continue;
            };
            match variable.space {
                AddressSpace::Uniform => {
                    let size = module.types[variable.ty].inner.size(module.to_ctx());
                    uniforms.push((binding.group, binding.binding, size as usize));
                }
                AddressSpace::Storage { access } => {
                    assert_eq!(binding.group, 0, "{name}: storage belongs to group 0");
                    let writes = access.contains(StorageAccess::STORE);
                    storage.push((binding.binding, if writes { Access::Write } else { Access::Read }));
                }
                other => panic!("{name}: a binding in {other:?}"),
            }
        }
        let params = kernel.description().params.len();
        assert_eq!(params % 16, 0, "{name}: Params is a multiple of 16 bytes");
        let mut expected = vec![(0, 0, params)];
        let records = kernel.description().records * size_of::<StepRecord>();
        if records > 0 && immediates.is_empty() {
            expected.push((1, 0, records));
        } else {
            let batch = (records > 0).then_some(records);
            assert_eq!(immediates, Vec::from_iter(batch), "{name}: immediates");
        }
        uniforms.sort_unstable();
        assert_eq!(uniforms, expected, "{name}: uniforms");
        storage.sort_unstable_by_key(|(binding, _)| *binding);
        let expected: Vec<(u32, Access)> = (1..).zip(shader.bindings.iter().copied()).collect();
        assert_eq!(storage, expected, "{name}: storage");
        assert!(shader.bindings.len() <= MOST_BUFFERS, "{name}: more buffers than some devices take");
        let first_output = shader.bindings.iter().position(|access| *access == Access::Write).unwrap();
        assert!(
            shader.bindings[first_output..].iter().all(|access| *access == Access::Write),
            "{name}: inputs come before outputs"
        );
    });
}

#[test]
fn host_and_shader_have_the_same_constants() {
    for (tuning, carrier) in settings() {
        for kernel in variants(tuning) {
            let program = program(&*kernel, tuning, carrier);
            let module = naga::front::wgsl::parse_str(program.source()).unwrap();
            let shader: BTreeSet<&str> =
                module.overrides.iter().filter_map(|(_, constant)| constant.name.as_deref()).collect();
            let host: BTreeSet<&str> = program.constants().map(|(name, _)| name).collect();
            assert_eq!(shader, host, "{}", kernel.shader().name);
        }
    }
}

/// WGSL sets a variable declared in a loop without a value to 0 in every iteration; Chromium's compiler only
/// in the first.
#[test]
fn every_variable_of_a_function_has_a_value_from_the_start() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders"));
    let (mut folders, mut seen) = (vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let Some(variable) = line.trim_start().strip_prefix("var ").filter(|_| line.starts_with(' '))
                else {
                    continue;
                };
                assert!(variable.contains('='), "{}: {}", path.display(), line.trim());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Writes the kernels for browsers, for `scripts/test-web`, into the file that TINYTRAIN_KERNELS names.
#[test]
fn kernels_are_handed_to_browsers() {
    let mut programs = BTreeSet::new();
    // Features of a browser's device: no immediates, and no subgroups known to wgpu.
    for tuning in Tuning::ALL.iter().filter(|tuning| **tuning != Tuning::SOFTWARE_SUBGROUPS) {
        for kernel in variants(tuning) {
            let program = program(&*kernel, tuning, RecordTransport::Offsets);
            let source = program.source().to_owned();
            assert!(
                !source.contains("subgroup") && !source.contains("var<immediate>"),
                "{}",
                program.entry()
            );
            programs.insert((program.entry(), source));
        }
    }
    assert!(programs.len() > 200, "{}", programs.len());
    if let Some(file) = std::env::var_os("TINYTRAIN_KERNELS") {
        std::fs::write(file, serde_json::to_string(&programs).unwrap()).unwrap();
    }
}

/// Returns whether there is a barrier in this block, or in a function that it calls.
fn has_barrier(module: &Module, block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. } => true,
        Statement::Call { function, .. } => has_barrier(module, &module.functions[*function].body),
        Statement::Block(block) => has_barrier(module, block),
        Statement::If { accept, reject, .. } => has_barrier(module, accept) || has_barrier(module, reject),
        Statement::Loop { body, continuing, .. } => {
            has_barrier(module, body) || has_barrier(module, continuing)
        }
        Statement::Switch { cases, .. } => cases.iter().any(|case| has_barrier(module, &case.body)),
        _ => false,
    })
}

/// Returns whether a thread may return from this block before its end.
fn may_return(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Return { .. } | Statement::Kill => true,
        Statement::Block(block) => may_return(block),
        Statement::If { accept, reject, .. } => may_return(accept) || may_return(reject),
        Statement::Loop { body, continuing, .. } => may_return(body) || may_return(continuing),
        Statement::Switch { cases, .. } => cases.iter().any(|case| may_return(&case.body)),
        _ => false,
    })
}

/// Returns the arguments of the call whose result this expression is.
fn arguments_of(block: &Block, call: Handle<Expression>) -> Option<&[Handle<Expression>]> {
    block.iter().find_map(|statement| match statement {
        Statement::Call { arguments, result: Some(result), .. } if *result == call => Some(&arguments[..]),
        Statement::Block(block) => arguments_of(block, call),
        Statement::If { accept, reject, .. } => {
            arguments_of(accept, call).or_else(|| arguments_of(reject, call))
        }
        Statement::Loop { body, continuing, .. } => {
            arguments_of(body, call).or_else(|| arguments_of(continuing, call))
        }
        _ => None,
    })
}

/// Returns whether a condition is the same for all threads of a workgroup: computed from constants of the
/// program, uniforms and read-only storage, the workgroup's number, and arguments of functions, which the
/// functions' headers guarantee. Variables and other arguments of entry points are not uniform.
fn is_uniform(module: &Module, function: &Function, condition: Handle<Expression>) -> bool {
    let all = |list: &[Handle<Expression>]| list.iter().all(|it| is_uniform(module, function, *it));
    match &function.expressions[condition] {
        Expression::Literal(_) | Expression::Constant(_) | Expression::Override(_) => true,
        Expression::FunctionArgument(index) => match function.arguments[*index as usize].binding {
            None => true,
            Some(Binding::BuiltIn(built_in)) => built_in == BuiltIn::WorkGroupId,
            Some(Binding::Location { .. }) => false,
        },
        Expression::GlobalVariable(variable) => match module.global_variables[*variable].space {
            AddressSpace::Uniform => true,
            AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
            _ => false,
        },
        Expression::Load { pointer } => all(&[*pointer]),
        Expression::AccessIndex { base, .. } => all(&[*base]),
        Expression::Access { base, index } => all(&[*base, *index]),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => all(&[*expr]),
        Expression::Binary { left, right, .. } => all(&[*left, *right]),
        Expression::Select { condition, accept, reject } => all(&[*condition, *accept, *reject]),
        Expression::Compose { components, .. } => all(components),
        Expression::Math { arg, arg1, .. } => all(&[*arg]) && arg1.is_none_or(|arg| all(&[arg])),
        Expression::CallResult(callee) => {
            let callee = &module.functions[*callee];
            let made_of_arguments =
                callee.expressions.iter().all(|(expression, _)| is_uniform(module, callee, expression));
            made_of_arguments && arguments_of(&function.body, condition).is_some_and(all)
        }
        _ => false,
    }
}

/// Returns whether only some threads reach a barrier: inside a condition that may differ among them, or after
/// an early return.
fn divergent_barrier(module: &Module, function: &Function, block: &Block) -> bool {
    let mut returned = false;
    for statement in block {
        let here = Block::from_vec(vec![statement.clone()]);
        if returned && has_barrier(module, &here) {
            return true;
        }
        let below = match statement {
            Statement::If { condition, accept, reject } if is_uniform(module, function, *condition) => {
                [accept, reject].into_iter().any(|block| divergent_barrier(module, function, block))
            }
            Statement::If { .. } | Statement::Switch { .. } => has_barrier(module, &here),
            Statement::Block(block) => divergent_barrier(module, function, block),
            Statement::Loop { body, continuing, .. } => {
                divergent_barrier(module, function, body)
                    || divergent_barrier(module, function, continuing)
                    || (has_barrier(module, body) && may_return(body))
            }
            _ => false,
        };
        if below {
            return true;
        }
        returned |= !matches!(statement, Statement::Return { .. }) && may_return(&here);
    }
    false
}

/// naga accepts barriers in divergent control flow, browsers do not. Conditions of loops around barriers
/// depend only on uniforms and workgroup ids, as stated in the headers of the pieces.
#[test]
fn barriers_are_in_uniform_control_flow() {
    each(|kernel, module| {
        let functions = module.functions.iter().map(|(_, function)| function);
        for function in functions.chain(module.entry_points.iter().map(|entry| &entry.function)) {
            assert!(
                !divergent_barrier(module, function, &function.body),
                "{}: a divergent barrier",
                kernel.shader().name
            );
        }
    });
}

#[test]
fn the_search_for_divergent_barriers_finds_them() {
    let divergent = |body: &str| {
        let source = format!(
            "const FIXED = true;
            @group(0) @binding(0) var<uniform> same: u32;
            @group(0) @binding(1) var<storage, read> table: array<u32>;
            @group(0) @binding(2) var<storage, read_write> result: array<u32>;
            var<private> other: u32;
            fn half(n: u32) -> u32 {{ return n / 2u; }}
            fn moved(n: u32) -> u32 {{ return n + other; }}
            fn sync() {{ workgroupBarrier(); }}
            @compute @workgroup_size(4)
            fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {{ {body} }}"
        );
        let module = naga::front::wgsl::parse_str(&source).unwrap();
        let function = &module.entry_points[0].function;
        divergent_barrier(&module, function, &function.body)
    };
    assert!(divergent("if i < 2u { workgroupBarrier(); }"));
    assert!(divergent("if i < 2u { sync(); }"));
    assert!(divergent("if i > 2u { return; } sync();"));
    assert!(divergent("for (var k = 0u; k < 3u; k += 1u) { if i > k { return; } sync(); }"));
    assert!(divergent("if FIXED { if i < 2u { sync(); } }"));
    assert!(divergent("if half(i) < 2u { sync(); }"));
    assert!(divergent("if moved(same) < 2u { sync(); }"));
    assert!(divergent("var n = same; if n < 2u { sync(); }"));
    assert!(divergent("if table[i] < 2u { sync(); }"));
    assert!(divergent("if result[0] < 2u { sync(); }"));
    assert!(!divergent("if table[group.x] < 2u { sync(); }"));
    assert!(!divergent("if FIXED { sync(); }"));
    assert!(!divergent("if half(same) > 3u { sync(); }"));
    assert!(!divergent("for (var k = 0u; k < 3u; k += 1u) { sync(); } if i > 2u { return; }"));
}
