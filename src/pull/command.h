/*
 * The command line of cordon-image:
 *
 *   cordon-image --home DIR COMMAND [OPTION…] [--] [ARGUMENT…]
 *
 * Options are long and take their value as the next word. `cordon` is the only caller; it has
 * already said what is wrong with a user's command line.
 */
#pragma once

int command_main(int argc, char **argv);
