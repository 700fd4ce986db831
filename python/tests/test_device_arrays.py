"""Arrays in GPU memory: what is computed there is what the host's arrays give; what cannot be is refused."""

import gc
import pathlib
import weakref

import numpy
import pytest

import retable
from gpu import Dlpack, Interface, Stream, device, free_bytes, fresh, needs_gpu  # noqa: F401
from retable import _device

TRAINED = pathlib.Path(__file__).parents[2] / "algorithms/treeshap/testing/trained/classes.txt"
METHODS = ("Partition", "Rectangle", "Shuffle")
with_device = pytest.mark.usefixtures("device")


# ---------------------------------------------------------------- refusals, on any machine

class NoMemory:
    """An array whose memory nobody may touch."""

    def __init__(self, **content):
        self.__cuda_array_interface__ = {"shape": (2, 6), "typestr": "<f4", "data": (64, True), "version": 3,
                                         **content}


class OnGpuByDlpack:
    shape = (2, 6)

    def __init__(self, kind):
        self.kind = kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **_):
        raise AssertionError("asked for memory that nobody can read")


def forest(classes=3, rows=300, features=6, seed=0, **options):
    ensemble = pytest.importorskip("retable.ensemble", exc_type=ImportError)
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(rows, features)).astype(numpy.float32)
    x[random.random(x.shape) < 0.05] = numpy.nan
    if classes > 100:
        y = random.integers(0, classes, rows)
        return ensemble.ExtraTreesClassifier(20, random_state=seed, **options).fit(x, y), x
    if classes:
        y = numpy.clip(numpy.nan_to_num(x[:, 0] + x[:, 1]) * 2 + classes / 2, 0, classes - 1).astype(int)
        return ensemble.ExtraTreesClassifier(20, random_state=seed, **options).fit(x, y), x
    return ensemble.ExtraTreesRegressor(20, random_state=seed, **options).fit(x, numpy.nan_to_num(x[:, 0])), x


@pytest.fixture(scope="module")
def trained():
    return TRAINED.read_bytes()


@pytest.mark.skipif(retable.cuda_devices() > 0, reason="a CUDA device answers")
@pytest.mark.parametrize("x", [NoMemory(), OnGpuByDlpack(2), OnGpuByDlpack(13)], ids=["interface", "dlpack", "managed"])
def test_without_cuda_the_remedy_is_named(x, trained):
    explainer = retable.TreeExplainer(trained)
    calls = [lambda: explainer.shap_values(x), lambda: explainer.shap_interaction_values(x), lambda: explainer(x),
             lambda: explainer.top_interactions(x), lambda: explainer.interaction_index(x),
             lambda: retable.TreeExplainer(trained, data=x),
             lambda: retable.shuffle(x, 1), lambda: retable.permutation(x, 1),
             lambda: retable.QuantileSketch().update(x)]
    for call in calls:
        with pytest.raises(TypeError, match=r"GPU memory.*\.get\(\).*\.cpu\(\)"):
            call()


@pytest.mark.skipif(retable.cuda_devices() > 0, reason="a CUDA device answers")
def test_without_cuda_forests_name_the_remedy():
    model, _ = forest()
    for call in (model.predict, model.predict_proba, model.apply, lambda x: model.fit(x, [0, 1]),
                 lambda x: model.fit(numpy.zeros((2, 6)), x),
                 lambda x: model.fit(numpy.zeros((2, 6)), [0, 1], x)):
        with pytest.raises(TypeError, match="GPU memory"):
            call(NoMemory())


@pytest.mark.skipif(retable.cuda_devices() > 0, reason="a CUDA device answers")
def test_without_cuda_there_is_no_device_memory():
    with pytest.raises(ValueError, match="CUDA|driver|card|device"):
        _device._retable.DeviceMemory(8)


