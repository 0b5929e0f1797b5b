/* Calling a compiled kernel from Python in well under 100 ns.

   KernelBase: a callable that checks its arguments (float64, C-contiguous, exact shapes), collects their
   addresses and calls machine code `int64_t kernel(double **in, double **out)`, or for several rows at once
   `int64_t kernel(double **in, double **out, int64_t *steps, int64_t groups)`: for some groups of as many rows
   as a register has lanes, with pointers for each group, and the steps from row to row of each output.
   Whatever does not fit the fast path (other dtypes, lists, batches, overlapping buffers, errors) goes to the
   method `_call` of the Python subclass, which brings batches back to `_run`.

   AlgorithmBase: a callable `algorithm(robot, *arrays, out=...)` that remembers the kernel of the robot it
   was called with last; anything else goes to its `_call`. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_stack.h"

#define MAX_ARRAYS 1024
#define MAX_GROUPS 4
#define MAX_DEPTH 64 /* dimensions of an array, the most that NumPy has */
#define FEW_ARRAYS 64 /* so many each way have their addresses on the stack */
#define MOST (PTRDIFF_MAX / (ptrdiff_t)sizeof(double)) /* doubles that memory can hold */
#define FEW_ROWS 32 /* fewer are done before another thread could take the GIL */

typedef int64_t (*kernel_function)(const double *const *in, double *const *out);
typedef int64_t (*block_function)(const double *const *in, double *const *out, const int64_t *steps, int64_t groups);

typedef struct {
    int ndim;
    npy_intp dims[4];
    npy_intp size;
} Shape;

typedef struct {
    block_function function; /* or NULL */
    int lanes;
    int groups; /* of `lanes` rows that it evaluates at most */
    int apart;  /* whether it heeds its steps; else rows of results follow each other */
    size_t stack; /* bytes that a call needs at most */
} Block;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    kernel_function function; /* one row */
    size_t stack;             /* bytes that a call of it needs at most */
    Block block;              /* groups of rows */
    Py_ssize_t blocks_from; /* rows from which on `block` is wanted */
    int stacked;            /* whether the first result is a stack, its first dimension counting layers */
    int n_in;      /* argument arrays */
    int n_out;     /* result arrays */
    int n_layers;  /* pointers the kernel writes through: a stacked result has one a layer */
    Shape *in;
    Shape *out;
    int *layers;
    PyObject *result_type; /* NULL for a single array, else called with the arrays */
    int named;             /* whether that is a NamedTuple of as many fields: made here, in a tenth of the time */
} Kernel;

static PyObject *out_name, *call_name;

/* Batches ------------------------------------------------------------------------------------------- */

/* One input or output of a batch: where its next row is, and how many doubles lie between rows. */
typedef struct {
    double *row;
    npy_intp step;
    npy_intp size;
} Rows;

/* The tables of one batch, in one piece of memory: a thread's stack may be too small for them. */
typedef struct {
    Rows *in, *out;               /* n_in, n_layers */
    const double **from, **spread, **from_groups;
    double **to, **to_groups;
    int64_t *steps;               /* n_layers, for the block */
    PyObject **arrays;            /* n_out */
    npy_intp *apart;              /* n_out: doubles from row to row of arrays that were given */
    double *copies;               /* shared rows once for each lane, or NULL */
} Tables;

static void *next_table(char **memory, size_t count, size_t size)
{
    void *table = *memory;
    *memory += count * size;
    return table;
}

