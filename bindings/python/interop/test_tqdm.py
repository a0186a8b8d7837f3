"""Progress bars over the rows of a tensor, elements as counts and next to a bar."""

import io

from tqdm import tqdm, trange

import libtensor as torch


def test_rows():
    file = io.StringIO()
    assert [row.tolist() for row in tqdm(torch.arange(6).view(3, 2), file=file)] == [[0, 1], [2, 3], [4, 5]]
    assert "3/3" in file.getvalue()


def test_counts():
    file = io.StringIO()
    with tqdm(total=4, file=file) as bar:
        bar.update(torch.tensor(3).item())
        bar.set_postfix(loss=torch.tensor(0.5).item())
    assert "3/4" in file.getvalue() and "loss=0.5" in file.getvalue()
    assert list(trange(torch.tensor(2), file=file)) == [0, 1]
