/*
 * Uses four times the memory that it may, but gives it back as it goes, so that the kernel can take
 * it (MADV_FREE): the limit is met again and again and nobody has to be killed. Attacks nothing.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE (1 << 20)
#define PIECES 256 /* of a limit of 64 MiB */

int
main(void)
{
	for (int i = 0; i < PIECES; i++) {
		void *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

		if (piece == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		memset(piece, 1, PIECE);
		if (madvise(piece, PIECE, MADV_FREE) != 0) {
			perror("madvise");
			return 1;
		}
	}
	return 0;
}
