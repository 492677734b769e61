/**
 * Lets Node run this project's TypeScript directly (`node --import ./scripts/typescript.mjs file.ts`): `.js` specifiers
 * find their `.ts` sources, and swc compiles with the project's own settings, decorators included. What was compiled is
 * kept by the hash of its source, so that a process started from sources starts nearly as fast as a built one.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, enableCompileCache, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const swcrc = JSON.parse(readFileSync(new URL('../.swcrc', import.meta.url), 'utf8'));
delete swcrc.$schema;
const cache = fileURLToPath(new URL('../node_modules/.cache/svc/', import.meta.url));
const settings = JSON.stringify(swcrc) + require('@swc/core/package.json').version;
try {
  mkdirSync(cache, { recursive: true });
  enableCompileCache(cache);
} catch {
  // A checkout that cannot be written to is compiled anew each time.
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.startsWith('file:')) {
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
      if (existsSync(source)) return next(source.href, context);
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context);
    return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
  },
});

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const kept = `${cache}${createHash('sha256').update(settings).update(filename).update('\0').update(source).digest('hex')}.mjs`;
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    // Not seen before.
  }
  const { code } = require('@swc/core').transformSync(source, { ...swcrc, swcrc: false, filename, sourceMaps: 'inline' });
  try {
    writeFileSync(`${kept}.${process.pid}`, code);
    renameSync(`${kept}.${process.pid}`, kept);
  } catch {
    // It is only slower.
  }
  return code;
}

/** For importers that want a file of this project by its path from the root. */
export const fromRoot = (path) => pathToFileURL(fileURLToPath(new URL(`../${path}`, import.meta.url))).href;
