/**
 * Both plugins in one file, for who has opencode v1 and v2 read the same folder:
 * v1 calls `server`, v2 calls `setup`. It is copied without this package's
 * manifest, whose `exports` v1 would follow to the file for v2.
 */

import server from "../../opencode-v1/src/index.ts"
import v2 from "./index.ts"

export default { id: v2.id, server, setup: v2.setup }
