"""Find a hub model's config.json, on the hub or cached; run by path with an engine environment's Python.

Owns: the one question. Knows nothing about teapot: to us it is data, because it needs huggingface_hub,
whose rules for endpoints, tokens and caches then hold. Usage: fetch_config.py ORGANISATION/NAME
Writes one JSON line: {"path": ..., "offline": whether the hub was silent} or {"error": kind, "message": ...}.
"""

import json
import sys

# Not in the environment that checks types: the engine's.
from huggingface_hub import HfApi, hf_hub_download  # type: ignore[import-not-found, unused-ignore]
from huggingface_hub.errors import (  # type: ignore[import-not-found, unused-ignore]
    EntryNotFoundError,
    GatedRepoError,
    HFValidationError,
    RepositoryNotFoundError,
)

ANSWER_WITHIN_S = 10.0
KINDS = (
    (GatedRepoError, "gated"),  # a kind of RepositoryNotFoundError, so it comes first
    (RepositoryNotFoundError, "unknown"),
    (HFValidationError, "unknown"),
)


def main() -> None:
    """Ask, and say what came of it."""
    model = sys.argv[1]
    try:
        # Asked first and once: the download alone would try again for half a minute without a network.
        HfApi().model_info(model, timeout=ANSWER_WITHIN_S)
        offline, message = False, ""
    except Exception as error:  # noqa: BLE001 (a process border: no kind of network trouble may be missed)
        kind = next((kind for type_, kind in KINDS if isinstance(error, type_)), None)
        offline, message = True, str(error).strip().split("\n")[0]
        if kind:
            return _say(error=kind, message=message)
    try:
        return _say(path=hf_hub_download(model, "config.json", local_files_only=offline), offline=offline)
    except GatedRepoError as error:
        return _say(error="gated", message=str(error))
    except EntryNotFoundError as error:
        return _say(error="unreachable" if offline else "no_config", message=message or str(error))


def _say(**answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
