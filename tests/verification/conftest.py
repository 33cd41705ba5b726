import pytest

from sfumato.mechanisms.base import one_blas_thread


@pytest.fixture(autouse=True)
def single_threaded_products():
    """Matrix products that wait for each other on a busy machine take many times as long."""
    with one_blas_thread():
        yield
