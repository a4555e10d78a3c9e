/* The booklet's transformer in C (chapter 1, exercise 5): reads a model and tokens, writes the logits.

   cc -O3 -march=native -o transformer examples/transformer.c -lm

   In: float64 numbers. Vocab, block, width, layers, heads, head width, neurons, tokens, eps; the token table, the position
   table, the unembedding (one row a token); for every layer W_Q, W_K, W_V (heads × width × head), W_O (heads × head ×
   width), W_in, b_in, W_out, b_out; the tokens. Out: tokens × vocab logits. Pre-norm, causal, ReLU, gains 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double *take(size_t count) {
    double *p = calloc(count + 1, sizeof *p);
    if (!p || fread(p, sizeof *p, count, stdin) != count) exit(2);
    return p;
}

/* y (n × m) += x (n × d) · w (d × m) */
static void add_product(double *y, const double *x, const double *w, int n, int d, int m) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < d; k++)
            for (int j = 0; j < m; j++) y[i * m + j] += x[i * d + k] * w[k * m + j];
}

static void norm(double *y, const double *x, int n, int d, double eps) {
    for (int i = 0; i < n; i++, x += d, y += d) {
        double mean = 0, square = 0;
        for (int j = 0; j < d; j++) mean += x[j] / d;
        for (int j = 0; j < d; j++) square += (x[j] - mean) * (x[j] - mean) / d;
        for (int j = 0; j < d; j++) y[j] = (x[j] - mean) / sqrt(square + eps);
    }
}

/* x += one head's reading of y */
static void head(double *x, const double *y, const double *Q, const double *K, const double *V, const double *O, int n, int d, int k) {
    double *q = calloc(4 * n * k + n + 1, sizeof *q), *key = q + n * k, *v = key + n * k, *z = v + n * k, *w = z + n * k;
    add_product(q, y, Q, n, d, k), add_product(key, y, K, n, d, k), add_product(v, y, V, n, d, k);
    for (int i = 0; i < n; i++) {
        double most = -INFINITY, sum = 0;
        for (int j = 0; j <= i; j++) {
            w[j] = 0;
            for (int c = 0; c < k; c++) w[j] += q[i * k + c] * key[j * k + c] / sqrt(k);
            if (w[j] > most) most = w[j];
        }
        for (int j = 0; j <= i; j++) sum += w[j] = exp(w[j] - most);
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < k; c++) z[i * k + c] += w[j] / sum * v[j * k + c];
    }
    add_product(x, z, O, n, k, d);
    free(q);
}

int main(void) {
    double *s = take(9), eps = s[8];
    int V = s[0], N = s[1], d = s[2], L = s[3], H = s[4], k = s[5], f = s[6], n = s[7], hk = d * k;
    double *E = take(V * d), *P = take(N * d), *U = take(V * d), **layer = calloc(8 * L + 1, sizeof *layer);
    int sizes[] = {H * hk, H * hk, H * hk, H * hk, d * f, f, f * d, d};
    for (int i = 0; i < 8 * L; i++) layer[i] = take(sizes[i % 8]);
    double *tokens = take(n), *x = calloc(n * d + 1, sizeof *x), *y = calloc(n * d + 1, sizeof *y), *h = calloc(n * f + 1, sizeof *h);
    for (int i = 0; i < n * d; i++) x[i] = E[(int)tokens[i / d] * d + i % d] + P[i];
    for (double **w = layer; w < layer + 8 * L; w += 8) {
        norm(y, x, n, d, eps);
        for (int a = 0; a < H; a++) head(x, y, w[0] + a * hk, w[1] + a * hk, w[2] + a * hk, w[3] + a * hk, n, d, k);
        norm(y, x, n, d, eps);
        for (int i = 0; i < n * f; i++) h[i] = w[5][i % f];
        add_product(h, y, w[4], n, d, f);
        for (int i = 0; i < n * f; i++) h[i] = fmax(h[i], 0);
        for (int i = 0; i < n * d; i++) x[i] += w[7][i % d];
        add_product(x, h, w[6], n, f, d);
    }
    norm(y, x, n, d, eps);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < V; t++) {
            double logit = 0;
            for (int j = 0; j < d; j++) logit += y[i * d + j] * U[t * d + j];
            fwrite(&logit, sizeof logit, 1, stdout);
        }
    return 0;
}
