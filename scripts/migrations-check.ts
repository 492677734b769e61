import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../src/contract/version.js';
import { History, releasesIn } from './upgrade-check/release.js';

/**
 * `npm run migrations:check`: what a release has shipped is frozen. Its migrations are byte for byte what they were, and later ones have
 * higher numbers. The newest release of CHANGELOG.md has the version of the program. Whether the release could live with what is new
 * says `npm run upgrade:check`.
 */
const root = fileURLToPath(new URL('../', import.meta.url));
const history = new History(root);
const faults: string[] = [];

const changelog = `${root}CHANGELOG.md`;
const newest = existsSync(changelog) ? releasesIn(readFileSync(changelog, 'utf8'))[0] : undefined;
if (newest !== undefined && newest !== VERSION) faults.push(`CHANGELOG.md ends with ${newest}, and the program is ${VERSION}`);

const release = history.previousRelease();
if (release !== undefined) {
  const { version, commit, migrations: shipped } = release;
  const present = readdirSync(`${root}db/migrations`);
  for (const file of shipped) {
    if (!present.includes(file)) faults.push(`${file} was shipped with ${version} and is gone`);
    else if (history.git('show', `${commit}:db/migrations/${file}`) !== readFileSync(`${root}db/migrations/${file}`, 'utf8'))
      faults.push(`${file} was shipped with ${version} and has changed`);
  }
  const last = shipped.at(-1) ?? '';
  for (const file of present) if (!shipped.includes(file) && file < last) faults.push(`${file} is new but numbered before ${last}`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
