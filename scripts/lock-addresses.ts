import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * `npm run lock:gen`: says in package-lock.json where each package lies, at no registry in particular: `.npmrc` has npm put the
 * configured one in. Without addresses `npm ci` asks the registry about each of 600 packages, also those that it has.
 */
const NOWHERE = 'https://registry.invalid';
const FILE = new URL('../package-lock.json', import.meta.url);

interface Locked {
  readonly version?: string;
  readonly name?: string;
  readonly resolved?: string;
}
const lock = JSON.parse(readFileSync(FILE, 'utf8')) as { packages: Record<string, Locked> };
for (const [at, { name: alias, version, resolved: _, ...rest }] of Object.entries(lock.packages)) {
  if (at === '') continue;
  const name = alias ?? at.slice(at.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const resolved = `${NOWHERE}/${name}/-/${basename(name)}-${version}.tgz`;
  lock.packages[at] = { ...(alias === undefined ? {} : { name: alias }), version, resolved, ...rest };
}
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
