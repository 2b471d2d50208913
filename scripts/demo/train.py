#!/usr/bin/env python3
"""Trains a small neural network with Python's standard library alone.

It is real work of the shape that renters bring: gradient descent, data-parallel
over all cores, the loss going down. The gradients of each batch are computed in
a fixed number of shards and added in a fixed order, so every machine prints the
same losses for the same step; only how far it gets depends on its speed.
"""

import argparse
import math
import os
import random
import sys
import time
from multiprocessing import Pipe, Process

INPUTS, HIDDEN, SHARDS, PER_SHARD = 2, 24, 8, 48
LEARNING_RATE, MOMENTUM = 0.4, 0.9


def spirals(seed, points):
    """Two interleaved spirals: ((x, y), class 0 or 1). No straight line parts them."""
    rng = random.Random(seed)
    rows = []
    for index in range(points):
        label = index % 2
        turn = rng.random()
        angle = 4.5 * math.pi * turn + math.pi * label
        radius = 0.15 + 0.85 * turn
        rows.append(
            (
                (
                    radius * math.cos(angle) + rng.gauss(0, 0.02),
                    radius * math.sin(angle) + rng.gauss(0, 0.02),
                ),
                label,
            )
        )
    return rows


def sizes():
    """Lengths of the weight lists: input to hidden, hidden to hidden, hidden to output."""
    return HIDDEN * (INPUTS + 1), HIDDEN * (HIDDEN + 1), HIDDEN + 1


def fresh_weights(seed):
    """One flat list; each layer's rows carry their bias last."""
    rng = random.Random(seed)
    first, second, last = sizes()
    return (
        [rng.gauss(0, 1.5) for _ in range(first)]
        + [rng.gauss(0, 1 / math.sqrt(HIDDEN)) for _ in range(second)]
        + [rng.gauss(0, 1 / math.sqrt(HIDDEN)) for _ in range(last)]
    )


def forward(weights, point):
    """Activations of both hidden layers and the probability of class 1."""
    first, second, _ = sizes()
    x, y = point
    one = [
        math.tanh(weights[i] * x + weights[i + 1] * y + weights[i + 2])
        for i in range(0, first, INPUTS + 1)
    ]
    two = []
    for row in range(first, first + second, HIDDEN + 1):
        total = weights[row + HIDDEN]
        for k in range(HIDDEN):
            total += weights[row + k] * one[k]
        two.append(math.tanh(total))
    out = first + second
    total = weights[out + HIDDEN]
    for k in range(HIDDEN):
        total += weights[out + k] * two[k]
    return one, two, 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, total))))


def gradient(weights, rows):
    """Summed loss, number of right answers and summed gradient over the rows."""
    first, second, _ = sizes()
    out = first + second
    grad = [0.0] * len(weights)
    loss, right = 0.0, 0
    for point, label in rows:
        one, two, p = forward(weights, point)
        loss -= math.log(max(1e-12, p if label else 1.0 - p))
        right += (p > 0.5) == bool(label)
        error = p - label
        back = [0.0] * HIDDEN
        for j in range(HIDDEN):
            grad[out + j] += error * two[j]
            delta = error * weights[out + j] * (1.0 - two[j] * two[j])
            row = first + j * (HIDDEN + 1)
            for k in range(HIDDEN):
                grad[row + k] += delta * one[k]
                back[k] += delta * weights[row + k]
            grad[row + HIDDEN] += delta
        grad[out + HIDDEN] += error
        for k in range(HIDDEN):
            delta = back[k] * (1.0 - one[k] * one[k])
            row = k * (INPUTS + 1)
            grad[row] += delta * point[0]
            grad[row + 1] += delta * point[1]
            grad[row + 2] += delta
    return loss, right, grad


def worker(pipe, shards):
    """Answers each set of weights with the gradients of its own shards."""
    while True:
        weights = pipe.recv()
        if weights is None:
            return
        pipe.send([(index, gradient(weights, rows)) for index, rows in shards])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=18.0, help="how long to train")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()

    rows = spirals(options.seed, SHARDS * PER_SHARD)
    shards = [(i, rows[i * PER_SHARD : (i + 1) * PER_SHARD]) for i in range(SHARDS)]
    weights = fresh_weights(options.seed)
    speed = [0.0] * len(weights)
    cores = min(SHARDS, len(os.sched_getaffinity(0)))
    workers = []
    for w in range(cores):
        # Plain pipes: a pool would need shared semaphores, which a sandbox may not have.
        ours, theirs = Pipe()
        process = Process(target=worker, args=(theirs, shards[w::cores]), daemon=True)
        process.start()
        workers.append((process, ours))
    print(f"training {len(weights)} weights on {len(rows)} points with {cores} process(es)", flush=True)

    began = time.monotonic()
    shown = began
    step, loss, right = 0, 0.0, 0
    while True:
        for _, pipe in workers:
            pipe.send(weights)
        parts = sorted(part for _, pipe in workers for part in pipe.recv())
        loss = sum(part[0] for _, part in parts) / len(rows)
        right = sum(part[1] for _, part in parts)
        now = time.monotonic()
        if step == 0 or now - shown >= 2.0:
            shown = now
            print(f"step {step:5d}  loss {loss:.4f}  right {100 * right / len(rows):5.1f} %", flush=True)
        if now - began >= options.seconds:
            break
        for i in range(len(weights)):
            total = 0.0
            for _, part in parts:
                total += part[2][i]
            speed[i] = MOMENTUM * speed[i] - LEARNING_RATE * total / len(rows)
            weights[i] += speed[i]
        step += 1
    for process, pipe in workers:
        pipe.send(None)
        process.join()
    print(f"step {step:5d}  loss {loss:.4f}  right {100 * right / len(rows):5.1f} %  done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
