"""utils.data in one process: datasets, samplers, batches. Recorded values are PyTorch 2.15's."""

import collections
import warnings

import numpy as np
import pytest

import libtensor as torch
from libtensor.utils import data
from libtensor.utils.data import DataLoader, Dataset, IterableDataset


class Squares(Dataset):
    def __init__(self, count=10):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index**2


class Numbers(IterableDataset):
    def __init__(self, count=10, length=None):
        self.count, self.length = count, length

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self):
        if self.length is None:
            raise TypeError("object of type 'Numbers' has no len()")
        return self.length


def generator(seed):
    return torch.Generator().manual_seed(seed)


def test_orders_are_those_of_pytorch():
    ten = range(10)
    assert list(data.RandomSampler(ten, num_samples=25, generator=generator(1)))[:12] == [5, 6, 1, 2, 0, 8, 9, 3, 7, 4, 2, 3]
    torch.manual_seed(0)
    drawn = list(data.RandomSampler(ten, replacement=True, num_samples=70))
    assert (len(drawn), drawn[:5], drawn[30:36], drawn[-4:]) == (70, [6, 0, 4, 3, 9], [2, 9, 4, 6, 8, 8], [2, 1, 7, 0])
    assert list(data.WeightedRandomSampler([0.1, 0.9, 0.4], 5, True, generator(2))) == [2, 1, 1, 1, 2]
    assert [s.indices for s in data.random_split(ten, [0.33, 0.33, 0.34], generator(0))] == [[4, 1, 7, 5], [3, 9, 0], [8, 6, 2]]
    torch.manual_seed(5)
    loader = DataLoader(range(4), None, shuffle=True, generator=generator(3))
    assert [list(loader) for _ in range(3)] == [[1, 0, 2, 3], [2, 1, 3, 0], [0, 3, 2, 1]]
    assert torch.rand(1).item() == pytest.approx(0.8303, abs=1e-4)  # the default generator drew nothing


@pytest.mark.parametrize(
    "shuffle, drop_last, count, orders",
    [
        (False, False, 5, [[0, 3], [1, 4], [2, 0]]),
        (True, False, 10, [[5, 2, 9, 4], [6, 0, 3, 5], [1, 8, 7, 6]]),
        (False, True, 10, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]),
        (True, True, 5, [[0], [4], [2]]),
        (True, True, 1, [[], [], []]),
        (False, False, 1, [[0], [0], [0]]),
    ],
)
def test_shares_of_processes(shuffle, drop_last, count, orders):
    samplers = [data.DistributedSampler(range(count), 3, rank, shuffle, seed=1, drop_last=drop_last) for rank in range(3)]
    assert [list(s) for s in samplers] == orders and {len(s) for s in samplers} == {len(orders[0])}
    samplers[0].set_epoch(7)
    assert sorted(samplers[0]) != sorted(orders[0]) or count < 10 or not shuffle


@pytest.mark.parametrize("count", [1, 7, 12])
@pytest.mark.parametrize("batch_size", [1, 3, 12, 20])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_hold_all_samples_in_order(count, batch_size, drop_last):
    for dataset in (range(count), Numbers(count, count)):
        loader = DataLoader(dataset, batch_size, drop_last=drop_last)
        batches = [batch.tolist() for batch in loader]
        kept = count - count % batch_size if drop_last else count
        assert sum(batches, []) == list(range(kept)) and len(batches) == len(loader)
        assert all(len(batch) == batch_size for batch in batches[:-1])


REJECTED = [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive with"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
    ({"batch_size": True}, "batch_size should be a positive integer value, but got batch_size=True"),
    ({"num_workers": 1, "multiprocessing_context": "thread"}, "should specify a valid start method in"),
    ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
]


@pytest.mark.parametrize("arguments, message", REJECTED, ids=[message for _, message in REJECTED])
def test_arguments_that_exclude_each_other(arguments, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(3), **arguments)


def test_arguments_of_streams_and_attributes():
    for name, value in {"shuffle": True, "sampler": [1], "batch_sampler": [[1]]}.items():
        with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
            DataLoader(Numbers(), **{name: value})
    loader = DataLoader(Squares(), 2)
    for name in ("batch_size", "sampler", "batch_sampler", "dataset", "drop_last", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(DataLoader(Numbers()))


def test_a_stream_that_is_longer_than_it_says_warns():
    loader = DataLoader(Numbers(4, 2))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match=r"reported to be 2\(when accessing len\(dataloader\)\), but (3|4) samples have been fetched"):
        list(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(Numbers(4, 2)))  # the length is not used


