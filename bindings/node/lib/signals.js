'use strict';

// AbortSignals of asynchronous calls: however many calls have one, it has one listener of ours, as more than ten make Node warn.

// The callbacks to run when a signal is aborted, by signal.
const watched = new WeakMap();

// A failing callback does not prevent the others.
function stopAll(all) {
  let failed;
  for (const stop of [...all]) {
    try {
      stop();
    } catch (error) {
      failed ??= { error };
    }
  }
  if (failed) throw failed.error;
}

function watch(signal, stop) {
  let entry = watched.get(signal);
  if (entry === undefined) {
    const all = new Set();
    entry = { all, listener: () => stopAll(all) };
    watched.set(signal, entry);
  }
  if (entry.all.size === 0) signal.addEventListener('abort', entry.listener);
  entry.all.add(stop);
}

function unwatch(signal, stop) {
  const entry = watched.get(signal);
  if (!entry?.all.delete(stop) || entry.all.size > 0) return;
  watched.delete(signal);
  signal.removeEventListener('abort', entry.listener);
}

module.exports = { watch, unwatch };
