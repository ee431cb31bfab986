#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GGUF files from ggml's docs/gguf.md alone: no package, no code of this repository.

Usage: make_gguf.py model FILE       the header of a 27-B model quantised as Q4_K_M (zeros as data, sparse)
       make_gguf.py corpus FOLDER    the small files of tests/fuzz/gguf/corpus

The model has the shapes of a hybrid of 64 layers with K = 5120, 6144 and 17408: every fourth layer attends, the
others are recurrent. Types are chosen as llama.cpp's quantiser does for Q4_K_M: Q6_K for the output and for half
of ffn_down and attn_v (the first and last eighth of the layers and every third between), Q5_K for attn_qkv.
"""
import pathlib
import struct
import sys

F32, F16, Q4_0, Q8_0, Q4_K, Q5_K, Q6_K, I32 = 0, 1, 2, 8, 12, 13, 14, 26
BLOCK = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34), Q4_K: (256, 144), Q5_K: (256, 176), Q6_K: (256, 210),
         I32: (1, 4)}


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def u32(key, value):
    return string(key) + struct.pack("<II", 4, value)


def u16(key, value):
    return string(key) + struct.pack("<IH", 2, value)


def words(key, value):
    return string(key) + struct.pack("<I", 8) + string(value)


def array(key, kind, count, raw):
    return string(key) + struct.pack("<IIQ", 9, kind, count) + raw


def size(kind, dims):
    elements, block = BLOCK[kind]
    assert dims[0] % elements == 0
    total = dims[0] // elements * block
    for d in dims[1:]:
        total *= d
    return total


def header(entries, tensors, version=3, alignment=32):
    """tensors: (name, type, dims). Returns the padded header and the bytes of data."""
    infos, offset = b"", 0
    for name, kind, dims in tensors:
        infos += string(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        infos += struct.pack("<IQ", kind, offset)
        offset += -(-size(kind, dims) // alignment) * alignment
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries) + infos
    return head + b"\0" * (-len(head) % alignment), offset


def model_tensors():
    layers, hidden, inner, ffn, words_known = 64, 5120, 6144, 17408, 248320
    more = [i < layers // 8 or i >= 7 * layers // 8 or (i - layers // 8) % 3 == 2 for i in range(layers)]
    tensors = [("token_embd.weight", Q4_K, (hidden, words_known)), ("output.weight", Q6_K, (hidden, words_known)),
               ("output_norm.weight", F32, (hidden,))]
    for i in range(layers):
        def add(name, kind, *dims, layer=i):
            tensors.append((f"blk.{layer}.{name}.weight", kind, dims))

        add("attn_norm", F32, hidden)
        if i % 4 == 3:
            add("attn_q", Q4_K, hidden, 2 * inner)
            add("attn_k", Q4_K, hidden, 1024)
            add("attn_v", Q6_K if more[i] else Q4_K, hidden, 1024)
            add("attn_q_norm", F32, 256)
            add("attn_k_norm", F32, 256)
            add("attn_output", Q4_K, inner, hidden)
        else:
            add("attn_qkv", Q5_K, hidden, 10240)
            add("attn_gate", Q4_K, hidden, inner)
            add("ssm_conv1d", F32, 4, 10240)
            add("ssm_alpha", Q8_0, hidden, 48)
            add("ssm_out", Q4_K, inner, hidden)
        add("post_attention_norm", F32, hidden)
        add("ffn_gate", Q4_K, hidden, ffn)
        add("ffn_up", Q4_K, hidden, ffn)
        add("ffn_down", Q6_K if more[i] else Q4_K, ffn, hidden)
    return tensors


def write_model(path):
    entries = [words("general.architecture", "hybrid"), words("general.name", "27-B, shapes only"),
               u32("hybrid.block_count", 64), u32("hybrid.embedding_length", 5120)]
    head, data = header(entries, model_tensors())
    with open(path, "wb") as out:
        out.write(head)
        out.truncate(len(head) + data)  # a hole: reads as zeros, takes no room


def corpus():
    tensors = [("norm", F32, (4,)), ("blk.0.ffn_up.weight", Q4_K, (256, 2)), ("blk.0.ffn_down.weight", Q6_K, (512, 1)),
               ("blk.0.ffn_gate_exps.weight", Q8_0, (32, 2, 3))]
    kinds = [string("u8") + struct.pack("<IB", 0, 200), string("i8") + struct.pack("<Ib", 1, -3), u16("u16", 60000),
             string("i16") + struct.pack("<Ih", 3, -300), u32("u32", 4000000000), string("i32") + struct.pack("<Ii", 5, -7),
             string("f32") + struct.pack("<If", 6, 1.5), string("bool") + struct.pack("<I?", 7, True),
             string("u64") + struct.pack("<IQ", 10, 1 << 40), string("i64") + struct.pack("<Iq", 11, -1),
             string("f64") + struct.pack("<Id", 12, 2.5)]
    strings = array("tokenizer.ggml.tokens", 8, 3, string("a") + string("") + string("bcd"))
    nested = array("nested", 9, 2, struct.pack("<IQII", 4, 2, 1, 2) + struct.pack("<IQ", 8, 1) + string("x"))
    arch = words("general.architecture", "tiny")

    def whole(entries, infos, **how):
        head, data = header(entries, infos, **how)
        return head + bytes(i % 251 for i in range(data))

    yield "tensors", whole([arch], tensors)
    yield "version2", whole([arch], tensors, version=2)
    yield "values", whole(kinds, tensors[:1])
    yield "arrays", whole([strings, nested, array("empty", 4, 0, b"")], tensors[:2])
    yield "aligned64", whole([u32("general.alignment", 64)], tensors, alignment=64)
    yield "no_tensors", whole([arch, strings], [])
    yield "split", whole([u16("split.no", 0), u16("split.count", 2)], tensors[:1])
    yield "bad_version1", whole([arch], tensors, version=1)
    yield "bad_no_data", header([arch], tensors)[0]
    yield "bad_count", b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 1 << 63) + bytes(64)
    yield "bad_string", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("s") + struct.pack("<IQ", 8, 1 << 40)
    yield "bad_twice", whole([arch, arch], tensors)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("model", "corpus"):
        sys.exit(__doc__)
    if sys.argv[1] == "model":
        write_model(sys.argv[2])
        return
    for name, raw in corpus():
        (pathlib.Path(sys.argv[2]) / f"{name}.gguf").write_bytes(raw)


if __name__ == "__main__":
    main()
