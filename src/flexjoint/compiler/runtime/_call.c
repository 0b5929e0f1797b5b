/* Calling a compiled kernel from Python in well under 100 ns.

   KernelBase: a callable that checks its arguments (float64, C-contiguous, exact shapes), collects their addresses and
   calls machine code `int64_t kernel(double **in, double **out)`. Batches (_batch.h) call code for as many rows as a
   register has lanes, `int64_t kernel(double **in, double **out, int64_t *strides)`, with the doubles from row to row
   of each output. Whatever does not fit (other dtypes, lists, overlapping buffers, errors) goes to the method `_call` of
   the Python subclass, which brings batches back to `_run`.

   AlgorithmBase: a callable `algorithm(robot, *arrays, out=..., **keywords)` that remembers the kernel of the robot it
   was called with last, and that of its last call with keywords; anything else goes to its `_call`. */

#include "_kernel.h"
#include "_stack.h"
#include "_batch.h"

static PyObject *out_name, *call_name;

/* Whether two names are equal; those of keywords are nearly always one object. */
static int same_name(PyObject *a, PyObject *b)
{
    return a == b || PyUnicode_Compare(a, b) == 0;
}

/* Single calls ------------------------------------------------------------------------------------- */

static int fits(PyObject *object, const Shape *shape, int writeable)
{
    PyArrayObject *array = plain_array(object, writeable);
    if (array == NULL || PyArray_NDIM(array) != shape->ndim)
        return 0;
    const npy_intp *dims = PyArray_DIMS(array);
    for (int k = 0; k < shape->ndim; k++)
        if (dims[k] != shape->dims[k])
            return 0;
    return 1;
}

static void fill_nan(PyObject *array, npy_intp size)
{
    double *x = data_of(array);
    for (npy_intp k = 0; k < size; k++)
        x[k] = Py_NAN;
}

/* The addresses of one evaluation: on the stack if they are few. */
typedef struct {
    const Kernel *self;
    const double **in; /* n_in */
    double **out;      /* n_layers */
    PyObject **arrays; /* n_out */
    double *numbers;   /* n_in, of arguments that are floats */
    int64_t status;
} Call;

static void run_one(void *argument)
{
    Call *call = argument;
    call->status = call->self->function(call->in, call->out);
}

/* The keyword out= of a call: *out is set to its place among the arguments, or NULL if there are no keywords; 0 if
   there are others. */
static int only_out(PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject *const **out)
{
    *out = NULL;
    if (kwnames == NULL || PyTuple_GET_SIZE(kwnames) == 0)
        return 1;
    if (PyTuple_GET_SIZE(kwnames) != 1 || !same_name(PyTuple_GET_ITEM(kwnames, 0), out_name))
        return 0;
    *out = &args[n];
    return 1;
}

/* The n_out arrays that a call shall write to; NULL if out= is something else. */
static PyObject *const *given_arrays(const Kernel *self, PyObject *const *out)
{
    if (self->result_type == NULL)
        return out;
    return PyTuple_Check(*out) && PyTuple_GET_SIZE(*out) == self->n_out ? &PyTuple_GET_ITEM(*out, 0) : NULL;
}

/* See single_call. */
static int try_one(Kernel *self, PyObject *const *args, PyObject *const *given, Call *call, PyObject **result)
{
    for (int k = 0; given != NULL && k < self->n_out; k++)
        if (!fits(given[k], &self->out[k], 1))
            return 0;
    for (int k = 0; k < self->n_in; k++) {
        if (self->in[k].ndim == 0 && PyFloat_Check(args[k])) {
            call->numbers[k] = PyFloat_AS_DOUBLE(args[k]);
            call->in[k] = &call->numbers[k];
        } else if (fits(args[k], &self->in[k], 0)) {
            call->in[k] = data_of(args[k]);
        } else {
            return 0;
        }
    }
    for (int i = 0; given != NULL && i < self->n_out; i++) {
        for (int k = 0; k < self->n_in; k++)
            if (overlap(data_of(given[i]), self->out[i].size, call->in[k], self->in[k].size))
                return 0;
        for (int k = 0; k < i; k++)
            if (overlap(data_of(given[i]), self->out[i].size, data_of(given[k]), self->out[k].size))
                return 0;
    }

    *result = NULL;
    PyObject **arrays = call->arrays;
    if (!take_arrays(self, given, NULL, 0, arrays))
        return 1;
    int pointer = 0;
    for (int k = 0; k < self->n_out; k++) {
        npy_intp size = self->out[k].size / self->layers[k];
        for (int layer = 0; layer < self->layers[k]; layer++)
            call->out[pointer++] = data_of(arrays[k]) + layer * size;
    }

    int ran = with_stack(self->stack, run_one, call);
    if (ran && call->status == 0) {
        *result = returned(self, arrays);
        return 1;
    }
    if (!ran) {
        no_stack();
    } else {
        for (int k = 0; k < self->n_out; k++)
            fill_nan(arrays[k], self->out[k].size);
        PyObject *tuple = PyTuple_New(self->n_in);
        if (tuple != NULL) {
            for (Py_ssize_t k = 0; k < self->n_in; k++)
                PyTuple_SET_ITEM(tuple, k, Py_NewRef(args[k]));
            PyObject *none = PyObject_CallMethod((PyObject *)self, "_raise_non_finite", "(N)", tuple);
            Py_XDECREF(none); /* it raises */
        }
    }
    release(arrays, self->n_out);
    return 1;
}

