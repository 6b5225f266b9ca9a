//! Adds counters to a shader: every load and store of storage and workgroup memory, and every barrier,
//! increments one; or every access to storage records its index.

use naga::{
    AddressSpace, ArraySize, AtomicFunction, Block, Expression, Function, GlobalVariable, Handle, Literal,
    Module, Range, ResourceBinding, Scalar, Span, Statement, StorageAccess, Type, TypeInner,
};
use tinytrain::gpu::Program;
use tinytrain::kernels::MOST_BUFFERS;

use crate::rewriting::{Transfer, after_each, resolved, rewritten, transfers, validate};

/// Counted operations, in the order of the counters. Accesses count elements of four bytes.
pub const COUNTERS: usize = 5;
const GLOBAL_READS: u32 = 0;
const GLOBAL_WRITES: u32 = 1;
const WORKGROUP_READS: u32 = 2;
const WORKGROUP_WRITES: u32 = 3;
const BARRIERS: u32 = 4;

/// The measured property of a shader.
#[derive(Clone, Copy, PartialEq)]
enum Question {
    Accesses,
    Reach,
}

/// Returns the program with one more binding at the end, its counters. Every invocation that reaches a
/// barrier counts it.
pub fn counted(program: &Program) -> Program {
    instrumented(program, Question::Accesses)
}

/// Returns the program with one more binding at the end: two words for each storage binding before it, the
/// number of accesses and the highest index.
pub fn watched(program: &Program) -> Program {
    instrumented(program, Question::Reach)
}

/// Returns the stride of each storage binding in bytes.
pub fn strides(program: &Program) -> Vec<u64> {
    let module = naga::front::wgsl::parse_str(program.source()).expect("our shaders parse");
    let stride = |binding: u32| {
        let found = module.global_variables.iter().find_map(|(_, global)| {
            let place = ResourceBinding { group: 0, binding };
            (global.binding == Some(place)).then_some(&module.types[global.ty].inner)
        });
        let Some(TypeInner::Array { stride, .. }) = found else {
            panic!("storage is an array");
        };
        u64::from(*stride)
    };
    (1..=program.bindings().len() as u32).map(stride).collect()
}

fn instrumented(program: &Program, question: Question) -> Program {
    let mut module = resolved(program);
    let info = validate(&module);
    let counters = add_counters(&mut module, 1 + program.bindings().len() as u32);
    let mut functions = std::mem::take(&mut module.functions);
    for (handle, function) in functions.iter_mut() {
        Counting { module: &module, info: &info[handle], counters, question, places: Vec::new() }
            .run(function);
    }
    module.functions = functions;
    let mut entries = std::mem::take(&mut module.entry_points);
    for (index, entry) in entries.iter_mut().enumerate() {
        let info = info.get_entry_point(index);
        Counting { module: &module, info, counters, question, places: Vec::new() }.run(&mut entry.function);
    }
    module.entry_points = entries;
    rewritten(program, &module)
}

fn add_counters(module: &mut Module, binding: u32) -> Handle<GlobalVariable> {
    let mut add = |inner| module.types.insert(Type { name: None, inner }, Span::UNDEFINED);
    let counter = add(TypeInner::Atomic(Scalar::U32));
    let ty = add(TypeInner::Array { base: counter, size: ArraySize::Dynamic, stride: 4 });
    let access = StorageAccess::LOAD | StorageAccess::STORE;
    let variable = GlobalVariable {
        name: Some("counters".to_owned()),
        space: AddressSpace::Storage { access },
        binding: Some(ResourceBinding { group: 0, binding }),
        ty,
        init: None,
        memory_decorations: naga::MemoryDecorations::empty(),
    };
    module.global_variables.append(variable, Span::UNDEFINED)
}

/// Index of an element.
enum Index {
    Computed(Handle<Expression>),
    Fixed(u32),
}

struct Counting<'a> {
    module: &'a Module,
    info: &'a naga::valid::FunctionInfo,
    counters: Handle<GlobalVariable>,
    question: Question,
    /// The counters as places in this function.
    places: Vec<Handle<Expression>>,
}

