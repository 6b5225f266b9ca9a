//! Logs every access of a shader to memory shared by its invocations, and finds races.
//!
//! Two accesses of one word by different invocations race if one of them is a write and nothing orders them:
//! in a workgroup a barrier for that memory, between workgroups nothing at all. (WGSL, 15.2 "Memory model";
//! Vulkan's, "Data race".)

use std::collections::BTreeSet;

use naga::{
    AddressSpace, ArraySize, Barrier, BinaryOperator, Binding, Block, BuiltIn, Expression, Function,
    FunctionArgument, GlobalVariable, Handle, Literal, Module, Range, Scalar, ScalarKind, Span, Statement,
    StorageAccess, Type, TypeInner, VectorSize,
};
use tinytrain::gpu::Program;

use crate::rewriting::{after_each, resolved, rewritten, text, transfers, validate};

/// Additional code of every logged shader. An entry of the log is the word, the site, the workgroup, and the
/// invocation with its number of passed barriers.
const HELPERS: &str = "
struct RaceEntry {
    word: atomic<u32>,
    site: u32,
    group: u32,
    thread: u32,
}
@group(0) @binding(BINDING) var<storage, read_write> race_log: array<RaceEntry>;
var<private> race_group: u32;
var<private> race_thread: u32;
var<private> race_barriers: vec2<u32>;
fn race_begin(group: vec3<u32>, thread: u32) {
    race_group = group.x + (group.y << 16u) + (group.z << 28u);
    race_thread = thread;
}
fn race_barrier(memories: vec2<u32>) {
    race_barriers += memories;
}
fn race_access(word: u32, site: u32, memory: u32) {
    let place = 1u + atomicAdd(&race_log[0].word, 1u);
    if place < arrayLength(&race_log) {
        let barriers = select(race_barriers.x, race_barriers.y, memory == 1u);
        atomicStore(&race_log[place].word, word);
        race_log[place].site = site;
        race_log[place].group = race_group;
        race_log[place].thread = race_thread | (barriers << THREAD_BITSu);
    }
}
";
/// A workgroup has at most 1024 invocations.
const THREAD_BITS: u32 = 11;

/// A place where a shader accesses shared memory.
pub struct Site {
    is_store: bool,
    is_workgroup: bool,
    memory: String,
    /// Number of words accessed at once.
    words: u32,
    /// Description of the line.
    line: String,
}

/// A program that logs to one more binding at its end: the number of entries, three unused words, and the
/// entries.
pub struct Logged {
    pub program: Program,
    sites: Vec<Site>,
}

/// Returns a program that logs accesses to shared memory.
pub fn logged(program: &Program) -> Logged {
    let binding = 1 + program.bindings().len();
    let helpers = HELPERS.replace("BINDING", &binding.to_string());
    // naga requires functions before their callers.
    let source =
        helpers.replace("THREAD_BITS", &THREAD_BITS.to_string()) + &text(program, &resolved(program));
    let mut module = naga::front::wgsl::parse_str(&source).expect("a resolved shader parses");
    let info = validate(&module);
    let helper = |name: &str| {
        let found = module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(name));
        found.expect("it stands in the helpers").0
    };
    let helpers @ [begin, ..] = ["race_begin", "race_barrier", "race_access"].map(helper);
    let mut sites = Vec::new();
    let mut functions = std::mem::take(&mut module.functions);
    for (handle, function) in functions.iter_mut() {
        if !helpers.contains(&handle) {
            let info = &info[handle];
            Logging { module: &module, info, helpers, source: &source, sites: &mut sites }.run(function);
        }
    }
    module.functions = functions;
    let [group, thread] = [vec3_u32(&mut module), u32_type(&mut module)];
    let mut entries = std::mem::take(&mut module.entry_points);
    for (index, entry) in entries.iter_mut().enumerate() {
        let (info, function) = (info.get_entry_point(index), &mut entry.function);
        Logging { module: &module, info, helpers, source: &source, sites: &mut sites }.run(function);
        let arguments = [(BuiltIn::WorkGroupId, group), (BuiltIn::LocalInvocationIndex, thread)];
        let arguments = arguments.map(|(builtin, ty)| argument(function, builtin, ty)).to_vec();
        let call = Statement::Call { function: begin, arguments, result: None };
        let mut body = Block::from_vec(vec![call]);
        body.append(&mut function.body);
        function.body = body;
    }
    module.entry_points = entries;
    Logged { program: rewritten(program, &module), sites }
}