/* 1: done, *result set (or NULL with an exception); 0: the arguments do not fit, nothing has happened. */
static int single_call(Kernel *self, PyObject *const *args, PyObject *const *given, PyObject **result)
{
    if (self->n_in <= FEW_ARRAYS && self->n_layers <= FEW_ARRAYS) {
        const double *in[FEW_ARRAYS];
        double *out[FEW_ARRAYS], numbers[FEW_ARRAYS];
        PyObject *arrays[FEW_ARRAYS];
        Call call = {self, in, out, arrays, numbers, 0};
        return try_one(self, args, given, &call, result);
    }
    size_t each_in = self->n_in, each_out = self->n_layers; /* no fewer than n_out */
    char *memory = PyMem_Malloc((2 * each_in + 2 * each_out) * sizeof(int64_t)), *next = memory;
    *result = NULL;
    if (memory == NULL) {
        PyErr_NoMemory();
        return 1;
    }
    Call call = {self};
    call.in = next_table(&next, each_in, sizeof(int64_t));
    call.numbers = next_table(&next, each_in, sizeof(int64_t));
    call.out = next_table(&next, each_out, sizeof(int64_t));
    call.arrays = next_table(&next, each_out, sizeof(int64_t));
    int done = try_one(self, args, given, &call, result);
    PyMem_Free(memory);
    return done;
}

/* A call with plain arrays, of one sample or a batch, which writes to *out if out is not NULL; see single_call. */
static int fast_call(Kernel *self, PyObject *const *args, Py_ssize_t n, PyObject *const *out, PyObject **result)
{
    PyObject *const *given = out == NULL ? NULL : given_arrays(self, out);
    if (n != self->n_in || (out != NULL && given == NULL))
        return 0;
    return single_call(self, args, given, result) || batch_call(self, args, given, result);
}

/* self._call(*args, **kwargs), for everything unusual */
static PyObject *slow_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *method = PyObject_GetAttr(self, call_name);
    if (method == NULL)
        return NULL;
    PyObject *result = PyObject_Vectorcall(method, args, PyVectorcall_NARGS(nargsf), kwnames);
    Py_DECREF(method);
    return result;
}

static PyObject *kernel_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result, *const *out;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (only_out(args, n, kwnames, &out) && fast_call((Kernel *)self, args, n, out, &result))
        return result;
    return slow_call(self, args, nargsf, kwnames);
}

/* Construction ------------------------------------------------------------------------------------- */

static int read_shape(PyObject *tuple, Shape *shape)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > 4) {
        PyErr_SetString(PyExc_ValueError, "a shape is a tuple of at most four integers");
        return -1;
    }
    shape->ndim = (int)PyTuple_GET_SIZE(tuple);
    shape->size = 1;
    for (int k = 0; k < shape->ndim; k++) {
        shape->dims[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
        if (shape->dims[k] == -1 && PyErr_Occurred())
            return -1;
        if (shape->dims[k] < 0 || (shape->dims[k] > 0 && shape->size > MOST / 64 / shape->dims[k])) {
            PyErr_SetString(PyExc_ValueError, "a shape has sizes from 0 on, whose product fits into memory");
            return -1;
        }
        shape->size *= shape->dims[k];
    }
    return 0;
}

