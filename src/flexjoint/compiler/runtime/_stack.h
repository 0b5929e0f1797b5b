/* The stack of the calling thread: how much of it is left, and calls that need more than that.

   Kernels keep intermediate values on the stack, up to some megabytes for long robots, and a thread may have been
   started with 32 kB. A call that might not fit runs in a thread that lives as long as the call; the caller waits. */

#include <stddef.h>
#include <stdint.h>

#define STACK_RESERVE (32 * 1024) /* bytes beside the kernel's: this file's frames, and handlers of signals */
#define STACK_UNKNOWN ((size_t)-1)

typedef void (*stack_work)(void *);

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>

/* Bytes below this frame; STACK_UNKNOWN on a stack that is not the thread's own, such as a fibre's. */
static size_t stack_left(void)
{
    static _Thread_local char *low, *high;
    char *here = (char *)__builtin_frame_address(0);
    if (high == NULL) {
        void *start = NULL;
        size_t size = 0;
#ifdef __APPLE__
        size = pthread_get_stacksize_np(pthread_self());
        start = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
#else
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0)
            return STACK_UNKNOWN;
        if (pthread_attr_getstack(&attributes, &start, &size) != 0)
            size = 0;
        pthread_attr_destroy(&attributes);
#endif
        low = (char *)start;
        high = low + size;
    }
    return here < low || here >= high ? STACK_UNKNOWN : (size_t)(here - low);
}

typedef struct {
    stack_work work;
    void *argument;
} StackCall;

static void *stack_thread(void *call)
{
    ((StackCall *)call)->work(((StackCall *)call)->argument);
    return NULL;
}

/* work(argument), which needs so many bytes of stack; 0 if there was no memory for them, and nothing was done. */
static int with_stack(size_t bytes, stack_work work, void *argument)
{
    if (stack_left() >= bytes + STACK_RESERVE) {
        work(argument);
        return 1;
    }
    StackCall call = {work, argument};
    pthread_attr_t attributes;
    pthread_t thread;
    size_t page = 64 * 1024, size = (bytes + 4 * STACK_RESERVE + page - 1) / page * page;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    int started = pthread_attr_setstacksize(&attributes, size) == 0 &&
                  pthread_create(&thread, &attributes, stack_thread, &call) == 0;
    pthread_attr_destroy(&attributes);
    return started && pthread_join(thread, NULL) == 0;
}

#else

static size_t stack_left(void)
{
    return STACK_UNKNOWN;
}

static int with_stack(size_t bytes, stack_work work, void *argument)
{
    (void)bytes;
    work(argument);
    return 1;
}

#endif