fn u32_type(module: &mut Module) -> Handle<Type> {
    module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED)
}

fn vec3_u32(module: &mut Module) -> Handle<Type> {
    let inner = TypeInner::Vector { size: VectorSize::Tri, scalar: Scalar::U32 };
    module.types.insert(Type { name: None, inner }, Span::UNDEFINED)
}

/// Returns the argument of an entry point with this built-in value, added if missing.
fn argument(function: &mut Function, builtin: BuiltIn, ty: Handle<Type>) -> Handle<Expression> {
    let binding = Some(Binding::BuiltIn(builtin));
    let index = function.arguments.iter().position(|argument| argument.binding == binding);
    let index = index.unwrap_or_else(|| {
        function.arguments.push(FunctionArgument { name: Some(format!("race_{builtin:?}")), ty, binding });
        function.arguments.len() - 1
    });
    function.expressions.append(Expression::FunctionArgument(index as u32), Span::UNDEFINED)
}

struct Logging<'a> {
    module: &'a Module,
    info: &'a naga::valid::FunctionInfo,
    helpers: [Handle<Function>; 3],
    source: &'a str,
    sites: &'a mut Vec<Site>,
}

impl Logging<'_> {
    fn run(mut self, function: &mut Function) {
        let mut body = std::mem::take(&mut function.body);
        after_each(function, &mut body, &mut |function, statement| self.after(function, statement));
        function.body = body;
    }

    /// Returns the logging statements after a statement.
    fn after(&mut self, function: &mut Function, statement: &Statement) -> Block {
        let mut block = Block::new();
        let [_, barrier, access] = self.helpers;
        if let Statement::ControlBarrier(kind) = statement {
            let memories =
                [Barrier::STORAGE, Barrier::WORK_GROUP].map(|memory| u32::from(kind.contains(memory)));
            let components = memories.map(|of| literal(function, of)).to_vec();
            let inner = TypeInner::Vector { size: VectorSize::Bi, scalar: Scalar::U32 };
            let ty = self.module.types.get(&Type { name: None, inner }).expect("a helper has this type");
            let memories = emitted(function, &mut block, Expression::Compose { ty, components });
            let call = Statement::Call { function: barrier, arguments: vec![memories], result: None };
            block.push(call, Span::UNDEFINED);
        }
        for transfer in transfers(function, statement) {
            let Some((variable, word)) = self.word(function, &mut block, transfer.pointer) else { continue };
            let global = &self.module.global_variables[variable];
            let value = self.info[transfer.value].ty.inner_with(&self.module.types);
            let line = function.expressions.get_span(transfer.pointer).location(self.source).line_number;
            let is_workgroup = global.space == AddressSpace::WorkGroup;
            self.sites.push(Site {
                is_store: transfer.is_store,
                is_workgroup,
                memory: global.name.clone().unwrap_or_default(),
                words: value.size(self.module.to_ctx()) / 4,
                line: self.source.lines().nth(line as usize - 1).unwrap_or_default().trim().to_owned(),
            });
            let site = literal(function, self.sites.len() as u32 - 1);
            let arguments = vec![word, site, literal(function, u32::from(is_workgroup))];
            let call = Statement::Call { function: access, arguments, result: None };
            block.push(call, Span::UNDEFINED);
        }
        block
    }

    /// Returns the shared memory of a pointer, and the word; `None` if only reads are possible.
    fn word(
        &self,
        function: &mut Function,
        block: &mut Block,
        pointer: Handle<Expression>,
    ) -> Option<(Handle<GlobalVariable>, Handle<Expression>)> {
        let (base, index) = match function.expressions[pointer] {
            Expression::GlobalVariable(variable) => {
                let shared = match self.module.global_variables[variable].space {
                    AddressSpace::WorkGroup => true,
                    AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
                    _ => false,
                };
                return shared.then(|| (variable, literal(function, 0)));
            }
            Expression::Access { base, index } => (base, Ok(index)),
            Expression::AccessIndex { base, index } => (base, Err(index)),
            Expression::LocalVariable(_) => return None,
            // WGSL allows passing pointers only to this memory.
            Expression::FunctionArgument(_) => return None,
            ref other => panic!("no pointer of ours is {other:?}"),
        };
        let (variable, start) = self.word(function, block, base)?;
        let offset = match index {
            Err(index) => literal(function, self.offset(base, index)),
            Ok(index) => {
                let convert = Expression::As { expr: index, kind: ScalarKind::Uint, convert: None };
                let left = emitted(function, block, convert);
                let right = literal(function, self.offset(base, 1));
                emitted(function, block, Expression::Binary { op: BinaryOperator::Multiply, left, right })
            }
        };
        let sum = Expression::Binary { op: BinaryOperator::Add, left: start, right: offset };
        Some((variable, emitted(function, block, sum)))
    }

    /// Returns the offset of element `index` from a pointer's target, in words.
    fn offset(&self, pointer: Handle<Expression>, index: u32) -> u32 {
        let types = &self.module.types;
        match self.info[pointer].ty.inner_with(types) {
            TypeInner::ValuePointer { .. } => index,
            TypeInner::Pointer { base, .. } => match &types[*base].inner {
                TypeInner::Vector { .. } => index,
                TypeInner::Matrix { rows, .. } => index * if *rows == VectorSize::Bi { 2 } else { 4 },
                TypeInner::Array { stride, size: ArraySize::Constant(_) | ArraySize::Dynamic, .. } => {
                    index * stride / 4
                }
                TypeInner::Struct { members, .. } => members[index as usize].offset / 4,
                other => panic!("nothing shared is {other:?}"),
            },
            other => panic!("{other:?} is no pointer"),
        }
    }
}

