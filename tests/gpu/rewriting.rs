//! Converts a program to a naga module that tests can change, and back.

use naga::proc::IndexableLength;
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{
    ArraySize, Block, Expression, Function, Handle, Module, ShaderStage, Span, Statement, Type, TypeInner,
};
use tinytrain::gpu::{Access, Program};
use tinytrain::kernels::{MatmulTile, Tuning};

/// Validates a module.
pub fn validate(module: &Module) -> ModuleInfo {
    Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::IMMEDIATES)
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(module)
        .expect("a rewritten shader is valid")
}

/// Returns the program's module, with the values of all override constants.
pub fn resolved(program: &Program) -> Module {
    let module = naga::front::wgsl::parse_str(program.source()).expect("our shaders parse");
    let constants = program.constants().map(|(name, value)| (name.to_owned(), value)).collect();
    let entry = Some((ShaderStage::Compute, program.entry()));
    let info = validate(&module);
    let (module, _) = naga::back::pipeline_constants::process_overrides(&module, &info, entry, &constants)
        .expect("the host gives every override");
    let mut module = module.into_owned();
    resolve_lengths(&mut module);
    module
}

/// Arrays whose length is an override expression keep it as an expression; WGSL text needs the number.
fn resolve_lengths(module: &mut Module) {
    let resolved: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(variable, global)| match module.types[global.ty].inner {
            TypeInner::Array { base, size: size @ ArraySize::Pending(_), stride } => {
                let Ok(IndexableLength::Known(length)) = size.resolve(module.to_ctx()) else {
                    panic!("the length of an array is known once the overrides are");
                };
                let size = ArraySize::Constant(length.try_into().expect("arrays have elements"));
                Some((variable, TypeInner::Array { base, size, stride }))
            }
            _ => None,
        })
        .collect();
    for (variable, inner) in resolved {
        module.global_variables[variable].ty =
            module.types.insert(Type { name: None, inner }, Span::UNDEFINED);
    }
}

/// Returns the text of a module derived from a program.
pub fn text(program: &Program, module: &Module) -> String {
    let flags = naga::back::wgsl::WriterFlags::empty();
    let source =
        naga::back::wgsl::write_string(module, &validate(module), flags).expect("WGSL can be written");
    // Native implementations do not support the directive.
    let source = source.replace("enable subgroups;", "");
    // The writer renames functions that have names of built-in functions.
    source.replace(&format!("fn {}_(", program.entry()), &format!("fn {}(", program.entry()))
}

/// Returns the program with this module, which has one more binding at the end.
pub fn rewritten(program: &Program, module: &Module) -> Program {
    program.rewritten(text(program, module), [program.bindings(), &[Access::Write]].concat())
}

/// Appends the statements of `after` to every statement of a block and its nested blocks.
pub fn after_each(
    function: &mut Function,
    block: &mut Block,
    after: &mut dyn FnMut(&mut Function, &Statement) -> Block,
) {
    let mut longer = Block::new();
    for mut statement in block.iter().cloned() {
        match &mut statement {
            Statement::Block(inner) => after_each(function, inner, after),
            Statement::If { accept, reject, .. } => {
                after_each(function, accept, after);
                after_each(function, reject, after);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| after_each(function, &mut case.body, after));
            }
            Statement::Loop { body, continuing, .. } => {
                after_each(function, body, after);
                after_each(function, continuing, after);
            }
            _ => {}
        }
        let mut appended = after(function, &statement);
        longer.push(statement, Span::UNDEFINED);
        longer.append(&mut appended);
    }
    *block = longer;
}

/// A load or a store through a pointer.
pub struct Transfer {
    pub pointer: Handle<Expression>,
    /// Loaded or stored value.
    pub value: Handle<Expression>,
    pub is_store: bool,
}

/// Returns the loads and stores of a statement.
pub fn transfers(function: &Function, statement: &Statement) -> Vec<Transfer> {
    match statement {
        Statement::Emit(range) => range
            .clone()
            .filter_map(|value| match function.expressions[value] {
                Expression::Load { pointer } => Some(Transfer { pointer, value, is_store: false }),
                _ => None,
            })
            .collect(),
        Statement::Store { pointer, value } => {
            vec![Transfer { pointer: *pointer, value: *value, is_store: true }]
        }
        Statement::WorkGroupUniformLoad { .. } | Statement::Atomic { .. } => {
            panic!("this is an access too")
        }
        _ => Vec::new(),
    }
}

/// Returns the same tile shapes, but products process one block of the inner dimension at a time: with
/// statements after every access drivers would compile an unrolled loop for minutes.
pub fn shallow(tuning: &Tuning) -> Tuning {
    let tile = |tile| match tile {
        MatmulTile::Tiled { across, down, split, .. } => MatmulTile::Tiled { across, down, inner: 1, split },
        MatmulTile::TiledTall { across, down, .. } => MatmulTile::TiledTall { across, down, inner: 1 },
        other => other,
    };
    Tuning { product: tile(tuning.product), wide: tile(tuning.wide), column: tile(tuning.column), ..*tuning }
}