@pytest.mark.parametrize("content, what", [
    ({"version": 1}, "version 1"), ({"mask": object()}, "mask"), ({"shape": (-1, 2)}, "shape"),
    ({"strides": (4,)}, "strides"), ({"stream": 0}, "stream 0"), ({"shape": None}, "none"),
    ({"data": None}, "none"), ({"typestr": "nothing"}, "none")])
def test_interfaces_that_are_none(content, what):
    with pytest.raises(ValueError, match=what):
        _device.parse_interface(NoMemory(**content).__cuda_array_interface__, "x")


def test_types_that_are_no_numbers_of_this_machine():
    for typestr in (">f4", "|O"):
        with pytest.raises(TypeError, match="dtype"):
            _device.parse_interface(NoMemory(typestr=typestr).__cuda_array_interface__, "x")


def test_layouts():
    for values in (numpy.zeros((4, 5)), numpy.zeros((1, 5))[:, ::1], numpy.zeros((7, 1)), numpy.zeros(())):
        assert _device._is_row_major(values.shape, values.strides, 8)
    for values in (numpy.zeros((4, 5)).T, numpy.zeros((4, 5))[:, ::2], numpy.zeros((4, 5))[::-1]):
        assert not _device._is_row_major(values.shape, values.strides, 8)


def test_arrays_of_the_host_are_not_taken_for_others():
    assert not any(map(_device.on_device, (numpy.zeros(3), [1], 1.0, None, OnGpuByDlpack(1), OnGpuByDlpack)))


# ---------------------------------------------------------------- on a GPU, or the host that plays one

FORMS = [Interface, Dlpack, lambda values: Dlpack(values, asks_version=True)]


def same(device, host):
    assert isinstance(device, retable.DeviceArray)
    assert device.shape == host.shape and device.dtype == host.dtype
    assert numpy.array_equal(device.to_numpy(), host, equal_nan=True)


def rows_for(explainer, rows, random):
    """Normal values with missing and infinite ones, zeros, and values that LightGBM takes for zero."""
    x = random.normal(size=(rows, explainer._model.features)).astype(numpy.float32)
    for value in (numpy.nan, numpy.inf, -numpy.inf, 0, -1e-36):
        x[random.random(x.shape) < 0.02] = value
    return x


@with_device
@pytest.mark.parametrize("rows", [0, 1, 33, 1000, 5000, 70000])
def test_values_are_those_of_host_rows(trained, rows):
    random = fresh("rows")
    for model in (trained, forest(3)[0], forest(0)[0]):
        explainer = retable.TreeExplainer(model, device="cuda")
        x = rows_for(explainer, rows, random)
        want = explainer.shap_values(x)
        for form in FORMS:
            same(explainer.shap_values(form(x)), want)
        whole = numpy.nan_to_num(x, posinf=1, neginf=-1)
        same(explainer.shap_values(Interface(whole)), explainer.shap_values(whole))


@with_device
def test_values_of_wide_and_of_large_models():
    random = fresh("rows")
    for model in (forest(0, features=300)[0], forest(3, rows=3000, features=20)[0]):
        explainer = retable.TreeExplainer(model, device="cuda")
        for rows in (100, 3000):
            x = rows_for(explainer, rows, random)
            same(explainer.shap_values(Interface(x)), explainer.shap_values(x))


@with_device
@pytest.mark.parametrize("rows", [0, 1, 33, 1000, 5000])
def test_interactions_are_those_of_host_rows(trained, rows):
    random = fresh("rows")
    for model in (trained, forest(3)[0], forest(0)[0]):
        explainer = retable.TreeExplainer(model, device="cuda")
        x = rows_for(explainer, rows, random)
        same(explainer.shap_interaction_values(Interface(x)), explainer.shap_interaction_values(x))


@with_device
def test_interventional_values_are_those_of_host_rows(trained):
    random = fresh("rows")
    plain = retable.TreeExplainer(trained)
    background = numpy.nan_to_num(rows_for(plain, 40, random))
    explainer = retable.TreeExplainer(trained, data=background, device="cuda")
    x = numpy.nan_to_num(rows_for(plain, 700, random))
    same(explainer.shap_values(Interface(x)), explainer.shap_values(x))


