"""Turn a GGUF file into a bf16 safetensors folder; run by path with an engine environment's Python.

Owns: the one conversion. Knows nothing about teapot: to us it is data, because it needs torch and
transformers. Usage: dequantize_gguf.py FOLDER FILE.gguf TARGET
"""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main() -> None:
    """Load the weights dequantized, and write model, tokenizer and chat template to TARGET."""
    folder, file, target = sys.argv[1:]
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    if not tokenizer.chat_template:
        raise SystemExit(f"{file}: the tokenizer has no chat template")
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


if __name__ == "__main__":
    main()
