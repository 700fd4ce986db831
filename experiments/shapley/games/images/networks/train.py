#!/usr/bin/env python3
"""Trains the small residual networks of the image games and writes them as ONNX files.

    train.py digits  [OUT.onnx]                    the embedded digits, 8 x 8; test rows: every fifth
    train.py fashion FASHION.arff[.gz] [OUT.onnx]  Fashion-MNIST (OpenML 40996) padded to 32 x 32;
                                                   test rows: the last 10,000

Needs PyTorch (Debian and Ubuntu: python3-torch). The input is an image of values 0 to 1, the output one
logit per class. Batch norms are folded into the convolutions on export. The file names are those that the
program looks for; it prints the accuracy on the test rows, which games/images/game_test.cpp checks again.

digits.onnx was made by this program, fashion.onnx was not: it is of the same shape, but was trained on the first 39,000
training images at 16 grey levels, and recorded results are of it. A new one changes them, and their cells' keys.
"""

import csv
import gzip
import io
import pathlib
import sys

import numpy as np
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parents[4] / "datasets" / "embedded" / "digits.csv.gz"


class Residual(nn.Module):
    """x + two 3 x 3 convolutions of it. He et al. 2016."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
        self.last = nn.ReLU()

    def forward(self, x):
        return self.last(x + self.body(x))


def step(inputs, outputs, size, stride):
    """A convolution that changes width or resolution."""
    return [nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def head(width, classes):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)]


def digits_network():
    return nn.Sequential(*step(1, 8, 3, 1), Residual(8), *step(8, 16, 3, 2), Residual(16), *head(16, 10))


def fashion_network():
    return nn.Sequential(*step(1, 8, 5, 2), *step(8, 24, 3, 2), Residual(24), *step(24, 40, 3, 2), Residual(40), *head(40, 10))


def digits():
    rows = np.array([[float(v) for v in row] for row in csv.reader(io.TextIOWrapper(gzip.open(DIGITS)))], np.float32)
    images = rows[:, :64].reshape(-1, 1, 8, 8) / 16
    test = np.arange(len(rows)) % 5 == 4
    return images, rows[:, 64].astype(np.int64), test


def fashion(path):
    raw = open(path, "rb").read()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    body = ",".join(line.strip() for line in lines[start:] if line.strip() and line[0] != "%")
    rows = np.fromstring(body.replace("'", ""), np.float32, sep=",").reshape(-1, 785)
    if len(rows) != 70000:
        sys.exit(f"{path}: {len(rows)} rows, not the 70,000 of OpenML 40996")
    images = np.pad(rows[:, :784].reshape(-1, 1, 28, 28) / 255, ((0, 0), (0, 0), (2, 2), (2, 2)))
    return images, rows[:, 784].astype(np.int64), np.arange(len(rows)) >= 60000


def shifted(batch, generator, reach):
    """Images moved by up to `reach` pixels, black coming in."""
    padded = nn.functional.pad(batch, (reach,) * 4)
    dy, dx = torch.randint(0, 2 * reach + 1, (2,), generator=generator).tolist()
    return padded[:, :, dy:dy + batch.shape[2], dx:dx + batch.shape[3]]


def darkened(batch, generator, tile):
    """A tenth of the tiles blacked out in half of the images: what the game will ask about."""
    n, _, h, w = batch.shape
    keep = (torch.rand(n, 1, h // tile, w // tile, generator=generator) > .1) | (torch.rand(n, 1, 1, 1, generator=generator) > .5)
    return batch * keep.float().to(batch.device).repeat_interleave(tile, 2).repeat_interleave(tile, 3)


def train(network, images, labels, test, epochs, batch, flip, tile):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device)
    generator = torch.Generator().manual_seed(1)
    x, y = torch.from_numpy(images[~test]).to(device), torch.from_numpy(labels[~test]).to(device)
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=1e-3)
    steps = (len(x) + batch - 1) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 8e-3, total_steps=epochs * steps)
    for epoch in range(epochs):
        network.train()
        order = torch.randperm(len(x), generator=generator).to(device)
        for k in range(steps):
            rows = order[k * batch:(k + 1) * batch]
            seen = darkened(shifted(x[rows], generator, 1), generator, tile)
            if flip and torch.rand(1, generator=generator) < .5:
                seen = seen.flip(3)
            loss = nn.functional.cross_entropy(network(seen), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        if epoch % 5 == 4 or epoch + 1 == epochs:
            print(f"epoch {epoch + 1}: test accuracy {accuracy(network, images[test], labels[test], device):.4f}", flush=True)
    network.cpu().eval()


def accuracy(network, images, labels, device):
    network.eval()
    hits = 0
    with torch.no_grad():
        for k in range(0, len(labels), 1000):
            answers = network(torch.from_numpy(images[k:k + 1000]).to(device)).argmax(1).cpu().numpy()
            hits += int((answers == labels[k:k + 1000]).sum())
    return hits / len(labels)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if len(sys.argv) < 2 or sys.argv[1] not in ("digits", "fashion") or (sys.argv[1] == "fashion" and len(sys.argv) < 3):
        sys.exit(__doc__)
    name, rest = sys.argv[1], sys.argv[2:]
    if name == "digits":
        (images, labels, test), network, epochs, batch = digits(), digits_network(), 60, 128
    else:
        (images, labels, test), network, epochs, batch = fashion(rest.pop(0)), fashion_network(), 25, 256
    out = rest[0] if rest else HERE / f"{name}.onnx"
    train(network, images, labels, test, epochs, batch, name == "fashion", images.shape[2] // (8 if name == "digits" else 16))
    torch.onnx.export(network, torch.zeros(1, *images.shape[1:]), str(out), opset_version=11, input_names=["image"],
                      output_names=["logits"], do_constant_folding=True)
    print(out, pathlib.Path(out).stat().st_size, "bytes")


if __name__ == "__main__":
    main()