fn literal(function: &mut Function, value: u32) -> Handle<Expression> {
    function.expressions.append(Expression::Literal(Literal::U32(value)), Span::UNDEFINED)
}

fn emitted(function: &mut Function, block: &mut Block, expression: Expression) -> Handle<Expression> {
    let handle = function.expressions.append(expression, Span::UNDEFINED);
    block.push(Statement::Emit(Range::new_from_bounds(handle, handle)), Span::UNDEFINED);
    handle
}

/// An access to a word: invocation and time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    group: u32,
    thread: u32,
    barriers: u32,
    site: u32,
}

impl Logged {
    /// Describes every pair of sites with racing accesses.
    pub fn races(&self, log: &[[u32; 4]]) -> BTreeSet<String> {
        let mut accesses = Vec::new();
        for [word, site, group, thread] in log.iter().copied() {
            let it = &self.sites[site as usize];
            let (thread, barriers) = (thread % (1 << THREAD_BITS), thread >> THREAD_BITS);
            // Each workgroup has separate workgroup memory.
            let owner = if it.is_workgroup { group } else { 0 };
            let entry = Entry { group, thread, barriers, site };
            accesses.extend((word..word + it.words).map(|word| ((&*it.memory, owner, word), entry)));
        }
        accesses.sort_unstable();
        accesses.dedup();
        let of_words = accesses.chunk_by(|(one, _), (other, _)| one == other);
        of_words.flat_map(|accesses| self.racing(accesses)).collect()
    }

    /// Returns the races of one word.
    fn racing(&self, accesses: &[((&str, u32, u32), Entry)]) -> Vec<String> {
        let mut found = Vec::new();
        for ((memory, _, word), store) in accesses {
            if !self.sites[store.site as usize].is_store {
                continue;
            }
            let race = accesses.iter().find(|(_, other)| match other.group == store.group {
                true => other.thread != store.thread && other.barriers == store.barriers,
                false => true,
            });
            if let Some((_, other)) = race {
                let place = |entry: &Entry| {
                    let line = &self.sites[entry.site as usize].line;
                    format!("`{line}` of invocation {} of workgroup {}", entry.thread, entry.group)
                };
                found.push(format!("word {word} of {memory}: {} and {}", place(store), place(other)));
            }
        }
        found
    }
}
