//! Host half of `shaders/update.wgsl`.

use crate::error::Result;
use crate::gpu::Access::{Read, Write};
use crate::kernels::{
    Cost, Description, Kernel, LayerUpdate, Piece, Seal, Shader, StepRecord, ThreadLayout, Tuning, blocks,
    shape_error, vec4s, word, words,
};
use crate::model::ParameterLayout;
use crate::step::UpdateRule;

static SHADER: Shader = Shader::of_step("update", &[Read, Write]);

/// Shader with the sums of squares for gradient clipping.
static CLIPPING: Shader = Shader::of_step("update", &[Read, Read, Write]);

/// Most layers of one dispatch, limited by the uniform.
pub const MOST_UPDATED: usize = 64;

/// Contiguous parameters, in vec4s: weights followed by a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// Start of the weights.
    pub start: usize,
    /// Start of the bias.
    pub bias: usize,
    /// End of the bias.
    pub end: usize,
}

/// The optimizer applied to some layers. Buffers: gradients, with `clip` their sums of squares `[groups]`,
/// and parameters followed by the optimizer's state.
#[derive(Debug, Clone)]
pub struct Update {
    /// The layers and their updates, at most [`MOST_UPDATED`], concatenated.
    pub layers: Vec<(Updated, LayerUpdate)>,
    /// Numbers in the sums of squares, if gradients are clipped.
    pub clip: Option<usize>,
}

impl Update {
    /// Returns the kernels that update all layers of a network by this rule, in one or more dispatches.
    pub fn all(rule: &UpdateRule, layout: &ParameterLayout, clip: Option<usize>) -> Vec<Self> {
        let dense = layout.layers().iter().enumerate().map(|(number, layer)| {
            let end = layer.offset + layer.length();
            let at = Updated { start: layer.offset, bias: end - blocks(layer.outputs), end };
            (at, LayerUpdate::for_layer(rule, layout, number))
        });
        // The factors of an input layer are updated as a bias.
        let input = layout.input().filter(|input| input.length() > 0).map(|input| {
            let (start, end) = (input.offset, input.offset + input.length());
            (Updated { start, bias: input.scale(), end }, LayerUpdate::for_input_layer(rule, layout))
        });
        let layers: Vec<_> = dense.chain(input).collect();
        layers.chunks(MOST_UPDATED).map(|layers| Self { layers: layers.to_vec(), clip }).collect()
    }

    /// Returns the vec4s of all layers.
    fn length(&self) -> usize {
        self.layers.iter().map(|(at, _)| at.end - at.start).sum()
    }
}

impl Kernel for Update {
    fn describe(&self, _: Seal) -> Description {
        let (first, update) = self.layers[0];
        let (shader, clip) = match self.clip {
            Some(_) => (&CLIPPING, "clip_norm"),
            None => (&SHADER, "clip_none"),
        };
        let [state, region, .., bias_decay] = LayerUpdate::params(Some(update));
        let sizes = [first.start, self.length(), self.layers.len(), self.clip.unwrap_or(0)].map(word);
        let mut words = [&sizes[..], &[state, region, bias_decay, 0]].concat();
        for (layer, update) in &self.layers {
            let [_, _, weights, bias, _] = LayerUpdate::params(Some(*update));
            words.extend([word(layer.end), word(layer.bias), weights, bias]);
        }
        words.resize(8 + 4 * MOST_UPDATED, 0);
        let layout = ThreadLayout::Elements(self.length());
        let clips = self.clip.map(|_| "clip".to_owned());
        Description {
            pieces: vec![LayerUpdate::piece(Some(update)), ("clip", Piece::Named(clip))],
            fuses: Some(clips.into_iter().chain([update.optimizer.to_string()]).collect()),
            ..Description::new(shader, &words, layout, format!("{}", 4 * self.length()))
        }
    }

    fn extents(&self, _: &Tuning, _: &StepRecord) -> Result<Vec<u64>> {
        if self.layers.is_empty() || self.layers.len() > MOST_UPDATED {
            let expected = format!("1 to {MOST_UPDATED} layers");
            return Err(shape_error(&SHADER, expected, self.layers.len().to_string()));
        }
        let (first, update) = self.layers[0];
        let gradients = vec4s(&[&[first.start], &[self.length()]]);
        let squares = self.clip.map(|groups| words(&[&[groups]]));
        Ok([gradients]
            .into_iter()
            .chain(squares)
            .chain([gradients.saturating_add(LayerUpdate::reach(Some(update)))])
            .collect())
    }

    fn cost(&self, _: &Tuning) -> Cost {
        let [reads, writes, flop] = LayerUpdate::cost(Some(self.layers[0].1));
        let (length, squares) = (4 * self.length(), self.length() * self.clip.unwrap_or(0));
        Cost::dispatch(length * (1 + reads) + squares, length * writes, length * flop + squares)
    }
}
