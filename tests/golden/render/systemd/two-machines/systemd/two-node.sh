#!/bin/sh
# Rendered from two-machines.yaml (two) by `teapot render systemd`; a change here is lost.
#
#   sh two-node.sh RANK
#
# One engine on 2 machines, each with its rank. On the first, `teapot serve` starts rank 0 with the
# same flags, and the gateway; `sh two-node.sh 0` starts it alone, on 127.0.0.1:8000, to try it.
set -eu
rank=${1:?"give the rank of this machine, 0 to 1"}
case $rank in
    0) address=10.0.0.1; set -- --node-rank 0 --port 8000 ;;
    1) address=10.0.0.2; set -- --node-rank 1 --headless ;;
    *) echo "there is no rank $rank: give 0 to 1" >&2; exit 2 ;;
esac

: "${TEAPOT_HOME:=/var/lib/teapot}"
for found in "$TEAPOT_HOME"/environments/vllm-0.33.0-cuda-py3*/bin/vllm; do : "${VLLM:=$found}"; done
if [ ! -x "$VLLM" ]; then
    echo "there is no $VLLM: run teapot engine install on this machine" >&2
    exit 1
fi
: "${MODEL:=Qwen/Qwen3-0.6B}"   # a folder must be there on every machine

# gloo would take the address that this machine's name stands for: often 127.0.1.1, which no other reaches.
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
export NCCL_SOCKET_IFNAME="eth1"

set -- serve "$MODEL" \
    --served-model-name Qwen/Qwen3-0.6B \
    --host 127.0.0.1 \
    --shutdown-timeout 40 \
    --max-model-len 8192 \
    --enable-prompt-tokens-details \
    --custom-histogram-buckets '{"request_latency":[0.001,0.0025,0.005,0.01,0.025,0.05,0.1,0.2,0.3,0.5,0.8,1.0,1.5,2.0,2.5,5.0,10.0,15.0,20.0,30.0,40.0,50.0,60.0,120.0,240.0,480.0,960.0,1920.0,7680.0]}' \
    --tensor-parallel-size 8 \
    --pipeline-parallel-size 2 \
    --nnodes 2 \
    --master-addr 10.0.0.1 \
    --master-port 29555 \
    "$@"
[ "$rank" -gt 0 ] || exec "$VLLM" "$@"

# A rank whose first one is gone waits for ever (seen with vLLM 0.32.0), and the next first one waits for it.
# So its connection to the first is watched: once it was there and is no more, this ends, to be started anew.
: "${WATCH_S:=5}"
"$VLLM" "$@" &
engine=$!
trap 'kill -TERM "$engine" 2>/dev/null || true' INT TERM
joined=no
while kill -0 "$engine" 2>/dev/null; do
    if ss -Htn state established '( dport = :29555 )' | grep -q .; then
        joined=yes
    elif [ "$joined" = yes ]; then
        echo "the first machine is gone: ending this rank" >&2
        kill -TERM "$engine" 2>/dev/null || true
        for _ in 1 2 3 4; do
            kill -0 "$engine" 2>/dev/null || break
            sleep "$WATCH_S"
        done
        kill -KILL "$engine" 2>/dev/null || true
        exit 1
    fi
    sleep "$WATCH_S" & wait $! || true
done
wait "$engine"
