/** Both plugins in one file, for who has opencode v1 and v2 read the same folder. v1 calls `server`, v2 calls `setup`. */

import server from "../../opencode-v1/src/index.ts"
import v2 from "./index.ts"

export default { id: v2.id, server, setup: v2.setup }
