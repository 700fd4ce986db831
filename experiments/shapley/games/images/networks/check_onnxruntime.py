#!/usr/bin/env python3
"""Logits of `retable image --logits` against ONNX Runtime's, on networks of well-known shapes with random weights.

    check_onnxruntime.py build/retable [--device cuda] [--seed N] [--only NAME,...] [--keep FOLDER]

ResNet-18 and -50 (batch normalisation folded and not), MobileNetV2, EfficientNet-B0, VGG-11, a DenseNet, and a network
of the other operators. Needs the packages onnx, onnxruntime and numpy (PyPI). Prints for each network the largest difference of a
logit, the largest logit, and their quotient, which must be at most 1e-4. Exit 1 where it is more; without the packages
it says so and exits 0.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"ONNX Runtime check skipped: {missing}")
    sys.exit(0)

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TOLERANCE = 1e-4


class Writer:
    """A graph, operator by operator; values are the names of tensors."""

    def __init__(self, seed, fold=False):
        self.random = np.random.default_rng(seed)
        self.fold, self.nodes, self.constants, self.channels = fold, [], [], {"image": 3}

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def op(self, kind, *inputs, channels=None, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        self.channels[name] = channels or self.channels[inputs[0]]
        return name

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def conv(self, x, out, kernel, stride=1, groups=1, pad=None, gain=1.0, activation=None):
        """A convolution without bias, a batch normalisation, an activation."""
        inputs = self.channels[x] // groups
        weights = self.normal(out, inputs, kernel, kernel) * np.float32(np.sqrt(2 / (inputs * kernel**2)))
        pads = [kernel // 2 if pad is None else pad] * 4
        numbers = {"group": groups, "strides": [stride] * 2, "pads": pads, "kernel_shape": [kernel] * 2}
        scale = np.float32(gain) * (1 + 0.2 * self.normal(out))
        shift, mean = 0.2 * self.normal(out), 0.2 * self.normal(out)
        variance = self.random.uniform(0.5, 1.5, out).astype(np.float32)
        if self.fold:
            factor = scale / np.sqrt(variance + np.float32(1e-5))
            x = self.op("Conv", x, self.constant(weights * factor[:, None, None, None]),
                        self.constant(shift - mean * factor), channels=out, **numbers)
        else:
            x = self.op("Conv", x, self.constant(weights), channels=out, **numbers)
            x = self.op("BatchNormalization", x, *map(self.constant, (scale, shift, mean, variance)))
        return activation(x) if activation else x

    def relu(self, x):
        return self.op("Relu", x)

    def relu6(self, x):
        return self.op("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def dense(self, x, inputs, out):
        weights = self.normal(out, inputs) * np.float32(np.sqrt(2 / inputs))
        return self.op("Gemm", x, self.constant(weights), self.constant(self.normal(out)), channels=out, transB=1)

    def head(self, x, classes=1000):
        x = self.op("Flatten", self.op("GlobalAveragePool", x))
        return self.dense(x, self.channels[x], classes)

    def model(self, output, side):
        graph = helper.make_graph(
            self.nodes, "network", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, side, side])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", None])], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model.SerializeToString()


def resnet(w, blocks, bottleneck):
    x = w.op("MaxPool", w.conv("image", 64, 7, 2, activation=w.relu), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * (4 if bottleneck else 1)
        for block in range(count):
            stride = 2 if stage and not block else 1
            if bottleneck:
                y = w.conv(x, width, 1, activation=w.relu)
                y = w.conv(y, width, 3, stride, activation=w.relu)
                y = w.conv(y, out, 1, gain=0.3)
            else:
                y = w.conv(w.conv(x, width, 3, stride, activation=w.relu), out, 3, gain=0.3)
            if w.channels[x] != out or stride > 1:
                x = w.conv(x, out, 1, stride, pad=0)
            x = w.relu(w.op("Add", y, x))
    return w.head(x)


def mobilenet(w):
    x = w.conv("image", 32, 3, 2, activation=w.relu6)
    for expand, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                       (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            hidden, step = w.channels[x] * expand, stride if block == 0 else 1
            y = w.conv(x, hidden, 1, activation=w.relu6) if expand > 1 else x
            y = w.conv(w.conv(y, hidden, 3, step, groups=hidden, activation=w.relu6), out, 1, gain=0.5)
            x = w.op("Add", x, y) if step == 1 and w.channels[x] == out else y
    return w.head(w.conv(x, 1280, 1, activation=w.relu6))


def efficientnet(w):
    x = w.conv("image", 32, 3, 2, activation=w.silu)
    for expand, kernel, out, count, stride in ((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2),
                                               (6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)):
        for block in range(count):
            inputs, step = w.channels[x], stride if block == 0 else 1
            hidden = inputs * expand
            y = w.conv(x, hidden, 1, activation=w.silu) if expand > 1 else x
            y = w.conv(y, hidden, kernel, step, groups=hidden, activation=w.silu)
            gate = w.op("GlobalAveragePool", y)
            gate = w.op("Sigmoid", w.conv(w.conv(gate, max(1, inputs // 4), 1, activation=w.silu), hidden, 1))
            y = w.conv(w.op("Mul", gate, y), out, 1, gain=0.5)
            x = w.op("Add", x, y) if step == 1 and inputs == out else y
    return w.head(w.conv(x, 1280, 1, activation=w.silu))


def vgg(w, side):
    x = "image"
    for width, pools in ((64, 1), (128, 1), (256, 0), (256, 1), (512, 0), (512, 1), (512, 0), (512, 1)):
        x = w.conv(x, width, 3, activation=w.relu)
        if pools:
            x = w.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
            side //= 2
    inputs = w.channels[x] * side * side
    x = w.op("Reshape", x, w.constant(np.array([-1, inputs], np.int64)))
    for out in (4096, 4096):
        x = w.relu(w.dense(x, inputs, out))
        x, inputs = w.op("Dropout", x), out
    return w.op("Softmax", w.dense(x, inputs, 1000), axis=1)


def densenet(w):
    x = w.conv("image", 64, 7, 2, activation=w.relu)
    x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, count in enumerate((6, 12, 8)):
        for _ in range(count):
            y = w.relu(norm(w, x))
            y = w.conv(w.conv(y, 128, 1, activation=w.relu), 32, 3)
            x = w.op("Concat", x, y, axis=1, channels=w.channels[x] + 32)
        if stage < 2:
            x = w.conv(w.relu(norm(w, x)), w.channels[x] // 2, 1)
            x = w.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    return w.head(w.relu(norm(w, x)))


def norm(w, x):
    n = w.channels[x]
    numbers = (1 + 0.2 * w.normal(n), 0.2 * w.normal(n), 0.2 * w.normal(n), w.random.uniform(0.5, 1.5, n).astype(np.float32))
    return w.op("BatchNormalization", x, *map(w.constant, numbers))


def others(w):
    """Operators that the networks above have not."""
    x = w.op("Sub", "image", w.constant(w.normal(1, 3, 1, 1)))
    x = w.op("MaxPool", x, kernel_shape=[3, 2], strides=[1, 2], ceil_mode=1, dilations=[2, 1], pads=[2, 0, 1, 1])
    x = w.op("Conv", x, w.constant(0.2 * w.normal(16, 3, 3, 3)), channels=16, dilations=[2, 2], pads=[2] * 4)
    x = w.op("HardSwish", x)
    for kind in ("LeakyRelu", "Elu", "Sigmoid", "HardSigmoid", "Tanh", "Selu", "Softsign"):
        y = w.op(kind, w.conv(x, 16, 3, groups=4))
        x = w.op("Sum", x, y)
    x = w.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, count_include_pad=1)
    x = w.op("Concat", x, w.op("AveragePool", x, kernel_shape=[3, 5], auto_pad="SAME_LOWER"), axis=1, channels=32)
    x = w.op("ReduceMean", w.op("Mul", x, w.constant(w.normal(32, 1, 1))), axes=[2, 3], keepdims=0)
    x = w.op("MatMul", x, w.constant(w.normal(32, 10)), channels=10)
    return w.op("LogSoftmax", w.op("Add", x, w.constant(w.normal(10))), axis=-1)


# Name, side of the image, whether batch normalisation is folded, the network.
NETWORKS = (
    ("ResNet-18", 224, False, lambda w: resnet(w, (2, 2, 2, 2), False)),
    ("ResNet-18, folded", 224, True, lambda w: resnet(w, (2, 2, 2, 2), False)),
    ("ResNet-50", 224, False, lambda w: resnet(w, (3, 4, 6, 3), True)),
    ("ResNet-50, folded", 224, True, lambda w: resnet(w, (3, 4, 6, 3), True)),
    ("MobileNetV2", 224, False, mobilenet),
    ("EfficientNet-B0", 224, False, efficientnet),
    ("VGG-11", 64, False, lambda w: vgg(w, 64)),
    ("DenseNet", 128, False, densenet),
    ("other operators", 64, False, others),
)


def theirs(model, image):
    """ONNX Runtime's logits; of a network that ends in a Softmax those before it."""
    parsed = onnx.load_from_string(model)
    if parsed.graph.node[-1].op_type.endswith("Softmax"):
        before = parsed.graph.node[-1].input[0]
        del parsed.graph.node[-1]
        parsed.graph.output[0].name = before
    session = onnxruntime.InferenceSession(parsed.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": image})[0][0]


def check(program, device, folder, name, side, model, random):
    coarse = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    pixels = np.kron(coarse, np.ones((side // 8, side // 8, 1), np.uint8))
    pixels ^= random.integers(0, 64, pixels.shape, dtype=np.uint8)
    stem = folder / name.replace(", ", "-").replace(" ", "-")
    stem.with_suffix(".onnx").write_bytes(model)
    stem.with_suffix(".ppm").write_bytes(b"P6 %d %d 255\n" % (side, side) + pixels.tobytes())
    image = (pixels.astype(np.float32) / np.float32(255) - np.float32(MEAN)) / np.float32(DEVIATION)
    want = theirs(model, np.ascontiguousarray(image.transpose(2, 0, 1)[None]))
    begin = time.time()
    done = subprocess.run([program, "image", "--logits", "--network", stem.with_suffix(".onnx"), "--image",
                           stem.with_suffix(".ppm"), "--tile", "8", "--mean", ",".join(map(str, MEAN)), "--deviation",
                           ",".join(map(str, DEVIATION)), "--device", device], capture_output=True, text=True)
    if done.returncode:
        print(f"{name:20} {done.stderr.strip()}")
        return False
    got = np.array([float(row["logit"]) for row in csv.DictReader(io.StringIO(done.stdout))], np.float32)
    largest = float(np.abs(want).max())
    far = float(np.abs(got - want).max()) if got.shape == want.shape else float("inf")
    right = far <= TOLERANCE * largest and got.argmax() == want.argmax()
    print(f"{name:20} {far:10.2e} {largest:10.3g} {far / largest:10.2e} {time.time() - begin:8.1f} {'' if right else 'WRONG'}",
          flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="a folder for the networks and images")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, device {options.device}, seed {options.seed}")
    print(f"{'network':20} {'difference':>10} {'logit':>10} {'quotient':>10} {'seconds':>8}")
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(exist_ok=True, parents=True)
        for name, side, fold, make in NETWORKS:
            if options.only and name not in options.only.split(","):
                continue
            writer = Writer(options.seed, fold)
            model = writer.model(make(writer), side)
            wrong += not check(options.program, options.device, folder, name, side, model, np.random.default_rng(options.seed))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
