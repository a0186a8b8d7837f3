// Runs through a graph beside other work: what recorded calls saved, and the gradients that a run
// adds to, are held as its operands are.
#include "addon.h"

// The operators that run, and which of their arguments are the results to begin with and the inputs
// to stop at.
static const struct run {
  const char *name;
  int outputs, inputs;
  bool capture;
} runs[] = {{"backward", 0, 4, false}, {"autogradGrad", 0, 1, true}};

// Holds a tensor of the graph, and takes its handle. What was saved and no object has, none can
// write: it is left to the run, which frees it on the way.
static bool hold(napi_env env, const lt_call *call, lt_graph *graph, tensor_t **handle,
                 lt_access access) {
  lt_env *e = lt_get_env(env);
  if (access == LT_READS && !lt_reachable(e, *handle)) return true;
  lt_box *box = lt_new_box(e->pool);
  if (!box) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for a handle");
    return false;
  }
  box->kind = LT_TENSOR, box->handle = *handle;
  *handle = NULL;
  lt_use(box);
  lt_attach(env, e, box, NULL);
  lt_track(env, e, box);
  bool checked = lt_check_box(env, call->op->name, access == LT_READS ? "saved tensor" : "gradient",
                              box, access);
  box->disposed = true;  // no object owns it: it goes with its last user
  lt_held *held = &graph->held[graph->count++];
  *held = (lt_held){.box = box, .access = access, .paused = &graph->paused};
  lt_claim(held);
  graph->shares |= box->memory && box->memory->buffer && box->memory->buffer->detachable;
  return checked;
}

bool lt_hold_graph(napi_env env, const lt_call *call, lt_graph *graph) {
  const struct run *run = NULL;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    if (strcmp(call->op->name, runs[i].name) == 0) run = &runs[i];
  if (!run) return true;
  const lt_value *outputs = &call->arguments[run->outputs], *inputs = &call->arguments[run->inputs];
  tensor_t **read = NULL, **written = NULL;
  int64_t reads = 0, writes = 0;
  tensor_status status = tensor_graph_reads(outputs->list.data, outputs->list.length,
                                            inputs->list.data, inputs->list.length, &read, &reads);
  if (!status)
    status = tensor_graph_writes(outputs->list.data, outputs->list.length, inputs->list.data,
                                 inputs->list.length, run->capture, &written, &writes);
  if (!status && !(graph->held = malloc((size_t)(reads + writes + 1) * sizeof *graph->held)))
    status = TENSOR_ERROR_MEMORY;
  bool held = status != TENSOR_ERROR_MEMORY;  // the run itself tells of other errors
  if (!held) lt_throw_status(env, status, "no memory to hold what the graph saved");
  for (int64_t i = 0; !status && held && i < reads; i++)
    held = hold(env, call, graph, &read[i], LT_READS);
  for (int64_t i = 0; !status && held && i < writes; i++)
    held = hold(env, call, graph, &written[i], LT_ADDS);
  tensor_list_free(read, reads);
  tensor_list_free(written, writes);
  return held;
}

void lt_release_graph(napi_env env, lt_graph *graph) {
  for (int64_t i = 0; i < graph->count; i++) {
    lt_unclaim(&graph->held[i]);
    lt_unuse(env, graph->held[i].box);
  }
  free(graph->held);
  *graph = (lt_graph){0};
}
