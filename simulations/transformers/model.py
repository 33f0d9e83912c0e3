"""A decoder-only transformer to be read in one sitting, with ways to name symbols that it has not seen.

Pre-norm blocks of causal attention and a perceptron; the last norm's output is the *feature* x of the theory, the rows of
the output matrix are the w_k: logits are ``W x``. Options beside the plain model:

- ``copy``: attention over the *input embeddings*, added before the last norm (the paper's copy attention). What it adds is
  a mean of rows of the embedding, so a tied head can name any symbol of the context, seen in training or not.
- ``value_identity``, ``query_identity``: a trainable multiple of the identity for each head, added to W_V W_O and to
  W_K W_Q^T (Boix-Adsera et al., "When can transformers reason with abstract symbols?", 2024).
- ``pointer``: a pointer head. The output is a mixture of the softmax and of attention over the context's own tokens
  (Vinyals et al. 2015; the gated mixture is that of Merity et al. 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collapse_theory.checks import choice, integer, numbers
from collapse_theory.errors import InputError

__all__ = ["Cache", "ModelConfig", "Transformer"]

LOOK = 4.0
"""Length of a pair of these biases in `Attention.start_apart`."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes and options of the model.

    Attributes:
        vocabulary: K, rows of the embedding.
        layers, width, heads, hidden: blocks, n, heads in a block, width inside the perceptron.
        context: the longest sequence.
        norm: "layer" (LayerNorm with bias) or "rms" (RMSNorm).
        activation: "relu" or "gelu".
        positions: "rope" (rotary, of base ``rope_base``) or "learned".
        tied: whether the output matrix is the embedding.
        copy, pointer, value_identity, query_identity: see the module.
    """

    vocabulary: int
    layers: int = 2
    width: int = 64
    heads: int = 4
    hidden: int = 256
    context: int = 64
    norm: str = "layer"
    activation: str = "relu"
    positions: str = "rope"
    rope_base: float = 100.0
    tied: bool = True
    copy: bool = False
    pointer: bool = False
    value_identity: bool = False
    query_identity: bool = False

    def __post_init__(self) -> None:
        for name in ("vocabulary", "layers", "width", "heads", "hidden", "context"):
            integer(name, getattr(self, name), least=1)
        choice("norm", self.norm, ("layer", "rms"))
        choice("activation", self.activation, ("relu", "gelu"))
        choice("positions", self.positions, ("rope", "learned"))
        if float(numbers("rope_base", self.rope_base)) <= 1:
            raise InputError(f"rope_base is {self.rope_base}: give a number above 1")
        if self.width % self.heads or (self.positions == "rope" and self.width // self.heads % 2):
            raise InputError(
                f"width {self.width} does not go into {self.heads} heads "
                "(of even width, for rotary positions): change either"
            )


class Cache:
    """Keys, values and the like of the tokens so far, for decoding one token at a time."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: dict[tuple[nn.Module, str], Tensor] = {}

    def extend(self, owner: nn.Module, name: str, new: Tensor) -> Tensor:
        """All of it so far, ``new`` [..., L, n] after what there was."""
        old = self._parts.get((owner, name))
        self._parts[owner, name] = new if old is None else torch.cat((old, new), -2)
        return self._parts[owner, name]


def _speeds(config: ModelConfig) -> Tensor:
    """Angles by which the pairs of a head turn with each place [n/2]."""
    pairs = config.width // config.heads // 2
    return config.rope_base ** (-torch.arange(pairs) / pairs)


