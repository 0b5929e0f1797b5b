/* FMI 2.0 around a component: the functions of a co-simulation FMU and, if it is a differential equation, of a
   model-exchange FMU.  model.h names the component and counts its numbers.

   All numbers of an instance lie in one array; a value reference is a place in it:
   state, parameters, inputs, outputs, derivatives of the state. */

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#else
#define FMI2_EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;
typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef void *(*fmi2CallbackAllocateMemory)(size_t, size_t);
typedef void (*fmi2CallbackFreeMemory)(void *);
typedef void (*fmi2StepFinished)(fmi2ComponentEnvironment, fmi2Status);
typedef struct {
    fmi2CallbackLogger logger;
    fmi2CallbackAllocateMemory allocateMemory;
    fmi2CallbackFreeMemory freeMemory;
    fmi2StepFinished stepFinished;
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

enum {
    PARAMETERS = STATES,
    INPUTS = PARAMETERS + PARAMETER_COUNT,
    OUTPUTS = INPUTS + INPUT_COUNT,
    DERIVATIVES = OUTPUTS + OUTPUT_COUNT,
    NUMBERS = DERIVATIVES + STATES * HAS_RATES,
    FLAGS = 0 /* value reference of the only integer */
};
typedef enum { CREATED, INITIALIZING, RUNNING, EVENTS, ENDED } Phase;

typedef struct {
    double numbers[NUMBERS + 1];
    double time;
    int flags;
    int known; /* whether outputs and derivatives belong to the other numbers */
    Phase phase;
} Memory;

typedef struct {
    Memory memory;
    fmi2Type type;
    const fmi2CallbackFunctions *callbacks;
    char name[128];
} Instance;

static fmi2Status failed(const Instance *instance, const char *message)
{
    if (instance && instance->callbacks && instance->callbacks->logger)
        instance->callbacks->logger(instance->callbacks->componentEnvironment, instance->name, fmi2Error, "error", "%s",
                                    message);
    return fmi2Error;
}

static void reset(Memory *memory)
{
    memset(memory, 0, sizeof *memory);
    MODEL_INIT((MODEL_STATE *)memory->numbers);
#if PARAMETER_COUNT
    MODEL_DEFAULTS((MODEL_PARAMETERS *)(memory->numbers + PARAMETERS));
#endif
}

/* Outputs, and derivatives of the state, of a differential equation. */
static void evaluate(Instance *instance)
{
#if HAS_RATES
    Memory *memory = &instance->memory;
    double *x = memory->numbers;
    if (!memory->known) {
        MODEL_RATES((const MODEL_STATE *)x, (const MODEL_PARAMETERS *)(x + PARAMETERS),
                    (const MODEL_INPUT *)(x + INPUTS), (MODEL_STATE *)(x + DERIVATIVES), (MODEL_OUTPUT *)(x + OUTPUTS));
        memory->known = 1;
    }
#else
    (void)instance;
#endif
}

FMI2_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI2_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String categories[])
{
    (void)c;
    (void)on;
    (void)count;
    (void)categories;
    return fmi2OK;
}

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                                          fmi2Boolean logging)
{
    (void)resources;
    (void)visible;
    (void)logging;
    Instance refused;
    memset(&refused, 0, sizeof refused);
    refused.callbacks = callbacks;
    if (!guid || strcmp(guid, MODEL_GUID)) {
        failed(&refused, "the guid does not belong to this binary");
        return NULL;
    }
    if (type == fmi2ModelExchange && !HAS_RATES) {
        failed(&refused, "this FMU is for co-simulation only");
        return NULL;
    }
    Instance *instance = calloc(1, sizeof *instance);
    if (!instance) {
        failed(&refused, "there is no memory");
        return NULL;
    }
    instance->type = type;
    instance->callbacks = callbacks;
    strncpy(instance->name, name ? name : "", sizeof instance->name - 1);
    reset(&instance->memory);
    return instance;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c) { free(c); }

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                                           fmi2Real start, fmi2Boolean stopDefined, fmi2Real stop)
{
    (void)toleranceDefined;
    (void)tolerance;
    (void)stopDefined;
    (void)stop;
    ((Instance *)c)->memory.time = start;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ((Instance *)c)->memory.phase = INITIALIZING;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *instance = c;
    instance->memory.phase = instance->type == fmi2ModelExchange ? EVENTS : RUNNING;
    evaluate(instance);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c)
{
    ((Instance *)c)->memory.phase = ENDED;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    reset(&((Instance *)c)->memory);
    return fmi2OK;
}

