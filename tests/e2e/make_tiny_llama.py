"""Make a small random Llama for tests; run by the engine environment's Python, never imported by ours.

Usage: PYTHON make_tiny_llama.py TOKENIZER_FOLDER OUT_FOLDER
8 heads and 4 KV heads divide by 2, which SmolLM2's 9 and 3 do not; random weights answer nonsense, fast.
"""

import sys

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM


def main(tokenizer_folder: str, out_folder: str) -> None:
    """Write config, safetensors and the tokenizer of `tokenizer_folder` to `out_folder`."""
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=512, intermediate_size=1024, num_hidden_layers=4,
        num_attention_heads=8, num_key_value_heads=4, head_dim=64, max_position_embeddings=4096,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(out_folder, safe_serialization=True)
    tokenizer.save_pretrained(out_folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
