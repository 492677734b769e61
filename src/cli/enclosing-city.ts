import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest directory upwards that holds a `city.toml`. */
export function enclosingCity(from: string): string | undefined {
  for (let dir = from; ; dir = dirname(dir)) {
    if (existsSync(join(dir, 'city.toml'))) return dir;
    if (dirname(dir) === dir) return undefined;
  }
}