class Rotate(torch.autograd.Function):
    """Rotary positions (Su et al. 2021): pairs (i, i + n/2) of the last axis turned by an angle for each position.

    The gradient is turned back, so that nothing has to be kept for it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turn(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turn(grads[0], cos, -sin), None, None


def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat((torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)), -1)


def weights_of(scores: Tensor) -> Tensor:
    """Causal attention: softmax over the last axis of scores [..., L, S]; the last query sees all S keys."""
    length, total = scores.shape[-2:]
    if length > 1:
        later = torch.ones(length, total, dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(later.triu_(total - length + 1), -torch.inf)
    return scores.softmax(-1)


class Attention(nn.Module):
    """Multi-head causal attention; with a trainable multiple of the identity on W_V W_O or W_K W_Q^T where asked for."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.inputs = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        one = lambda asked: nn.Parameter(torch.zeros(config.heads)) if asked else None  # noqa: E731
        self.value_identity = one(config.value_identity)
        self.query_identity = one(config.query_identity)

    @torch.no_grad()
    def start_alike(self) -> None:
        """W_K = W_Q: tokens look at those like them."""
        queries, keys, _ = self.inputs.weight.chunk(3)
        keys.copy_(queries)

    @torch.no_grad()
    def start_apart(self, speeds: Tensor, generator: torch.Generator | None) -> None:
        """Biases with which head h looks h + 1 tokens back: rotated by ``speeds`` [n/2] a place, they then are parallel."""
        phases = 2 * math.pi * torch.rand(self.heads, len(speeds), generator=generator)
        back = torch.outer(torch.arange(1, self.heads + 1), speeds)
        for part, angles in enumerate((phases - back, phases)):  # of queries, of keys
            biases = LOOK * torch.cat((angles.cos(), angles.sin()), -1)
            self.inputs.bias.view(3, self.heads, -1)[part].copy_(biases)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, cache: Cache | None) -> Tensor:
        batch, length, width = x.shape
        parts = self.inputs(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind()
        if turn:
            q, k = Rotate.apply(parts[:2], *turn).unbind()  # type: ignore[union-attr]
        if cache:
            k, v = cache.extend(self, "k", k), cache.extend(self, "v", v)
        if self.value_identity is None and self.query_identity is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            return self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        x = cache.extend(self, "x", x) if cache else x
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if self.query_identity is not None:
            same = x[:, -length:] @ x.transpose(-1, -2) / math.sqrt(width)
            scores = scores + self.query_identity[:, None, None] * same[:, None]
        shares = weights_of(scores)
        out = self.output((shares @ v).transpose(1, 2).reshape(batch, length, width))
        if self.value_identity is not None:
            out = out + torch.einsum("h,bhls->bls", self.value_identity, shares) @ x
        return out


class Block(nn.Module):
    """``h + attention(norm(h))``, then ``h + perceptron(norm(h))``."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = _norm(config)
        self.attention = Attention(config)
        self.hidden_norm = _norm(config)
        self.hidden = nn.Linear(config.width, config.hidden)
        self.output = nn.Linear(config.hidden, config.width)
        self.activation = {"relu": F.relu, "gelu": F.gelu}[config.activation]

    def forward(self, h: Tensor, turn: tuple[Tensor, Tensor] | None, cache: Cache | None) -> Tensor:
        h = h + self.attention(self.attention_norm(h), turn, cache)
        return h + self.output(self.activation(self.hidden(self.hidden_norm(h))))


class Lookup(nn.Module):
    """Single-head causal attention from norm(h) to norm(h): where in the context to look."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = _norm(config)
        self.inputs = nn.Linear(config.width, 2 * config.width, bias=False)

    def forward(self, h: Tensor, cache: Cache | None) -> Tensor:
        q, k = self.inputs(self.norm(h)).chunk(2, -1)
        if cache:
            k = cache.extend(self, "k", k)
        return weights_of(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]))


