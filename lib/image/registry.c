// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>
#include "base/array.h"
#include "base/table.h"
#include "static/pairs.h"
#include "registry.h"

/* Room for the numbers of call sites above those of sites. */
#define SITES_MAX MAPLE_SITE_CALL

struct entry {
	const char *key; /* build-id, or what stands for it */
	uint32_t index;
	uint32_t base; /* MAPLE_SITE_NONE: it has names alone */
	struct maple_image *image;
	struct maple_image *before; /* what had names alone, or NULL; its
				       users and its key keep it */
	struct stat st;		    /* of the file when it was opened */
	UT_hash_handle hh;	    /* by key */
};

struct place_key {
	uint32_t image, pad;
	uint64_t offset;
};

struct call {
	struct place_key where;
	uint32_t k;
	UT_hash_handle hh; /* by where */
};

/* Who called an access: return addresses, as calls, the nearest first. */
struct context {
	uint32_t number, n;
	uint32_t calls[MAPLE_REGISTRY_CALLERS];
	UT_hash_handle hh; /* by number */
};

struct maple_registry {
	char *kept; /* folder for what is decoded, or NULL */
	struct maple_image_way way;
	const char *const *include; /* borrowed, or NULL */
	pthread_mutex_t lock;	    /* protects all below, but no image */
	struct entry **entries, *by_key;
	uint32_t nentries;
	struct entry **numbered; /* those with sites, by base */
	uint32_t nnumbered;
	uint32_t nsites; /* numbers given out */
	struct call **calls, *by_where;
	uint32_t ncalls, calls_room;
	struct context *contexts;
	char **left; /* names of images that are not observed */
	uint32_t nleft;
};

/* maple_registry_create - empty; NULL when memory is short */
struct maple_registry *maple_registry_create(void)
{
	struct maple_registry *reg = calloc(1, sizeof(*reg));

	if (reg)
		pthread_mutex_init(&reg->lock, NULL);
	return reg;
}

/* Whoever only asks changes nothing but this. */
static pthread_mutex_t *lock(const struct maple_registry *reg)
{
	pthread_mutex_lock((pthread_mutex_t *)&reg->lock);
	return (pthread_mutex_t *)&reg->lock;
}

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

/* The lock is the caller's until its block ends. */
#define LOCKED(reg)                              \
	__attribute__((cleanup(unlock), unused)) \
	pthread_mutex_t *locked_ = lock(reg)

void maple_registry_destroy(struct maple_registry *reg)
{
	if (!reg)
		return;
	maple_table_clear(reg->contexts);
	HASH_CLEAR(hh, reg->by_key);
	HASH_CLEAR(hh, reg->by_where);
	for (uint32_t i = 0; i < reg->nentries; i++) {
		maple_image_destroy(reg->entries[i]->image);
		maple_image_destroy(reg->entries[i]->before);
		free(reg->entries[i]);
	}
	for (uint32_t k = 0; k < reg->ncalls; k++)
		free(reg->calls[k]);
	for (uint32_t i = 0; i < reg->nleft; i++)
		free(reg->left[i]);
	free(reg->left);
	free(reg->entries);
	free(reg->numbered);
	free(reg->kept);
	free(reg->calls);
	pthread_mutex_destroy(&reg->lock);
	free(reg);
}

/* The entry of the very file at @path, if it was opened before. */
static struct entry *find_file(const struct maple_registry *reg,
			       const struct stat *st)
{
	for (uint32_t i = 0; i < reg->nentries; i++) {
		const struct stat *known = &reg->entries[i]->st;

		if (known->st_dev == st->st_dev && known->st_ino == st->st_ino &&
		    known->st_size == st->st_size &&
		    known->st_mtim.tv_sec == st->st_mtim.tv_sec &&
		    known->st_mtim.tv_nsec == st->st_mtim.tv_nsec)
			return reg->entries[i];
	}
	return NULL;
}

/* @image is @entry's from now on, and its sites get their numbers. */
static int number_sites(struct maple_registry *reg, struct entry *entry,
			struct maple_image *image)
{
	uint32_t nsites;

	maple_image_sites(image, &nsites);
	if (nsites > SITES_MAX - reg->nsites)
		return -EOVERFLOW;
	if (!maple_array_resize(reg->numbered, reg->nnumbered + 1))
		return -ENOMEM;
	entry->before = entry->image;
	entry->image = image;
	entry->base = reg->nsites;
	reg->numbered[reg->nnumbered++] = entry;
	reg->nsites += nsites;
	return 0;
}

