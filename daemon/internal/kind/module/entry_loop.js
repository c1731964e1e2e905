// A process that serves calls until it is told to stop: the module's top level
// runs once, and its state lives as long as the process.
import * as exported from "tenon:module";
import { functions, run } from "tenon:calls";
const ask = globalThis.call;
const text = v => {
  try {
    return String(v);
  } catch {
    return '[a value that cannot be shown]';
  }
};
const answer = async job => {
  let body;
  try {
    body = { id: job.id, value: await run(exported, job) };
  } catch (e) {
    body = { id: job.id, failed: e instanceof Error ? { name: text(e.name), message: text(e.message), stack: text(e.stack) } : { thrown: text(e) } };
  }
  try {
    await ask('module', 'done', body);
  } catch (e) { // a value that no JSON is
    await ask('module', 'done', { id: job.id, failed: { name: 'TypeError', message: 'the result cannot be written as JSON: ' + text(e.message) } });
  }
};
export default async () => {
  await ask('module', 'ready', { names: functions(exported) });
  const open = new Set();
  for (;;) {
    const job = await ask('module', 'next', {});
    if (job.stop) break;
    if (job.ping) continue; // it was heard, so nothing holds this up
    const one = answer(job).finally(() => open.delete(one));
    open.add(one);
  }
  await Promise.all(open);
};
