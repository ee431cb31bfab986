#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A torch module whose weights are int4: what an inference server would put in place of nn.Linear.

Needs torch for ROCm and a GPU. Tensors are passed by data_ptr(), work goes to torch's current stream, and nothing is
compiled after __init__, so forward() may be captured into a graph.
"""

import torch

import wavejit

_engine = None


def engine() -> wavejit.Engine:
    """One for the process: it holds the caches."""
    global _engine
    if _engine is None:
        _engine = wavejit.Engine("hip")
    return _engine


class Int4Linear(torch.nn.Module):
    """weights int32 [N, K/8], scales bf16 or fp16 [N, K/group], from wavejit.repack."""

    def __init__(self, weights: torch.Tensor, scales: torch.Tensor, group: int, largest_m: int = 8192):
        super().__init__()
        self.register_buffer("weights", weights)
        self.register_buffer("scales", scales)
        kind = wavejit.Type.bf16 if scales.dtype == torch.bfloat16 else wavejit.Type.f16
        self.n = weights.shape[0]
        problem = wavejit.Problem(n=self.n, k=weights.shape[1] * 8, group=group, activation=kind)
        self.plan = engine().prepare(problem, 1, largest_m)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output = torch.empty((*x.shape[:-1], self.n), dtype=x.dtype, device=x.device)
        self.plan.launch(activations=x, weights=self.weights, scales=self.scales, output=output,
                         stream=torch.cuda.current_stream().cuda_stream)
        return output


def main() -> None:
    n, k, group = 2560, 2560, 32
    weights = torch.randint(-2**31, 2**31 - 1, (n, k // 8), dtype=torch.int64, device="cuda").to(torch.int32)
    scales = torch.full((n, k // group), 1 / 128, dtype=torch.bfloat16, device="cuda")
    layer = Int4Linear(weights, scales, group)
    x = torch.randn(4, 331, k, dtype=torch.bfloat16, device="cuda")
    print(layer(x).shape)


if __name__ == "__main__":
    main()