@needs_gpu
def test_a_gpus_values_are_a_processors(trained):
    random = fresh("rows")
    for model in (trained, forest(3)[0], forest(0)[0]):
        gpu, cpu = (retable.TreeExplainer(model, device=device) for device in ("cuda", "cpu"))
        x = numpy.nan_to_num(rows_for(cpu, 2000, random), posinf=3, neginf=-3)
        for name in ("shap_values", "shap_interaction_values"):
            ours, theirs = getattr(gpu, name)(x), getattr(cpu, name)(x)
            assert numpy.abs(ours - theirs).max() <= 1e-5 * max(1, numpy.abs(theirs).max())


@with_device
def test_values_that_a_model_takes_as_doubles_or_as_categories():
    sklearn = pytest.importorskip("sklearn.ensemble")
    random = fresh("rows")
    x = random.integers(0, 4, (300, 3)).astype(numpy.float32) / 10
    y = x[:, 0] > x[:, 1]
    plain = sklearn.HistGradientBoostingClassifier(max_iter=5).fit(x, y)
    explainer = retable.TreeExplainer(plain, device="cuda")
    same(explainer.shap_values(Interface(x)), explainer.shap_values(x))
    sets = sklearn.HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]).fit(numpy.rint(x * 10), y)
    with pytest.raises(TypeError, match="categories"):
        retable.TreeExplainer(sets, device="cuda").shap_values(Interface(x))


@with_device
def test_one_row_without_its_axis(trained):
    explainer = retable.TreeExplainer(trained, device="cuda")
    x = rows_for(explainer, 1, fresh("rows"))[0]
    same(explainer.shap_values(Interface(x)), explainer.shap_values(x))
    same(explainer.shap_interaction_values(Interface(x)), explainer.shap_interaction_values(x))


@with_device
@pytest.mark.parametrize("method", METHODS)
def test_shuffles_are_a_processors(method):
    random = fresh("items")
    for dtype in ("u1", "f2", "f4", "f8", "c16"):
        for n in (0, 1, 5, 1000, 300001):
            items = random.integers(0, 256, n * numpy.dtype(dtype).itemsize, numpy.uint8).view(dtype)
            host = retable.shuffle(items, 7, method=method, device="cuda")
            got = retable.shuffle(Interface(items), 7, method=method).to_numpy()
            assert got.tobytes() == host.tobytes(), (dtype, n)
            if method != "Shuffle":  # whose order on a processor is another method's
                assert host.tobytes() == retable.shuffle(items, 7, method=method).tobytes()
    rows = random.random((1001, 3, 5)).astype(numpy.float32)
    same(retable.shuffle(Dlpack(rows), 9, method=method), retable.shuffle(rows, 9, method=method, device="cuda"))


@with_device
def test_shuffle_into_an_array():
    items = fresh("items").random(10000)
    to = Interface(numpy.zeros(10000), data=None)
    to.__cuda_array_interface__["data"] = (to._memory.address, False)
    assert retable.shuffle(Interface(items), 3, out=to) is to
    assert numpy.array_equal(to.to_numpy(), retable.shuffle(items, 3))
    unaligned = Interface(items, before=8)
    same(retable.shuffle(unaligned, 3), retable.shuffle(items, 3))
    for out, what in ((Interface(items), "read-only"), (numpy.zeros(10000), "out does not"),
                      (Dlpack(items), "read-only")):
        with pytest.raises(ValueError, match=what):
            retable.shuffle(Interface(items), 3, out=out)


