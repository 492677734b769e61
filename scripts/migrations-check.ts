import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `npm run migrations:check`: what a release has shipped is frozen. Migrations of the newest tag are byte for byte
 * what they were, and later ones have higher numbers. Before the first tag there is nothing to hold on to.
 */
const root = fileURLToPath(new URL('../', import.meta.url));
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

function newestTag(): string | undefined {
  try {
    return git('describe', '--tags', '--abbrev=0').trim();
  } catch {
    return undefined;
  }
}

const tag = newestTag();
const faults: string[] = [];
if (tag !== undefined) {
  const shipped = git('ls-tree', '--name-only', tag, 'db/migrations/').split('\n').filter(Boolean);
  const present = readdirSync(`${root}db/migrations`).map((file) => `db/migrations/${file}`);
  for (const file of shipped) {
    if (!present.includes(file)) faults.push(`${file} was shipped with ${tag} and is gone`);
    else if (git('show', `${tag}:${file}`) !== readFileSync(`${root}${file}`, 'utf8'))
      faults.push(`${file} was shipped with ${tag} and has changed`);
  }
  const last = shipped.at(-1) ?? '';
  for (const file of present) if (!shipped.includes(file) && file < last) faults.push(`${file} is new but numbered before ${last}`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
