"""What an attacker found on the host's side of the walls: paths that were resolved twice, addresses
nobody had listed, privileges left in shared directories, pools that belong to the whole machine.
One class per finding, one test per hole; docs/security.md names them."""

# --- 1. a host path means one object ---------------------------------------------------------

# --- 2. addresses of the host ----------------------------------------------------------------

# --- 3. privileges in shared directories, copies out ------------------------------------------

# --- 4. pools of the whole machine ------------------------------------------------------------

# --- 5. the size of the writable layer --------------------------------------------------------

# --- 6. limits of ordinary users --------------------------------------------------------------

# --- 7. registry, image host, descriptors, names, logs -----------------------------------------