impl Counting<'_> {
    fn run(mut self, function: &mut Function) {
        let mut body = std::mem::take(&mut function.body);
        let array = function.expressions.append(Expression::GlobalVariable(self.counters), Span::UNDEFINED);
        let counters = if self.question == Question::Reach { 2 * MOST_BUFFERS } else { COUNTERS };
        for index in 0..counters as u32 {
            let place = Expression::AccessIndex { base: array, index };
            self.places.push(function.expressions.append(place, Span::UNDEFINED));
        }
        after_each(function, &mut body, &mut |function, statement| self.after(function, statement));
        let places = Range::new_from_bounds(self.places[0], self.places[counters - 1]);
        function.body.push(Statement::Emit(places), Span::UNDEFINED);
        function.body.append(&mut body);
    }

    /// Returns the counting statements after a statement.
    fn after(&self, function: &mut Function, statement: &Statement) -> Block {
        let mut block = Block::new();
        let mut push = |counter: u32, fun, value| {
            let pointer = self.places[counter as usize];
            block.push(Statement::Atomic { pointer, fun, value, result: None }, Span::UNDEFINED);
        };
        let literal = |function: &mut Function, value| {
            function.expressions.append(Expression::Literal(Literal::U32(value)), Span::UNDEFINED)
        };
        match self.question {
            Question::Accesses => {
                for (counter, elements) in self.counts(function, statement) {
                    push(counter, AtomicFunction::Add, literal(function, elements));
                }
            }
            Question::Reach => {
                for transfer in transfers(function, statement) {
                    let Some((binding, index)) = self.element(function, transfer.pointer) else { continue };
                    push(2 * (binding - 1), AtomicFunction::Add, literal(function, 1));
                    let index = match index {
                        Index::Computed(index) => index,
                        Index::Fixed(index) => literal(function, index),
                    };
                    push(2 * (binding - 1) + 1, AtomicFunction::Max, index);
                }
            }
        }
        block
    }

    /// Returns binding and index of a pointer's element, if it belongs to a storage buffer.
    fn element(&self, function: &Function, pointer: Handle<Expression>) -> Option<(u32, Index)> {
        let (base, index) = match function.expressions[pointer] {
            Expression::Access { base, index } => (base, Index::Computed(index)),
            Expression::AccessIndex { base, index } => (base, Index::Fixed(index)),
            _ => return None,
        };
        let Expression::GlobalVariable(variable) = function.expressions[base] else {
            return self.element(function, base);
        };
        let global = &self.module.global_variables[variable];
        let is_storage = matches!(global.space, AddressSpace::Storage { .. }) && variable != self.counters;
        is_storage.then(|| (global.binding.expect("storage is bound").binding, index))
    }

    /// Returns the increments of counters for a statement.
    fn counts(&self, function: &Function, statement: &Statement) -> Vec<(u32, u32)> {
        let count = |transfer: Transfer| {
            let counter = match (self.space(function, transfer.pointer)?, transfer.is_store) {
                (AddressSpace::Storage { .. }, false) => GLOBAL_READS,
                (AddressSpace::Storage { .. }, true) => GLOBAL_WRITES,
                (AddressSpace::WorkGroup, false) => WORKGROUP_READS,
                (AddressSpace::WorkGroup, true) => WORKGROUP_WRITES,
                _ => return None,
            };
            Some((counter, self.elements(transfer.value)))
        };
        let barrier = matches!(statement, Statement::ControlBarrier(_)).then_some((BARRIERS, 1));
        transfers(function, statement).into_iter().filter_map(count).chain(barrier).collect()
    }

    /// Returns the memory of a pointer, if it is a global variable's.
    fn space(&self, function: &Function, pointer: Handle<Expression>) -> Option<AddressSpace> {
        match function.expressions[pointer] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                self.space(function, base)
            }
            Expression::GlobalVariable(variable) => Some(self.module.global_variables[variable].space),
            _ => None,
        }
    }

    fn elements(&self, expression: Handle<Expression>) -> u32 {
        let inner = self.info[expression].ty.inner_with(&self.module.types);
        inner.size(self.module.to_ctx()) / 4
    }
}