@with_device
def test_sketches_are_those_of_host_values():
    random = fresh("values")
    for dtype in (numpy.float32, numpy.float64):
        for n in (0, 1, 1000, 1 << 20):
            values = random.normal(size=n).astype(dtype)
            if n > 100:
                values[::97], values[5], values[6] = numpy.nan, numpy.inf, -numpy.inf
            host = retable.QuantileSketch(device="cuda").update(values)
            device = retable.QuantileSketch(device="cuda").update(Interface(values))
            assert device.to_bytes() == host.to_bytes()
            assert device.n == retable.QuantileSketch().update(values).n
    with pytest.raises(ValueError, match="device \"cuda\""):
        retable.QuantileSketch().update(Interface(values))
    with pytest.raises(TypeError, match="int32"):
        retable.QuantileSketch(device="cuda").update(Interface(numpy.zeros(3, numpy.int32)))


@needs_gpu
def test_a_gpus_quantiles_are_a_processors():
    values = fresh("values").lognormal(size=200000)
    gpu, cpu = (retable.QuantileSketch(device=device).update(values) for device in ("cuda", "cpu"))
    phis = numpy.linspace(0.01, 0.99, 50)
    assert numpy.allclose(gpu.quantile(phis), cpu.quantile(phis), rtol=1e-4)


@with_device
@pytest.mark.parametrize("classes", [0, 2, 5, 300])
def test_forests_of_both_devices_are_one(classes):
    seed = int(fresh("forest").integers(1 << 30))
    options = {"classes": classes, "rows": 3000, "features": 12, "seed": seed}
    (gpu, x), (cpu, _) = forest(device="cuda", **options), forest(device="cpu", **options)
    assert gpu.forest_.to_bytes() == cpu.forest_.to_bytes()
    assert gpu.forest_.device == ("cuda" if retable.cuda_devices() else "cpu")
    for model in (gpu, cpu):
        for form in FORMS:
            if classes:
                same(model.predict_proba(form(x)), cpu.predict_proba(x))
                assert numpy.array_equal(model.predict(form(x)), cpu.predict(x))
            else:
                same(model.predict(form(x)), cpu.predict(x))
        assert numpy.array_equal(model.apply(Interface(x)), cpu.apply(x))
    again = forest(device="cuda", **options)[0]
    y = cpu.predict(x)
    assert again.fit(Interface(x), Interface(y)).forest_.to_bytes() == again.fit(x, y).forest_.to_bytes()


@with_device
def test_what_a_gpu_does_not_take_is_named(trained):
    explainer = retable.TreeExplainer(trained, device="cuda")
    width = explainer._model.features
    x = numpy.zeros((4, width), numpy.float32)
    for wrong, error, what in (
            (Interface(x.astype(float)), TypeError, "float32"),
            (Interface(x[:, 1:]), ValueError, f"{width - 1} columns"),
            (Interface(x, strides=(4, 16)), ValueError, "row-major"),
            (Interface(x.reshape(2, 2, width)), ValueError, "axes"),
            (NoMemory(shape=(2, width)), ValueError, "address|memory")):
        with pytest.raises(error, match=what):
            explainer.shap_values(wrong)
    if retable.cuda_devices():
        with pytest.raises(ValueError, match="memory of the host|address"):
            explainer.shap_values(NoMemory(shape=(4, width), data=(x.ctypes.data, True)))
    with pytest.raises(ValueError, match="check_additivity"):
        explainer.shap_values(Interface(x), check_additivity=True)
    with pytest.raises(TypeError, match="processor"):
        retable.TreeExplainer(trained, device="cpu").shap_values(Interface(x))
    with pytest.raises(TypeError, match=r"to_numpy\(\)"):
        numpy.asarray(explainer.shap_values(Interface(x)))


