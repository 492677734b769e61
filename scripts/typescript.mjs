/**
 * Lets Node run this project's TypeScript directly (`node --import ./scripts/typescript.mjs file.ts`): `.js` specifiers
 * find their `.ts` sources, and swc compiles with the project's own settings, decorators included.
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';

const swcrc = JSON.parse(readFileSync(new URL('../.swcrc', import.meta.url), 'utf8'));
delete swcrc.$schema;

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
    const filename = fileURLToPath(url);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...swcrc, swcrc: false, filename, sourceMaps: 'inline' });
    return { format: 'module', source: code, shortCircuit: true };
  },
});

/** For importers that want a file of this project by its path from the root. */
export const fromRoot = (path) => pathToFileURL(fileURLToPath(new URL(`../${path}`, import.meta.url))).href;
