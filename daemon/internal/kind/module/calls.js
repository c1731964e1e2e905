// What both ways of calling a module share.
const source = Function.prototype.toString;

// functions are the exported functions that can be called without new.
export const functions = exported =>
  Object.keys(exported).filter(name => name !== 'default' && typeof exported[name] === 'function' && !/^class\b/.test(source.call(exported[name])));

// run calls a function with the input's properties in the order of its
// parameters, or with the input as a whole. What a generator yields is a list.
export const run = async (exported, { tool, input, parameters }) => {
  const args = [];
  if (!parameters) args.push(input);
  for (const { name, rest, big } of parameters ?? []) {
    let value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (big && value !== undefined && value !== null) value = BigInt(value);
    if (rest) args.push(...(value ?? []));
    else args.push(value);
  }
  while (parameters && args.length > 0 && args[args.length - 1] === undefined) args.pop();
  const result = await exported[tool](...args);
  if (result && typeof result === 'object' && typeof result.next === 'function' && (Symbol.asyncIterator in result || Symbol.iterator in result)) {
    const all = [];
    for await (const item of result) all.push(item);
    return all;
  }
  return result;
};
