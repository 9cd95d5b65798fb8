"""Train a small transformer on rewards with three loss divisors, and measure its answers' lengths.

    python benchmarks/token_divisors.py --save

The prompt is two digits. An answer is one digit, then any number of "um", then END, cut off after
eight tokens. The reward is 1 if the digit is the sum modulo 10, else 0, whatever follows. After
its digit the model reads a note, which is not counted: "pass" or "fail", or in the second task one
word in both cases. So the model is told whether its digit is right in the first task alone.
- Model: one block, width 32, two heads, LayerNorm before each part.
- Start, for each seed: 300 steps of Adam (3e-3) on 256 drawn texts. In them half of the digits are
  right, the other half any of the nine others, and an um follows with probability 0.6.
- Then 100 times: 16 prompts, eight answers each are drawn, and two steps of Adam (1e-3) go through
  all of them; the second is off-policy. The ratio of each token is clipped at 0.2. Credit: reward
  minus the mean of the group.
Stored for each seed: share of right digits, mean tokens of a right and of a wrong answer, before
and after. All three are exact for the model: its prompts, digits and lengths are listed.
"""

import datetime

import common
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

RESULT = common.RESULTS / "token_divisors.json"
SEEDS, STEPS, PROMPTS, G, LIMIT, WIDTH = range(8), 100, 16, 8, 8, 32
UM, END, PASS, FAIL, NOTHING = 10, 11, 12, 13, 14  # after the ten digits
SUMS = torch.cartesian_prod(torch.arange(10), torch.arange(10))  # (100, 2)
CHOICE = torch.tensor([1, *range(3, LIMIT + 2)])  # the places where the model chooses a token


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(15, WIDTH), nn.Embedding(LIMIT + 3, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        up, down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.mlp, self.head = nn.Sequential(up, nn.GELU(), down), nn.Linear(WIDTH, 12)

    def forward(self, texts):  # (B, T) -> (B, T, 12)
        place, digit = torch.arange(texts.shape[1]), torch.arange(12) < 10
        h = self.token(texts) + self.place(place)
        q, k, v = self.qkv(self.norms[0](h)).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.out(heads.transpose(1, 2).flatten(2))
        logits = self.head(self.norms[2](h + self.mlp(self.norms[1](h))))
        return logits.masked_fill((place < 2)[:, None] != digit, -torch.inf)  # one digit, first


def right(prompts, digits):
    return digits == prompts.sum(1) % 10


def text_of(prompts, answers, told):
    note = torch.where(right(prompts, answers[:, 0]), PASS, FAIL) if told else NOTHING
    note = note * torch.ones(len(prompts), dtype=int)
    return torch.cat([prompts, answers[:, :1], note[:, None], answers[:, 1:]], 1)


def log_probs(model, prompts, answers, told):
    """Return the log-probability of each token of the answers, (B, LIMIT)."""
    logits = model(text_of(prompts, answers, told))[:, CHOICE]
    return -cross_entropy(logits.mT, answers, reduction="none")


def written(model, prompts, told, draw):
    answers = torch.zeros(len(prompts), 0, dtype=int)
    for _ in range(LIMIT):
        texts = text_of(prompts, answers, told) if answers.shape[1] else prompts
        new = torch.multinomial(model(texts)[:, -1].softmax(1), 1, generator=draw)
        answers = torch.cat([answers, new], 1)
    return answers


def mask_of(answers):
    """Return a float mask, (B, LIMIT): 1 up to and including the first END, then 0."""
    end = (answers == END).int()
    return (end.cumsum(1) - end == 0).float()


def listed(model, told):
    """Return [share of right digits, mean tokens of right answers, and of wrong answers]."""
    prompts, digits = SUMS.repeat_interleave(10, 0), torch.arange(10).repeat(100)
    answers = torch.full((1000, LIMIT), UM)
    answers[:, 0] = digits
    p = log_probs(model, prompts, answers, told).exp()
    tokens = 2 + p[:, 1:-1].cumprod(1).sum(1)  # the third is written after one um, and so on
    good = right(prompts, digits).float()
    means = [(p[:, 0] * of * tokens).sum() / (p[:, 0] * of).sum() for of in (good, 1 - good)]
    return [(p[:, 0] @ good).item() / 100, *(mean.item() for mean in means)]


def started(seed, told):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    model = Transformer()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(300):
        prompts = SUMS[rng.integers(100, size=256)]
        off = torch.tensor(rng.integers(1, 10, size=256) * (rng.random(256) < 0.5))
        more = torch.tensor((rng.random((256, LIMIT - 1)) < 0.6).cumprod(1))
        answers = torch.cat([((prompts.sum(1) + off) % 10)[:, None], END - more], 1)
        optimizer.zero_grad()
        (-log_probs(model, prompts, answers, told) * mask_of(answers)).sum().div(256).backward()
        optimizer.step()
    return model


LOSSES = {
    "constant": lambda each, mask: each.sum() / (len(each) * LIMIT),
    "all": lambda each, mask: each.sum() / mask.sum(),
    "own": lambda each, mask: (each.sum(1) / mask.sum(1)).mean(),
}


def train(model, told, loss_of, seed):
    optimizer, rng = torch.optim.Adam(model.parameters(), 1e-3), np.random.default_rng([seed, 1])
    draw = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        prompts = SUMS[rng.integers(100, size=PROMPTS)].repeat_interleave(G, 0)
        with torch.no_grad():
            answers = written(model, prompts, told, draw)
            old = log_probs(model, prompts, answers, told)
        reward = right(prompts, answers[:, 0]).float().view(PROMPTS, G)
        credit = (reward - reward.mean(1, keepdim=True)).view(-1, 1)
        for _ in range(2):
            ratio = (log_probs(model, prompts, answers, told) - old).exp()
            each = -torch.min(ratio * credit, ratio.clamp(0.8, 1.2) * credit) * mask_of(answers)
            optimizer.zero_grad()
            loss_of(each, mask_of(answers)).backward()
            optimizer.step()


def main():
    parser = common.parser(__doc__)
    options, runs = parser.parse_args(), {}
    for task, told in (("told", True), ("not told", False)):
        found = {name: [] for name in ("before", *LOSSES)}
        for seed in SEEDS:
            first = started(seed, told)
            for name in found:
                model = Transformer()
                model.load_state_dict(first.state_dict())
                if name in LOSSES:
                    train(model, told, LOSSES[name], seed)
                with torch.no_grad():
                    found[name].append(listed(model, told))
                print(task, seed, name, np.round(found[name][-1], 2), flush=True)
        runs[task] = {name: np.round(values, 3).tolist() for name, values in found.items()}
    if options.save:
        stored = {"what": "for each seed: share right, tokens of right, tokens of wrong answers",
                  "date": datetime.date.today().isoformat(), "seeds": len(SEEDS),
                  "torch": torch.__version__.partition("+")[0], "runs": runs}  # fmt: skip
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
