/**
 * Lets Node run this project's TypeScript directly (`node --import ./scripts/typescript.mjs file.ts`): `.js` specifiers
 * find their `.ts` sources, and swc compiles with the project's own settings, decorators included. What was compiled is
 * kept by the hash of its source, so that a process started from sources starts nearly as fast as a built one.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, enableCompileCache, registerHooks } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const swcrc = JSON.parse(readFileSync(new URL('../.swcrc', import.meta.url), 'utf8'));
delete swcrc.$schema;
const cache = fileURLToPath(new URL('../node_modules/.cache/svc/', import.meta.url));
// What is made of a file does not say where that lies: copies of a checkout share it.
const options = { ...swcrc, swcrc: false, sourceMaps: 'inline', inlineSourcesContent: false };
const settings = JSON.stringify(options) + require('@swc/core/package.json').version;
try {
  mkdirSync(cache, { recursive: true });
  enableCompileCache(cache);
} catch {
  // A checkout that cannot be written to is compiled anew each time.
}

/** What was resolved for the project's own files: the answer is the same for all of them. */
const packages = new Map();
const IN_PACKAGE = /^\.\.?\/.*\.[cm]?js$/;

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL, conditions } = context;
    // What is required is resolved, and remembered, by Node.
    if (parentURL === undefined || !conditions.includes('import')) return next(specifier, context);
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true };
    if (parentURL.includes('/node_modules/')) {
      // A file that is named is where its name says. Node would ask the disk four times.
      if (!IN_PACKAGE.test(specifier) || !parentURL.startsWith('file:')) return next(specifier, context);
      return { url: new URL(specifier, parentURL).href, shortCircuit: true };
    }
    if (specifier.startsWith('.')) return ours(specifier, parentURL) ?? next(specifier, context);
    let found = packages.get(specifier);
    if (found === undefined) packages.set(specifier, (found = next(specifier, context)));
    return { ...found, shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context);
    return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
  },
});

/** A file of the project: its `.js` specifiers mean `.ts` files, but for what was built. */
function ours(specifier, parentURL) {
  if (!specifier.endsWith('.js') || !parentURL.startsWith('file:')) return undefined;
  const { href } = new URL(specifier, parentURL);
  const url = [`${href.slice(0, -3)}.ts`, href].find((one) => existsSync(fileURLToPath(one)));
  return url === undefined ? undefined : { url, format: 'module', shortCircuit: true };
}

/** Where what is made of a source is kept. */
function placeOf(filename, source) {
  return `${cache}${createHash('sha1').update(settings).update(basename(filename)).update('\0').update(source).digest('hex')}.mjs`;
}

const optionsFor = (filename) => ({ ...options, filename, sourceFileName: basename(filename) });

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const kept = placeOf(filename, source);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    // Not seen before.
  }
  const { code } = require('@swc/core').transformSync(source, optionsFor(filename));
  keep(kept, code);
  return code;
}

function keep(kept, code) {
  try {
    writeFileSync(`${kept}.${process.pid}`, code);
    renameSync(`${kept}.${process.pid}`, kept);
  } catch {
    // It is only slower.
  }
}

/**
 * Compiles what several processes are about to load, so that not each of them does in a checkout that has compiled nothing yet; on the threads of
 * swc, beside what this process does meanwhile. Fails for a source that is wrong, as loading it would.
 */
export async function warm() {
  const root = fileURLToPath(new URL('../', import.meta.url));
  const files = ['src', 'db', 'test'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('spec.ts'))
      .map((file) => `${root}${folder}/${file}`),
  );
  if (!existsSync(cache) || readdirSync(cache).length > files.length) return;
  const { transform } = require('@swc/core');
  // One iterator for all of them: each takes what none has taken.
  const waiting = files.values();
  const compileNext = async () => {
    for (const filename of waiting) {
      const source = readFileSync(filename, 'utf8');
      const kept = placeOf(filename, source);
      if (!existsSync(kept)) keep(kept, (await transform(source, optionsFor(filename))).code);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, compileNext));
}
