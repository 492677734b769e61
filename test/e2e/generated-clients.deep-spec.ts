import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execa } from 'execa';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startStack, type Stack } from '../support/app.js';
import { documentFile } from '../support/contract.js';

/**
 * What four generators of others make of our document is compiled, strictly, and does ten typical calls (`examples/clients`). They come from
 * npm into a folder that is kept for the next run: too large for everybody who installs this project, hence `npm run test:deep` only. So does
 * the linter that nobody else here needs.
 */
const PACKAGES = [
  '@stoplight/spectral-cli@6.16.3',
  '@hey-api/openapi-ts@0.99.0',
  '@types/node@24.19.2',
  'openapi-fetch@0.17.0',
  'openapi-typescript-codegen@0.31.0',
  'openapi-typescript@7.13.0',
  'orval@8.38.0',
  'typescript@5.9.3',
  'zod@4.6.7',
];
const INSTALL_MS = 280_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|CERT|VERIFY|network/;
const QUIETLY = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=1', '--loglevel=error'];

const DOCUMENT = fileURLToPath(documentFile);
const RULES = fileURLToPath(new URL('../../.spectral.yaml', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../examples/clients', import.meta.url));
const OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: false,
  skipLibCheck: true,
  types: ['node'],
  rootDir: '.',
  outDir: 'out',
};

/** Bundlers find a file without its extension, Node does not. */
const RESOLVE = `import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  resolve(specifier, context, next) {
    const relative = specifier.startsWith('.') && context.parentURL !== undefined;
    const found = relative ? ['.js', '/index.js'].map((end) => new URL(specifier + end, context.parentURL)).find((url) => existsSync(url)) : undefined;
    return found === undefined ? next(specifier, context) : { url: found.href, shortCircuit: true };
  },
});
`;

interface Client {
  readonly program: string;
  readonly generate: readonly string[];
}
const CLIENTS: readonly Client[] = [
  { program: 'hey-api', generate: ['openapi-ts', '-f', 'hey-api.config.mjs', '--silent'] },
  { program: 'openapi-typescript', generate: ['openapi-typescript', DOCUMENT, '--output', 'openapi-typescript/types.ts'] },
  { program: 'codegen', generate: ['openapi', '--input', DOCUMENT, '--output', 'codegen', '--client', 'fetch'] },
  { program: 'orval', generate: ['orval', '--config', 'orval.config.mjs'] },
];

/** The folder that has them; undefined when the registry cannot be reached. */
async function installed(): Promise<string | undefined> {
  const kept = join(tmpdir(), `svc-clients-${PACKAGES.map((name) => name.split('@').pop()).join('-')}`);
  if (existsSync(kept)) return kept;
  const dir = await mkdtemp(`${kept}-`);
  await writeFile(join(dir, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const { failed, stderr, timedOut } = await execa('npm', ['install', '--prefix', dir, ...QUIETLY, ...PACKAGES], {
    cwd: dir,
    reject: false,
    timeout: INSTALL_MS,
  });
  if (failed) {
    if (timedOut || NO_REGISTRY.test(stderr)) return undefined;
    throw new Error(`the generators cannot be installed: ${stderr}`);
  }
  await rename(dir, kept).catch(() => undefined);
  return kept;
}

const generators = await installed();
// What cannot be had is counted as skipped, not as passed.
const tried = generators === undefined ? describe.skip : describe;

tried('clients that others generate from the document', () => {
  let stack: Stack;
  let dir: string;
  const bin = (name: string): string => join(generators!, 'node_modules', '.bin', name);

  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1 });
    // Below the folder, so that what is generated finds what it imports.
    dir = await mkdtemp(join(generators!, 'run-'));
    await cp(EXAMPLES, dir, { recursive: true });
    await writeFile(join(dir, 'resolve.mjs'), RESOLVE);
  });
  afterAll(async () => {
    await stack?.stop();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  });

  it.each(CLIENTS)('$program compiles and works', async ({ program, generate }) => {
    const env = { OPENAPI: DOCUMENT, SVC_API: stack.urls[0]!, CITY: program };
    await mkdir(join(dir, program), { recursive: true });
    const [generator, ...args] = generate;
    await execa(bin(generator!), args, { cwd: dir, env });
    await writeFile(
      join(dir, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: OPTIONS, include: [`${program}.ts`, `${program}/**/*.ts`] }),
    );
    const compiled = await execa(bin('tsc'), ['-p', '.'], { cwd: dir, reject: false });
    expect(compiled.stdout).toBe('');
    const { stdout } = await execa(process.execPath, ['--import', './resolve.mjs', `out/${program}.js`], {
      cwd: dir,
      env,
      timeout: 60_000,
    });
    expect(JSON.parse(stdout.trim().split('\n').pop()!)).toEqual({
      bead: expect.stringMatching(/-1$/),
      listed: [expect.stringMatching(/-1$/)],
      claimed: true,
      mail: 'Done',
      closed: [expect.stringMatching(/-1$/)],
      streamed: expect.stringMatching(/^shop\.sold \{.*"bead":".*-1"/),
    });
  });

  it('leaves spectral nothing to say that is not argued in its file', async () => {
    const { stdout } = await execa(bin('spectral'), ['lint', DOCUMENT, '--ruleset', RULES, '--fail-severity', 'hint'], { reject: false });
    expect(stdout).toContain("No results with a severity of 'hint' or higher found!");
  });
});
