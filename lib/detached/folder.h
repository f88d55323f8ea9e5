/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DETACHED_FOLDER_H
#define MAPLE_DETACHED_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>

/* Files of a job. */
#define MAPLE_FOLDER_ABOUT  "about.json" /* what was asked for; locked */
#define MAPLE_FOLDER_STATE  "state.json" /* how far it is, how it ended */
#define MAPLE_FOLDER_LOG    "log"
#define MAPLE_FOLDER_CURVE  "curve" /* how what is known grew */

#define MAPLE_FOLDER_BOOT   40 /* bytes of what tells a boot from others */

#define MAPLE_FOLDER_HIDDEN ".new-" /* how names begin that no list shows */

int maple_folder_place(const char *path, bool make, struct maple_error *err);
DIR *maple_folder_list(int folder);
uint64_t maple_folder_number(const char *name);
int maple_folder_publish(int place, const char *hidden, unsigned int most,
			 uint64_t *number, struct maple_error *err);
void maple_folder_boot(char id[MAPLE_FOLDER_BOOT]);
void maple_folder_remove(int place, const char *name);
void maple_folder_sweep(int place);
int maple_folder_read(int folder, const char *name, int flags);
pid_t maple_folder_holder(int file);

#endif
