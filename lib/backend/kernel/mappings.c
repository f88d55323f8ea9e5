// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which files a process has mapped, and where. Read while it is stopped at
 * its entry, when all that it is linked with is there.
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "backend/guard/door.h"
#include "kernel.h"

#define PAGE	   4096ull
#define DELETED	   " (deleted)"
#define IMAGES_MAX 4096

struct line {
	uint64_t lo, hi, offset;
	bool exec;
	char path[MAPLE_MAPPED_PATH];
};

/* One line of /proc/PID/maps; false for what is no file. */
static bool parse(const char *text, struct line *line)
{
	unsigned long long lo, hi, offset;
	char perms[5], *end;
	int at = 0;

	if (sscanf(text, "%llx-%llx %4s %llx %*s %*s %n", &lo, &hi, perms,
		   &offset, &at) < 4 ||
	    !at || text[at] != '/')
		return false;
	line->lo = lo;
	line->hi = hi;
	line->offset = offset;
	line->exec = perms[2] == 'x';
	snprintf(line->path, sizeof(line->path), "%s", text + at);
	end = strchr(line->path, '\n');
	if (end)
		*end = '\0';
	end = strstr(line->path, DELETED);
	if (end && !end[strlen(DELETED)])
		*end = '\0';
	return true;
}

static struct maple_mapped *image_of(struct maple_mappings *m, const char *path)
{
	/* Its parts stand together, as a rule behind each other. */
	for (unsigned int i = m->n; i-- > 0;)
		if (!strcmp(m->image[i].path, path))
			return &m->image[i];
	assert(m->n <= IMAGES_MAX);
	if (m->n == IMAGES_MAX)
		return NULL;
	if (!maple_array_extend(m->image, m->n, m->n + 1))
		return NULL;
	snprintf(m->image[m->n].path, sizeof(m->image[m->n].path), "%s", path);
	return &m->image[m->n++];
}

/* What the program headers say: where code should be, and an interpreter. */
static bool read_bias(int fd, const struct line *line, uint64_t *bias,
		      bool *interpreted)
{
	bool found = false;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph))
		return false;
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			return false;
		*interpreted |= ph.p_type == PT_INTERP;
		if (found || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    (ph.p_offset & ~(PAGE - 1)) != line->offset)
			continue;
		*bias = line->lo - (ph.p_vaddr & ~(PAGE - 1));
		found = true;
	}
	return found;
}

static bool named(const char *path, const char *name)
{
	return !strncmp(strrchr(path, '/') + 1, name, strlen(name));
}

static void classify(struct maple_mapped *image)
{
	image->is_loader = named(image->path, "ld-linux") ||
			   named(image->path, "ld-2.");
	image->is_agent = named(image->path, "libmaple-agent.so");
	image->is_runtime = image->is_loader || image->is_agent ||
			    named(image->path, "libc.so.") ||
			    named(image->path, "libc-2.") ||
			    named(image->path, "libpthread");
}

static bool same_file(int fd, const struct stat *main)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == main->st_dev &&
	       st.st_ino == main->st_ino;
}

static bool is_at(int fd, const char *path)
{
	struct stat st;

	return !stat(path, &st) && same_file(fd, &st);
}

/* The first executable part tells what the image is. */
static void identify(struct maple_mappings *m, struct maple_mapped *image,
		     pid_t pid, const struct line *line, const struct stat *main)
{
	bool interpreted = false;
	char name[48];
	int fd;

	assert(!image->is_code); /* its first part has not been seen */
	/* What is mapped, even if another file has its name by now. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx",
		 (unsigned long long)line->lo, (unsigned long long)line->hi);
	fd = maple_door_path(pid, name, image->open);
	if (!fd)
		fd = maple_image_file(image->open);
	if (fd < 0) {
		image->open[0] = '\0';
		fd = maple_image_file(image->path);
	}
	if (fd < 0)
		return;
	if (!read_bias(fd, line, &image->bias, &interpreted)) {
		image->open[0] = '\0';
		close(fd);
		return;
	}
	image->is_code = true;
	image->is_replaced = image->open[0] && !is_at(fd, image->path);
	image->is_main = same_file(fd, main);
	classify(image);
	if (image->is_main)
		m->is_static = !interpreted;
	close(fd);
}

/* Only files with code are kept. */
static void drop_data(struct maple_mappings *m)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < m->n; i++)
		if (m->image[i].is_code)
			m->image[kept++] = m->image[i];
	m->n = kept;
}

/*
 * maple_mappings_read - the images of process @pid, in order of address
 * @mappings: to be emptied with maple_mappings_deinit(), also after an error
 */
int maple_mappings_read(pid_t pid, struct maple_mappings *mappings,
			struct maple_error *err)
{
	struct maple_mapped *image;
	struct line line;
	struct stat main;
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	memset(mappings, 0, sizeof(*mappings));
	if (maple_door_stat(pid, "exe", &main))
		return maple_error_set(err, errno, "/proc/%d/exe: %m", pid);
	file = maple_door_read(pid, "maps");
	if (!file)
		return maple_error_set(err, errno, "/proc/%d/maps: %m", pid);
	while (getline(&text, &size, file) > 0) {
		if (!parse(text, &line))
			continue;
		image = image_of(mappings, line.path);
		if (!image)
			break;
		if (!image->hi)
			image->lo = line.lo;
		image->hi = line.hi;
		if (line.exec && !image->is_code)
			identify(mappings, image, pid, &line, &main);
	}
	free(text);
	fclose(file);
	drop_data(mappings);
	if (!mappings->n)
		return maple_error_set(err, ESRCH,
				       "process %d has no code mapped", pid);
	return 0;
}

/* maple_mappings_find - the image that @address is in; NULL if none */
const struct maple_mapped *
maple_mappings_find(const struct maple_mappings *mappings, uint64_t address)
{
	for (unsigned int i = 0; i < mappings->n; i++)
		if (address >= mappings->image[i].lo &&
		    address < mappings->image[i].hi)
			return &mappings->image[i];
	return NULL;
}

void maple_mappings_deinit(struct maple_mappings *mappings)
{
	free(mappings->image);
	memset(mappings, 0, sizeof(*mappings));
}
