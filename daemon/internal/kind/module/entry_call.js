// One call in a fresh realm: the module's top level runs, then the function.
import * as exported from "tenon:module";
import { functions, run } from "tenon:calls";
export default input => (input.list ? functions(exported) : run(exported, input));
