import { join } from '../tree.js';

/** A place as people write it: `agent[0].env.DEBUG`. */
export function dotted(path: readonly PropertyKey[]): string {
  return path.reduce<string>((at, segment) => (typeof segment === 'number' ? `${at}[${segment}]` : join(at, String(segment))), '');
}
