import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalJson } from '../../src/platform/openapi/canonical.js';
import { commandPages } from './commands-page.js';
import { environmentPage } from './environment-page.js';
import { eventsPage } from './events-page.js';
import { FILES, publishedSchema } from './file-schemas.js';
import { keysPage } from './keys-page.js';
import { GENERATED, page, table } from './markdown.js';
import { problemsPage } from './problems-page.js';
import { rightsPage } from './rights-page.js';

/**
 * `npm run docs:gen`: the reference below `docs/reference`, and the JSON Schemas of files in `schemas`, from what the service itself uses.
 * What is no longer made is removed.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));

const files = new Map<string, string>();
for (const kind of FILES) {
  files.set(`schemas/${kind.name}.json`, canonicalJson(publishedSchema(kind)));
  files.set(`docs/reference/files/${kind.name.replace('.toml', '')}.md`, keysPage(kind));
}
files.set('docs/reference/events.md', eventsPage());
files.set('docs/reference/errors.md', problemsPage());
files.set('docs/reference/rights.md', rightsPage());
files.set('docs/reference/environment.md', environmentPage());
for (const [name, text] of commandPages()) files.set(`docs/reference/${name}.md`, text);
files.set(
  'docs/reference/files.md',
  page(
    GENERATED,
    '# Files of a city',
    'Every key, with its type, its default and an example. [Configuration](../how-to/configuration.md) says how files, packs and patches become one configuration.',
    table(
      ['File', 'What it is'],
      FILES.map(({ name, title, where }) => [`[${title}](files/${name.replace('.toml', '')}.md)`, where]),
    ),
  ),
);

for (const [file, text] of files) {
  await mkdir(dirname(join(root, file)), { recursive: true });
  const before = await readFile(join(root, file), 'utf8').catch(() => undefined);
  if (before !== text) await writeFile(join(root, file), text);
}
for (const folder of ['schemas', 'docs/reference'])
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name).slice(root.length);
    if (entry.isFile() && !files.has(file)) await rm(join(root, file));
  }
