"""SummaryWriter: scalars, images, strings and histograms in files that TensorBoard displays."""

from __future__ import annotations

import io
import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-not-found, import-untyped, unused-ignore]
from tensorboard.compat.proto.summary_pb2 import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto  # type: ignore[import-not-found, import-untyped, unused-ignore]
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto  # type: ignore[import-not-found, import-untyped, unused-ignore]
from tensorboard.summary.writer.event_file_writer import EventFileWriter  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ..._core.tensor import Tensor

__all__ = ["FileWriter", "SummaryWriter"]

FORMATS = {"CHW": (1, 2, 0), "HWC": (0, 1, 2)}
STRING = 7  # DT_STRING


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


class FileWriter:
    """Writes events to a file in a folder."""

    def __init__(self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer: Any = EventFileWriter(os.fspath(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Returns the folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Writes an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Writes a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Writes what waits to the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes values for TensorBoard to a file in `log_dir`, by default a new folder in `runs` whose name has the time and the host.

    `purge_step` is the step from which earlier values of the folder do not count. Graphs, embeddings, meshes, videos and sounds are not
    supported.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir = os.fspath(log_dir)
        self._options = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        writer = self._get_file_writer()
        if purge_step is not None:
            writer.add_event(Event(file_version="brain.Event:2"), purge_step)

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = self.all_writers[self.log_dir] = FileWriter(self.log_dir, *self._options)
        return self.file_writer

    def get_logdir(self) -> str:
        """Returns the folder."""
        return self.log_dir

    def _add(self, value: Any, step: int | None, walltime: float | None) -> None:
        self._get_file_writer().add_summary(Summary(value=[value]), step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Writes a number: a scalar, or a tensor or array of one element."""
        value = _array(scalar_value)
        if value.size != 1:
            raise AssertionError(f"scalar should be 0D, but {tag} has {value.size} elements")
        self._add(Summary.Value(tag=tag, simple_value=float(value.reshape(()))), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Writes several scalars for one chart, each to a separate folder."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._options)
            summary = Summary(value=[Summary.Value(tag=main_tag, simple_value=float(_array(value).reshape(())))])
            self.all_writers[folder].add_summary(summary, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Writes the distribution of values. `bins` is an argument of NumPy's histogram, or "tensorflow" for limits that grow by a
        tenth."""
        array = _array(values).astype(np.float64).reshape(-1)
        if array.size == 0:
            raise ValueError("The input has no element.")
        counts, limits = np.histogram(array, bins=_limits() if isinstance(bins, str) and bins == "tensorflow" else bins)
        (used,) = np.nonzero(counts)
        first, last = (used[0], used[-1] + 1) if used.size else (0, len(counts))
        self._add(
            Summary.Value(
                tag=tag,
                histo=HistogramProto(
                    min=array.min(), max=array.max(), num=array.size, sum=array.sum(), sum_squares=array.dot(array),
                    bucket_limit=limits[first + 1 : last + 1].tolist(), bucket=counts[first:last].tolist(),
                ),
            ),
            global_step,
            walltime,
        )  # fmt: skip

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Writes an image: floats from 0 to 1, or uint8, in the order "CHW", "HWC" or "HW". Requires the package Pillow."""
        from PIL import Image  # type: ignore[import-not-found, import-untyped, unused-ignore]

        array = _array(img_tensor)
        if array.ndim != len(dataformats):
            raise AssertionError(
                f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {dataformats}"
            )
        array = array[..., None] if dataformats.upper() == "HW" else array.transpose(FORMATS[dataformats.upper()])
        if array.dtype != np.uint8:
            array = (array.astype(np.float64) * 255).clip(0, 255).astype(np.uint8)
        if array.shape[2] == 1:
            array = array.repeat(3, 2)
        file = io.BytesIO()
        Image.fromarray(array).save(file, format="PNG")
        height, width, channels = array.shape
        image = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())
        self._add(Summary.Value(tag=tag, image=image), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None) -> None:
        """Writes a figure of matplotlib, and closes it unless `close` is false."""
        figure.canvas.draw()
        self.add_image(tag, np.asarray(figure.canvas.buffer_rgba())[..., :3].copy(), global_step, walltime, dataformats="HWC")
        if close:
            from matplotlib import pyplot  # type: ignore[import-not-found, import-untyped, unused-ignore]

            pyplot.close(figure)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """Writes a text, in Markdown."""
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        tensor = TensorProto(dtype=STRING, string_val=[text_string.encode()], tensor_shape=shape)
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        self._add(Summary.Value(tag=tag + "/text_summary", metadata=metadata, tensor=tensor), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Writes hyperparameters as a text, and metrics as numbers."""
        rows = "\n".join(f"| {name} | {value} |" for name, value in hparam_dict.items())
        self.add_text("hparams", f"| name | value |\n|---|---|\n{rows}")
        for name, value in metric_dict.items():
            self.add_scalar(name, value)

    def _unsupported(self, *args: Any, **kwargs: Any) -> None:
        """Raises NotImplementedError: events of this kind are not supported."""
        raise NotImplementedError("SummaryWriter: graphs, embeddings, meshes, videos and sounds are not supported")

    add_graph = add_embedding = add_mesh = add_video = add_audio = add_pr_curve = _unsupported

    def flush(self) -> None:
        """Writes what waits to the files."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the files."""
        for writer in self.all_writers.values():
            writer.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _limits() -> list[float]:
    """Returns bin limits from -1e20 to 1e20, each 10 % larger in absolute value than the previous one."""
    grown = [1e-12]
    while grown[-1] < 1e20:
        grown.append(grown[-1] * 1.1)
    return [-x for x in reversed(grown)] + [0.0] + grown
