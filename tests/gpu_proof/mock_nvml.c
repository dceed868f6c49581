/* A mock of NVIDIA's libnvidia-ml.so.1 with one GPU that does not exist, for the rehearsal of tools/gpu-proof.
 * Its power swings between 250 and 350 W, and its energy counter is the integral of that. The processes on it are
 * those that run gpu_proof/load.py. It has only the new name of the function for throttle reasons. Reading power and
 * energy takes as many milliseconds of CPU time as MOCK_NVML_MS says. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
#define UUID "GPU-00000000-mock"
#define PERIOD_S 20.0

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;
typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type, result;
    union { unsigned ui; unsigned long long ull; } value;
} Field;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
static unsigned power_mw(void) { return 300e3 + 50e3 * sin(2 * M_PI * now_s() / PERIOD_S); }
static unsigned long long energy_mj(void) {
    return 300e3 * now_s() - 50e3 * PERIOD_S / (2 * M_PI) * cos(2 * M_PI * now_s() / PERIOD_S);
}
static int text(char *to, unsigned size, const char *from) { return snprintf(to, size, "%s", from) < 0; }

int nvmlInitWithFlags(unsigned flags) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int result) { return result == NOT_SUPPORTED ? "Not Supported" : "mock error"; }
int nvmlSystemGetDriverVersion(char *to, unsigned size) { return text(to, size, "0.0-mock"); }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = 1, SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { return *device = (void *)1, index ? NOT_FOUND : SUCCESS; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) { return *device = (void *)1, strcmp(uuid, UUID) ? NOT_FOUND : SUCCESS; }
int nvmlDeviceGetName(void *device, char *to, unsigned size) { return text(to, size, "Mock GPU"); }
int nvmlDeviceGetUUID(void *device, char *to, unsigned size) { return text(to, size, UUID); }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { return *major = 9, *minor = 0, SUCCESS; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *limit) { return *limit = 700000, SUCCESS; }
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending) { return NOT_SUPPORTED; }
int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode) { return *mode = 1, SUCCESS; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *power) { return *power = power_mw(), SUCCESS; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy) { return *energy = energy_mj(), SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) { return *reasons = 4, SUCCESS; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { return *celsius = 55, SUCCESS; }
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz) { return *mhz = 1700, SUCCESS; }
int nvmlDeviceGetUtilizationRates(void *device, Utilization *rates) { return rates->gpu = 90, rates->memory = 40, SUCCESS; }
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
    memory->total = 80ull << 30, memory->used = 2ull << 30, memory->free = 78ull << 30;
    return SUCCESS;
}

int nvmlDeviceGetFieldValues(void *device, int count, Field *fields) {
    const char *milliseconds = getenv("MOCK_NVML_MS");
    double end_s = now_s() + (milliseconds ? atof(milliseconds) / 1e3 : 0);
    while (now_s() < end_s);
    for (int i = 0; i < count; i++) {
        fields[i].result = fields[i].field == 186 || fields[i].field == 83 ? SUCCESS : NOT_SUPPORTED;
        fields[i].type = fields[i].field == 186 ? 1 : 3;
        if (fields[i].field == 186) fields[i].value.ui = power_mw();
        else fields[i].value.ull = energy_mj();
    }
    return SUCCESS;
}

static int is_load(const char *pid) {
    char path[300], line[4096];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    for (size_t i = 0; i < length; i++) if (!line[i]) line[i] = ' ';
    return strstr(line, "gpu_proof/load.py") != NULL;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *processes) {
    unsigned found = 0, room = processes ? *count : 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *each; proc && (each = readdir(proc));) {
        if (each->d_name[0] < '1' || each->d_name[0] > '9' || !is_load(each->d_name)) continue;
        if (found < room) processes[found] = (Process){atoi(each->d_name), 1ull << 30, 0xFFFFFFFF, 0xFFFFFFFF};
        found++;
    }
    if (proc) closedir(proc);
    int fits = found <= room;
    *count = found;
    return fits ? SUCCESS : INSUFFICIENT_SIZE;
}
