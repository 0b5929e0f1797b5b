/* Batches: blocks of as many rows as a register has lanes by the SIMD code, what is left by the scalar code. */

#define FEW_ROWS 32 /* fewer are done before another thread could take the GIL */

/* One input or output of a batch: where its next row is, and how many doubles lie between rows. */
typedef struct {
    double *row;
    npy_intp step;
    npy_intp size;
} Rows;

/* The tables of one batch, in one piece of memory: a thread's stack may be too small for them. */
typedef struct {
    Rows *in, *out; /* n_in, n_layers */
    const double **from, **spread;
    double **to;
    int64_t *strides;   /* n_layers, for the block */
    PyObject **arrays;  /* n_out */
    npy_intp *distance; /* n_out: doubles from row to row of arrays that were given */
    double *copies;     /* shared rows once for each lane, or NULL */
} Tables;

/* 0 and an exception if there is no memory; all members have the alignment of a pointer. */
static int tables_new(const Kernel *self, Tables *tables)
{
    size_t n_in = self->n_in, n_layers = self->n_layers, n_out = self->n_out;
    size_t pointers = 2 * n_in + 2 * n_layers + 2 * n_out;
    char *memory = PyMem_Malloc((n_in + n_layers) * sizeof(Rows) + pointers * sizeof(int64_t));
    if (memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    tables->in = next_table(&memory, n_in, sizeof(Rows));
    tables->out = next_table(&memory, n_layers, sizeof(Rows));
    tables->from = next_table(&memory, n_in, sizeof(int64_t));
    tables->spread = next_table(&memory, n_in, sizeof(int64_t));
    tables->to = next_table(&memory, n_layers, sizeof(int64_t));
    tables->strides = next_table(&memory, n_layers, sizeof(int64_t));
    tables->arrays = next_table(&memory, n_out, sizeof(int64_t));
    tables->distance = next_table(&memory, n_out, sizeof(int64_t));
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

static void run_rows(void *argument)
{
    Batch *batch = argument;
    const Kernel *self = batch->self;
    const Tables *t = batch->tables;
    const Rows *in = t->in, *out = t->out;
    const int lanes = batch->block.lanes, n_in = self->n_in, n_layers = self->n_layers;
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
        t->strides[k] = out[k].step;
    }
    for (Py_ssize_t row = 0; row < batch->count;) {
        const int whole = batch->block.function != NULL && batch->count - row >= lanes, rows = whole ? lanes : 1;
        uint64_t status = (uint64_t)(whole ? batch->block.function(t->spread, t->to, t->strides)
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

/* Runs a batch, without the GIL if it takes long; 0 and an exception if there is no memory for the stack. */
static int run_batch(Batch *batch, int release_gil)
{
    const size_t scalar = batch->self->stack, block = batch->block.function != NULL ? batch->block.stack : 0;
    const size_t stack = block > scalar ? block : scalar;
    PyThreadState *state = release_gil ? PyEval_SaveThread() : NULL;
    int ran = with_stack(stack, run_rows, batch);
    if (state != NULL)
        PyEval_RestoreThread(state);
    if (!ran)
        no_stack();
    return ran;
}

/* Doubles from row to row of a result in a batch, whose rows are whole but may be strided; 0 if it does not fit. */
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

/* See batch_call. Every argument has the same leading dimensions, or none. */
static int try_batch(const Kernel *self, PyObject *const *args, PyObject *const *given, Tables *t, PyObject **result)
{
    Rows *in = t->in;
    npy_intp batch[MAX_DEPTH], dims[MAX_DEPTH], rows = 1, shared = 0;
    int depth = 0, stacked = self->stacked;

    for (int k = 0; k < self->n_in; k++) {
        PyArrayObject *array = plain_array(args[k], 0);
        const Shape *shape = &self->in[k];
        if (array == NULL)
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
        in[k] = (Rows){data_of(args[k]), extra > 0 ? shape->size : 0, shape->size};
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
        npy_intp step = t->distance[k] = row_step(given[k], dims, ndim, stacked ? 0 : depth, shape->size);
        if (step == 0 || (!block.strided && block.function != NULL && step != shape->size))
            return 0;
        npy_intp extent = stacked ? rows * shape->size : rows > 0 ? (rows - 1) * step + shape->size : 0;
        for (int i = 0; i < self->n_in; i++)
            if (overlap(data_of(given[k]), extent, in[i].row, in[i].step ? rows * in[i].size : in[i].size))
                return 0;
        for (int i = 0; i < k && rows > 0; i++)
            if (overlap(data_of(given[k]), extent, data_of(given[i]), (rows - 1) * t->distance[i] + self->out[i].size))
                return 0;
    }
    *result = NULL;
    if (!tables_copies(t, &block, shared) || !take_arrays(self, given, batch, depth, t->arrays))
        return 1;
    int pointer = 0;
    for (int k = 0; k < self->n_out; k++) {
        npy_intp size = self->out[k].size / self->layers[k], step = given != NULL && !stacked ? t->distance[k] : size;
        for (int layer = 0; layer < self->layers[k]; layer++)
            t->out[pointer++] = (Rows){data_of(t->arrays[k]) + layer * rows * size, step, size};
    }
    Batch work = {self, block, t, rows, NULL, 0};
    if (run_batch(&work, rows >= FEW_ROWS))
        *result = returned(self, t->arrays);
    else
        release(t->arrays, self->n_out);
    return 1;
}

/* As single_call, for batches. */
static int batch_call(const Kernel *self, PyObject *const *args, PyObject *const *given, PyObject **result)
{
    Tables tables;
    if (self->stacked && self->n_out != 1)
        return 0;
    *result = NULL;
    if (!tables_new(self, &tables))
        return 1;
    int done = try_batch(self, args, given, &tables, result);
    tables_free(&tables);
    return done;
}

static int rows_of(PyObject *array, npy_intp needed, int writeable, double **data)
{
    if (plain_array(array, writeable) == NULL || PyArray_SIZE((PyArrayObject *)array) < needed) {
        PyErr_SetString(PyExc_ValueError, "a batch array does not hold its rows");
        return -1;
    }
    *data = data_of(array);
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
    work.tables = &tables;
    work.count = count;
    int ran = read_batch(self, &work, inputs, steps, outputs, mask, rows, first) && run_batch(&work, 1);
    tables_free(&tables);
    return ran ? PyLong_FromSsize_t(work.bad) : NULL;
}

/* _use_block(address, lanes, strided, stack): code that evaluates `lanes` rows at once. */
static PyObject *kernel_use_block(Kernel *self, PyObject *args)
{
    unsigned long long address;
    int lanes, strided;
    Py_ssize_t stack;
    if (!PyArg_ParseTuple(args, "Kipn", &address, &lanes, &strided, &stack))
        return NULL;
    if (lanes < 1 || lanes > 64 || stack < 0) {
        PyErr_SetString(PyExc_ValueError, "a block has 1 to 64 rows");
        return NULL;
    }
    self->block = (Block){(block_function)(uintptr_t)address, lanes, strided, (size_t)stack};
    Py_RETURN_NONE;
}
