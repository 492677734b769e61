/**
 * Runs a test file as Node runs the product: its modules are loaded once a worker and stay loaded. Jest alone would load and
 * compile them anew for each file, in a realm of its own, which was half of the suite's processor time; and values of Node's
 * own (errors, clones, parsed JSON) belong to another realm there, so that comparisons of structures told differences that
 * production does not have. Everything else is Jest's own: its runner, its workers and reporters, the hooks and limits of
 * jest-circus, which is handed the file's import here in place of Jest's module system.
 */
import { createRequire, registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import '../../scripts/typescript.mjs';
import { use } from './globals.mjs';

const require = createRequire(import.meta.url);
const circus = require.resolve('jest-circus/runner');
/** The state of jest-circus; a file begins with a new one. */
const state = join(dirname(circus), 'jestAdapterInit.js');
const GLOBALS = new URL('./globals.mjs', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => (specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context)),
});
process.setSourceMapsEnabled(true);

export default async function run(globalConfig, config, environment, _runtime, file, send) {
  delete globalThis[Symbol.for('EVENT_HANDLERS')];
  delete require.cache[state];
  const { console } = globalThis;
  globalThis.console = environment.global.console;
  // Node tells of places in the sources by itself; Jest's own maps know only what Jest has compiled.
  Error.prepareStackTrace = undefined;
  try {
    return await require(circus).default(
      globalConfig,
      config,
      environment,
      native((globals) => use(globals, environment)),
      file,
      send,
    );
  } finally {
    globalThis.console = console;
  }
}

/** What jest-circus asks of Jest's module system. */
function native(setGlobalsForRuntime) {
  return {
    setGlobalsForRuntime,
    requireInternalModule: require,
    requireModule: require,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path) => import(pathToFileURL(path).href),
    enterTestCode() {},
    leaveTestCode() {},
  };
}
