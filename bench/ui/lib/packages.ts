import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fastDir } from '../../lib/machine.js';

/** What `package.json` has for the page alone. */
const PAGE = [
  '@dagrejs/dagre',
  '@tailwindcss/vite',
  '@tanstack/react-router',
  '@tanstack/react-virtual',
  '@types/react',
  '@types/react-dom',
  '@xyflow/react',
  'axe-core',
  'react',
  'react-dom',
  'tailwindcss',
  'vite',
] as const;
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

type Needs = Partial<Record<(typeof KINDS)[number] | 'peerDependencies', Readonly<Record<string, string>>>>;
interface Lock {
  readonly packages: Readonly<Record<string, Needs & { readonly name?: string; readonly version?: string }>>;
}

/** Where `node_modules` has what a package at `from` calls `name`: the nearest one. */
function found(lock: Lock, from: string, name: string): string | undefined {
  for (let dir = from; ; dir = dir.slice(0, Math.max(0, dir.lastIndexOf('node_modules/') - 1))) {
    const path = `${dir === '' ? '' : `${dir}/`}node_modules/${name}`;
    if (lock.packages[path] !== undefined) return path;
    if (dir === '') return undefined;
  }
}

/** All that these names of the root lead to. */
function reached(lock: Lock, names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const next: [from: string, name: string][] = names.map((name) => ['', name]);
  for (let one = next.pop(); one !== undefined; one = next.pop()) {
    const path = found(lock, ...one);
    if (path === undefined || seen.has(path)) continue;
    seen.add(path);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = lock.packages[path]!;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) next.push([path, name]);
  }
  return seen;
}

export interface Added {
  readonly packages: number;
  readonly bytes: number;
  /** `npm ci` of the page's packages and what they need, in an empty folder; undefined where none can be fetched, and why. */
  readonly ms: number | undefined;
  readonly why: string;
}

/** What would not be installed without the page, and how long its packages take by themselves. */
export async function addedByPage(): Promise<Added> {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;
  const root = lock.packages['']!;
  const others = KINDS.flatMap((kind) => Object.keys(root[kind] ?? {})).filter((name) => !(PAGE as readonly string[]).includes(name));
  const all = reached(lock, PAGE);
  const kept = reached(lock, others);
  const own = [...all].filter((path) => !kept.has(path));
  let bytes = 0;
  let packages = 0;
  for (const path of own) {
    const size = await sizeOf(path);
    bytes += size;
    if (size > 0) packages++;
  }
  return { packages, bytes, ...(await installed(lock, all)) };
}

const run = promisify(execFile);

/** On the disk, without packages inside that are counted by themselves; nothing for another system's. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { stdout } = await run('du', ['-sk', '--exclude=node_modules', path]);
    return Number.parseInt(stdout, 10) * 1024;
  } catch {
    return 0;
  }
}

/** Twice: once to have them in the cache of npm, as somebody has who installs again; the second counts. */
async function installed(lock: Lock, paths: ReadonlySet<string>): Promise<{ ms: number | undefined; why: string }> {
  const dir = await mkdtemp(join(fastDir, 'svc-bench-ci-'));
  try {
    const versions = Object.fromEntries(PAGE.map((name) => [name, lock.packages[`node_modules/${name}`]!.version!]));
    const manifest = { name: 'page', version: '0.0.0', private: true, dependencies: versions };
    const packages = { '': manifest, ...Object.fromEntries([...paths].map((path) => [path, lock.packages[path]])) };
    await writeFile(join(dir, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(dir, 'package-lock.json'), JSON.stringify({ ...manifest, lockfileVersion: 3, requires: true, packages }));
    let ms = 0;
    for (let n = 0; n < 2; n++) {
      const began = performance.now();
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: dir, timeout: 300_000 });
      ms = performance.now() - began;
    }
    return { ms, why: '' };
  } catch (error) {
    return { ms: undefined, why: `npm ci has failed: ${error instanceof Error ? error.message.split('\n')[0]! : String(error)}` };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
