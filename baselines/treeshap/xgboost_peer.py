"""The XGBoost of the user's Python: pred_contribs and pred_interactions on the processor or a GPU.

Given a model (UBJSON), rows and "what"; a run goes from row-major float32 rows to phi, the DMatrix included, as the
other methods are timed. From 3.3 on XGBoost computes by quadrature of eight fixed points, before by EXTEND and UNWIND.
Called with "cuda" it is not available where this XGBoost was built without CUDA.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402

contender.require("xgboost")
import numpy  # noqa: E402
import xgboost  # noqa: E402


class XgboostPeer(contender.Contender):
    name = "XGBoost " + xgboost.__version__

    def load(self, request, arrays):
        if "model" in arrays:
            settings = {"device": request["device"], "nthread": request["threads"] or len(os.sched_getaffinity(0))}
            self.threads = settings["nthread"]
            self.booster = xgboost.Booster(settings)
            self.booster.load_model(bytearray(arrays["model"].tobytes()))
            self.booster.set_param(settings)
        if "rows" in arrays:
            self.rows = arrays["rows"]
            self.what = {request["what"]: True}

    def run(self):
        data = xgboost.DMatrix(self.rows, nthread=self.threads)
        self.phi = self.booster.predict(data, **self.what)

    def answer(self, request):
        return [("phi", numpy.ascontiguousarray(self.phi, dtype="float32"))]


if __name__ == "__main__":
    if "cuda" in sys.argv[1:] and not xgboost.build_info().get("USE_CUDA"):
        contender.unavailable("this XGBoost was built without CUDA")
    XgboostPeer().serve()