Point = collections.namedtuple("Point", "x y")


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple, collections.deque)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b


BATCHES = {
    "numbers": ([1, 2], torch.tensor([1, 2])),
    "floats": ([1.0, 2], torch.tensor([1.0, 2.0], dtype=torch.float64)),
    "bools": ([True, False], torch.tensor([True, False])),
    "strings": (["a", "b"], ["a", "b"]),
    "named": ([Point(1, 2), Point(3, 4)], Point(torch.tensor([1, 3]), torch.tensor([2, 4]))),
    "ordered": ([collections.OrderedDict(a=1)] * 2, collections.OrderedDict(a=torch.tensor([1, 1]))),
    "tuples": ([(1, "x"), (2, "y")], [torch.tensor([1, 2]), ("x", "y")]),
    "nested": ([[{"a": (1,)}]], [{"a": [torch.tensor([1])]}]),
    "ranges": ([range(2), range(2)], [torch.tensor([0, 0]), torch.tensor([1, 1])]),
    "deques": ([collections.deque([1, 2]), collections.deque([3, 4])], collections.deque([torch.tensor([1, 3]), torch.tensor([2, 4])])),
    "arrays": ([np.ones(2), np.zeros(2)], torch.tensor([[1.0, 1], [0, 0]], dtype=torch.float64)),
    "scalars": ([np.float32(1), np.float32(2)], torch.tensor([1.0, 2.0])),
    "float64": ([np.float64(1)], torch.tensor([1.0], dtype=torch.float64)),
    "tensors": ([torch.tensor(1), torch.tensor(2)], torch.tensor([1, 2])),
    "empty": ([(), ()], []),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_samples(name):
    samples, expected = BATCHES[name]
    assert same(data.default_collate(samples), expected)


@pytest.mark.parametrize(
    "samples, error, message",
    [
        ([None], TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>"),
        ([{1}], TypeError, "found <class 'set'>"),
        ([np.array("a")], TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([torch.ones(1), torch.ones(2)], RuntimeError, "expects each tensor to be equal size"),
        ([torch.eye(2).to_sparse()], RuntimeError, "Batches of sparse tensors are not currently supported"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ],
)
def test_samples_that_make_no_batch(samples, error, message):
    with pytest.raises(error, match=message):
        data.default_collate(samples)


def test_conversions_and_maps_of_functions():
    converted = data.default_convert({"a": np.ones(2), "b": (np.float32(2), "x"), "c": np.array("s"), "d": Point(1, np.zeros(1))})
    assert same(converted["a"], torch.ones(2, dtype=torch.float64)) and same(converted["b"], [torch.tensor(2.0), "x"])
    assert isinstance(converted["c"], np.ndarray) and isinstance(converted["d"], Point) and torch.is_tensor(converted["d"].y)

    def count(batch, *, collate_fn_map=None):
        return len(batch)

    table = {**data._utils.collate.default_collate_fn_map, Squares: count}
    made = data._utils.collate.collate([[Squares(), np.ones(1)], [Squares(), np.ones(1)]], collate_fn_map=table)
    assert made[0] == 2 and made[1].shape == (2, 1)


def test_datasets_of_datasets():
    both = Squares(3) + Squares(4)
    assert len(both) == 7 and both[-1] == 9 and both[3] == 0 and both.cumulative_sizes == [3, 7]
    with pytest.raises(IndexError):
        both[7]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-8]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    assert list(Numbers(2) + Numbers(1)) == [0, 1, 0] and len(data.ChainDataset([Numbers(2, 2), Numbers(1, 5)])) == 7
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(data.ChainDataset([Squares()]))
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.ones(2), torch.ones(3))
    stack = data.StackDataset(a=Squares(3), b=range(3))
    assert stack[2] == {"a": 4, "b": 2} and stack.__getitems__([0, 2])[1] == {"a": 4, "b": 2} and len(stack) == 3
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(Squares(3), Squares(4))
    subset = data.Subset(Squares(), [3, 1])
    assert [*subset] == [9, 1] and subset.__getitems__([1]) == [1]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(5), [2, 2])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        assert [len(s) for s in data.random_split(range(5), [0.999, 0.001])] == [5, 0]
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()


def test_a_dataset_is_asked_for_a_batch_at_once():
    class Batched(Squares):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert [b.tolist() for b in DataLoader(Batched(4), 2)] == [[0, -1], [-2, -3]]
    assert [b.tolist() for b in DataLoader(data.Subset(Batched(4), [3, 2]), 2)] == [[-3, -2]]


def test_pinning_without_a_device_warns():
    if torch.accelerator.is_available():
        pytest.skip("there is a device")
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert [b.is_pinned() for b in DataLoader([torch.ones(1)], pin_memory=True)] == [False]


def test_modules_under_the_names_of_pytorch():
    from libtensor.utils.data import dataloader, dataset, distributed, sampler
    from libtensor.utils.data._utils import collate, fetch, pin_memory, worker

    assert dataset.Dataset is Dataset and dataloader.DataLoader is DataLoader and dataloader.default_collate is collate.default_collate
    assert sampler.Sampler is data.Sampler and distributed.DistributedSampler is data.DistributedSampler
    assert worker.get_worker_info() is None and fetch._MapDatasetFetcher(range(3), True, list, False).fetch([0, 2]) == [0, 2]
    assert pin_memory.pin_memory({"a": ("x", 1)}) == {"a": ["x", 1]}
    assert data.DataLoader.__module__ == "libtensor.utils.data.dataloader" and DataLoader[int]


def test_data_pipes():
    from libtensor.utils.data.datapipes.iter import IterableWrapper
    from libtensor.utils.data.datapipes.map import SequenceWrapper

    source = IterableWrapper(range(10))
    assert list(source.map(lambda x: x * 2).filter(lambda x: x % 4 == 0).batch(2)) == [[0, 4], [8, 12], [16]]
    assert sorted(source.shuffle(buffer_size=3).set_seed(1)) == list(range(10)) and list(source.batch(4).unbatch()) == list(range(10))
    assert list(source.zip(source.concat(source)))[9] == (9, 9) and len(source.batch(3)) == 4
    assert SequenceWrapper([1, 2]).map(str)[1] == "2"
    shares = DataLoader(source.sharding_filter(), 3, num_workers=2)
    assert sorted(sum((batch.tolist() for batch in shares), [])) == list(range(10))
    assert list(IterableWrapper([(1, 2)]).map(lambda a: a + 1, input_col=1)) == [(1, 3)]

    @data.functional_datapipe("doubled_for_test")
    class Doubler(data.IterDataPipe):
        def __init__(self, datapipe):
            self.datapipe = datapipe

        def __iter__(self):
            return (2 * x for x in self.datapipe)

    assert list(source.doubled_for_test())[-1] == 18
    with pytest.raises(Exception, match="already taken"):
        data.functional_datapipe("map")(Doubler)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        source.nothing()
    with data.guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="is non-deterministic"):
        data.non_deterministic(Doubler)(source)