static int insert(struct maple_registry *reg, struct maple_image *image,
		  const struct stat *st, bool names, uint32_t *index)
{
	struct entry *entry;
	int ret = 0;

	if (!maple_array_resize(reg->entries, reg->nentries + 1))
		return -ENOMEM;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	*entry = (struct entry){ .key = maple_image_build_id(image),
				 .index = reg->nentries,
				 .base = MAPLE_SITE_NONE,
				 .st = *st };
	if (names)
		entry->image = image;
	else
		ret = number_sites(reg, entry, image);
	if (ret) {
		free(entry);
		return ret;
	}
	reg->entries[reg->nentries++] = entry;
	HASH_ADD_KEYPTR(hh, reg->by_key, entry->key, strlen(entry->key), entry);
	*index = entry->index;
	return 0;
}

static int open_image(const struct maple_registry *reg, const char *path,
		      bool names, struct maple_image **image,
		      struct maple_error *err)
{
	struct maple_image_way way = reg->way;
	int ret;

	way.names = names;
	ret = maple_image_open_by(path, &way, image, err);
	if (ret || names || !maple_image_in_parts(path, reg->include))
		return ret;
	ret = maple_image_keep_containers(*image);
	if (!ret)
		return 0;
	maple_image_destroy(*image);
	return maple_error_set(err, -ret, "%s: out of memory", path);
}

/* Whether @entry is all that is asked for. */
static bool serves(const struct entry *entry, bool names)
{
	return entry && (names || entry->base != MAPLE_SITE_NONE);
}

static int add(struct maple_registry *reg, const char *path, bool names,
	       uint32_t *index, struct maple_error *err)
{
	struct stat st = { 0 };
	struct maple_image *image;
	struct entry *known;
	int ret;

	known = stat(path, &st) ? NULL : find_file(reg, &st);
	if (serves(known, names)) {
		*index = known->index;
		return 0;
	}
	ret = open_image(reg, path, names, &image, err);
	if (ret)
		return ret;
	HASH_FIND_STR(reg->by_key, maple_image_build_id(image), known);
	if (serves(known, names)) {
		*index = known->index;
		maple_image_destroy(image);
		return 0;
	}
	if (known)
		ret = number_sites(reg, known, image);
	else
		ret = insert(reg, image, &st, names, index);
	if (ret) {
		maple_image_destroy(image);
		return maple_error_set(err, -ret,
				       "%s: cannot number its sites: %s", path,
				       strerror(-ret));
	}
	if (known)
		*index = known->index;
	return 0;
}

static int locked_add(struct maple_registry *reg, const char *path, bool names,
		      uint32_t *index, struct maple_error *err)
{
	LOCKED(reg);

	return add(reg, path, names, index, err);
}

/*
 * maple_registry_add - opens and decodes the image at @path, unless it is
 * known already by its build-id, and gives its sites their numbers
 *
 * Returns 0 and the image's @index, or what maple_image_open() says, or
 * -EOVERFLOW when the numbers are used up. Who asks for the same image
 * meanwhile waits for it.
 */
int maple_registry_add(struct maple_registry *reg, const char *path,
		       uint32_t *index, struct maple_error *err)
{
	return locked_add(reg, path, false, index, err);
}

/*
 * maple_registry_add_names - the same for an image that is only called from:
 * it is not decoded, which can take seconds, and has no sites until
 * maple_registry_add() asks for them; its @index stays
 */
int maple_registry_add_names(struct maple_registry *reg, const char *path,
			     uint32_t *index)
{
	return locked_add(reg, path, true, index, NULL);
}

/*
 * maple_registry_static - what image @index tells before it runs is worked out,
 * once for all who ask; see maple_image_static()
 */
int maple_registry_static(struct maple_registry *reg, uint32_t index,
			  struct maple_error *err)
{
	LOCKED(reg);

	assert(index < reg->nentries);
	return maple_image_static(reg->entries[index]->image, reg->kept, err);
}

/*
 * maple_registry_include - images that match a glob of @include, which is
 *                          borrowed, have all their sites, whatever they are
 */
void maple_registry_include(struct maple_registry *reg,
			    const char *const *include)
{
	reg->include = include;
}

/*
 * maple_registry_keep - from now on, what is decoded is kept for other
 *                       campaigns, and theirs is used (cache.c)
 */
void maple_registry_keep(struct maple_registry *reg)
{
	free(reg->kept);
	reg->way.kept = reg->kept = maple_image_cache_home();
}

/*
 * maple_registry_limit - from now on, an image whose decoding lasts until
 *                        @over says so is none: -ECANCELED
 */
