// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * lu SIZE: the factors L and U of a dense matrix of SIZE by SIZE blocks of 16
 * by 16, in place and without pivoting: it is diagonally dominant. Blocks
 * belong to threads in turns. A step has three parts with barriers between
 * them: the block on the diagonal, those beside and below it, the rest.
 */
#include <math.h>
#include "kernel.h"

#define B 16

static double (*block)[B][B]; /* rows of blocks */
static unsigned int blocks;

static double (*at(unsigned int row, unsigned int column))[B]
{
	return block[row * blocks + column];
}

static int is_mine(intptr_t self, unsigned int row, unsigned int column)
{
	return (row + column) % THREADS == (unsigned int)self;
}

static void factor(double (*a)[B])
{
	for (int k = 0; k < B; k++)
		for (int i = k + 1; i < B; i++) {
			a[i][k] /= a[k][k];
			for (int j = k + 1; j < B; j++)
				a[i][j] -= a[i][k] * a[k][j];
		}
}

/* a = L^-1 a, L being the lower factor in @d */
static void solve_beside(double (*d)[B], double (*a)[B])
{
	for (int k = 0; k < B; k++)
		for (int i = k + 1; i < B; i++)
			for (int j = 0; j < B; j++)
				a[i][j] -= d[i][k] * a[k][j];
}

/* a = a U^-1, U being the upper factor in @d */
static void solve_below(double (*d)[B], double (*a)[B])
{
	for (int i = 0; i < B; i++)
		for (int k = 0; k < B; k++) {
			a[i][k] /= d[k][k];
			for (int j = k + 1; j < B; j++)
				a[i][j] -= a[i][k] * d[k][j];
		}
}

static void subtract(double (*a)[B], double (*l)[B], double (*u)[B])
{
	for (int i = 0; i < B; i++)
		for (int k = 0; k < B; k++)
			for (int j = 0; j < B; j++)
				a[i][j] -= l[i][k] * u[k][j];
}

static void *factorise(void *arg)
{
	intptr_t self = (intptr_t)arg;

	for (unsigned int k = 0; k < blocks; k++) {
		if (is_mine(self, k, k))
			factor(at(k, k));
		meet();
		for (unsigned int i = k + 1; i < blocks; i++) {
			if (is_mine(self, k, i))
				solve_beside(at(k, k), at(k, i));
			if (is_mine(self, i, k))
				solve_below(at(k, k), at(i, k));
		}
		meet();
		for (unsigned int i = k + 1; i < blocks; i++)
			for (unsigned int j = k + 1; j < blocks; j++)
				if (is_mine(self, i, j))
					subtract(at(i, j), at(i, k), at(k, j));
		meet();
	}
	return NULL;
}

static double *element(unsigned int row, unsigned int column)
{
	return &at(row / B, column / B)[row % B][column % B];
}

/* Whether L U 1 is what A 1 was. */
static int is_right(const double *sums, unsigned int n)
{
	double *u = allocate(n, sizeof(*u)), product;
	int right = 1;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i; j < n; j++)
			u[i] += *element(i, j);
	for (unsigned int i = 0; i < n; i++) {
		product = u[i];
		for (unsigned int j = 0; j < i; j++)
			product += *element(i, j) * u[j];
		right &= fabs(product - sums[i]) < 1e-6 * n;
	}
	free(u);
	return right;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	unsigned int n;
	double *sums;

	blocks = size_of(argc, argv, 1, 200);
	n = blocks * B;
	block = allocate((size_t)blocks * blocks, sizeof(*block));
	sums = allocate(n, sizeof(*sums));
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < n; j++) {
			*element(i, j) = next_real(&seed) + (i == j) * 2.0 * n;
			sums[i] += *element(i, j);
		}
	in_threads(factorise);
	return verdict("lu", is_right(sums, n));
}