class Transformer(nn.Module):
    """The model. Matrices start normal with deviation 1/sqrt(3 fan-in), that of torch's own layers, those onto the residual
    stream with 1/sqrt(2 layers) of it; biases uniform within 1/sqrt(fan-in), as torch's; the embedding with 1/sqrt(n), and
    its rows times sqrt(n) enter the stream. Attention starts mimetic (Trockman and Kolter, "Mimetic initialization of
    self-attention layers", 2023): W_O = W_V^T, and after the first block W_K = W_Q, near multiples of the identity. In the
    first block, with rotary positions, each head starts with a look at one place before the token (as d'Ascoli et al.,
    "ConViT", 2021, do for images). Draws come from ``generator``.
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator | None) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.vocabulary, config.width))
        self.unembedding = None if config.tied else nn.Parameter(torch.empty_like(self.embedding))
        learned = config.positions == "learned"
        self.places = nn.Parameter(torch.empty(config.context, config.width)) if learned else None
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.copy = Lookup(config) if config.copy else None
        self.copy_gain = nn.Parameter(torch.ones(())) if config.copy else None
        self.pointer = Lookup(config) if config.pointer else None
        self.gate = nn.Linear(config.width, 1) if config.pointer else None
        self.norm = _norm(config)
        angles = torch.outer(torch.arange(config.context), _speeds(config))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self._start(generator)

    @torch.no_grad()
    def _start(self, generator: torch.Generator | None) -> None:
        # With biases of 0, and symbols whose rows have mean 0, attention by place alone would start without a gradient.
        for layer in self.modules():
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                edge = layer.in_features**-0.5
                layer.bias.uniform_(-edge, edge, generator=generator)
        for name, values in self.named_parameters():
            if values.dim() < 2:  # norms, identities and gains have their start
                continue
            rows = any(values is matrix for matrix in (self.embedding, self.unembedding))
            scale = self.start_scale if rows else (3 * values.shape[1]) ** -0.5
            if name.startswith("blocks") and name.endswith("output.weight"):
                scale *= (2 * self.config.layers) ** -0.5
            values.normal_(0, scale, generator=generator)
        for depth, block in enumerate(self.blocks):
            attention: Any = block.attention
            attention.output.weight.copy_(attention.inputs.weight.chunk(3)[2].T)
            if depth > 0:
                attention.start_alike()
            elif self.places is None:
                attention.start_apart(_speeds(self.config), generator)

    @property
    def start_scale(self) -> float:
        """Standard deviation of the entries with which rows of the embedding start."""
        return self.config.width**-0.5

    @property
    def rows(self) -> nn.Parameter:
        """The output matrix W [K, n]."""
        return self.embedding if self.unembedding is None else self.unembedding

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> tuple[Tensor, Tensor | None]:
        """Features x [B, L, n] of tokens [B, L], and the pointer's shares [B, L, S] where there is one.

        With a cache, tokens are those after the ones that it holds: all of a prompt first, then one at a time.
        """
        start = cache.length if cache else 0
        end = start + tokens.shape[1]
        rows = F.embedding(tokens, self.embedding) * math.sqrt(self.config.width)
        turn, h = None, rows
        if self.places is not None:
            h = h + self.places[start:end]
        else:
            turn = self.cos[start:end], self.sin[start:end]  # type: ignore[index]
        for block in self.blocks:
            h = block(h, turn, cache)
        if self.copy is not None and self.copy_gain is not None:
            context = cache.extend(self, "rows", rows) if cache else rows
            h = h + self.copy_gain * (self.copy(h, cache) @ context)
        if cache:
            cache.length = end
        return self.norm(h), self.pointer(h, cache) if self.pointer is not None else None

    def log_probabilities(self, x: Tensor, shares: Tensor | None, tokens: Tensor) -> Tensor:
        """``ln p`` [..., K] at features x [..., n]; with a pointer its shares [..., S] over tokens [..., S] are mixed in."""
        logits = (x @ self.rows.T).log_softmax(-1)
        if shares is None or self.gate is None:
            return logits
        pointed = torch.zeros_like(logits).scatter_add(-1, tokens, shares)
        gate = self.gate(x)
        return torch.logaddexp(
            F.logsigmoid(-gate) + logits, F.logsigmoid(gate) + pointed.clamp_min(1e-30).log()
        )


def _norm(config: ModelConfig) -> nn.Module:
    return nn.LayerNorm(config.width) if config.norm == "layer" else nn.RMSNorm(config.width)
