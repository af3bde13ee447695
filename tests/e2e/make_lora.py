"""Make a small random LoRA adapter for tests; run by the engine environment's Python, never imported by ours.

Usage: PYTHON make_lora.py MODEL_FOLDER OUT_FOLDER
Rank 8 on the query and value projections, in PEFT's form. Neither of its two matrices is zero, so that it
changes answers, as a trained one does.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

RANK = 8


def main(model_folder: str, out_folder: str) -> None:
    """Write adapter_config.json and adapter_model.safetensors to `out_folder`."""
    model = json.loads((Path(model_folder) / "config.json").read_text())
    hidden, head = model["hidden_size"], model["head_dim"]
    outputs = {"q_proj": head * model["num_attention_heads"], "v_proj": head * model["num_key_value_heads"]}
    torch.manual_seed(1)
    tensors = {}
    for layer in range(model["num_hidden_layers"]):
        for name, size in outputs.items():
            at = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{at}.lora_A.weight"] = torch.randn(RANK, hidden, dtype=torch.bfloat16)
            tensors[f"{at}.lora_B.weight"] = torch.randn(size, RANK, dtype=torch.bfloat16)
    out = Path(out_folder)
    out.mkdir(parents=True)
    save_file(tensors, out / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": RANK, "bias": "none",
        "target_modules": list(outputs), "base_model_name_or_path": model_folder, "inference_mode": True,
    }  # fmt: skip
    (out / "adapter_config.json").write_text(json.dumps(config))


if __name__ == "__main__":
    main(*sys.argv[1:])
