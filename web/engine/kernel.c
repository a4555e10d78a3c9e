// What takes the time of a forward run, in float64, two numbers at once: matrix products, exp and tanh.
// Compiled to WebAssembly without any library; `web/build.mjs` has the command. It must stay below 4,096 bytes, as a
// browser may refuse to compile more at once on a page's main thread.
//
// Each entry of a product is summed in the order of the inner dimension, as in the plain JavaScript of kernel.js: the
// two give the same bits. exp and tanh differ from JavaScript's in the last bits.
#include <wasm_simd128.h>

extern unsigned char __heap_base;

// Where the caller may put its numbers.
unsigned heap(void) { return ((unsigned)&__heap_base + 15) & ~15u; }

// ROWS rows by 2 * PAIRS columns of a product, from their first entries.
#define TILE(ROWS, PAIRS)                                                                                    \
    static void tile_##ROWS##_##PAIRS(const double *a, const double *b, double *out, int inner, int columns) { \
        v128_t sum[ROWS][PAIRS];                                                                             \
        for (int r = 0; r < ROWS; r++)                                                                       \
            for (int c = 0; c < PAIRS; c++) sum[r][c] = wasm_f64x2_splat(0.0);                               \
        for (int p = 0; p < inner; p++, b += columns) {                                                      \
            for (int r = 0; r < ROWS; r++) {                                                                 \
                v128_t x = wasm_f64x2_splat(a[r * inner + p]);                                               \
                for (int c = 0; c < PAIRS; c++)                                                              \
                    sum[r][c] = wasm_f64x2_add(sum[r][c], wasm_f64x2_mul(x, wasm_v128_load(b + 2 * c)));     \
            }                                                                                                \
        }                                                                                                    \
        for (int r = 0; r < ROWS; r++)                                                                       \
            for (int c = 0; c < PAIRS; c++) wasm_v128_store(out + r * columns + 2 * c, sum[r][c]);           \
    }
TILE(4, 2)
TILE(1, 2)

static double entry(const double *a, const double *b, int inner, int columns) {
    double sum = 0.0;
    for (int p = 0; p < inner; p++) sum += a[p] * b[p * columns];
    return sum;
}

// out (rows, columns) = a (rows, inner) b (inner, columns)
void matmul(const double *a, const double *b, double *out, int rows, int inner, int columns) {
    int broad = columns & ~3, high = rows & ~3;
    for (int j = 0; j < broad; j += 4) {
        for (int i = 0; i < high; i += 4) tile_4_2(a + i * inner, b + j, out + i * columns + j, inner, columns);
        for (int i = high; i < rows; i++) tile_1_2(a + i * inner, b + j, out + i * columns + j, inner, columns);
    }
    for (int i = 0; i < rows; i++)
        for (int j = broad; j < columns; j++) out[i * columns + j] = entry(a + i * inner, b + j, inner, columns);
}

// exp of two numbers, for x up to 700; 0 below -708, where JavaScript gives what is left of a float64, 1e-308 and less.
// x = n ln 2 + r with |r| < 0.35, and exp(r) by its series: the first term that is left out is below 1e-18.
static inline v128_t exp_of(v128_t x) {
    const double SERIES[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                             1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,
                             1.0 / 6.0,          0.5,               1.0,              1.0};
    const v128_t rounder = wasm_f64x2_splat(0x1.8p52);  // added, it leaves a whole number in the last bits
    v128_t gone = wasm_f64x2_lt(x, wasm_f64x2_splat(-708.0));
    x = wasm_f64x2_pmax(x, wasm_f64x2_splat(-708.0));  // in this order NaN stays
    v128_t t = wasm_f64x2_add(wasm_f64x2_mul(x, wasm_f64x2_splat(0x1.71547652b82fep0)), rounder);
    v128_t n = wasm_f64x2_sub(t, rounder);
    v128_t r = wasm_f64x2_sub(x, wasm_f64x2_mul(n, wasm_f64x2_splat(0x1.62e42feep-1)));  // ln 2 in two parts
    r = wasm_f64x2_sub(r, wasm_f64x2_mul(n, wasm_f64x2_splat(0x1.a39ef35793c76p-33)));
    v128_t sum = wasm_f64x2_splat(SERIES[0]);
    for (int i = 1; i < 14; i++) sum = wasm_f64x2_add(wasm_f64x2_mul(sum, r), wasm_f64x2_splat(SERIES[i]));
    v128_t power = wasm_i64x2_add(sum, wasm_i64x2_shl(t, 52));  // times 2^n
    return wasm_v128_andnot(wasm_f64x2_add(power, wasm_f64x2_sub(x, x)), gone);  // x - x is 0, or NaN
}

// Both take an even count.
void exp_all(double *x, int count) {
    for (int i = 0; i < count; i += 2) wasm_v128_store(x + i, exp_of(wasm_v128_load(x + i)));
}

// tanh |x| = 1 - 2 / (exp(2 |x|) + 1), right to an ulp of 1: what uses it adds 1.
void tanh_all(double *x, int count) {
    const v128_t one = wasm_f64x2_splat(1.0), two = wasm_f64x2_splat(2.0), sign = wasm_f64x2_splat(-0.0);
    for (int i = 0; i < count; i += 2) {
        v128_t given = wasm_v128_load(x + i);
        v128_t size = wasm_f64x2_pmin(wasm_v128_andnot(given, sign), wasm_f64x2_splat(20.0));  // from there on it is 1
        v128_t part = wasm_f64x2_div(two, wasm_f64x2_add(exp_of(wasm_f64x2_mul(two, size)), one));
        wasm_v128_store(x + i, wasm_v128_or(wasm_f64x2_sub(one, part), wasm_v128_and(given, sign)));
    }
}