/* Whether it is made by collections.namedtuple, or a subclass without fields of its own, for n members. */
static int is_named_tuple(PyObject *type, Py_ssize_t n)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type) ||
        ((PyTypeObject *)type)->tp_basicsize != PyTuple_Type.tp_basicsize)
        return 0;
    PyObject *fields = PyObject_GetAttrString(type, "_fields");
    int named = fields != NULL && PyTuple_Check(fields) && PyTuple_GET_SIZE(fields) == n;
    Py_XDECREF(fields);
    PyErr_Clear();
    return named;
}

/* KernelBase(address, input_shapes, output_shapes, layers, result_type, stacked, blocks_from, stack) */
static int kernel_init(Kernel *self, PyObject *args, PyObject *kwargs)
{
    unsigned long long address;
    int stacked;
    Py_ssize_t blocks_from, stack, shared = 0;
    PyObject *in, *out, *layers, *result_type;
    if (!PyArg_ParseTuple(args, "KO!O!O!Opnn", &address, &PyTuple_Type, &in, &PyTuple_Type, &out, &PyTuple_Type,
                          &layers, &result_type, &stacked, &blocks_from, &stack))
        return -1;
    Py_ssize_t n_in = PyTuple_GET_SIZE(in), n_out = PyTuple_GET_SIZE(out), total = 0;
    if (self->in != NULL || address == 0 || n_out < 1 || n_in > MAX_ARRAYS || n_out > MAX_ARRAYS ||
        PyTuple_GET_SIZE(layers) != n_out || stack < 0) {
        PyErr_SetString(PyExc_ValueError, "a kernel is set up once, with code and at most 1024 arrays each way");
        return -1;
    }
    self->in = PyMem_Calloc(n_in + 1, sizeof(Shape));
    self->out = PyMem_Calloc(n_out, sizeof(Shape));
    self->layers = PyMem_Calloc(n_out, sizeof(int));
    if (self->in == NULL || self->out == NULL || self->layers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < n_in; k++) {
        if (read_shape(PyTuple_GET_ITEM(in, k), &self->in[k]) < 0)
            return -1;
        if (self->in[k].size > MOST / 64 - shared) { /* copies of all in 64 lanes */
            PyErr_SetString(PyExc_ValueError, "the arguments of a kernel do not fit into memory");
            return -1;
        }
        shared += self->in[k].size;
    }
    for (Py_ssize_t k = 0; k < n_out; k++) {
        long count = PyLong_AsLong(PyTuple_GET_ITEM(layers, k));
        if (read_shape(PyTuple_GET_ITEM(out, k), &self->out[k]) < 0)
            return -1;
        if (count < 1 || (total += count) > MAX_ARRAYS) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a kernel has at least one and at most 1024 result layers");
            return -1;
        }
        if ((count > 1 || (stacked && n_out == 1)) && (self->out[k].ndim < 1 || self->out[k].dims[0] != count)) {
            PyErr_SetString(PyExc_ValueError, "the first dimension of a stack counts its layers");
            return -1;
        }
        self->layers[k] = (int)count;
    }
    self->n_in = (int)n_in;
    self->n_out = (int)n_out;
    self->n_layers = (int)total;
    self->result_type = result_type == Py_None ? NULL : Py_NewRef(result_type);
    self->named = is_named_tuple(result_type, n_out);
    self->stacked = stacked;
    self->blocks_from = blocks_from;
    self->stack = (size_t)stack;
    self->function = (kernel_function)(uintptr_t)address;
    self->vectorcall = kernel_vectorcall;
    return 0;
}

static void kernel_dealloc(Kernel *self)
{
    PyMem_Free(self->in);
    PyMem_Free(self->out);
    PyMem_Free(self->layers);
    Py_XDECREF(self->result_type);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef kernel_methods[] = {
    {"_run", (PyCFunction)kernel_run, METH_VARARGS, "Evaluate rows of a batch."},
    {"_use_block", (PyCFunction)kernel_use_block, METH_VARARGS, "Set the code that evaluates several rows at once."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flexjoint.compiler.runtime._call.KernelBase",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A callable over machine code.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)kernel_init,
    .tp_dealloc = (destructor)kernel_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Kernel, vectorcall),
    .tp_methods = kernel_methods,
};

/* Algorithms --------------------------------------------------------------------------------------- */

#define FEW_KEYWORDS 16 /* keyword arrays of a call that is remembered */

/* A call to do again: the kernel for a robot and, if it had keywords, what they were (algorithm_remember_keywords). */
typedef struct {
    PyObject *robot;
    Kernel *kernel;
    PyObject *arrays;    /* ((name, counts), ...) of keyword arrays, in the order of the kernel's arguments */
    PyObject *constants; /* ((name, value), ...) of other keywords */
} Memory;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Memory plain;    /* the last call without keywords */
    Memory keywords; /* the last call with keywords */
} Algorithm;

