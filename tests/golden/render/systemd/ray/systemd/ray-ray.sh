#!/bin/sh
# Rendered from ray.yaml (ray) by `teapot render systemd`; a change here is lost.
#
#   sh ray-ray.sh NUMBER
#
# Not run: Ray's executor needs GPUs, and there was no machine with one. vLLM 0.33.0 does not ask for Ray
# itself: install it into the engine environment of every machine, in one version.
# Ray has no keys: whoever reaches its ports runs code as this user. Keep them in a network of their own.
set -eu
number=${1:?"give the number of this machine, 0 to 2"}
case $number in
    0) address=10.0.0.1; set -- --head --port=6379 ;;
    1) address=10.0.0.2; set -- --address=10.0.0.1:6379 ;;
    2) address=10.0.0.3; set -- --address=10.0.0.1:6379 ;;
    *) echo "there is no machine $number: give 0 to 2" >&2; exit 2 ;;
esac

: "${TEAPOT_HOME:=/var/lib/teapot}"
for found in "$TEAPOT_HOME"/environments/vllm-0.33.0-cuda-py3*/bin/vllm; do : "${VLLM:=$found}"; done
if [ ! -x "$VLLM" ]; then
    echo "there is no $VLLM: run teapot engine install on this machine" >&2
    exit 1
fi
interface=$(ip -o address | awk -v own="$address" '
    { split($4, part, "/") } part[1] == own { print $2; exit }')
if [ -z "$interface" ]; then
    echo "this machine has no address $address: is its number right?" >&2
    exit 1
fi
export VLLM_HOST_IP="$address" GLOO_SOCKET_IFNAME="$interface"
export VLLM_CACHE_ROOT="$TEAPOT_HOME/cache/vllm"
export TORCHINDUCTOR_CACHE_DIR="$TEAPOT_HOME/cache/torchinductor"
export VLLM_NO_USAGE_STATS="1"
export HF_HOME="$TEAPOT_HOME/cache/huggingface"

exec "${VLLM%/vllm}/ray" start --block --node-ip-address="$address" --disable-usage-stats "$@"
