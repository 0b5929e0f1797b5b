"""The operations on vectors and matrices that generated recursions call, in Python and C."""

PYTHON_HELPERS = '''
import numpy as np
from numpy import cross


def skew(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def tilde(X):
    """Cross product operator of a spatial vector."""
    a, b = skew(X[:3]), skew(X[3:])
    return np.block([[a, np.zeros((3, 3))], [b, a]])


def transform(R, p, H, q):
    """phi of a joint at q, from its pose at q = 0  (9)."""
    c, s = np.cos(H[2] * q), np.sin(H[2] * q)
    E = (R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])).T
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(p + H[5] * q * R[:, 2]), E]])


def spatial_inertia(m, h, J):
    return np.block([[J, skew(h)], [-skew(h), m * np.eye(3)]])


def moment(N):
    return np.append(N, np.zeros(3))
'''

C_HELPERS = """
#include <math.h>

#ifdef __GNUC__ /* inlined, a large robot compiles for minutes */
#define HELPER static __attribute__((noinline, unused))
#else
#define HELPER static inline
#endif

typedef struct { double x[3]; } vector;
typedef struct { double x[6]; } spatial;    /* rotation, translation */
typedef struct { double x[18]; } transform; /* E and S, by rows, of [[E, 0], [S, E]] */

#define LINEAR(type, size, add, times) \\
    HELPER type add(int count, const type *terms) { \\
        type s = terms[0]; \\
        for (int k = 1; k < count; k++) for (int i = 0; i < size; i++) s.x[i] += terms[k].x[i]; \\
        return s; \\
    } \\
    HELPER type times(double c, type a) { \\
        for (int i = 0; i < size; i++) a.x[i] *= c; \\
        return a; \\
    }
LINEAR(vector, 3, add_v, times_v)
LINEAR(spatial, 6, add, times)
LINEAR(transform, 18, add_phi, times_phi)
#define LIST(type, ...) (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]){__VA_ARGS__}
#define sum_v(...) add_v(LIST(vector, __VA_ARGS__))
#define sum(...) add(LIST(spatial, __VA_ARGS__))
#define sum_phi(...) add_phi(LIST(transform, __VA_ARGS__))

HELPER double dot(vector a, vector b) { return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2]; }
HELPER vector cross(vector a, vector b) {
    const double *u = a.x, *w = b.x;
    return (vector){{u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]}};
}
HELPER vector rotated(const double *R, vector a) {
    vector b;
    for (int i = 0; i < 3; i++) b.x[i] = R[3 * i] * a.x[0] + R[3 * i + 1] * a.x[1] + R[3 * i + 2] * a.x[2];
    return b;
}
HELPER vector rotated_back(const double *R, vector a) {
    vector b;
    for (int i = 0; i < 3; i++) b.x[i] = R[i] * a.x[0] + R[3 + i] * a.x[1] + R[6 + i] * a.x[2];
    return b;
}
HELPER vector angular(spatial V) { return (vector){{V.x[0], V.x[1], V.x[2]}}; }
HELPER vector linear(spatial V) { return (vector){{V.x[3], V.x[4], V.x[5]}}; }
HELPER spatial pair(vector a, vector b) { return (spatial){{a.x[0], a.x[1], a.x[2], b.x[0], b.x[1], b.x[2]}}; }
HELPER spatial moment(vector N) { return pair(N, (vector){{0.0, 0.0, 0.0}}); }
/* phi of a joint at q, from its pose at q = 0  (9) */
HELPER transform transform_at(const double *R, const double *p, spatial H, double q) {
    const double c = cos(H.x[2] * q), s = sin(H.x[2] * q);
    transform phi;
    vector at;
    for (int j = 0; j < 3; j++) {
        phi.x[j] = c * R[3 * j] + s * R[3 * j + 1];
        phi.x[3 + j] = c * R[3 * j + 1] - s * R[3 * j];
        phi.x[6 + j] = R[3 * j + 2];
        at.x[j] = p[j] + H.x[5] * q * R[3 * j + 2];
    }
    for (int i = 0; i < 9; i += 3) { /* a row of -E p~ is p x that of E */
        const vector row = cross(at, (vector){{phi.x[i], phi.x[i + 1], phi.x[i + 2]}});
        for (int j = 0; j < 3; j++) phi.x[9 + i + j] = row.x[j];
    }
    return phi;
}
/* X~ phi */
HELPER transform turned(spatial X, transform phi) {
    for (int j = 0; j < 3; j++) {
        const double *x = phi.x + j;
        const vector E = {{x[0], x[3], x[6]}}, S = {{x[9], x[12], x[15]}};
        const vector above = cross(angular(X), E), b = cross(linear(X), E), a = cross(angular(X), S);
        for (int i = 0; i < 3; i++) {
            phi.x[3 * i + j] = above.x[i];
            phi.x[9 + 3 * i + j] = b.x[i] + a.x[i];
        }
    }
    return phi;
}
/* phi V and its transpose, for forces */
HELPER spatial outward(transform phi, spatial V) {
    const vector a = rotated(phi.x, angular(V)), b = rotated(phi.x, linear(V)), c = rotated(phi.x + 9, angular(V));
    return pair(a, sum_v(b, c));
}
HELPER spatial inward(transform phi, spatial f) {
    const vector a = rotated_back(phi.x, angular(f)), b = rotated_back(phi.x, linear(f));
    return pair(sum_v(a, rotated_back(phi.x + 9, linear(f))), b);
}
/* M V */
HELPER spatial momentum(double m, vector h, const double *J, spatial V) {
    const vector omega = angular(V), v = linear(V), turning = sum_v(rotated(J, omega), cross(h, v));
    return pair(turning, sum_v(times_v(m, v), cross(omega, h)));
}
/* transpose of V~ times P */
HELPER spatial transposed_cross(spatial V, spatial P) {
    const vector a = cross(angular(P), angular(V)), b = cross(linear(P), linear(V));
    return pair(sum_v(a, b), cross(linear(P), angular(V)));
}
HELPER double along(spatial H, spatial f) { return dot(angular(H), angular(f)) + dot(linear(H), linear(f)); }
"""