/* 0 and an exception if there is no memory; all members have the alignment of a pointer. */
static int tables_new(const Kernel *self, Tables *tables)
{
    size_t n_in = self->n_in, n_layers = self->n_layers, n_out = self->n_out;
    size_t pointers = (2 + MAX_GROUPS) * n_in + (2 + MAX_GROUPS) * n_layers + 2 * n_out;
    char *memory = PyMem_Malloc((n_in + n_layers) * sizeof(Rows) + pointers * sizeof(int64_t));
    if (memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    tables->in = next_table(&memory, n_in, sizeof(Rows));
    tables->out = next_table(&memory, n_layers, sizeof(Rows));
    tables->from = next_table(&memory, n_in, sizeof(int64_t));
    tables->spread = next_table(&memory, n_in, sizeof(int64_t));
    tables->from_groups = next_table(&memory, MAX_GROUPS * n_in, sizeof(int64_t));
    tables->to = next_table(&memory, n_layers, sizeof(int64_t));
    tables->to_groups = next_table(&memory, MAX_GROUPS * n_layers, sizeof(int64_t));
    tables->steps = next_table(&memory, n_layers, sizeof(int64_t));
    tables->arrays = next_table(&memory, n_out, sizeof(int64_t));
    tables->apart = next_table(&memory, n_out, sizeof(int64_t));
    tables->copies = NULL;
    return 1;
}

static void tables_free(Tables *tables)
{
    PyMem_Free(tables->copies);
    PyMem_Free(tables->in); /* the first table: all of them */
}

/* Room for the rows without a batch, `shared` doubles, once for each lane; 0 and an exception if there is none. */
static int tables_copies(Tables *tables, const Block *block, npy_intp shared)
{
    if (block->function == NULL || shared == 0)
        return 1;
    tables->copies = PyMem_Malloc((size_t)shared * block->lanes * sizeof(double));
    if (tables->copies == NULL)
        PyErr_NoMemory();
    return tables->copies != NULL;
}

/* `count` rows to evaluate. The block is a copy: another thread may set the kernel's while this one runs without
   the GIL. */
typedef struct {
    const Kernel *self;
    Block block;
    Tables *tables;
    Py_ssize_t count;
    unsigned char *finite; /* count bytes, or NULL */
    Py_ssize_t bad;        /* rows whose result is not finite */
} Batch;

/* Groups of `lanes` rows by the SIMD code, if there is any, what is left by the scalar code. */
static void run_rows(void *argument)
{
    Batch *batch = argument;
    const Kernel *self = batch->self;
    const Tables *t = batch->tables;
    const Rows *in = t->in, *out = t->out;
    const int lanes = batch->block.lanes, n_in = self->n_in, n_layers = self->n_layers;
    const Py_ssize_t most = (Py_ssize_t)lanes * batch->block.groups;
    double *copies = t->copies;
    for (int k = 0; k < n_in; k++) {
        t->from[k] = t->spread[k] = in[k].row;
        if (in[k].step == 0 && copies != NULL) { /* a row shared by all lanes is laid out once for each */
            t->spread[k] = copies;
            for (int lane = 0; lane < lanes; lane++, copies += in[k].size)
                memcpy(copies, in[k].row, in[k].size * sizeof(double));
        }
    }
    for (int k = 0; k < n_layers; k++) {
        t->to[k] = out[k].row;
        t->steps[k] = out[k].step;
    }
    for (Py_ssize_t row = 0; row < batch->count;) {
        Py_ssize_t left = batch->count - row, groups = 0;
        if (batch->block.function != NULL && left >= lanes)
            groups = left < most ? left / lanes : batch->block.groups;
        int rows = groups > 0 ? (int)groups * lanes : 1;
        for (int g = 0; groups > 1 && g < groups; g++) {
            for (int k = 0; k < n_in; k++)
                t->from_groups[g * n_in + k] = t->spread[k] + g * lanes * in[k].step;
            for (int k = 0; k < n_layers; k++)
                t->to_groups[g * n_layers + k] = t->to[k] + g * lanes * out[k].step;
        }
        uint64_t status =
            (uint64_t)(groups > 1    ? batch->block.function(t->from_groups, t->to_groups, t->steps, groups)
                       : groups == 1 ? batch->block.function(t->spread, t->to, t->steps, 1)
                                     : self->function(t->from, t->to));
        for (int r = 0; (status != 0 || batch->finite != NULL) && r < rows; r++) { /* at most 64, the bits of a word */
            int finite = !(status >> r & 1);
            if (batch->finite != NULL)
                batch->finite[row + r] = (unsigned char)finite;
            if (finite)
                continue;
            batch->bad++;
            for (int k = 0; k < n_layers; k++)
                for (npy_intp e = 0; e < out[k].size; e++)
                    t->to[k][r * out[k].step + e] = Py_NAN;
        }
        row += rows;
        if (row == batch->count)
            break; /* no address beyond the last row is formed */
        for (int k = 0; k < n_in; k++) {
            t->from[k] += rows * in[k].step;
            if (in[k].step != 0)
                t->spread[k] = t->from[k];
        }
        for (int k = 0; k < n_layers; k++)
            t->to[k] += rows * out[k].step;
    }
}

static size_t stack_of(const Kernel *self, const Block *block)
{
    return block->function != NULL && block->stack > self->stack ? block->stack : self->stack;
}

static void no_stack(void)
{
    PyErr_SetString(PyExc_MemoryError, "no memory for the stack that this kernel needs");
}

/* Fast path ---------------------------------------------------------------------------------------- */

static int fits(PyObject *object, const Shape *shape, int writeable)
{
    if (!PyArray_CheckExact(object))
        return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != shape->ndim)
        return 0;
    if (writeable ? !PyArray_ISCARRAY(array) : !PyArray_ISCARRAY_RO(array))
        return 0;
    const npy_intp *dims = PyArray_DIMS(array);
    for (int k = 0; k < shape->ndim; k++)
        if (dims[k] != shape->dims[k])
            return 0;
    return 1;
}

