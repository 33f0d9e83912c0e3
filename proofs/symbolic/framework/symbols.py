"""The vocabulary of the derivations: one gradient step, on its own or as step t of a run.

Sizes are symbols: K >= 3 labels, n coordinates, N examples. Labels 1 and 2 are the unseen pair u, v, with rows
`w_u[j]`, `w_v[j]`; the other rows are `w[k, j]`, k = 3..K, and every target `y[i]` is one of them.
"""

from dataclasses import dataclass

from sympy import IndexedBase, Sum, Symbol, symbols

from .types import Expr

K, n, N = symbols("K n N", integer=True, positive=True)
i, l, j, m, k, t = symbols("i l j m k t", integer=True)  # noqa: E741 - l is the second example

RANGES: dict[Symbol, tuple[Expr, Expr]] = {i: (1, N), l: (1, N), j: (1, n), m: (1, n), k: (3, K)}

# How names that are no LaTeX look in print.
LATEX = {
    "eta": r"\eta",
    "lam": r"\lambda",
    "w_u": "w^{u}",
    "w_v": "w^{v}",
    "next_u": "w^{u+}",
    "next_v": "w^{v+}",
    "grad_u": "g^{u}",
    "grad_v": "g^{v}",
    "z_u": "z^{u}",
    "z_v": "z^{v}",
    "p_u": "p^{u}",
    "p_v": "p^{v}",
    "p_y": "p^{y}",
    "Dnext": "D^{+}",
    "MD": "(MD)",
    "normMD": "|MD|",
    "norm": "|D|",
    "nextnorm": "|D^{+}|",
    "xnorm": "|x|",
    "tau": r"\operatorname{tr}M",
    "pbar": r"\bar p",
    "loss": r"\ell",
    "quad": r"(D\cdot MD)",
    "left": r"|D^{+}_{*}|",
    "left_sq": r"|D^{+}_{*}|^{(2)}",
    "right": r"R_{*}",
    "Dstar": r"D^{+}_{*}",
    "Lstar": "L_{*}",
    "Zstar": "Z_{*}",
    "q_u": "q^{u}",
    "q_v": "q^{v}",
    "s_": "s",
    "temp": r"\tau",
    "scale": r"\mathrm{b}",
    "d_plain": "d^{1}",
    "mask": r"\mathrm{m}",
    "Z_m": r"Z^{\mathrm{m}}",
    "share": r"\mathrm{s}",
    "clip": "C",
    "total": "|G|",
    "g_u": "g^{u}",
    "g_v": "g^{v}",
    "low_u": r"\underline{g}^{u}",
    "low_v": r"\underline{g}^{v}",
    "cut_u": r"\tilde g^{u}",
    "cut_v": r"\tilde g^{v}",
    "len_u": "|g^{u}|",
    "len_v": "|g^{v}|",
    "top_u": r"\max(C,|g^{u}|)",
    "top_v": r"\max(C,|g^{v}|)",
    "beta_u": r"\beta^{u}",
    "beta_v": r"\beta^{v}",
    "beta_next_u": r"\beta^{u+}",
    "beta_next_v": r"\beta^{v+}",
    "grad_beta_u": r"\gamma^{u}",
    "grad_beta_v": r"\gamma^{v}",
    "Bnext": r"(\beta^{u+}-\beta^{v+})",
    "cap": r"\mathrm{cap}",
    "phi_u": r"\phi^{u}",
    "phi_v": r"\phi^{v}",
    "slope_u": r"\phi'^{u}",
    "slope_v": r"\phi'^{v}",
    "tau_cap": r"\tau_{\kappa}",
    "fstar": "f_{*}",
    "taustar": r"\tau_{*}",
    "pu_star": "p^{u}_{*}",
    "pv_star": "p^{v}_{*}",
    "lowu_2": r"\underline{g}^{u}_{2*}",
    "lowv_2": r"\underline{g}^{v}_{2*}",
    "cutu_1": r"\tilde g^{u}_{1*}",
    "cutu_2": r"\tilde g^{u}_{2*}",
    "cutv_1": r"\tilde g^{v}_{1*}",
    "cutv_2": r"\tilde g^{v}_{2*}",
    "lenu_star": "|g^{u}_{*}|",
    "lenv_star": "|g^{v}_{*}|",
    "topu_star": r"\max(C,|g^{u}|)_{*}",
    "topv_star": r"\max(C,|g^{v}|)_{*}",
    "Dstar_1": "D^{+}_{1*}",
    "Dstar_2": "D^{+}_{2*}",
    "CE": r"\mathrm{CE}",
    "far": "c_T",
    "slope": r"\sigma",
    "normg": "|g|",
}


@dataclass(frozen=True)
class Step:
    """Names of one step; with `time` each name carries it as its first index."""

    time: Expr | None = None

    def name(self, name: str, *indices: Expr, **assumptions: bool) -> Expr:
        """The symbol `name`, real unless said otherwise, with these indices."""
        indices = indices if self.time is None else (self.time, *indices)
        assumptions = assumptions or {"real": True}
        if not indices:
            return Symbol(name, **assumptions)
        return IndexedBase(name, **assumptions)[indices]  # pyright: ignore[reportArgumentType]

    def w_u(self, j: Expr) -> Expr:
        """Row u."""
        return self.name("w_u", j)

    def w_v(self, j: Expr) -> Expr:
        """Row v."""
        return self.name("w_v", j)

    def w(self, k: Expr, j: Expr) -> Expr:
        """Row k >= 3."""
        return self.name("w", k, j)

    def x(self, i: Expr, j: Expr) -> Expr:
        """Feature i."""
        return self.name("x", i, j)

    def y(self, i: Expr) -> Expr:
        """Target of example i, one of 3..K."""
        return self.name("y", i, integer=True)

    def a(self, i: Expr) -> Expr:
        """Weight of example i."""
        return self.name("a", i)

    @property
    def eta(self) -> Expr:
        """Step size."""
        return self.name("eta")

    @property
    def lam(self) -> Expr:
        """Weight decay."""
        return self.name("lam")

    @property
    def T(self) -> Expr:
        """Bound on tr M."""
        return self.name("T")

    @property
    def r(self) -> Expr:
        """Bound on |x_i|."""
        return self.name("r")

    @property
    def pbar(self) -> Expr:
        """Bound on the logarithmic means L_i."""
        return self.name("pbar")

    def over_j(self, body: Expr) -> Expr:
        """Sum over coordinates j."""
        return Sum(body, (j, 1, n))

    def over_i(self, body: Expr) -> Expr:
        """Sum over examples i."""
        return Sum(body, (i, 1, N))

    def over_k(self, body: Expr) -> Expr:
        """Sum over the labels k >= 3."""
        return Sum(body, (k, 3, K))


def base_name(node: Expr) -> str:
    """The name of a symbol or of the base of an indexed symbol."""
    base = getattr(node, "base", None)
    return node.name if base is None else base.label.name
