"""Compare the rows of real models, unmodified and in training mode, with autograd's.

    python scripts/models.py                all of them (make models); --save stores the table
    python scripts/models.py --only BERT    one

The models, of transformers, torchvision, timm and peft, are small, with random weights and their
default dropout; batch normalisation is replaced by GroupNorm or in evaluation mode. Row i is
compared with torch.autograd.grad(losses[i], parameters) on the graph of the recorded pass. A model
is *proved* if all rows come from rules, *replayed* if some are computed sample by sample (from the
nodes that are named), *refused* or *wrong*.
"""

import argparse
import datetime
import json
import os
import sys
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is downloaded: the weights are random

import torch
import torch.nn.functional as F
from torch import nn

import persample as ps

STORED = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "models.json"
PACKAGES = ("torch", "transformers", "torchvision", "timm", "peft")
RESULTS = ("proved", "replayed", "refused", "wrong")
BATCHES = ((4, 7), (3, 5), (6, 6))  # (samples, tokens of each); the last has as many of both
WORDS = 50
TOLERANCE = 1e-3  # float32, relative to the norm of a sample's gradient


# Functions (model, number of samples, tokens per sample) -> losses (samples,) of random inputs.
def tokens(size, length):
    return torch.randint(1, WORDS, (size, length))


def losses_of_texts(logits, labels):
    """Return the mean next-token loss of each text; labels of -100 are ignored."""
    each = F.cross_entropy(logits[:, :-1].mT, labels[:, 1:], reduction="none", ignore_index=-100)
    return each.sum(1) / (labels[:, 1:] != -100).sum(1)


def of_language(model, size, length):
    x = tokens(size, length)
    return losses_of_texts(model(x).logits, x)


def of_padded_texts(model, size, length):
    """Return the losses of random padded texts; the prompt of the first one is ignored.

    Assert that the loss of transformers is the mean over the batch's tokens that are not ignored.
    """
    lengths = torch.tensor([length, 3, length - 1, 4, 2, length])[:size]
    is_there = torch.arange(length) < lengths[:, None]
    ids = tokens(size, length) * is_there
    labels = ids.masked_fill(~is_there, -100)
    labels[0, :2] = -100
    out = model(ids, attention_mask=is_there.long(), labels=labels)
    losses, counts = losses_of_texts(out.logits, labels), (labels[:, 1:] != -100).sum(1)
    torch.testing.assert_close(out.loss, (losses * counts).sum() / counts.sum())
    return losses


def of_masked_language(model, size, length):
    x, counts = tokens(size, length), torch.rand(size, length) < 0.5
    counts[:, 0] = True  # at least one token of each sample
    each = F.cross_entropy(model(x).logits.mT, tokens(size, length), reduction="none")
    return (each * counts).sum(1) / counts.sum(1)


def of_classes(*shape):
    """Return a function computing a classifier's cross-entropies of random inputs of ``shape``."""

    def ask(model, size, length):
        out = model(torch.randn(size, *shape))
        logits = out if isinstance(out, torch.Tensor) else out[-1]
        classes = torch.randint(0, logits.shape[1], (size,))
        return F.cross_entropy(logits, classes, reduction="none")

    return ask


def of_pairs(model, size, length, **source):
    y = tokens(size, length - 2)
    source = source or {"input_ids": tokens(size, length)}
    logits = model(decoder_input_ids=y, **source).logits
    return F.cross_entropy(logits.mT, tokens(*y.shape), reduction="none").mean(1)


def of_speech(model, size, length):
    return of_pairs(model, size, length, input_features=torch.randn(size, 8, 20))


# Options of the models, which are as small as they can be.
SIZES = {
    "vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 32, "max_position_embeddings": 16,
}  # fmt: skip
CAUSAL = {"num_key_value_heads": 1, "head_dim": 8, "pad_token_id": 0}
PAIR = {
    "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32,
    "decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32,
}  # fmt: skip
SPEECH = {
    "num_mel_bins": 8, "max_source_positions": 10, "max_target_positions": 16, "pad_token_id": 0,
    "dropout": 0.1,
}  # fmt: skip
SOUND = {
    "conv_dim": (8, 8), "conv_stride": (4, 2), "conv_kernel": (8, 3), "num_feat_extract_layers": 2,
    "mask_time_length": 2,
}  # fmt: skip