void maple_registry_limit(struct maple_registry *reg, bool (*over)(void *ctx),
			  void *ctx)
{
	reg->way.over = over;
	reg->way.ctx = ctx;
}

uint32_t maple_registry_images(const struct maple_registry *reg)
{
	LOCKED(reg);

	return reg->nentries;
}

/* maple_registry_image - image @index, owned by @reg; NULL if none */
struct maple_image *maple_registry_image(const struct maple_registry *reg,
					 uint32_t index)
{
	LOCKED(reg);

	return index < reg->nentries ? reg->entries[index]->image : NULL;
}

/*
 * maple_registry_namesake - the image whose file has the same name as @path's,
 *                           in whatever folder; MAPLE_REGISTRY_NONE if there
 *                           is none
 */
uint32_t maple_registry_namesake(const struct maple_registry *reg,
				 const char *path)
{
	uint32_t index = MAPLE_REGISTRY_NONE;
	LOCKED(reg);

	for (uint32_t i = 0; i < reg->nentries; i++)
		if (!strcmp(basename(maple_image_path(reg->entries[i]->image)),
			    basename(path)))
			index = i;
	return index;
}

/*
 * maple_registry_base - number of the first site of image @index;
 * MAPLE_SITE_NONE if it has names alone
 */
uint32_t maple_registry_base(const struct maple_registry *reg, uint32_t index)
{
	LOCKED(reg);

	return index < reg->nentries ? reg->entries[index]->base
				     : MAPLE_SITE_NONE;
}

static uint32_t number_call(struct maple_registry *reg, uint32_t index,
			    uint64_t offset)
{
	struct place_key where = { .image = index, .offset = offset };
	struct call *call;

	if (index >= reg->nentries && index != MAPLE_REGISTRY_NONE)
		return MAPLE_SITE_NONE;
	HASH_FIND(hh, reg->by_where, &where, sizeof(where), call);
	if (call)
		return MAPLE_SITE_CALL | call->k;
	if (reg->ncalls == (MAPLE_SITE_NONE & ~MAPLE_SITE_CALL))
		return MAPLE_SITE_NONE;
	if (!maple_array_reserve(reg->calls, reg->ncalls, reg->calls_room))
		return MAPLE_SITE_NONE;
	call = calloc(1, sizeof(*call));
	if (!call)
		return MAPLE_SITE_NONE;
	call->where = where;
	call->k = reg->ncalls;
	reg->calls[reg->ncalls++] = call;
	HASH_ADD(hh, reg->by_where, where, sizeof(call->where), call);
	return MAPLE_SITE_CALL | call->k;
}

/*
 * maple_registry_call - the number of the call site that returns to @offset
 * of image @index, or of no image with MAPLE_REGISTRY_NONE; a new one gets
 * the next
 *
 * Errors: MAPLE_SITE_NONE for an image that is not there, when the numbers
 * are used up, or when memory is short.
 */
uint32_t maple_registry_call(struct maple_registry *reg, uint32_t index,
			     uint64_t offset)
{
	LOCKED(reg);

	return number_call(reg, index, offset);
}

static struct entry *entry_of_site(const struct maple_registry *reg,
				   uint32_t number)
{
	if (number >= reg->nsites)
		return NULL;
	return reg->numbered[maple_array_lead(reg->nnumbered, i,
					      reg->numbered[i]->base <= number) -
			     1];
}

static struct call *call_of_site(const struct maple_registry *reg,
				 uint32_t number)
{
	uint32_t k = number & ~MAPLE_SITE_CALL;

	return k < reg->ncalls ? reg->calls[k] : NULL;
}

/*
 * maple_registry_variable - the number for what unknown code does with the 8
 * bytes at @offset of image @index, an ELF address
 */
uint32_t maple_registry_variable(struct maple_registry *reg, uint32_t index,
				 uint64_t offset)
{
	return maple_registry_call(reg, index, offset | MAPLE_REGISTRY_VARIABLE);
}

/*
 * maple_registry_context - the accesses with @context were made for the @n
 *                          @calls, the nearest first; 0, or -ENOMEM
 */
int maple_registry_context(struct maple_registry *reg, uint32_t context,
			   const uint32_t *calls, unsigned int n)
{
	struct context *c;
	LOCKED(reg);

	HASH_FIND(hh, reg->contexts, &context, sizeof(context), c);
	if (c)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->number = context;
	c->n = n < MAPLE_REGISTRY_CALLERS ? n : MAPLE_REGISTRY_CALLERS;
	memcpy(c->calls, calls, c->n * sizeof(*calls));
	HASH_ADD(hh, reg->contexts, number, sizeof(c->number), c);
	return 0;
}

