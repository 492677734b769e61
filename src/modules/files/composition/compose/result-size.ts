import { Leaf, List, Table, type Node, type Scalar } from '../tree.js';
import type { Run } from './run.js';

const BARE = /^[A-Za-z0-9_-]*$/;
const ESCAPED = /["\\\p{Cc}]/u;

/**
 * Spends the values of a result and the characters that it takes when it is written out with its origins: nothing of that
 * is put together here. What is shared counts wherever it stands.
 * @param path how many characters the key of the node has in the result
 * @throws TooMuch
 */
export function countResult(run: Run, node: Node, path = 0): void {
  run.spend('values', 1);
  if (node instanceof Table)
    for (const [key, member] of node.entries) {
      const length = lengthOfKey(key);
      run.spend('result', length);
      countResult(run, member, path + length + 1);
    }
  else if (node instanceof List) for (const [n, item] of node.items.entries()) countResult(run, item, path + String(n).length + 2);
  else run.spend('result', lengthOf(node.value));
  // Of what has members those have the places.
  if (node instanceof Leaf || sizeOf(node) === 0) run.spend('result', path + node.origin.file.length + node.at.length);
}

function sizeOf(node: Table | List): number {
  return node instanceof Table ? node.entries.size : node.items.length;
}

function lengthOf(value: Scalar): number {
  if (typeof value !== 'string') return String(value).length;
  return ESCAPED.test(value) ? JSON.stringify(value).length : value.length;
}

/** Quoted in a path, and the path quoted as JSON. */
function lengthOfKey(key: string): number {
  return BARE.test(key) ? key.length : 2 * JSON.stringify(key).length;
}
