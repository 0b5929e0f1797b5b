/* What single calls and batches share: the kernel object, checks of arrays, and the arrays of a result. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_ARRAYS 1024
#define MAX_DEPTH 64  /* dimensions of an array, the most that NumPy has */
#define FEW_ARRAYS 64 /* so many each way have their addresses on the stack */
#define MOST (PTRDIFF_MAX / (ptrdiff_t)sizeof(double)) /* doubles that memory can hold */

typedef int64_t (*kernel_function)(const double *const *in, double *const *out);
typedef int64_t (*block_function)(const double *const *in, double *const *out, const int64_t *strides);

typedef struct {
    int ndim;
    npy_intp dims[4];
    npy_intp size;
} Shape;

typedef struct {
    block_function function; /* or NULL */
    int lanes;               /* rows that it evaluates */
    int strided;             /* whether it heeds its strides; else rows of results follow each other */
    size_t stack;            /* bytes that a call needs at most */
} Block;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    kernel_function function; /* one row */
    size_t stack;             /* bytes that a call of it needs at most */
    Block block;              /* several rows */
    Py_ssize_t blocks_from;   /* rows from which on `block` is wanted */
    int stacked;              /* whether the first result is a stack, its first dimension counting layers */
    int n_in;                 /* argument arrays */
    int n_out;                /* result arrays */
    int n_layers;             /* pointers the kernel writes through: a stacked result has one per layer */
    Shape *in;
    Shape *out;
    int *layers;
    PyObject *result_type; /* NULL for a single array, else called with the arrays */
    int named;             /* whether that is a NamedTuple of as many fields: made here, in a tenth of the time */
} Kernel;

static void no_stack(void)
{
    PyErr_SetString(PyExc_MemoryError, "no memory for the stack that this kernel needs");
}

/* Part of a piece of memory that holds several tables. */
static void *next_table(char **memory, size_t count, size_t size)
{
    void *table = *memory;
    *memory += count * size;
    return table;
}

/* A plain float64 array, aligned and C-contiguous; NULL if the object is another one. */
static PyArrayObject *plain_array(PyObject *object, int writeable)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_TYPE(array) != NPY_DOUBLE ||
        (writeable ? !PyArray_ISCARRAY(array) : !PyArray_ISCARRAY_RO(array)))
        return NULL;
    return array;
}

static double *data_of(PyObject *array)
{
    return (double *)PyArray_DATA((PyArrayObject *)array);
}

static int overlap(const double *a, npy_intp a_size, const double *b, npy_intp b_size)
{
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b; /* of different arrays: compared as numbers */
    return a_size > 0 && b_size > 0 && first < second + b_size * sizeof(double) &&
           second < first + a_size * sizeof(double);
}

/* The dimensions of a result in a batch, layers first; returns how many. */
static int batch_dims(const Shape *shape, const npy_intp *batch, int depth, int stacked, npy_intp *dims)
{
    if (stacked)
        dims[0] = shape->dims[0];
    if (depth > 0)
        memcpy(dims + stacked, batch, depth * sizeof(npy_intp));
    memcpy(dims + stacked + depth, shape->dims + stacked, (shape->ndim - stacked) * sizeof(npy_intp));
    return depth + shape->ndim;
}

static void release(PyObject **arrays, int count)
{
    for (int k = 0; k < count; k++)
        Py_DECREF(arrays[k]);
}

/* The arrays that a call writes to, those given or new ones; 0 and an exception if there is no memory. */
static int take_arrays(const Kernel *self, PyObject *const *given, const npy_intp *batch, int depth, PyObject **arrays)
{
    for (int k = 0; k < self->n_out; k++) {
        if (given != NULL) {
            arrays[k] = Py_NewRef(given[k]);
            continue;
        }
        npy_intp dims[MAX_DEPTH];
        int ndim = batch_dims(&self->out[k], batch, depth, self->stacked && depth > 0, dims);
        arrays[k] = PyArray_SimpleNew(ndim, dims, NPY_DOUBLE);
        if (arrays[k] == NULL) {
            release(arrays, k);
            return 0;
        }
    }
    return 1;
}

/* What a call returns: the only array, or several in the result type; takes over their references. */
static PyObject *returned(const Kernel *self, PyObject **arrays)
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
    release(arrays, self->n_out);
    return result;
}
