/**
 * `npm run build`: compiles src and db into dist, or into the folder that is named, renders docs there, and builds the operator's page into
 * dist. Only what is not as it was at the last time, so that `npm start` after `npm ci` has nothing to do. Specs and what only they use are
 * left out.
 */
import { createRequire } from 'node:module';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { guideSources } from './guide/sources.mjs';
import { buildPage } from './ui-build.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const out = process.argv[2] ?? 'dist';
const stamp = join(out, '.built.json');
const version = createRequire(import.meta.url)('@swc/core/package.json').version;
const settings = `${version} ${readFileSync('.swcrc', 'utf8')} 3`;
/** What programs of others import has its types beside it. */
const TYPED = `${join('src', 'client')}${sep}`;

const sources = {};
for (const root of ['src', 'db']) {
  for (const file of readdirSync(root, { recursive: true })) {
    const from = join(root, file);
    if (!from.endsWith('.ts') || from.endsWith('spec.ts') || from.split(sep).includes('testing')) continue;
    const { mtimeMs, size } = statSync(from);
    sources[from] = `${mtimeMs} ${size}`;
  }
}
const target = (from) => join(out, from.replace(/\.ts$/, '.js'));
const before = built();
const types = (from) => join(out, from.replace(/\.ts$/, '.d.ts'));
const stale = Object.keys(sources).filter((from) => before.sources[from] !== sources[from] || !existsSync(target(from)));
const gone = Object.keys(before.sources).filter((from) => !(from in sources));

const isProduct = out === 'dist';
await mkdir(out, { recursive: true });
// Most of it runs on threads of its own while the rest is compiled.
const page = isProduct ? buildPage(out) : undefined;
// It is awaited below; a failure before that is no unhandled one.
page?.catch(() => undefined);

if (stale.length > 0 || gone.length > 0) {
  const { transformFile } = await import('@swc/core');
  const options = { ...JSON.parse(readFileSync('.swcrc', 'utf8')), $schema: undefined };
  // Until all is written nothing is known to be built.
  await rm(stamp, { force: true });
  await Promise.all(gone.flatMap((from) => [target(from), `${target(from)}.map`, types(from)].map((file) => rm(file, { force: true }))));
  await Promise.all([...new Set(stale.map((from) => dirname(target(from))))].map((dir) => mkdir(dir, { recursive: true })));
  await Promise.all(stale.map((from) => compile(from, transformFile, options)));
  if (isProduct && stale.some((from) => from.startsWith(TYPED))) await declare();
  await writeFile(`${stamp}.${process.pid}`, JSON.stringify({ settings, sources }));
  await rename(`${stamp}.${process.pid}`, stamp);
}
await page;

await buildPages();

/** What the last build has made. What it was made of otherwise, or by other means, is removed. */
function built() {
  try {
    const last = JSON.parse(readFileSync(stamp, 'utf8'));
    if (last.settings === settings) return last;
  } catch {
    // There is none, or it did not come to its end.
  }
  rmSync(out, { recursive: true, force: true });
  return { sources: {} };
}

async function compile(from, transformFile, options) {
  const to = target(from);
  const { code, map } = await transformFile(from, { ...options, swcrc: false, outputPath: to });
  await writeFile(`${to}.map`, map);
  await writeFile(to, `${code}//# sourceMappingURL=${basename(to)}.map\n`);
}

/** The declarations of what programs import. What is wrong with types is told by the linter. */
async function declare() {
  const { default: ts } = await import('typescript');
  const { options } = ts.convertCompilerOptionsFromJson(JSON.parse(readFileSync('tsconfig.json', 'utf8')).compilerOptions, '.');
  const settings = { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, noCheck: true, outDir: out };
  const program = ts.createProgram(
    ['index.ts', 'node.ts'].map((file) => join('src', 'client', file)),
    settings,
  );
  const { diagnostics } = program.emit();
  for (const { messageText } of diagnostics) throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '));
}

/** The guide and the schemas that the service has beside its API, when one of their files is not as it was. */
async function buildPages() {
  const written = join(out, 'guide', '.built.json');
  const now = JSON.stringify(
    (await guideSources(process.cwd())).map((file) => {
      const { mtimeMs, size } = statSync(file);
      return `${file} ${mtimeMs} ${size}`;
    }),
  );
  if (existsSync(written) && readFileSync(written, 'utf8') === now) return;
  const { buildGuide } = await import('./guide/render.mjs');
  await buildGuide(process.cwd(), out);
  await writeFile(written, now);
}