static void fill_nan(PyObject *array, npy_intp size)
{
    double *x = (double *)PyArray_DATA((PyArrayObject *)array);
    for (npy_intp k = 0; k < size; k++)
        x[k] = Py_NAN;
}

static const double *data_of(PyObject *array)
{
    return (const double *)PyArray_DATA((PyArrayObject *)array);
}

static int overlap(const double *a, npy_intp a_size, const double *b, npy_intp b_size)
{
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b; /* of different arrays: compared as numbers */
    return a_size > 0 && b_size > 0 && first < second + b_size * sizeof(double) &&
           second < first + a_size * sizeof(double);
}

/* What a call returns: the only array, or several in the result type; takes over their references. */
static PyObject *returned(Kernel *self, PyObject **arrays)
{
    if (self->result_type == NULL)
        return arrays[0];
    PyObject *result;
    if (self->named) {
        PyTypeObject *type = (PyTypeObject *)self->result_type;
        result = type->tp_alloc(type, self->n_out);
        for (int k = 0; result != NULL && k < self->n_out; k++)
            PyTuple_SET_ITEM(result, k, Py_NewRef(arrays[k]));
    } else {
        result = PyObject_Vectorcall(self->result_type, arrays, self->n_out, NULL);
    }
    for (int k = 0; k < self->n_out; k++)
        Py_DECREF(arrays[k]);
    return result;
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

/* The arrays that a call shall write to: *given is set to n_out of them, or NULL if there are none; 0 if the keywords
   are others. */
static int given_arrays(const Kernel *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                        PyObject *const **given)
{
    *given = NULL;
    if (kwnames == NULL || PyTuple_GET_SIZE(kwnames) == 0)
        return 1;
    if (PyTuple_GET_SIZE(kwnames) != 1)
        return 0;
    PyObject *name = PyTuple_GET_ITEM(kwnames, 0);
    if (name != out_name && PyUnicode_Compare(name, out_name) != 0)
        return 0;
    if (self->result_type == NULL)
        *given = &args[n];
    else if (PyTuple_Check(args[n]) && PyTuple_GET_SIZE(args[n]) == self->n_out)
        *given = &PyTuple_GET_ITEM(args[n], 0);
    return *given != NULL;
}

/* See kernel_try. */
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
    int pointer = 0;
    for (int k = 0; k < self->n_out; k++) {
        Shape *shape = &self->out[k];
        arrays[k] = given != NULL ? Py_NewRef(given[k]) : PyArray_SimpleNew(shape->ndim, shape->dims, NPY_DOUBLE);
        if (arrays[k] == NULL) {
            while (k > 0)
                Py_DECREF(arrays[--k]);
            return 1;
        }
        double *data = (double *)PyArray_DATA((PyArrayObject *)arrays[k]);
        npy_intp step = shape->size / self->layers[k];
        for (int layer = 0; layer < self->layers[k]; layer++)
            call->out[pointer++] = data + layer * step;
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
    for (int k = 0; k < self->n_out; k++)
        Py_DECREF(arrays[k]);
    return 1;
}

/* 1: done, *result set (or NULL with an exception); 0: the arguments do not fit, nothing has happened. */
static int kernel_try(Kernel *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject **result)
{
    PyObject *const *given;
    if (n != self->n_in || !given_arrays(self, args, n, kwnames, &given))
        return 0;
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

/* The dimensions of a result in a batch, layers first; returns how many. */
static int batch_dims(const Shape *shape, const npy_intp *batch, int depth, int stacked, npy_intp *dims)
{
    if (stacked)
        dims[0] = shape->dims[0];
    memcpy(dims + stacked, batch, depth * sizeof(npy_intp));
    memcpy(dims + stacked + depth, shape->dims + stacked, (shape->ndim - stacked) * sizeof(npy_intp));
    return depth + shape->ndim;
}

/* Doubles from row to row of a result in a batch, whose rows are whole but may be apart; 0 if it does not fit. */
static npy_intp row_step(PyObject *object, const npy_intp *dims, int ndim, int depth, npy_intp size)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISBEHAVED(array) ||
        PyArray_NDIM(array) != ndim || memcmp(PyArray_DIMS(array), dims, ndim * sizeof(npy_intp)) != 0)
        return 0;
    const npy_intp *strides = PyArray_STRIDES(array), unit = sizeof(double);
    npy_intp step = size * unit, wanted = unit;
    for (int d = 0; d < depth; d++)
        if (dims[d] != 1)
            step = strides[d]; /* that of the last one counts */
    for (int d = ndim - 1; d >= 0; wanted *= dims[d--]) {
        if (d == depth - 1)
            wanted = step;
        if (dims[d] != 1 && strides[d] != wanted)
            return 0;
    }
    return step % unit == 0 && step >= size * unit ? step / unit : 0;
}

