/* data/excerpt: what stays of a stream, whatever its length and in whatever pieces it comes. */
#include "data/excerpt.h"

#include "base/utf8.h"
#include "tap.h"

/* Byte i of the stream that all tests use. */
static char
byte_at(uint64_t i)
{
	return (char)('a' + i % 26);
}

static void
add_pieces(struct sbx_excerpt *excerpt, uint64_t total, size_t piece)
{
	char bytes[64];
	uint64_t at = 0;

	while (at < total) {
		size_t n = total - at < piece ? (size_t)(total - at) : piece;

		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(at + i);
		sbx_excerpt_add(excerpt, bytes, n);
		at += n;
	}
}

static int
holds(const char *bytes, size_t length, uint64_t from)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != byte_at(from + i))
			return 0;
	return 1;
}

/* Every total, bound and piece: the right bytes, the right counts. */
static void
test_grid(void)
{
	struct sbx_result_stream s;
	struct sbx_excerpt excerpt;
	int wrong = 0, cases = 0;

	for (size_t bound = 0; bound <= 33; bound++) {
		for (uint64_t total = 0; total <= 100; total++) {
			for (size_t piece = 1; piece <= 60; piece += 7) {
				int whole = total <= bound;
				size_t head = whole ? (size_t)total : bound - bound / 2;
				size_t tail = whole ? 0 : bound / 2;

				sbx_excerpt_init(&excerpt, bound);
				add_pieces(&excerpt, total, piece);
				sbx_excerpt_finish(&excerpt, &s);
				cases++;
				if (s.bytes != total || s.kept != head + tail ||
					s.head_length != head || s.tail_length != tail ||
					(s.tail == NULL) != whole || !holds(s.head, head, 0) ||
					!holds(s.tail, tail, total - tail))
					wrong++;
				sbx_excerpt_done(&excerpt);
			}
		}
	}
	is_int(wrong, 0, "head and tail of %d streams", cases);
}

static void
test_whole(void)
{
	struct sbx_result_stream s;
	struct sbx_excerpt excerpt;

	sbx_excerpt_init(&excerpt, 10);
	sbx_excerpt_finish(&excerpt, &s);
	is_int(s.bytes, 0, "nothing was written");
	ok(s.head != NULL && s.head_length == 0 && s.tail == NULL, "and it is an empty text");
	ok(excerpt.head == NULL, "without memory");
	sbx_excerpt_add(&excerpt, "\xff\x00\xfe", 3);
	sbx_excerpt_finish(&excerpt, &s);
	ok(s.kept == 3 && memcmp(s.head, "\xff\x00\xfe", 3) == 0,
		"bytes that are no text are kept");
	sbx_excerpt_finish(&excerpt, &s);
	is_int(s.kept, 3, "finish twice is the same");
	sbx_excerpt_done(&excerpt);
	sbx_excerpt_done(&excerpt);
	ok(1, "done twice is done");
}

static void
test_code_points(void)
{
	static const char cup[] = "\xe2\x98\x95";
	struct sbx_result_stream s;
	struct sbx_excerpt excerpt;

	sbx_excerpt_init(&excerpt, 1024);
	for (int i = 0; i < 100000; i++)
		sbx_excerpt_add(&excerpt, cup, 3);
	sbx_excerpt_finish(&excerpt, &s);
	is_int(s.bytes, 300000, "all bytes are counted");
	is_int(s.head_length, 510, "the head ends between cups");
	is_int(s.tail_length, 510, "the tail begins with one");
	is_int(s.kept, 1020, "and kept counts what is there");
	ok(sbx_utf8_valid(s.head, s.head_length) && sbx_utf8_valid(s.tail, s.tail_length),
		"as text");
	sbx_excerpt_done(&excerpt);

	sbx_excerpt_init(&excerpt, 1024);
	sbx_excerpt_add(&excerpt, "\xff", 1);
	for (int i = 0; i < 1000; i++)
		sbx_excerpt_add(&excerpt, cup, 3);
	sbx_excerpt_finish(&excerpt, &s);
	is_int(s.kept, 1024, "what is no text is not cut at code points");
	sbx_excerpt_done(&excerpt);
}

int
main(void)
{
	test_grid();
	test_whole();
	test_code_points();
	return done();
}
