// The threads of asynchronous calls, and the requests of these calls to their environment.
#ifndef LIBTENSOR_NODE_QUEUE_H
#define LIBTENSOR_NODE_QUEUE_H

#include "addon.h"

enum { LT_MOST_THREADS = 256, LT_MOST_DEVICES = 64 };

// The modes of the calling thread, which a call transfers to the thread that runs it.
typedef struct lt_modes {
  tensor_device device;
  bool grad, inference;
  bool autocast[2];                  // of the CPU and of CUDA
  tensor_dtype autocast_dtype[2];    // where enabled
  int16_t cards;                     // CUDA devices; without any, neither of these two counts
  int16_t current;                   // the one among them that is current
  int64_t streams[LT_MOST_DEVICES];  // and the current stream of each
} lt_modes;

bool lt_read_modes(lt_modes *m);
tensor_status lt_set_modes(const lt_modes *m);

// A unit of work for a thread: the first member of an asynchronous call.
typedef struct lt_job {
  lt_env *e;
  // Changed under the queue's lock.
  enum { LT_JOB_NEW, LT_JOB_QUEUED, LT_JOB_RUNNING, LT_JOB_DONE } state;
  lt_modes modes;
  void (*run)(struct lt_job *job);
  bool *paused;     // set while it waits for an answer
  napi_ref raised;  // the exception of a callback
  struct lt_job *previous, *next;
} lt_job;

typedef struct lt_jobs {
  lt_job *first, *last;
  int64_t count;
} lt_jobs;

// The queue of an environment: all fields except wake are read under the queue's lock.
struct lt_async {
  napi_threadsafe_function wake;
  lt_jobs done;
  int64_t running;
  struct lt_asked *questions;
  bool closed;
};

// Queues a job; false where no thread can be had for it.
bool lt_queue(lt_job *job);
// Removes a waiting job from the queue; returns false if it is not waiting.
bool lt_unqueue(lt_job *job);
// The jobs that are done, by `next`.
lt_job *lt_take_done(lt_env *e);
// The environment ends: jobs that wait never run, those that run are waited for, but get no more
// answers.
void lt_close_queue(lt_env *e);
// Answers the requests of running calls.
void lt_answer_asked(napi_env env, lt_env *e,
                     bool (*answer)(napi_env env, const lt_job *asking, lt_question *question));
void lt_set_threads(int wanted);
int lt_threads(void);

#endif