/* The same for batches: every argument has the same leading dimensions, or none. See kernel_try_batch. */
static int try_batch(Kernel *self, PyObject *const *args, PyObject *const *given, Tables *t, PyObject **result)
{
    Rows *in = t->in;
    PyObject **arrays = t->arrays;
    npy_intp batch[MAX_DEPTH], dims[MAX_DEPTH], rows = 1, shared = 0;
    int depth = 0, stacked = self->stacked;

    for (int k = 0; k < self->n_in; k++) {
        PyArrayObject *array = (PyArrayObject *)args[k];
        const Shape *shape = &self->in[k];
        if (!PyArray_CheckExact(args[k]) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array))
            return 0;
        int extra = PyArray_NDIM(array) - shape->ndim;
        const npy_intp *sizes = PyArray_DIMS(array);
        if (extra < 0 || extra > MAX_DEPTH || (extra > 0 && depth > 0 && extra != depth))
            return 0;
        for (int d = 0; d < shape->ndim; d++)
            if (sizes[extra + d] != shape->dims[d])
                return 0;
        for (int d = 0; d < extra; d++) {
            if (depth > 0 && sizes[d] != batch[d])
                return 0;
            if (depth == 0)
                rows *= sizes[d]; /* of an array that exists: no overflow */
        }
        if (extra > 0 && depth == 0)
            memcpy(batch, sizes, (depth = extra) * sizeof(npy_intp));
        in[k] = (Rows){(double *)PyArray_DATA(array), extra > 0 ? shape->size : 0, shape->size};
        shared += extra > 0 ? 0 : shape->size;
    }
    Block block = self->block;
    if (depth == 0 || (block.function == NULL && rows >= self->blocks_from))
        return 0;

    for (int k = 0; k < self->n_out; k++) {
        const Shape *shape = &self->out[k];
        if (depth + shape->ndim > MAX_DEPTH || (shape->size > 0 && rows > MOST / shape->size))
            return 0;
        if (given == NULL)
            continue;
        int ndim = batch_dims(shape, batch, depth, stacked, dims);
        t->apart[k] = row_step(given[k], dims, ndim, stacked ? 0 : depth, shape->size);
        if (t->apart[k] == 0 || (!block.apart && block.function != NULL && t->apart[k] != shape->size))
            return 0;
        npy_intp extent = stacked ? rows * shape->size : rows > 0 ? (rows - 1) * t->apart[k] + shape->size : 0;
        for (int i = 0; i < self->n_in; i++)
            if (overlap(data_of(given[k]), extent, in[i].row, in[i].step ? rows * in[i].size : in[i].size))
                return 0;
        for (int i = 0; i < k && rows > 0; i++)
            if (overlap(data_of(given[k]), extent, data_of(given[i]), (rows - 1) * t->apart[i] + self->out[i].size))
                return 0;
    }
    *result = NULL;
    if (!tables_copies(t, &block, shared))
        return 1;
    int pointer = 0;
    for (int k = 0; k < self->n_out; k++) {
        const Shape *shape = &self->out[k];
        int ndim = batch_dims(shape, batch, depth, stacked, dims);
        arrays[k] = given != NULL ? Py_NewRef(given[k]) : PyArray_SimpleNew(ndim, dims, NPY_DOUBLE);
        if (arrays[k] == NULL) {
            while (k > 0)
                Py_DECREF(arrays[--k]);
            return 1;
        }
        npy_intp size = shape->size / self->layers[k], step = given != NULL && !stacked ? t->apart[k] : size;
        for (int layer = 0; layer < self->layers[k]; layer++)
            t->out[pointer++] = (Rows){(double *)data_of(arrays[k]) + layer * rows * size, step, size};
    }
    Batch work = {self, block, t, rows, NULL, 0};
    int ran;
    if (rows < FEW_ROWS) {
        ran = with_stack(stack_of(self, &block), run_rows, &work);
    } else {
        Py_BEGIN_ALLOW_THREADS
        ran = with_stack(stack_of(self, &block), run_rows, &work);
        Py_END_ALLOW_THREADS
    }
    if (ran) {
        *result = returned(self, arrays);
        return 1;
    }
    no_stack();
    for (int k = 0; k < self->n_out; k++)
        Py_DECREF(arrays[k]);
    return 1;
}

