// Concurrent backward passes: saved tensors, and the gradients that a pass adds to, are held like
// its operands.
#include <stdio.h>

#include "addon.h"

// The operators that run, and which of their arguments are the results to begin with and the inputs
// to stop at.
static const struct run {
  const char *name;
  int outputs, inputs;
  bool capture;
} runs[] = {{"backward", 0, 4, false}, {"autogradGrad", 0, 1, true}};

static const struct run *run_of(const lt_call *call) {
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    if (strcmp(call->op->name, runs[i].name) == 0) return &runs[i];
  return NULL;
}

bool lt_runs_graph(const lt_call *call) {
  return run_of(call) || strcmp(call->op->name, "nodeCall") == 0;
}

// The tensors that a backward pass uses in addition to its operands: saved ones, and the gradients
// that it adds to.
typedef struct parts {
  tensor_t **read, **written;
  int64_t reads, writes;
} parts;

// The parts of a call that runs a backward pass; false for other calls, and for errors, which the
// pass itself reports, except *status without memory.
static bool find_parts(const lt_call *call, parts *p, tensor_status *status) {
  const struct run *run = run_of(call);
  *p = (parts){0};
  *status = TENSOR_OK;
  if (!run) return false;
  const lt_value *outputs = &call->arguments[run->outputs], *inputs = &call->arguments[run->inputs];
  *status = tensor_graph_reads(outputs->list.data, outputs->list.length, inputs->list.data,
                               inputs->list.length, &p->read, &p->reads);
  if (!*status)
    *status = tensor_graph_writes(outputs->list.data, outputs->list.length, inputs->list.data,
                                  inputs->list.length, run->capture, &p->written, &p->writes);
  return !*status;
}

static void free_parts(parts *p) {
  tensor_list_free(p->read, p->reads);
  tensor_list_free(p->written, p->writes);
}

static const char *role_of(lt_access access) {
  return access == LT_READS ? "saved tensor" : "gradient";
}

// Rejects a tensor of the graph whose memory was taken away.
static bool is_there(napi_env env, const lt_call *call, const tensor_t *t, lt_access access,
                     lt_graph *graph) {
  const lt_buffer *buffer = lt_buffer_of(env, lt_get_env(env), t);
  if (graph) graph->shares |= buffer && buffer->detachable;
  if (!buffer || !lt_buffer_detached(env, buffer)) return true;
  char message[128];
  snprintf(message, sizeof message,
           "%s: a %s of the graph shares an ArrayBuffer that was transferred", call->name,
           role_of(access));
  lt_throw_status(env, TENSOR_ERROR_HANDLE, message);
  return false;
}

// Holds a tensor of the graph, and takes its handle. A saved tensor without a JavaScript object
// cannot be written: it is left to the pass, which frees it.
static bool hold(napi_env env, const lt_call *call, lt_graph *graph, tensor_t **handle,
                 lt_access access) {
  lt_env *e = lt_get_env(env);
  if (!is_there(env, call, *handle, access, graph)) return false;
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
  bool checked = lt_check_box(env, call->name, role_of(access), box, access);
  box->disposed = true;  // no object owns it: its last user frees it
  lt_held *held = &graph->held[graph->count++];
  *held = (lt_held){.box = box, .access = access, .paused = &graph->paused};
  lt_claim(held);
  return checked;
}

bool lt_hold_graph(napi_env env, const lt_call *call, lt_graph *graph) {
  parts p;
  tensor_status status;
  bool found = find_parts(call, &p, &status);
  if (found && !(graph->held = malloc((size_t)(p.reads + p.writes + 1) * sizeof *graph->held)))
    status = TENSOR_ERROR_MEMORY;
  bool held = status != TENSOR_ERROR_MEMORY;
  if (!held) lt_throw_status(env, status, "no memory for the saved tensors");
  for (int64_t i = 0; found && held && i < p.reads; i++)
    held = hold(env, call, graph, &p.read[i], LT_READS);
  for (int64_t i = 0; found && held && i < p.writes; i++)
    held = hold(env, call, graph, &p.written[i], LT_ADDS);
  free_parts(&p);
  return held;
}

bool lt_check_graph(napi_env env, const lt_call *call) {
  const lt_buffer *gone = lt_get_env(env)->buffers;
  while (gone && !lt_buffer_detached(env, gone)) gone = gone->next;
  if (!gone) return true;
  parts p;
  tensor_status status;
  bool there = true;
  if (find_parts(call, &p, &status)) {
    for (int64_t i = 0; there && i < p.reads; i++)
      there = is_there(env, call, p.read[i], LT_READS, NULL);
    for (int64_t i = 0; there && i < p.writes; i++)
      there = is_there(env, call, p.written[i], LT_ADDS, NULL);
  }
  free_parts(&p);
  return there;
}

void lt_release_graph(napi_env env, lt_graph *graph) {
  for (int64_t i = 0; i < graph->count; i++) {
    lt_unclaim(&graph->held[i]);
    lt_unuse(env, graph->held[i].box);
  }
  free(graph->held);
  *graph = (lt_graph){0};
}
