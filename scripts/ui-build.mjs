/**
 * The operator's page: `ui` becomes `dist/ui`, with each file's compressed forms beside it. Only when something of it has changed,
 * so that a start costs nothing. Called by `npm run build`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const COMPRESSED = /\.(js|css|html|svg|json|txt|md)$/;
/** Smaller ones gain nothing. */
const LEAST = 512;
const STAMP = '.built';

/** What `dist/ui` is made of: the sources, and the packages that are built into it or build it. */
export function fingerprint() {
  const hash = createHash('sha256').update(JSON.stringify(JSON.parse(readFileSync('package.json', 'utf8')).devDependencies));
  for (const file of readdirSync('ui', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.includes('.spec.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort())
    hash.update(file).update(readFileSync(file));
  return hash.update(readFileSync(new URL(import.meta.url))).digest('hex');
}

export async function buildPage(out) {
  const target = join(out, 'ui');
  const now = fingerprint();
  if (existsSync(join(target, STAMP)) && readFileSync(join(target, STAMP), 'utf8') === now) return;
  const { build } = await import('vite');
  // Beside it, and then in its place: who reads meanwhile finds the one or the other.
  const fresh = await mkdtemp(join(out, '.ui-'));
  // Whoever builds it, and for whatever reason: any other makes it half as large again.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await build({ configFile: 'ui/vite.config.mjs', logLevel: 'warn', build: { outDir: join(process.cwd(), fresh) } });
    const files = (await readdir(fresh, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    await Promise.all(files.map((entry) => compress(join(entry.parentPath, entry.name))));
    await writeFile(join(fresh, STAMP), now);
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    await rm(fresh, { recursive: true, force: true });
  }
}

async function compress(file) {
  if (!COMPRESSED.test(file)) return;
  const bytes = await readFile(file);
  if (bytes.length < LEAST) return;
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, quality), promisify(gzip)(bytes, { level: 9 })]);
  await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)]);
}
