// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fft SIZE: the Fourier transform of 4^SIZE complex numbers in six steps, and
 * back. The numbers are a square of rows: transpose, transform each row, turn
 * each number, transpose, transform each row, transpose. A thread has its
 * share of the rows; transposing reads everybody's, with a barrier before and
 * after.
 */
#include <complex.h>
#include <math.h>
#include "kernel.h"

static double complex *data, *other, *root; /* root: of 1, the n-th */
static size_t side, n;

static size_t begin_of(intptr_t thread)
{
	return side * thread / THREADS;
}

static void transpose(intptr_t self, const double complex *in,
		      double complex *out)
{
	for (size_t i = begin_of(self); i < begin_of(self + 1); i++)
		for (size_t j = 0; j < side; j++)
			out[i * side + j] = in[j * side + i];
	meet();
}

/* One row, in place; @back: the inverse, but for the factor */
static void transform(double complex *row, int back)
{
	double complex w, odd;
	size_t half, i, j, k;

	for (i = 1, j = 0; i < side; i++) {
		for (k = side / 2; j & k; k /= 2)
			j ^= k;
		j ^= k;
		if (i < j) {
			w = row[i];
			row[i] = row[j];
			row[j] = w;
		}
	}
	for (half = 1; half < side; half *= 2)
		for (i = 0; i < side; i += 2 * half)
			for (j = 0; j < half; j++) {
				w = root[n / (2 * half) * j];
				odd = row[i + half + j] * (back ? conj(w) : w);
				row[i + half + j] = row[i + j] - odd;
				row[i + j] += odd;
			}
}

static void rows(intptr_t self, double complex *in, int back, int turn)
{
	double complex w;

	for (size_t i = begin_of(self); i < begin_of(self + 1); i++) {
		transform(in + i * side, back);
		for (size_t j = 0; turn && j < side; j++) {
			w = root[i * j % n];
			in[i * side + j] *= back ? conj(w) : w;
		}
	}
	meet();
}

static void *there_and_back(void *arg)
{
	intptr_t self = (intptr_t)arg;

	for (int back = 0; back < 2; back++) {
		transpose(self, data, other);
		rows(self, other, back, 1);
		transpose(self, other, data);
		rows(self, data, back, 0);
		transpose(self, data, other);
		for (size_t i = begin_of(self) * side;
		     i < begin_of(self + 1) * side; i++)
			data[i] = back ? other[i] / n : other[i];
		meet();
	}
	return NULL;
}

static double complex next_number(uint64_t *seed)
{
	double real = next_real(seed);

	return real + next_real(seed) * I;
}

int main(int argc, char **argv)
{
	unsigned int size = size_of(argc, argv, 2, 11);
	uint64_t seed = 1;
	int right = 1;

	side = (size_t)1 << size;
	n = side * side;
	data = allocate(n, sizeof(*data));
	other = allocate(n, sizeof(*other));
	root = allocate(n, sizeof(*root));
	for (size_t i = 0; i < n; i++) {
		data[i] = next_number(&seed);
		root[i] = cexp(-2 * M_PI * I * i / n);
	}
	in_threads(there_and_back);
	seed = 1;
	for (size_t i = 0; i < n; i++)
		right &= cabs(data[i] - next_number(&seed)) < 1e-9;
	return verdict("fft", right);
}