static int kernel_try_batch(Kernel *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject **result)
{
    PyObject *const *given;
    Tables tables;
    if (n != self->n_in || (self->stacked && self->n_out != 1) || !given_arrays(self, args, n, kwnames, &given))
        return 0;
    *result = NULL;
    if (!tables_new(self, &tables))
        return 1;
    int done = try_batch(self, args, given, &tables, result);
    tables_free(&tables);
    return done;
}

/* self._call(*args, **kwargs), the road for everything unusual */
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
    PyObject *result;
    if (kernel_try((Kernel *)self, args, PyVectorcall_NARGS(nargsf), kwnames, &result) ||
        kernel_try_batch((Kernel *)self, args, PyVectorcall_NARGS(nargsf), kwnames, &result))
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

static int rows_of(PyObject *array, npy_intp needed, int writeable, double **data)
{
    if (!PyArray_CheckExact(array) || PyArray_TYPE((PyArrayObject *)array) != NPY_DOUBLE ||
        (writeable ? !PyArray_ISCARRAY((PyArrayObject *)array) : !PyArray_ISCARRAY_RO((PyArrayObject *)array)) ||
        PyArray_SIZE((PyArrayObject *)array) < needed) {
        PyErr_SetString(PyExc_ValueError, "a batch array does not hold its rows");
        return -1;
    }
    *data = (double *)PyArray_DATA((PyArrayObject *)array);
    return 0;
}

/* The tables of a batch from the arguments of _run; 0 and an exception if they do not fit. */
static int read_batch(const Kernel *self, Batch *work, PyObject *inputs, PyObject *steps, PyObject *outputs,
                      PyObject *mask, Py_ssize_t rows, Py_ssize_t first)
{
    Tables *t = work->tables;
    npy_intp shared = 0;
    for (int k = 0; k < self->n_in; k++) {
        npy_intp size = self->in[k].size, step = PyLong_AsSsize_t(PyTuple_GET_ITEM(steps, k));
        if ((step != 0 && step != size) || (step > 0 && rows > MOST / step)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "the rows of a batch follow each other, or there is one for all");
            return 0;
        }
        npy_intp needed = work->count > 0 ? size + (rows - 1) * step : 0;
        double *data;
        if (rows_of(PyTuple_GET_ITEM(inputs, k), needed, 0, &data) < 0)
            return 0;
        t->in[k] = (Rows){data + first * step, step, size};
        shared += step == 0 ? size : 0;
    }
    int pointer = 0;
    for (int k = 0; k < self->n_out; k++) {
        double *data;
        npy_intp all = self->out[k].size, size = all / self->layers[k];
        if (all > 0 && rows > MOST / all) {
            PyErr_SetString(PyExc_ValueError, "a batch array does not hold its rows");
            return 0;
        }
        if (rows_of(PyTuple_GET_ITEM(outputs, k), rows * all, 1, &data) < 0)
            return 0;
        for (int layer = 0; layer < self->layers[k]; layer++, pointer++)
            t->out[pointer] = (Rows){data + (layer * rows + first) * size, size, size};
    }
    if (mask != Py_None) {
        PyArrayObject *array = (PyArrayObject *)mask;
        if (!PyArray_CheckExact(mask) || PyArray_TYPE(array) != NPY_BOOL || !PyArray_ISCARRAY(array) ||
            PyArray_SIZE(array) != rows) {
            PyErr_SetString(PyExc_ValueError, "finite must be a boolean for each row");
            return 0;
        }
        work->finite = (unsigned char *)PyArray_DATA(array) + first;
    }
    return tables_copies(t, &work->block, shared);
}

