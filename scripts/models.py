"""Real models as they ship, in training mode: per-sample gradients against autograd, loss by loss.

    python scripts/models.py                all of them (make models)
    python scripts/models.py --only BERT    one

The models are those of transformers, torchvision and timm, small ones with random weights and
their default dropout, two of them with adapters of peft. Row i is compared with
torch.autograd.grad(losses[i], parameters) on the graph of the recorded pass, so with the same
dropout. Layers that normalise over the batch are replaced by GroupNorm, or in evaluation mode,
since no sample has a gradient of its own there.
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
B, WORDS = 4, 50
TOLERANCE = 1e-3  # float32, relative to the norm of a sample's gradient


def tokens(length=7, size=B):
    return torch.randint(1, WORDS, (size, length))


def images(size=32):
    return torch.randn(B, 3, size, size)


# How a model is asked: each returns losses, (B,), from random inputs.
def of_language(model, length=7):
    """The next token from those before, averaged over the sample's own tokens."""
    x = tokens(length)
    logits = model(x).logits[:, :-1]
    return F.cross_entropy(logits.mT, x[:, 1:], reduction="none").mean(1)


def losses_of_texts(logits, labels):
    """Return the mean of each text over its own next tokens; labels are -100 where none counts."""
    each = F.cross_entropy(logits[:, :-1].mT, labels[:, 1:], reduction="none", ignore_index=-100)
    return each.sum(1) / (labels[:, 1:] != -100).sum(1)


def of_padded_texts(model, lengths=(7, 3, 5, 4)):
    """Padded texts of several lengths; the first begins with a prompt, which does not count."""
    counts = torch.arange(7) < torch.tensor(lengths)[:, None]
    ids = tokens() * counts
    labels = ids.masked_fill(~counts, -100)
    labels[0, :2] = -100
    return losses_of_texts(model(ids, attention_mask=counts.long()).logits, labels)


def check_what_transformers_averages():
    """Raise unless the loss of a padded batch is the mean over all tokens that count."""
    torch.manual_seed(0)
    model, _ = _of_transformers()["Llama"]()
    ids = tokens()
    labels = ids.masked_fill(torch.arange(7) >= torch.tensor((7, 3, 5, 4))[:, None], -100)
    with torch.no_grad():
        out = model(ids, labels=labels)
    counts = (labels[:, 1:] != -100).sum(1)
    own = losses_of_texts(out.logits, labels)
    torch.testing.assert_close(out.loss, (own * counts).sum() / counts.sum())


def of_masked_language(model):
    x, counts = tokens(), torch.rand(B, 7) < 0.5
    counts[:, 0] = True  # at least one token of each sample
    each = F.cross_entropy(model(x).logits.mT, tokens(), reduction="none")
    return (each * counts).sum(1) / counts.sum(1)


def of_classes(model, x):
    out = model(x)
    logits = getattr(out, "logits", out)
    return F.cross_entropy(logits, torch.randint(0, logits.shape[1], (B,)), reduction="none")


def of_sequence_pair(model, **options):
    y = tokens(5)
    logits = model(decoder_input_ids=y, **options).logits
    return F.cross_entropy(logits.mT, tokens(5), reduction="none").mean(1)


def without_batch_norm(model):
    """Put GroupNorm in place of every BatchNorm2d."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.GroupNorm(1, child.num_features))
    return model


def with_batch_norm_held(model):
    """Set training mode, and evaluation mode for batch normalisation alone."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.eval()
    return model


# The models: name -> function that returns (model, losses of it).
TEXT = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 16,
}
CAUSAL = TEXT | {"num_key_value_heads": 1, "head_dim": 8, "pad_token_id": 0}