/* The arguments of a kernel; those from `first` on are references of our own: a list that holds them can change while a
   batch runs without the GIL. */
typedef struct {
    PyObject *items[FEW_ARRAYS];
    Py_ssize_t first, count;
} Leaves;

static int add_leaf(Leaves *leaves, PyObject *item) /* takes over the reference */
{
    if (item == NULL || leaves->count == FEW_ARRAYS) {
        Py_XDECREF(item);
        PyErr_Clear();
        return 0;
    }
    leaves->items[leaves->count++] = item;
    return 1;
}

/* The members of a list, a tuple or an array, if there are `count`. */
static int add_stack(Leaves *leaves, PyObject *stack, Py_ssize_t count)
{
    const int list = PyList_CheckExact(stack), tuple = PyTuple_CheckExact(stack);
    if (list || tuple) {
        if ((list ? PyList_GET_SIZE(stack) : PyTuple_GET_SIZE(stack)) != count)
            return 0;
        for (Py_ssize_t k = 0; k < count; k++)
            if (!add_leaf(leaves, Py_NewRef(list ? PyList_GET_ITEM(stack, k) : PyTuple_GET_ITEM(stack, k))))
                return 0;
        return 1;
    }
    PyArrayObject *array = plain_array(stack, 0);
    if (array == NULL || PyArray_NDIM(array) < 2 || PyArray_DIM(array, 0) != count)
        return 0;
    for (Py_ssize_t k = 0; k < count; k++)
        if (!add_leaf(leaves, PySequence_GetItem(stack, k)))
            return 0;
    return 1;
}

/* One keyword array: counts is None for a single array, a number for a stack, ((key, number), ...) for stacks by key,
   in this order. */
static int add_keyword(Leaves *leaves, PyObject *value, PyObject *counts)
{
    if (counts == Py_None)
        return add_leaf(leaves, Py_NewRef(value));
    if (PyLong_CheckExact(counts))
        return add_stack(leaves, value, PyLong_AsSsize_t(counts));
    if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != PyTuple_GET_SIZE(counts))
        return 0;
    PyObject *key, *stack;
    for (Py_ssize_t place = 0, k = 0; PyDict_Next(value, &place, &key, &stack); k++) {
        PyObject *member = PyTuple_GET_ITEM(counts, k);
        if (!PyUnicode_CheckExact(key) || !same_name(key, PyTuple_GET_ITEM(member, 0)) ||
            !add_stack(leaves, stack, PyLong_AsSsize_t(PyTuple_GET_ITEM(member, 1))))
            return 0;
    }
    return 1;
}

/* Where a name stands in ((name, ...), ...); -1 if it does not. */
static Py_ssize_t place_of(PyObject *name, PyObject *entries)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entries); k++)
        if (same_name(name, PyTuple_GET_ITEM(PyTuple_GET_ITEM(entries, k), 0)))
            return k;
    return -1;
}

/* Whether two numbers or texts of an option are the same. */
static int same_constant(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyUnicode_CheckExact(a))
        return PyUnicode_Compare(a, b) == 0;
    return PyLong_CheckExact(a) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/* The arguments of the kernel in a call like the one remembered, and the place of out=, or NULL; 0 if it is unlike. */
static int gather(const Memory *memory, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, Leaves *leaves,
                  PyObject *const **out)
{
    PyObject *values[FEW_KEYWORDS] = {NULL};
    Py_ssize_t known = 0;
    *out = NULL;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[n + k];
        Py_ssize_t place = place_of(name, memory->arrays);
        if (place >= 0) {
            values[place] = value;
        } else if (same_name(name, out_name)) {
            *out = &args[n + k];
            continue;
        } else if ((place = place_of(name, memory->constants)) < 0 ||
                   !same_constant(value, PyTuple_GET_ITEM(PyTuple_GET_ITEM(memory->constants, place), 1))) {
            return 0;
        }
        known++;
    }
    if (known != PyTuple_GET_SIZE(memory->arrays) + PyTuple_GET_SIZE(memory->constants))
        return 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(memory->arrays); k++)
        if (values[k] == NULL || /* keys of a str subclass can bring another name twice */
            !add_keyword(leaves, values[k], PyTuple_GET_ITEM(PyTuple_GET_ITEM(memory->arrays, k), 1)))
            return 0;
    return 1;
}

