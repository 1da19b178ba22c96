/* SPDX-License-Identifier: MIT */
/*
 * os/private.h: folders and files of the user alone, such as caches.
 */
#ifndef HUSK_OS_PRIVATE_H
#define HUSK_OS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The folder is made with mode 0700 where it is missing, and refused (false) when it is a link, someone else's, or
 * writable by others. The path does not end with a slash, behind which a link would be followed.
 */
bool husk__prepare_private_directory(const char *path);
/* As husk__read_file, but refuses links, other owners' files, and files others may write. */
char *husk__read_private_file(const char *path, size_t *size);

/* Where a user's programs keep such files unless they name another folder; it may not be there. To be freed. */
char *husk__user_folder_path(void);
/* The same folder, prepared. NULL: it cannot be. */
char *husk__user_folder(void);
/* The same for what is worth keeping, such as measurements: "BELOW" in the user's data folder. To be freed. */
char *husk__user_data_path(const char *below);

#endif