/* Values ----------------------------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count, fmi2Real value[])
{
    Instance *instance = c;
    for (size_t k = 0; k < count; k++)
        if (vr[k] >= NUMBERS)
            return failed(instance, "fmi2GetReal: there is no such value reference");
    for (size_t k = 0; k < count; k++) {
        if (vr[k] >= OUTPUTS && instance->memory.phase != CREATED)
            evaluate(instance);
        value[k] = instance->memory.numbers[vr[k]];
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t count, const fmi2Real value[])
{
    Instance *instance = c;
    Memory *memory = &instance->memory;
    for (size_t k = 0; k < count; k++) {
        if (vr[k] >= OUTPUTS)
            return failed(instance, "fmi2SetReal: outputs and derivatives cannot be set");
        if (vr[k] < PARAMETERS && memory->phase >= RUNNING)
            return failed(instance, "fmi2SetReal: the state can be set before the simulation only");
        if (!isfinite(value[k]) && vr[k] < INPUTS)
            return failed(instance, "fmi2SetReal: states and parameters must be finite");
    }
    for (size_t k = 0; k < count; k++)
        memory->numbers[vr[k]] = value[k];
    memory->known = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t count, fmi2Integer value[])
{
    Instance *instance = c;
    for (size_t k = 0; k < count; k++) {
        if (vr[k] != FLAGS || !HAS_FLAGS)
            return failed(instance, "fmi2GetInteger: there is no such value reference");
        value[k] = instance->memory.flags;
    }
    return fmi2OK;
}

/* Functions for values of a kind that there are none of. */
#define NO_VALUES(function, type)                                                                                      \
    FMI2_EXPORT fmi2Status function(fmi2Component c, const fmi2ValueReference vr[], size_t count, type value[])       \
    {                                                                                                                  \
        (void)vr;                                                                                                      \
        (void)value;                                                                                                   \
        return count ? failed(c, #function ": there are no such values") : fmi2OK;                                     \
    }
NO_VALUES(fmi2SetInteger, const fmi2Integer)
NO_VALUES(fmi2GetBoolean, fmi2Boolean)
NO_VALUES(fmi2SetBoolean, const fmi2Boolean)
NO_VALUES(fmi2GetString, fmi2String)
NO_VALUES(fmi2SetString, const fmi2String)

/* All numbers of an instance --------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Instance *instance = c;
    if (!*state)
        *state = malloc(sizeof(Memory));
    if (!*state)
        return failed(instance, "fmi2GetFMUstate: there is no memory");
    memcpy(*state, &instance->memory, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    if (!state)
        return failed(c, "fmi2SetFMUstate: there is no state");
    memcpy(&((Instance *)c)->memory, state, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(Memory);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (!state || size < sizeof(Memory))
        return failed(c, "fmi2SerializeFMUstate: the array is too small");
    memcpy(bytes, state, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                               fmi2FMUstate *state)
{
    if (size != sizeof(Memory))
        return failed(c, "fmi2DeSerializeFMUstate: this is no state of this FMU");
    if (!*state)
        *state = malloc(sizeof(Memory));
    if (!*state)
        return failed(c, "fmi2DeSerializeFMUstate: there is no memory");
    memcpy(*state, bytes, sizeof(Memory));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t rows,
                                                    const fmi2ValueReference known[], size_t columns,
                                                    const fmi2Real seed[], fmi2Real value[])
{
    Instance *instance = c;
#if HAS_RATES
    double *x = instance->memory.numbers;
    double seeds[STATES + INPUT_COUNT], found[STATES + OUTPUT_COUNT];
    memset(seeds, 0, sizeof seeds);
    for (size_t k = 0; k < columns; k++) {
        if (known[k] < PARAMETERS)
            seeds[known[k]] += seed[k];
        else if (known[k] >= INPUTS && known[k] < OUTPUTS)
            seeds[STATES + known[k] - INPUTS] += seed[k];
        else
            return failed(instance, "fmi2GetDirectionalDerivative: knowns are states and inputs");
    }
    for (size_t k = 0; k < rows; k++)
        if (unknown[k] < OUTPUTS || unknown[k] >= NUMBERS)
            return failed(instance, "fmi2GetDirectionalDerivative: unknowns are derivatives and outputs");
    MODEL_DIRECTIONAL(x, x + PARAMETERS, x + INPUTS, seeds, found);
    for (size_t k = 0; k < rows; k++)
        value[k] = unknown[k] >= DERIVATIVES ? found[unknown[k] - DERIVATIVES] : found[STATES + unknown[k] - OUTPUTS];
    return fmi2OK;
#else
    (void)unknown;
    (void)rows;
    (void)known;
    (void)columns;
    (void)seed;
    (void)value;
    return failed(instance, "fmi2GetDirectionalDerivative: there are no derivatives");
#endif
}

/* Co-simulation ---------------------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real point, fmi2Real step, fmi2Boolean noSetStatePrior)
{
    (void)noSetStatePrior;
    Instance *instance = c;
    Memory *memory = &instance->memory;
    double *x = memory->numbers;
    const double periods = step / MODEL_PERIOD, count = floor(periods + 0.5);
    if (memory->phase != RUNNING)
        return failed(instance, "fmi2DoStep: the FMU is not initialized");
    if (!(count >= 1.0 && fabs(periods - count) <= 1e-6 * count && count <= 1e9))
        return failed(instance, "fmi2DoStep: the communication step must be a multiple of the period");
    if (!(point >= memory->time - 1e-6 * MODEL_PERIOD && isfinite(point)))
        return failed(instance, "fmi2DoStep: the communication point is NaN, or before the end of the last step");
    for (double k = 0.0; k < count; k += 1.0) {
#ifdef STAMP
        x[INPUTS + STAMP] = point + k * MODEL_PERIOD;
#endif
#ifdef ELAPSED
        x[INPUTS + ELAPSED] = MODEL_PERIOD;
#endif
        memory->flags = MODEL_STEP((MODEL_STATE *)x, (const MODEL_PARAMETERS *)(x + PARAMETERS),
                                   (const MODEL_INPUT *)(x + INPUTS), (MODEL_OUTPUT *)(x + OUTPUTS));
    }
    memory->time = point + step;
    memory->known = 1;
#if HAS_RATES
    for (int k = 0; k < OUTPUTS; k++)
        if (!isfinite(x[k]))
            return failed(instance, "fmi2DoStep: the state is not finite any more; take a shorter period or more substeps");
    memory->known = 0;
#endif
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { return failed(c, "fmi2CancelStep: steps end at once"); }

FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                                                   const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return count ? failed(c, "fmi2SetRealInputDerivatives: inputs are held") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t count,
                                                    const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return count ? failed(c, "fmi2GetRealOutputDerivatives: there are none") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)c;
    (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = ((Instance *)c)->memory.time;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c;
    (void)kind;
    (void)value;
    return fmi2Discard;
}

FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = ((Instance *)c)->memory.phase == ENDED;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c;
    (void)kind;
    (void)value;
    return fmi2Discard;
}

/* Model exchange --------------------------------------------------------------------------------------------------- */

FMI2_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    ((Instance *)c)->memory.phase = EVENTS;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    ((Instance *)c)->memory.phase = RUNNING;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetStatePrior, fmi2Boolean *events,
                                                   fmi2Boolean *terminate)
{
    (void)c;
    (void)noSetStatePrior;
    *events = 0;
    *terminate = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ((Instance *)c)->memory.time = time;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t count)
{
    Instance *instance = c;
    if (count != STATES * HAS_RATES)
        return failed(instance, "fmi2SetContinuousStates: wrong number of states");
    memcpy(instance->memory.numbers, x, count * sizeof *x);
    instance->memory.known = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t count)
{
    Instance *instance = c;
    if (count != STATES * HAS_RATES)
        return failed(instance, "fmi2GetDerivatives: wrong number of states");
    evaluate(instance);
    memcpy(derivatives, instance->memory.numbers + DERIVATIVES, count * sizeof *derivatives);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t count)
{
    (void)indicators;
    return count ? failed(c, "fmi2GetEventIndicators: there are none") : fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t count)
{
    Instance *instance = c;
    if (count != STATES * HAS_RATES)
        return failed(instance, "fmi2GetContinuousStates: wrong number of states");
    memcpy(x, instance->memory.numbers, count * sizeof *x);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t count)
{
    (void)c;
    for (size_t k = 0; k < count; k++)
        nominals[k] = 1.0;
    return fmi2OK;
}