/* See single_call. The memory is a copy: what runs meanwhile may call this algorithm. */
static int keyword_call(Memory memory, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject **result)
{
    Leaves leaves;
    PyObject *const *out;
    if (n - 1 > FEW_ARRAYS)
        return 0;
    leaves.first = leaves.count = n - 1;
    for (Py_ssize_t k = 0; k < n - 1; k++)
        leaves.items[k] = args[1 + k];
    Py_INCREF((PyObject *)memory.kernel);
    Py_INCREF(memory.arrays);
    Py_INCREF(memory.constants);
    int done = gather(&memory, args, n, kwnames, &leaves, &out) &&
               fast_call(memory.kernel, leaves.items, leaves.count, out, result);
    Py_DECREF(memory.constants);
    Py_DECREF(memory.arrays);
    Py_DECREF((PyObject *)memory.kernel);
    release(leaves.items + leaves.first, (int)(leaves.count - leaves.first));
    return done;
}

static PyObject *algorithm_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Algorithm *self = (Algorithm *)object;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *result, *const *out;
    if (n > 0 && only_out(args, n, kwnames, &out)) {
        if (args[0] == self->plain.robot && self->plain.kernel != NULL) {
            Kernel *kernel = (Kernel *)Py_NewRef((PyObject *)self->plain.kernel);
            int done = fast_call(kernel, args + 1, n - 1, out, &result);
            Py_DECREF(kernel);
            if (done)
                return result;
        }
    } else if (n > 0 && args[0] == self->keywords.robot && self->keywords.kernel != NULL) {
        if (keyword_call(self->keywords, args, n, kwnames, &result))
            return result;
    }
    return slow_call(object, args, nargsf, kwnames);
}

static PyObject *algorithm_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Algorithm *self = (Algorithm *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->vectorcall = algorithm_vectorcall;
    return (PyObject *)self;
}

static int memory_traverse(const Memory *memory, visitproc visit, void *arg)
{
    Py_VISIT(memory->robot);
    Py_VISIT((PyObject *)memory->kernel);
    Py_VISIT(memory->arrays);
    Py_VISIT(memory->constants);
    return 0;
}

static int algorithm_traverse(Algorithm *self, visitproc visit, void *arg)
{
    int stopped = memory_traverse(&self->plain, visit, arg);
    return stopped ? stopped : memory_traverse(&self->keywords, visit, arg);
}

/* Everything changes before anything of the old memory dies: a finalizer may call this algorithm. */
static void memory_set(Memory *memory, Memory next)
{
    Memory old = *memory;
    *memory = next;
    Py_XDECREF(old.robot);
    Py_XDECREF((PyObject *)old.kernel);
    Py_XDECREF(old.arrays);
    Py_XDECREF(old.constants);
}

static int algorithm_clear(Algorithm *self)
{
    memory_set(&self->plain, (Memory){NULL});
    memory_set(&self->keywords, (Memory){NULL});
    return 0;
}

static void algorithm_dealloc(Algorithm *self)
{
    PyObject_GC_UnTrack(self);
    algorithm_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Whether it is ((text, ...), ...). */
static int is_pairs(PyObject *entries)
{
    int good = PyTuple_CheckExact(entries);
    for (Py_ssize_t k = 0; good && k < PyTuple_GET_SIZE(entries); k++) {
        PyObject *entry = PyTuple_GET_ITEM(entries, k);
        good = PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 &&
               PyUnicode_CheckExact(PyTuple_GET_ITEM(entry, 0));
    }
    return good;
}

/* Arrays in keyword arrays of these counts; -1 if they are none. */
static Py_ssize_t leaves_of(PyObject *arrays)
{
    Py_ssize_t total = 0;
    if (!is_pairs(arrays))
        return -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arrays); k++) {
        PyObject *counts = PyTuple_GET_ITEM(PyTuple_GET_ITEM(arrays, k), 1);
        const int several = is_pairs(counts);
        total += counts == Py_None;
        for (Py_ssize_t i = 0; counts != Py_None && i < (several ? PyTuple_GET_SIZE(counts) : 1); i++) {
            PyObject *number = several ? PyTuple_GET_ITEM(PyTuple_GET_ITEM(counts, i), 1) : counts;
            Py_ssize_t count = PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
            if (count < 0 || count > MAX_ARRAYS || (total += count) > MAX_ARRAYS) {
                PyErr_Clear();
                return -1;
            }
        }
    }
    return total;
}

