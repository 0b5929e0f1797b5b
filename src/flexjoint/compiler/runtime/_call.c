/* Calling a compiled kernel from Python in well under 100 ns.

   KernelBase: a callable that checks its arguments (float64, C-contiguous, exact shapes), collects their addresses and
   calls machine code `int64_t kernel(double **in, double **out)`. Batches (_batch.h) call code for as many rows as a
   register has lanes, `int64_t kernel(double **in, double **out, int64_t *strides)`, with the doubles from row to row
   of each output. Whatever does not fit (other dtypes, lists, overlapping buffers, errors) goes to the method `_call` of
   the Python subclass, which brings batches back to `_run`.

   AlgorithmBase: a callable `algorithm(robot, *arrays, out=...)` that remembers the kernel of the robot it was called
   with last; anything else goes to its `_call`. */

#include "_kernel.h"
#include "_stack.h"
#include "_batch.h"

static PyObject *out_name, *call_name;

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

/* A call with plain arrays, of one sample or a batch; see single_call. */
static int fast_call(Kernel *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, PyObject **result)
{
    PyObject *const *given;
    if (n != self->n_in || !given_arrays(self, args, n, kwnames, &given))
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
    PyObject *result;
    if (fast_call((Kernel *)self, args, PyVectorcall_NARGS(nargsf), kwnames, &result))
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
        int done = fast_call(kernel, args + 1, n - 1, kwnames, &result);
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
