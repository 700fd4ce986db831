"""Says which packages are missing whose tests are skipped: `pip install .[test]` brings all."""

import importlib.util

WANTED = ("pandas", "pyarrow", "sklearn", "shap", "xgboost", "lightgbm", "catboost", "matplotlib")


def pytest_report_header(config):
    missing = [name for name in WANTED if importlib.util.find_spec(name) is None]
    return f"not installed, their tests are skipped: {', '.join(missing)}" if missing else None