def _of_transformers():
    import transformers as t

    def causal(kind, **options):
        config = getattr(t, f"{kind}Config")(**(CAUSAL | options))
        return getattr(t, f"{kind}ForCausalLM")(config), of_language

    def masked(kind, **options):
        config = getattr(t, f"{kind}Config")(**(TEXT | options))
        return getattr(t, f"{kind}ForMaskedLM")(config), of_masked_language

    def gpt2():
        config = t.GPT2Config(vocab_size=WORDS, n_positions=16, n_embd=16, n_layer=2, n_head=2)
        return t.GPT2LMHeadModel(config), of_language

    def distilbert():
        config = t.DistilBertConfig(
            vocab_size=WORDS, max_position_embeddings=16, n_layers=2, n_heads=2, dim=16,
            hidden_dim=32,
        )  # fmt: skip
        return t.DistilBertForMaskedLM(config), of_masked_language

    def t5(length=7):
        config = t.T5Config(
            vocab_size=WORDS, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
            decoder_start_token_id=0,
        )  # fmt: skip
        model = t.T5ForConditionalGeneration(config)
        return model, lambda m: of_sequence_pair(m, input_ids=tokens(length))

    def bart():
        config = t.BartConfig(
            vocab_size=WORDS, max_position_embeddings=16, d_model=16, encoder_layers=1,
            decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=32, decoder_ffn_dim=32,
        )  # fmt: skip
        model = t.BartForConditionalGeneration(config)
        return model, lambda m: of_sequence_pair(m, input_ids=tokens())

    def whisper():
        config = t.WhisperConfig(
            vocab_size=WORDS, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
            decoder_ffn_dim=32, max_source_positions=10, max_target_positions=16, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, dropout=0.1,
        )  # fmt: skip
        model = t.WhisperForConditionalGeneration(config)
        return model, lambda m: of_sequence_pair(m, input_features=torch.randn(B, 8, 20))

    def wav2vec2():
        config = t.Wav2Vec2Config(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            conv_dim=(8, 8), conv_stride=(4, 2), conv_kernel=(8, 3), num_feat_extract_layers=2,
            num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, vocab_size=WORDS,
            mask_time_length=2, classifier_proj_size=8,
        )  # fmt: skip
        model = t.Wav2Vec2ForSequenceClassification(config)
        return model, lambda m: of_classes(m, torch.randn(B, 200))

    def vit():
        sizes = {k: v for k, v in TEXT.items() if k not in ("vocab_size",)}
        sizes.pop("max_position_embeddings")
        config = t.ViTConfig(**sizes, image_size=16, patch_size=8, hidden_dropout_prob=0.1)
        return t.ViTForImageClassification(config), lambda m: of_classes(m, images(16))

    def mamba():
        config = t.MambaConfig(
            vocab_size=WORDS, hidden_size=16, state_size=4, num_hidden_layers=2, pad_token_id=0
        )
        return t.MambaForCausalLM(config), of_language

    def clip():
        config = t.CLIPVisionConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            image_size=16, patch_size=8,
        )  # fmt: skip
        return t.CLIPVisionModel(config), lambda m: m(images(16)).pooler_output.sin().sum(1)

    def adapted(make, targets, **options):
        """Freeze the model, and give the layers named adapters whose two matrices are random."""
        from peft import LoraConfig, get_peft_model

        model, losses_of = make()
        config = LoraConfig(
            r=2, target_modules=targets, lora_dropout=0.1, init_lora_weights=False, **options
        )
        return get_peft_model(model, config), losses_of

    return {
        "GPT-2": gpt2,
        "GPT-2, padded texts": lambda: (gpt2()[0], of_padded_texts),
        "Llama, padded texts": lambda: (causal("Llama")[0], of_padded_texts),
        "GPT-2, LoRA of peft": partial(adapted, gpt2, ["c_attn"], fan_in_fan_out=True),
        "Llama, DoRA of peft": partial(
            adapted, partial(causal, "Llama"), ["q_proj", "v_proj"], use_dora=True
        ),
        "Llama": partial(causal, "Llama"),
        "Mistral": partial(causal, "Mistral"),
        "Qwen2": partial(causal, "Qwen2"),
        "Gemma2": partial(causal, "Gemma2"),
        "Mixtral": partial(causal, "Mixtral", num_local_experts=3),
        "Mamba": mamba,
        "BERT": partial(masked, "Bert"),
        "RoBERTa": partial(masked, "Roberta"),
        "ALBERT": partial(masked, "Albert", embedding_size=8),
        "ELECTRA": partial(masked, "Electra", embedding_size=8),
        "DistilBERT": distilbert,
        "DeBERTa-v2": partial(
            masked, "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"]
        ),
        "T5": t5,
        "T5, as many tokens as samples": partial(t5, B),
        "BART": bart,
        "Whisper": whisper,
        "Wav2Vec2": wav2vec2,
        "ViT": vit,
        "CLIP, its images": clip,
    }