@needs_gpu
def test_streams(trained):
    random, explainer = fresh("rows"), retable.TreeExplainer(trained, device="cuda")
    model, _ = forest(3, features=explainer._model.features)
    streams = [Stream() for _ in range(3)]
    wanted = []
    for turn in range(12):  # calls on several streams, none of which is waited for
        stream = streams[turn % 3].number
        x = numpy.nan_to_num(rows_for(explainer, 200 + 400 * (turn % 4), random), posinf=1, neginf=-1)
        on = Interface(x, stream=stream)
        wanted.append((on, explainer.shap_values(on), explainer.shap_values(x)))
        wanted.append((on, model.predict_proba(on), model.predict_proba(x)))
        wanted.append((on, retable.shuffle(on, turn), retable.shuffle(x, turn)))
        wanted.append((on, explainer.shap_interaction_values(on), explainer.shap_interaction_values(x)))
        assert wanted[-1][1].__cuda_array_interface__["stream"] in (None, stream)
    for _, device, host in wanted:
        same(device, host)
    device = wanted[0][1]
    for stream in (None, -1, 1, 2, streams[1].number):
        assert device.__dlpack__(stream=stream) is not None
    for stream in streams:
        stream.wait()
        stream.close()
    assert device.__cuda_array_interface__["stream"] is None


@needs_gpu
def test_lifetimes(trained):
    explainer = retable.TreeExplainer(trained, device="cuda")
    x = numpy.zeros((4096, explainer._model.features), numpy.float32)
    want = explainer.shap_values(x)
    rows = Interface(x)
    gone = weakref.ref(rows)
    values = explainer.shap_values(rows)
    del rows
    gc.collect()
    assert gone() is None  # rows are not kept
    memory = weakref.ref(values)
    same(values, want)
    capsule = values.__dlpack__()
    del values
    gc.collect()
    assert memory() is None  # but for the capsule's hold on what it needs
    del capsule
    for _ in range(3):
        explainer.shap_values(Interface(x))
    before = free_bytes()
    for _ in range(50):
        explainer.shap_values(Dlpack(x))
    assert before - free_bytes() < 16 << 20


@with_device
def test_our_arrays_are_taken_back(trained):
    """An answer is an array in GPU memory as any other: with strides, without a copy."""
    items = fresh("items").random((500, 4)).astype(numpy.float32)
    once = retable.shuffle(Interface(items), 1)
    same(retable.shuffle(once, 2), retable.shuffle(retable.shuffle(items, 1), 2))
    values = retable.TreeExplainer(trained, device="cuda").shap_values(
        numpy.zeros((3, retable.TreeExplainer(trained)._model.features), numpy.float32))
    assert once.nbytes == items.nbytes and len(once) == 500 and once.ndim == 2 and values.ndim >= 2


@needs_gpu
@pytest.mark.parametrize("package", ["cupy", "torch"])
def test_packages_arrays_and_streams(package, trained):
    module = pytest.importorskip(package)
    random = fresh("rows")
    explainer = retable.TreeExplainer(trained, device="cuda")
    x = rows_for(explainer, 3000, random)
    want = explainer.shap_values(x)
    if package == "cupy":
        given, stream = module.asarray(x), module.cuda.Stream(non_blocking=True)
        back = (module.asarray, module.from_dlpack)
        host, on, current = module.asnumpy, stream, lambda: module.cuda.get_current_stream().ptr
    else:
        given, stream = module.from_numpy(x).cuda(), module.cuda.Stream()
        back = (lambda a: module.as_tensor(a, device="cuda"), module.from_dlpack)
        host, on = lambda a: a.cpu().numpy(), module.cuda.stream(stream)
        current = lambda: module.cuda.current_stream().cuda_stream
    for take in back:
        assert numpy.array_equal(host(take(explainer.shap_values(given))), want)
        module.cuda.Device().synchronize() if package == "cupy" else module.cuda.synchronize()
        with on:
            doubled = given * 2  # on the stream: values come behind it
            answer = explainer.shap_values(doubled)
            assert answer._stream == current() != 0
            assert numpy.array_equal(host(take(answer)), explainer.shap_values(x * numpy.float32(2)))
            shuffled = retable.shuffle(doubled, 5)
            assert numpy.array_equal(host(take(shuffled)), retable.shuffle(x * numpy.float32(2), 5), equal_nan=True)
    plain = module.zeros((3, 3))
    assert package == "cupy" or not _device.on_device(plain)