def models():
    """Return {name: (function that makes the model, function that computes its losses)}."""
    # Beside a PyTorch for another CUDA the operators of torchvision are missing; none is used.
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import peft
    import transformers as t
    from timm.models import beit, cait, mlp_mixer
    from torchvision import models as v

    t.logging.set_verbosity_error()

    def made(kind, **options):
        model = getattr(t, kind)
        return lambda: model(model.config_class(**(SIZES | options)))

    def causal(kind, **options):
        return made(f"{kind}ForCausalLM", **(CAUSAL | options))

    def masked(kind, **options):
        return made(f"{kind}ForMaskedLM", **options), of_masked_language

    def adapted(make, **options):
        """Return a function that makes the model, frozen, with trainable LoRA adapters, rank 2."""
        options |= {"r": 2, "lora_dropout": 0.1, "init_lora_weights": False}
        return lambda: peft.get_peft_model(make(), peft.LoraConfig(**options))

    gpt2, llama = made("GPT2LMHeadModel"), causal("Llama")
    lora = adapted(gpt2, target_modules=["c_attn"], fan_in_fan_out=True)
    dora = adapted(llama, target_modules=["q_proj", "v_proj"], use_dora=True)
    t5 = made("T5ForConditionalGeneration", d_kv=8, d_ff=32)
    resnet = partial(v.resnet18, num_classes=10)
    mobile = partial(v.mobilenet_v3_small, num_classes=10, norm_layer=partial(nn.GroupNorm, 1))
    blocks = [v.convnext.CNBlockConfig(8, 16, 1), v.convnext.CNBlockConfig(16, None, 1)]
    windows = [4, 4], 8, [2, 2], [2, 2], [2, 2]
    small = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "drop_path_rate": 0.1}
    deep = small | {"depth": 2, "num_heads": 2}
    patches = {"image_size": 16, "patch_size": 8}
    of_small, of_images = of_classes(3, 16, 16), of_classes(3, 32, 32)
    return {
        "ResNet-18, GroupNorm": (partial(resnet, norm_layer=partial(nn.GroupNorm, 2)), of_images),
        "ResNet-18, BatchNorm held": (resnet, of_images),
        "MobileNetV3, GroupNorm": (mobile, of_images),
        "ViT of torchvision": (partial(v.VisionTransformer, 16, 8, 2, 2, 16, 32, 0.1), of_small),
        "Swin of torchvision": (partial(v.SwinTransformer, *windows), of_images),
        "ConvNeXt": (partial(v.ConvNeXt, blocks, 0.2), of_images),
        "SqueezeNet": (partial(v.squeezenet1_1, num_classes=10), of_classes(3, 64, 64)),
        "Mixer": (partial(mlp_mixer.MlpMixer, num_blocks=2, **small), of_images),
        "CaiT": (partial(cait.Cait, **deep), of_images),
        "BEiT": (partial(beit.Beit, use_rel_pos_bias=True, **deep), of_images),
        "GPT-2": (gpt2, of_language),
        "GPT-2, padded texts": (gpt2, of_padded_texts),
        "GPT-2, LoRA of peft": (lora, of_language),
        "Llama": (llama, of_language),
        "Llama, padded texts": (llama, of_padded_texts),
        "Llama, DoRA of peft": (dora, of_language),
        "Mistral": (causal("Mistral"), of_language),
        "Qwen2": (causal("Qwen2"), of_language),
        "Gemma2": (causal("Gemma2"), of_language),
        "Mixtral": (causal("Mixtral", num_local_experts=3), of_language),
        "Mamba": (causal("Mamba", state_size=4), of_language),
        "BERT": masked("Bert"),
        "RoBERTa": masked("Roberta"),
        "ALBERT": masked("Albert", embedding_size=8),
        "ELECTRA": masked("Electra", embedding_size=8),
        "DistilBERT": masked("DistilBert", hidden_dim=32),
        "DeBERTa-v2": masked("DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"]),
        "T5": (t5, of_pairs),
        "T5, as many tokens as samples": (t5, lambda model, size, _: of_pairs(model, size, size)),
        "BART": (made("BartForConditionalGeneration", **PAIR), of_pairs),
        "Whisper": (made("WhisperForConditionalGeneration", **PAIR, **SPEECH), of_speech),
        "Wav2Vec2": (made("Wav2Vec2ForSequenceClassification", **SOUND), of_classes(200)),
        "ViT": (made("ViTForImageClassification", **patches), of_small),
        "CLIP, its images": (made("CLIPVisionModel", **patches), of_small),
    }


