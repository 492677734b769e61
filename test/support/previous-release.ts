import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { History, type Release } from '../../scripts/upgrade-check/release.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The newest release before what lies here, or why there is none to be had. */
export function previousRelease(): Release | string {
  try {
    return new History(root).previousRelease() ?? 'no release runs beside this one';
  } catch (error) {
    // A clone that is not deep enough has no such commit.
    return error instanceof Error ? error.message : String(error);
  }
}

export interface Unpacked {
  /** Its sources, ready to be run; ends with a slash. */
  readonly root: string;
  dispose(): Promise<void>;
}

/** Its files, with the packages that are here where it has the same, otherwise with its own from npm. */
export async function unpack({ commit }: Release): Promise<Unpacked> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-previous-'));
  const archive = join(dir, 'release.tar');
  const at = join(dir, 'release/');
  await run('git', ['archive', '--prefix=release/', '-o', archive, commit], { cwd: root });
  await run('tar', ['-xf', archive, '-C', dir]);
  const [theirs, ours] = await Promise.all([at, root].map((folder) => packagesOf(folder)));
  if (theirs === ours) await symlink(join(root, 'node_modules'), join(at, 'node_modules'));
  else await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: at });
  return { root: at, dispose: () => rm(dir, { recursive: true, force: true }) };
}

/** All but the entry of the project itself, which has its version. */
async function packagesOf(folder: string): Promise<string> {
  const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as { packages: Record<string, unknown> };
  return JSON.stringify({ ...packages, '': undefined });
}