/* maple_registry_callers - what @context stands for; 0: it is not known */
unsigned int maple_registry_callers(const struct maple_registry *reg,
				    uint32_t context,
				    uint32_t calls[MAPLE_REGISTRY_CALLERS])
{
	struct context *c;
	LOCKED(reg);

	HASH_FIND(hh, reg->contexts, &context, sizeof(context), c);
	if (!c)
		return 0;
	memcpy(calls, c->calls, sizeof(c->calls));
	return c->n;
}

/* In one function, as far as frame descriptions tell. */
static bool in_one_function(const struct maple_registry *reg, uint32_t a,
			    uint32_t b)
{
	const struct call *x = call_of_site(reg, a), *y = call_of_site(reg, b);
	const struct maple_image *image;
	uint64_t start;

	if (!x || !y || x->where.image != y->where.image ||
	    x->where.image >= reg->nentries)
		return false;
	image = reg->entries[x->where.image]->image;
	start = maple_image_function_at(image, x->where.offset - 1);
	return start &&
	       start == maple_image_function_at(image, y->where.offset - 1);
}

/*
 * Calls inward of the one that they have in common contexts @a and @b have, if
 * they are known and both have some; whether one function made the two then.
 */
static bool differ(const struct maple_registry *reg, uint32_t a, uint32_t b,
		   uint32_t *na, uint32_t *nb)
{
	const struct context *x, *y;

	*na = *nb = 0;
	HASH_FIND(hh, reg->contexts, &a, sizeof(a), x);
	HASH_FIND(hh, reg->contexts, &b, sizeof(b), y);
	if (!x || !y)
		return false;
	*na = x->n;
	*nb = y->n;
	while (*na && *nb && x->calls[*na - 1] == y->calls[*nb - 1])
		--*na, --*nb;
	return *na && *nb &&
	       in_one_function(reg, x->calls[*na - 1], y->calls[*nb - 1]);
}

/*
 * maple_registry_apart - how many calls inward of the function that made both
 *                        the accesses with context @a and those with @b they
 *                        are, which differ: from 1; 0: no execution of one
 *                        function did, or it is not known
 */
unsigned int maple_registry_apart(const struct maple_registry *reg, uint32_t a,
				  uint32_t b)
{
	uint32_t na, nb;
	LOCKED(reg);

	if (!differ(reg, a, b, &na, &nb))
		return 0;
	return na > nb ? na : nb;
}

/*
 * maple_registry_together - whether one execution of some function may have
 *                           made the accesses with contexts @a and @b, as far
 *                           as is known
 */
bool maple_registry_together(const struct maple_registry *reg, uint32_t a,
			     uint32_t b)
{
	uint32_t na, nb;
	LOCKED(reg);

	/* Without calls one of the two was called by what made the other. */
	return differ(reg, a, b, &na, &nb) || !na || !nb;
}

static int look_up(const struct maple_registry *reg, uint32_t number,
		   struct maple_site_info *info)
{
	const struct maple_table_site *sites;
	struct entry *entry = NULL;
	uint32_t n;

	*info = (struct maple_site_info){ .image = MAPLE_REGISTRY_NONE };
	if (number & MAPLE_SITE_CALL) {
		struct call *call = call_of_site(reg, number);

		if (!call)
			return -ENOENT;
		info->is_call = true;
		info->offset = call->where.offset;
		if (call->where.image != MAPLE_REGISTRY_NONE)
			entry = reg->entries[call->where.image];
	} else {
		entry = entry_of_site(reg, number);
		if (!entry)
			return -ENOENT;
		sites = maple_image_sites(entry->image, &n);
		number -= entry->base;
		info->offset = sites[number].offset;
		info->kind = sites[number].kind;
		info->splits = sites[number].flags & MAPLE_SITEF_SPLIT;
		info->fence_after = sites[number].flags &
				    MAPLE_SITEF_FENCE_AFTER;
		info->fence_before = sites[number].flags &
				     MAPLE_SITEF_FENCE_BEFORE;
		info->second = number &&
			       sites[number - 1].flags & MAPLE_SITEF_MORE;
	}
	if (entry) {
		info->image = entry->index;
		info->build_id = entry->key;
		info->path = maple_image_path(entry->image);
	}
	return 0;
}

/*
 * maple_registry_site - what number @number stands for
 * @info: its strings are owned by @reg
 *
 * Returns 0, or -ENOENT for a number that was not given out.
 */