def _of_torchvision():
    _declare_missing_operators()
    from torchvision import models as v

    classes = {"num_classes": 10}
    group = lambda channels: nn.GroupNorm(2, channels)  # noqa: E731, a layer's maker

    def image_model(make, size=32, change=lambda model: model):
        return change(make()), lambda m: of_classes(m, images(size))

    def vision_transformer():
        return v.VisionTransformer(16, 8, 2, 2, 16, 32, dropout=0.1, num_classes=10)

    def swin():
        return v.SwinTransformer([4, 4], 8, [2, 2], [2, 2], [2, 2], num_classes=10)

    def convnext():
        setting = [v.convnext.CNBlockConfig(8, 16, 1), v.convnext.CNBlockConfig(16, None, 1)]
        return v.ConvNeXt(setting, stochastic_depth_prob=0.2, num_classes=10)

    return {
        "ResNet-18, GroupNorm": partial(
            image_model, partial(v.resnet18, norm_layer=group, **classes)
        ),
        "ResNet-18, BatchNorm held": partial(image_model, partial(v.resnet18, **classes)),
        "MobileNetV3, GroupNorm": partial(
            image_model, partial(v.mobilenet_v3_small, **classes), change=without_batch_norm
        ),
        "ViT of torchvision": partial(image_model, vision_transformer, size=16),
        "Swin of torchvision": partial(image_model, swin),
        "ConvNeXt": partial(image_model, convnext),
        "SqueezeNet": partial(image_model, partial(v.squeezenet1_1, **classes), size=64),
    }


def _declare_missing_operators():
    """Let torchvision load beside a build of PyTorch whose CUDA version is another.

    Its compiled operators, box suppression among them, are then missing; no model here has them.
    """
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declare_missing_operators.kept = library  # it is withdrawn with its last reference


def _of_timm():
    from timm.models import beit, cait, mlp_mixer

    def made(kind, **options):
        small = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "num_classes": 10}
        return kind(**small, **options), lambda m: of_classes(m, images(32))

    deep = {"depth": 2, "num_heads": 2, "drop_path_rate": 0.1}
    return {
        "Mixer": partial(made, mlp_mixer.MlpMixer, num_blocks=2, drop_path_rate=0.1),
        "CaiT": partial(made, cait.Cait, **deep),
        "BEiT": partial(made, beit.Beit, **deep, use_rel_pos_bias=True),
    }


def verdict(name, make):
    """Return {model, parameters, result, error}: right, refused or wrong."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, losses_of = make()
        with_batch_norm_held(model)
        row = {"model": name, "parameters": sum(p.numel() for p in model.parameters())}
        try:
            worst = max(largest_error(model, losses_of) for _ in range(2))
        except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:
            return row | {"result": "refused", "text": f"{type(error).__name__}: {error}"}
    return row | {"result": "right" if worst <= TOLERANCE else "wrong", "error": worst}


def largest_error(model, losses_of):
    """Return the largest difference from the oracle's rows, norms and clipped sum, relative."""
    with ps.record(model) as record:
        losses = losses_of(model)
        record.backward(losses, retain_graph=True)
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    rows, norms = record.rows(), record.squared_norms()
    errors, needed = [], []
    for i, loss in enumerate(losses):
        alone = torch.autograd.grad(
            loss, list(parameters.values()), retain_graph=True, materialize_grads=True
        )
        square = sum(float((g.double() ** 2).sum()) for g in alone)
        needed.append((square**0.5, alone))
        errors.append(abs(float(norms[i]) - square) / square)
        for name, g in zip(parameters, alone, strict=True):
            scale = max(float(g.double().norm()), 1e-2 * square**0.5)
            errors.append(float((rows[name][i].double() - g.double()).norm()) / scale)
    max_norm = sorted(norm for norm, _ in needed)[B // 2]
    clipped = record.clipped_sum(max_norm)
    for k, name in enumerate(parameters):
        total = sum(min(1, max_norm / norm) * alone[k].double() for norm, alone in needed)
        errors.append(float((clipped[name].double() - total).norm()) / (B * max_norm))
    model.zero_grad()
    distinct = {round(norm, 9) for norm, _ in needed}
    if len(distinct) < B:
        raise AssertionError("the samples are not distinct")
    return max(errors)


def main() -> int:
    """Judge all models, print the table and store it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="the name of one model")
    only = parser.parse_args().only
    makers = {**_of_torchvision(), **_of_timm(), **_of_transformers()}
    check_what_transformers_averages()
    results = []
    for name, make in makers.items():
        if only in (None, name):
            results.append(row := verdict(name, make))
            what = f"{row['error']:.1e}" if "error" in row else row["text"]
            print(f"{name:32} {row['parameters']:>11,}  {row['result']} {what}", flush=True)
    counts = {k: sum(r["result"] == k for r in results) for k in ("right", "refused", "wrong")}
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    if only is None:
        store(results)
    return counts["wrong"] > 0


def store(results: list[dict]) -> None:
    """Keep the table, with date and versions."""
    record = {
        "date": datetime.date.today().isoformat(),
        "command": "make models",
        "versions": {package: version(package).split("+")[0] for package in PACKAGES},
        "tolerance": TOLERANCE,
        "models": results,
    }
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
