"""Writes golden.json: reference values from SciPy and statsmodels for tests/suite/golden.rs.

Made with SciPy 1.17.1, NumPy 2.4.6, statsmodels 0.15.0. From this folder:

    python make.py > golden.json
"""

import itertools
import json
import sys

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

ALPHA = 0.05
BOUND = np.log(1.03)


def samples():
    """Log ratios: normal, shifted, heavy-tailed, skewed, tied, tiny; 6 to 40 blocks."""
    rng = np.random.default_rng(20250)
    yield rng.normal(0.0, 0.02, 6)
    yield rng.normal(0.05, 0.02, 8)
    yield rng.normal(0.0, 0.005, 10)
    yield 0.02 + 0.02 * rng.standard_t(3, 12)
    yield 0.03 * (rng.exponential(1.0, 15) - 0.7)
    yield np.round(rng.normal(0.01, 0.03, 16), 2)
    yield rng.normal(0.04, 0.01, 20)
    yield rng.normal(0.003, 0.03, 40)


def walsh(d):
    return np.sort([(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))])


def signed_rank_cumulative(n):
    """Exact P(W <= w) from SciPy's own signed-rank test: its p value for each possible sum."""
    out = []
    for w in range(n * (n + 1) // 2 + 1):
        # Values 1..n with the smallest possible set of positive ranks that adds to w.
        left, signs = w, []
        for rank in range(n, 0, -1):
            signs.append(rank if rank <= left else -rank)
            left -= rank if rank <= left else 0
        out.append(stats.wilcoxon(signs, alternative="less", method="exact").pvalue)
    return out


def rank_limits(d, confidence):
    """Walsh averages cut at the exact quantile of the signed-rank distribution."""
    cumulative = signed_rank_cumulative(len(d))
    k = sum(1 for p in cumulative if p <= (1 - confidence) / 2 + 1e-12)
    if k == 0:
        return None
    averages = walsh(d)
    limits = [averages[k - 1], averages[-k]]
    return {"limits": limits, "confidence": 1 - 2 * cumulative[k - 1]}


def sign_flip(d):
    """Exact two-sided sign-flip test; SciPy enumerates all 2^n."""
    if len(d) > 16:
        return None
    result = stats.permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    return result.pvalue


def case(d):
    t = stats.ttest_1samp(d, 0.0)
    lower = stats.ttest_1samp(d, -BOUND, alternative="greater").pvalue
    upper = stats.ttest_1samp(d, BOUND, alternative="less").pvalue
    return {
        "d": list(d),
        "mean": np.mean(d),
        "sd": np.std(d, ddof=1),
        "ci95": list(t.confidence_interval(1 - ALPHA)),
        "ci90": list(t.confidence_interval(1 - 2 * ALPHA)),
        "tost_p": max(lower, upper),
        "hodges_lehmann": np.median(walsh(d)),
        "rank95": rank_limits(d, 1 - ALPHA),
        "rank90": rank_limits(d, 1 - 2 * ALPHA),
        "sign_flip_p": sign_flip(d),
    }


def paired():
    """The same through the two-sample functions, to tie the sign of a ratio down."""
    rng = np.random.default_rng(7)
    a = 1000 * np.exp(rng.normal(0.0, 0.1, 12))
    b = a * np.exp(rng.normal(0.05, 0.03, 12))
    t = stats.ttest_rel(np.log(b), np.log(a))
    return {
        "a": list(a),
        "b": list(b),
        "ratio": stats.gmean(b) / stats.gmean(a),
        "ci95": list(np.exp(t.confidence_interval(0.95))),
    }


def kendall():
    """Rank correlation by the asymptotic tau: with time, and with ties in both series."""
    rng = np.random.default_rng(11)
    series = [
        (np.arange(n), rng.normal(0.0, 1.0, n) + slope * np.arange(n))
        for n, slope in [(12, 0.0), (30, 0.05), (60, 0.02)]
    ]
    series.append((np.round(rng.normal(0, 2, 25)), np.round(rng.normal(0, 2, 25))))
    out = []
    for x, y in series:
        pairs = itertools.combinations(range(len(x)), 2)
        score = sum(np.sign(x[j] - x[i]) * np.sign(y[j] - y[i]) for i, j in pairs)
        p = stats.kendalltau(x, y, method="asymptotic").pvalue
        x, y = [float(v) for v in x], [float(v) for v in y]
        out.append({"x": x, "y": y, "score": int(score), "p_without_continuity": p})
    return out


def runs_for_difference(sd):
    """Blocks for 80 % power at a true effect of the bound, by the noncentral t distribution."""
    return TTestPower().solve_power(effect_size=BOUND / sd, alpha=ALPHA, power=0.8)


def runs_for_equivalence(sd):
    """Fewest blocks for 80 % power of two one-sided tests without a difference, exact.

    Given the sample deviation s, equivalence is found if |mean| < BOUND - t s / sqrt(n); averaged
    over the quantiles of s.
    """
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    n = 6
    while True:
        s = sd * np.sqrt(stats.chi2.ppf(quantiles, n - 1) / (n - 1))
        reach = np.maximum(BOUND - stats.t.ppf(1 - ALPHA, n - 1) * s / np.sqrt(n), 0)
        if np.mean(2 * stats.norm.cdf(reach * np.sqrt(n) / sd) - 1) >= 0.8:
            return n
        n += 1


def main():
    dfs, probabilities = [1, 2, 3.7, 5, 9, 19, 39, 200, 1e5], [0.9, 0.95, 0.975, 0.995, 0.9999999]
    ps = [0.001, 0.009, 0.012, 0.04, 0.04, 0.3, 0.8]
    json.dump(
        {
            "student_quantile": [[p, df, stats.t.ppf(p, df)] for df in dfs for p in probabilities],
            "student_tail": [
                [t, df, stats.t.sf(t, df)] for df in dfs for t in [-3, 0, 0.5, 2, 10, 50]
            ],
            "normal_quantile": [
                [p, stats.norm.ppf(p)] for p in [1e-12, 0.001, 0.1, 0.5, 0.6, 0.975, 0.9999]
            ],
            "signed_rank_cumulative": {str(n): signed_rank_cumulative(n) for n in [5, 6, 10]},
            "cases": [case(d) for d in samples()],
            "paired": paired(),
            "benjamini_hochberg": [ps, list(stats.false_discovery_control(ps))],
            "holm": [ps, list(multipletests(ps, method="holm")[1])],
            "difference_runs": [[sd, runs_for_difference(sd)] for sd in [0.02, 0.0424, 0.1]],
            "equivalence_runs": [[sd, runs_for_equivalence(sd)] for sd in [0.02, 0.0424, 0.1]],
            "kendall": kendall(),
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
