import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import type { AppConfig } from '../config/config.js';
import { tomlFault } from '../config/toml-fault.js';
import { GitRule } from './git-rules.js';
import { absolute } from './host-path.js';

/** Numbers from there on are negative to some programs, or mean nobody. */
const MAX_ID = 2 ** 31;
const SIZE = /^(\d+)(MiB|GiB)$/;
const size = z
  .string()
  .regex(SIZE, 'has to be a number with MiB or GiB')
  .transform((text) => {
    const [, n, unit] = SIZE.exec(text)!;
    return Number(n) * (unit === 'GiB' ? 1024 ** 3 : 1024 ** 2);
  });

const Visible = z.strictObject({
  path: absolute,
  write: z.boolean().default(false),
  /** Presets whose own programs see it; absent: every session. */
  presets: z.array(z.string()).optional(),
  cities: z.array(z.string()).optional(),
});
const range = z
  .strictObject({ first: z.int().min(1_000), count: z.int().min(1) })
  .refine(({ first, count }) => first + count <= MAX_ID, `has to end below ${MAX_ID}`);

/**
 * What the operator of a host says about the programs that are run on it: `host.toml` in the data directory. Cities cannot
 * change it, and their programs do not see it.
 */
const HostFile = z.strictObject({
  /** Where there are no namespaces: numbers for nobody else on this host, and the same on all hosts of a deployment. */
  users: z.strictObject({ cities: range, sessions: range }).optional(),
  runner: z
    .strictObject({
      visible: z.array(Visible).max(200).default([]),
      scripts: z.array(absolute).max(100).default([]),
      limits: z
        .strictObject({
          memory: size.default(8 * 1024 ** 3),
          processes: z.int().min(16).max(1_000_000).default(4_096),
          files: z.int().min(64).max(1_000_000).default(4_096),
          cpus: z.number().min(0.05).max(10_000).optional(),
        })
        .prefault({}),
    })
    .prefault({}),
  /** With what git signs in where repositories come from. */
  git: z.strictObject({ credentials: z.array(GitRule).max(500).default([]) }).prefault({}),
});

/** A file or folder of this host that programs may see where it lies. */
export type VisiblePath = z.infer<typeof Visible>;

/** Numbers of users or groups. */
export interface Range {
  readonly first: number;
  readonly count: number;
}

export interface HostRules {
  /** Groups of cities, and users of sessions. */
  readonly users: { readonly cities: Range; readonly sessions: Range } | undefined;
  readonly visible: readonly VisiblePath[];
  /** Scripts that run sessions elsewhere: they are started outside of any sandbox. */
  readonly scripts: readonly string[];
  readonly git: readonly GitRule[];
  /**
   * Of each process: bytes of data, open files; of all processes of the service's user: their number. Where the kernel counts by groups,
   * memory and processes are those of a sandbox, and so are the processors that it has at the most; without their number it has what others leave.
   */
  readonly limits: { readonly memory: number; readonly processes: number; readonly files: number; readonly cpus?: number | undefined };
}

class HostFileError extends Error {}

/** The rules of a host; those of an empty file when there is none. @throws HostFileError that names what is wrong, and where */
export async function readHostFile(file: string): Promise<HostRules> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return rulesOf(HostFile.parse({}));
    throw new HostFileError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  try {
    const parsed = HostFile.safeParse(parse(text));
    if (parsed.success) return rulesOf(parsed.data);
    const wrong = parsed.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`);
    throw new HostFileError(`${file}: ${wrong.join('; ')}`);
  } catch (error) {
    if (error instanceof HostFileError) throw error;
    if (!(error instanceof TomlError)) throw error;
    throw new HostFileError(`${file}:${error.line}: ${tomlFault(error)}`, { cause: error });
  }
}

/** Where the operator of this host says it. */
export function hostFileOf({ dataDir }: Pick<AppConfig, 'dataDir'>): string {
  return path.join(dataDir, 'host.toml');
}

/** What is wrong with it, and where; undefined for nothing. */
export async function hostFileFault(file: string): Promise<string | undefined> {
  try {
    await readHostFile(file);
    return undefined;
  } catch (error) {
    if (error instanceof HostFileError) return error.message;
    throw error;
  }
}

function rulesOf({ users, runner, git }: z.infer<typeof HostFile>): HostRules {
  return { ...runner, users, git: git.credentials };
}