# What is said of a model.
def verdict(name, make, ask):
    """Test a model; return its row of the table.

    The row has the model's name, its number of parameters, the result, and the largest relative
    error and the replayed nodes, or the message of the refusal.
    """
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().train()
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        row = {"model": name, "parameters": sum(p.numel() for p in model.parameters())}
        errors, kinds = [], []
        try:
            for size, length in BATCHES:
                with ps.record(model) as record:
                    losses = ask(model, size, length)
                    record.backward(losses, retain_graph=True)
                errors.append(largest_error(model, record, losses))
                kinds += record.forms().values()
        except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:
            if not str(error).startswith(("record: ", "backward: ")):
                raise
            return row | {"result": "refused", "text": f"{type(error).__name__}: {error}"}
    worst = float(torch.tensor(errors).max())  # NaN if one is
    starts = [use.partition(" sample from ")[2] for use in " + ".join(kinds).split(" + ")]
    nodes = sorted(set(", ".join(starts).split(", ")) - {""})
    result = "wrong" if not worst <= TOLERANCE else "replayed" if nodes else "proved"
    return row | {"result": result, "error": worst, "nodes": nodes}


def largest_error(model, record, losses):
    """Return the largest relative error of the rows, norms and clipped sum of a record."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    alone = [
        torch.autograd.grad(
            loss, list(parameters.values()), retain_graph=True, materialize_grads=True
        )
        for loss in losses
    ]
    expected = {n: torch.stack(g).double() for n, *g in zip(parameters, *alone, strict=True)}
    norms = torch.stack([row_norms(g) for g in expected.values()]).norm(dim=0)
    if len(norms.round(decimals=9).unique()) < len(norms):
        raise AssertionError("the samples are not distinct")
    max_norm = float(norms.median())
    weights = (max_norm / norms).clamp(max=1)
    rows, clipped = record.rows(), record.clipped_sum(max_norm)
    errors = [(record.squared_norms() / norms**2 - 1).abs()]
    for name, g in expected.items():
        errors.append(row_norms(rows[name] - g) / row_norms(g).maximum(1e-2 * norms))
        total = torch.tensordot(weights, g, 1)
        errors.append((clipped[name] - total).norm()[None] / (len(norms) * max_norm))
    return float(torch.cat(errors).max())


def row_norms(rows):
    return rows.flatten(1).norm(dim=1)


def main() -> int:
    """Test the models and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="the name of one model")
    parser.add_argument("--save", action="store_true", help="keep the table of all models")
    options = parser.parse_args()
    rows = []
    for name, (make, ask) in models().items():
        if options.only in (None, name):
            rows.append(row := verdict(name, make, ask))
            what = row.get("text") or f"{row['error']:.1e} {', '.join(row['nodes'])}"
            print(f"{name:30} {row['parameters']:>11,}  {row['result']:9}{what}", flush=True)
    counts = {result: sum(row["result"] == result for row in rows) for result in RESULTS}
    print(", ".join(f"{n} {result}" for result, n in counts.items()))
    if options.save and options.only is None:
        table = {
            "date": datetime.date.today().isoformat(),
            "command": "make models SAVE=yes",
            "versions": {package: version(package).split("+")[0] for package in PACKAGES},
            "tolerance": TOLERANCE,
            "batches": BATCHES,
            "models": rows,
        }
        STORED.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
