/* cordon, also installed as msb: the command line. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return args_main(&cordon_root, argc, argv);
}
