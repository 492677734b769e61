import { ProgramFailed, run } from './programs.js';

/** Of so many files tar may complain, in characters. */
const KEPT = 4_000_000;
/** What agents do while their files are read. The city notices it after the restore. */
const MOVES =
  /^(?:file changed as we read it|File removed before we read it|File shrank by \d+ bytes?; padding with zeros|(?:socket|door) ignored|Truncated write; file may have grown while being archived\.)$/;
const CLOSED = /^tar: (?<name>.+): Cannot (?:open|stat|opendir|readdir|savedir): Permission denied$/;
const AT_THE_END = 'tar: Exiting with failure status due to previous errors';

/**
 * Packs what `args` say. Returns the names of what may not be read, and is not in it: files below the folder of the cities, `below`. What
 * else an archive shall have is no agent's to close, and without it there is none. Agents name their files as they like: what tar says is
 * read from its end, behind the last colon. @throws Error
 */
export async function packed(args: readonly string[], below: string | undefined, signal: AbortSignal | undefined): Promise<string[]> {
  try {
    await run('tar', args, { signal, kept: KEPT, env: { ...process.env, LC_ALL: 'C' } });
    return [];
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    const lacks = lackedOf(error.code, error.said, below);
    if (lacks === undefined) throw error;
    return lacks;
  }
}

/** What tar has to be told so that holes of a file are skipped, and no terabyte of zeros is packed. Others than GNU's see holes by themselves, or know no word for it. */
export async function forHoles(): Promise<string[]> {
  return (await run('tar', ['--version']).catch(() => '')).includes('GNU tar') ? ['--sparse'] : [];
}

/** What is missing in an archive for which tar has ended so; undefined where it is none. GNU's says 1 when something has changed, 2 when something is missing. */
export function lackedOf(code: number | null, said: string, below?: string): string[] | undefined {
  if (code !== 1 && code !== 2) return undefined;
  const cities = below === undefined ? undefined : `${asSaid(below)}/`;
  const lacks: string[] = [];
  for (const line of said.split('\n')) {
    const { name } = CLOSED.exec(line)?.groups ?? {};
    if (name !== undefined && cities !== undefined && name.startsWith(cities)) lacks.push(name);
    else if (line !== AT_THE_END && !MOVES.test(line.slice(line.lastIndexOf(': ') + 2))) return undefined;
  }
  return code === 2 && lacks.length === 0 ? undefined : lacks;
}

/** A name as tar says it, which writes out a colon and whatever is no letter of ASCII. */
function asSaid(name: string): string {
  return Array.from(Buffer.from(name), (byte) =>
    byte > 0x7e ? `\\${byte.toString(8)}` : byte === 0x3a ? '\\:' : String.fromCharCode(byte),
  ).join('');
}