int maple_registry_site(const struct maple_registry *reg, uint32_t number,
			struct maple_site_info *info)
{
	LOCKED(reg);

	return look_up(reg, number, info);
}

/* maple_registry_is_variable - whether @number is one of those */
bool maple_registry_is_variable(const struct maple_registry *reg,
				uint32_t number)
{
	struct maple_site_info info;

	return number & MAPLE_SITE_CALL && number != MAPLE_SITE_NONE &&
	       !maple_registry_site(reg, number, &info) &&
	       info.offset & MAPLE_REGISTRY_VARIABLE;
}

static uint32_t find(const struct maple_registry *reg, const char *build_id,
		     uint64_t offset, bool is_call, bool second)
{
	struct entry *entry;
	struct call *call;
	int64_t site;

	HASH_FIND_STR(reg->by_key, build_id, entry);
	if (!entry)
		return MAPLE_SITE_NONE;
	if (is_call) {
		struct place_key where = { .image = entry->index,
					   .offset = offset };

		HASH_FIND(hh, reg->by_where, &where, sizeof(where), call);
		return call ? MAPLE_SITE_CALL | call->k : MAPLE_SITE_NONE;
	}
	site = maple_image_find(entry->image, offset, second);
	return site < 0 ? MAPLE_SITE_NONE : entry->base + (uint32_t)site;
}

/*
 * maple_registry_find - the number of a site that was written down by what
 * lasts, or MAPLE_SITE_NONE: unknown image, no site there, or a call site
 * that this campaign has not seen yet
 */
uint32_t maple_registry_find(const struct maple_registry *reg,
			     const char *build_id, uint64_t offset,
			     bool is_call, bool second)
{
	LOCKED(reg);

	return find(reg, build_id, offset, is_call, second);
}

/*
 * maple_registry_is_runtime - whether the code at @offset of the image with
 * @build_id is libc's, linked into a static program
 */
bool maple_registry_is_runtime(const struct maple_registry *reg,
			       const char *build_id, uint64_t offset)
{
	struct entry *entry;
	LOCKED(reg);

	HASH_FIND_STR(reg->by_key, build_id, entry);
	return entry && maple_image_is_runtime(entry->image, offset);
}

/*
 * maple_registry_place - where site @number is in the source
 * @place: to be emptied with maple_place_deinit()
 *
 * Returns 0, -ENOENT for a number that was not given out, or -ENOMEM. One
 * thread at a time, as with all that asks an image for names.
 */
int maple_registry_place(const struct maple_registry *reg, uint32_t number,
			 struct maple_place *place)
{
	struct maple_site_info info;
	int ret = maple_registry_site(reg, number, &info);
	struct maple_image *image;
	char name[64];

	*place = (struct maple_place){ 0 };
	if (ret)
		return ret;
	place->offset = info.offset;
	if (info.image == MAPLE_REGISTRY_NONE)
		return 0;
	image = maple_registry_image(reg, info.image);
	if (!(info.is_call && info.offset & MAPLE_REGISTRY_VARIABLE))
		return maple_image_place(image, info.offset, info.is_call,
					 place);
	/* Whose code it is nobody knows; what is there is no code. */
	info.offset &= ~MAPLE_REGISTRY_VARIABLE;
	ret = maple_image_place(image, info.offset, false, place);
	if (ret)
		return ret;
	free(place->function);
	place->function = NULL;
	if (!maple_image_data(image, info.offset, name, sizeof(name)))
		snprintf(name, sizeof(name), "static data");
	if (asprintf(&place->function, "unknown code at %s", name) >= 0)
		return 0;
	place->function = NULL;
	maple_place_deinit(place);
	return -ENOMEM;
}

/*
 * maple_registry_leave_out - the image at @path is not observed; the runtime
 * that every program shares is not worth a word
 */
void maple_registry_leave_out(struct maple_registry *reg, const char *path,
			      bool is_main)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint32_t i = 0;

	if (!maple_image_wanted(path, is_main, NULL, NULL))
		return;
	LOCKED(reg);
	while (i < reg->nleft && strcmp(reg->left[i], name))
		i++;
	if (i == reg->nleft && maple_array_resize(reg->left, i + 1)) {
		reg->left[i] = strdup(name);
		reg->nleft += reg->left[i] != NULL;
	}
}

/* maple_registry_left_out - the name of the @i-th of these, or NULL */
const char *maple_registry_left_out(const struct maple_registry *reg, uint32_t i)
{
	LOCKED(reg);

	return i < reg->nleft ? reg->left[i] : NULL;
}