/* _remember(robot, kernel): call this kernel directly for this robot, without keywords. */
static PyObject *algorithm_remember(Algorithm *self, PyObject *args)
{
    PyObject *robot, *kernel;
    if (!PyArg_ParseTuple(args, "OO!", &robot, &KernelType, &kernel))
        return NULL;
    memory_set(&self->plain, (Memory){Py_NewRef(robot), (Kernel *)Py_NewRef(kernel), NULL, NULL});
    Py_RETURN_NONE;
}

/* _remember_keywords(robot, kernel, arrays, constants): call it directly with these keywords, see Memory; calls with
   more arrays than the fast path takes are not remembered. */
static PyObject *algorithm_remember_keywords(Algorithm *self, PyObject *args)
{
    PyObject *robot, *kernel, *arrays, *constants;
    if (!PyArg_ParseTuple(args, "OO!OO", &robot, &KernelType, &kernel, &arrays, &constants))
        return NULL;
    const int n_in = ((Kernel *)kernel)->n_in;
    Py_ssize_t count = leaves_of(arrays);
    if (count < 0 || count > n_in || !is_pairs(constants)) {
        PyErr_SetString(PyExc_ValueError, "keywords are remembered as ((name, counts), ...) and ((name, value), ...)");
        return NULL;
    }
    if (n_in <= FEW_ARRAYS && PyTuple_GET_SIZE(arrays) <= FEW_KEYWORDS)
        memory_set(&self->keywords, (Memory){Py_NewRef(robot), (Kernel *)Py_NewRef(kernel), Py_NewRef(arrays),
                                             Py_NewRef(constants)});
    Py_RETURN_NONE;
}

static PyMethodDef algorithm_methods[] = {
    {"_remember", (PyCFunction)algorithm_remember, METH_VARARGS, "Call this kernel directly for this robot."},
    {"_remember_keywords", (PyCFunction)algorithm_remember_keywords, METH_VARARGS, "The same for calls with keywords."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject AlgorithmType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flexjoint.compiler.runtime._call.AlgorithmBase",
    .tp_basicsize = sizeof(Algorithm),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A callable that remembers the kernel of the robot it was last called with.",
    .tp_new = algorithm_new,
    .tp_dealloc = (destructor)algorithm_dealloc,
    .tp_traverse = (traverseproc)algorithm_traverse,
    .tp_clear = (inquiry)algorithm_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Algorithm, vectorcall),
    .tp_methods = algorithm_methods,
};

/* Module ------------------------------------------------------------------------------------------- */

/* Python 3.12 lets subclasses inherit the vectorcall protocol; 3.11 has to be told. */
static PyObject *inherit_vectorcall(PyObject *module, PyObject *type)
{
    if (!PyType_Check(type) || (!PyType_IsSubtype((PyTypeObject *)type, &KernelType) &&
                                !PyType_IsSubtype((PyTypeObject *)type, &AlgorithmType))) {
        PyErr_SetString(PyExc_TypeError, "expected a subclass of KernelBase or AlgorithmBase");
        return NULL;
    }
    ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified((PyTypeObject *)type);
    return Py_NewRef(type);
}

/* stack_left(): bytes of this thread's stack that are left, None if that is not known */
static PyObject *module_stack_left(PyObject *module, PyObject *none)
{
    size_t left = stack_left();
    return left == STACK_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromSize_t(left);
}

static PyMethodDef module_methods[] = {
    {"stack_left", module_stack_left, METH_NOARGS, "Bytes of this thread's stack that are left, or None."},
    {"inherit_vectorcall", inherit_vectorcall, METH_O, "Class decorator: call instances by vectorcall."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_call", .m_doc = "Fast calls of compiled kernels.", .m_size = -1,
    .m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__call(void)
{
    import_array();
    out_name = PyUnicode_InternFromString("out");
    call_name = PyUnicode_InternFromString("_call");
    if (out_name == NULL || call_name == NULL || PyType_Ready(&KernelType) < 0 || PyType_Ready(&AlgorithmType) < 0)
        return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m == NULL)
        return NULL;
    if (PyModule_AddObjectRef(m, "KernelBase", (PyObject *)&KernelType) < 0 ||
        PyModule_AddObjectRef(m, "AlgorithmBase", (PyObject *)&AlgorithmType) < 0) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