@pytest.mark.parametrize(
    "sampler",
    [
        lambda: data.RandomSampler(range(50)),
        lambda: data.RandomSampler(range(50), replacement=True, num_samples=40),
        lambda: data.SubsetRandomSampler(range(50)),
        lambda: data.WeightedRandomSampler(torch.ones(50), 40),
        lambda: data.WeightedRandomSampler(torch.ones(50), 40, replacement=False),
    ],
    ids=["permuted", "drawn", "subset", "weighted", "weighted once"],
)
def test_samplers_draw_at_their_first_index(sampler):
    made = sampler()
    first, second = iter(made), iter(made)
    torch.manual_seed(0)
    rows = [[next(first)], []]
    torch.manual_seed(0)
    rows[1].append(next(second))
    for row, indices in zip(rows, (first, second), strict=True):
        row.extend(indices)
    assert rows[0] == rows[1]


def test_a_stream_of_pipes_is_shuffled_by_the_loader():
    from libtensor.utils.data.datapipes.iter import IterableWrapper

    pipe = IterableWrapper(list(range(40))).shuffle(buffer_size=7)
    assert list(DataLoader(pipe, batch_size=None, shuffle=False)) == list(range(40))
    shuffled = list(DataLoader(pipe, batch_size=None, shuffle=True))
    assert sorted(shuffled) == list(range(40)) != shuffled
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(IterableWrapper(list(range(40))), batch_size=None, shuffle=True)
    assert sorted(loader) == list(range(40)) != list(loader)
    with pytest.raises(ValueError, match="expected unspecified shuffle option"):
        DataLoader(data.ChainDataset([]), shuffle=True)