/* _run(inputs, row_steps, outputs, rows, first, count, finite): rows first .. first + count - 1 of a batch of `rows`.
   inputs[k] is the array of argument k with row_steps[k] doubles from one row to the next, its size or 0 if it has no
   batch; outputs[k] is (layers, rows, ...); finite is None or `rows` bytes. Rows whose result is not finite are filled
   with NaN; returns how many there are. The GIL is released, so several threads may each run a part. */
static PyObject *kernel_run(Kernel *self, PyObject *args)
{
    PyObject *inputs, *steps, *outputs, *mask;
    Batch work = {self, self->block, NULL, 0, NULL, 0};
    Py_ssize_t rows, first, count;
    if (!PyArg_ParseTuple(args, "O!O!O!nnnO", &PyTuple_Type, &inputs, &PyTuple_Type, &steps, &PyTuple_Type, &outputs,
                          &rows, &first, &count, &mask))
        return NULL;
    if (self->function == NULL || PyTuple_GET_SIZE(inputs) != self->n_in || PyTuple_GET_SIZE(steps) != self->n_in ||
        PyTuple_GET_SIZE(outputs) != self->n_out || rows < 0 || first < 0 || count < 0 || first > rows - count) {
        PyErr_SetString(PyExc_ValueError, "wrong number of arrays or rows");
        return NULL;
    }
    Tables tables;
    if (!tables_new(self, &tables))
        return NULL;
    PyObject *bad = NULL;
    work.tables = &tables;
    work.count = count;
    if (read_batch(self, &work, inputs, steps, outputs, mask, rows, first)) {
        int ran;
        Py_BEGIN_ALLOW_THREADS
        ran = with_stack(stack_of(self, &work.block), run_rows, &work);
        Py_END_ALLOW_THREADS
        if (ran)
            bad = PyLong_FromSsize_t(work.bad);
        else
            no_stack();
    }
    tables_free(&tables);
    return bad;
}

/* _use_block(address, lanes, groups, apart, stack): code that evaluates up to `groups` groups of `lanes` rows at
   once. */
static PyObject *kernel_use_block(Kernel *self, PyObject *args)
{
    unsigned long long address;
    int lanes, groups, apart;
    Py_ssize_t stack;
    if (!PyArg_ParseTuple(args, "Kiipn", &address, &lanes, &groups, &apart, &stack))
        return NULL;
    if (lanes < 1 || groups < 1 || groups > MAX_GROUPS || lanes > 64 / groups || stack < 0) {
        PyErr_SetString(PyExc_ValueError, "a block has 1 to 64 rows, in at most 4 groups");
        return NULL;
    }
    self->block = (Block){(block_function)(uintptr_t)address, lanes, groups, apart, (size_t)stack};
    Py_RETURN_NONE;
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

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *robot;
    Kernel *kernel;
} Algorithm;

static PyObject *algorithm_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Algorithm *self = (Algorithm *)object;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n > 0 && self->kernel != NULL && args[0] == self->robot) {
        PyObject *result;
        Kernel *kernel = (Kernel *)Py_NewRef((PyObject *)self->kernel);
        int done = kernel_try(kernel, args + 1, n - 1, kwnames, &result) ||
                   kernel_try_batch(kernel, args + 1, n - 1, kwnames, &result);
        Py_DECREF(kernel);
        if (done)
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

static int algorithm_traverse(Algorithm *self, visitproc visit, void *arg)
{
    Py_VISIT(self->robot);
    Py_VISIT((PyObject *)self->kernel);
    return 0;
}

static int algorithm_clear(Algorithm *self)
{
    Py_CLEAR(self->robot);
    Py_CLEAR(self->kernel);
    return 0;
}

static void algorithm_dealloc(Algorithm *self)
{
    PyObject_GC_UnTrack(self);
    algorithm_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *algorithm_remember(Algorithm *self, PyObject *args)
{
    PyObject *robot, *kernel;
    if (!PyArg_ParseTuple(args, "OO!", &robot, &KernelType, &kernel))
        return NULL;
    /* Both change before anything of the old pair dies: a finalizer may call this algorithm. */
    PyObject *old_robot = self->robot, *old_kernel = (PyObject *)self->kernel;
    self->robot = Py_NewRef(robot);
    self->kernel = (Kernel *)Py_NewRef(kernel);
    Py_XDECREF(old_robot);
    Py_XDECREF(old_kernel);
    Py_RETURN_NONE;
}

static PyMethodDef algorithm_methods[] = {
    {"_remember", (PyCFunction)algorithm_remember, METH_VARARGS, "Call this kernel directly for this robot."},
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
