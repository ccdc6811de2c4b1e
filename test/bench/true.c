/* The smallest program: what is timed is starting it. Static, so that it runs in any environment. */
int
main(void)
{
	return 0;
}
