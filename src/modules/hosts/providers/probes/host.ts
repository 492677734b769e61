import { execFile, type ExecFileException } from 'node:child_process';
import { constants } from 'node:fs';
import { access, open, readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Isolation } from '../../../../platform/isolation/isolation.js';
import { existing, type Mount } from '../../../../platform/isolation/mounts.js';
import { HostBusy, StartError, UnconfirmedDead, type Program } from '../../../../platform/runtime/port.js';
import { isOfAMoment } from '../../../../platform/runtime/shortages.js';
import { PROGRAMS, SIGN_INS } from './host-places.js';

/**
 * A worker host as probes see it: files of the user, programs on a fixed search path (never the process's own PATH),
 * and commands with a short life and a small environment, in a sandbox where this host has them: agents may write to the
 * settings of such a program, and those may name commands. Credentials in the environment of this process do not count:
 * agents do not inherit it.
 */
const COMMAND_LIMIT_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
const MAX_VERSIONS = 1_000;
/** Of what a program prints, so much is looked at. */
const VERSION_TEXT = 1_000;
const VERSION = /(?:^|[^\w.])v?(\d{1,6}(?:\.\d{1,6}){1,3}[\w.+-]{0,24})/;
/** Agents may put a pipe there: it is not waited for. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Below the home directory: where installers of agents and package managers put programs. */
const USER_DIRS = ['.local/bin', 'bin', '.npm-global/bin', '.opencode/bin', '.bun/bin', '.cargo/bin'];

export interface CommandResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** It had no turn, or not enough of one: that says nothing of the program. */
  readonly unheard?: true;
}

export class ProbeHost {
  #isUnheard = false;

  constructor(
    readonly home: string = homedir(),
    private readonly extraPath: readonly string[] = ['/usr/local/bin', '/opt/homebrew/bin', '/usr/bin', '/bin', '/snap/bin'],
    private readonly isolation?: Isolation,
    private readonly item = '',
    private readonly versions = new Map<string, string | undefined>(),
  ) {}

  /** The host for one item of the catalogue: its commands see where that one's sign-in is kept. */
  of(item: string): ProbeHost {
    return new ProbeHost(this.home, this.extraPath, this.isolation, item, this.versions);
  }

  /** Whether a command of it had no turn, or not enough of one: what was found says little then. */
  get isUnheard(): boolean {
    return this.#isUnheard;
  }

  /** The first executable of that name on the search path. */
  async find(name: string): Promise<string | undefined> {
    for (const dir of await this.searchPath()) {
      const at = path.join(dir, name);
      if (await executable(at)) return at;
    }
    return undefined;
  }

  /** A file below the home directory: undefined when there is none. Throws when it cannot be read. */
  async read(...parts: string[]): Promise<string | undefined> {
    try {
      const handle = await open(path.join(this.home, ...parts), READ);
      try {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
        return buffer.toString('utf8', 0, bytesRead);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
      if (isOfAMoment(error)) this.#isUnheard = true;
      throw error;
    }
  }

  async run(program: string, args: readonly string[]): Promise<CommandResult> {
    const result = await this.#run(program, args);
    if (result.unheard === true) this.#isUnheard = true;
    return result;
  }

  async #run(program: string, args: readonly string[]): Promise<CommandResult> {
    const PATH = (await this.searchPath()).join(':');
    const env = { PATH, HOME: this.home, LANG: 'C.UTF-8', NO_COLOR: '1', TERM: 'dumb' };
    try {
      return await this.#isolated({ command: program, args, cwd: this.home, env });
    } catch (error) {
      const isPassing = error instanceof HostBusy || error instanceof UnconfirmedDead || isOfAMoment(error);
      if (!isPassing && !(error instanceof StartError)) throw error;
      return { code: undefined, stdout: '', stderr: (error as Error).message, ...(isPassing && { unheard: true }) };
    }
  }

  /** What a program says of its version; it is asked once as long as its file stays. */
  async version(program: string): Promise<string | undefined> {
    const { dev, ino, mtimeMs, size } = await stat(program);
    const file = [program, dev, ino, mtimeMs, size].join(':');
    if (this.versions.has(file)) return this.versions.get(file);
    if (this.versions.size >= MAX_VERSIONS) this.versions.clear();
    const { code, stdout, stderr } = await this.#run(program, ['--version']);
    const said = VERSION.exec(`${stdout.slice(0, VERSION_TEXT)}\n${stderr.slice(0, VERSION_TEXT)}`)?.[1];
    // One that did not end may say more another time.
    if (code !== undefined) this.versions.set(file, said);
    return said;
  }

  /** Where users are the walls: as one of nobody's, who has a copy of the one sign-in. What agents cannot start, it cannot either. */
  async #isolated(program: Program): Promise<CommandResult> {
    const { isolation } = this;
    if (isolation === undefined) return this.#started(program);
    return isolation.lent({ folders: [], files: SIGN_INS[this.item] ?? [] }, async (sandbox) => {
      if (sandbox === undefined) return this.#started(await this.#walled(program, isolation));
      const { HOME: _service, ...env } = program.env;
      return this.#started(await sandbox.enter({ ...program, cwd: '/', env }));
    });
  }

  async #walled(program: Program, isolation: Isolation): Promise<Program> {
    const { rules } = await isolation.found();
    const named = rules.visible.filter(({ presets, cities }) => presets?.includes(this.item) !== false && cities === undefined);
    const changeable = await isolation.changeable();
    const seen = await Promise.all([
      ...PROGRAMS.map((at) => existing(path.join(this.home, at), 'read', changeable)),
      ...(SIGN_INS[this.item] ?? []).map((at) => existing(path.join(this.home, at), 'write', changeable)),
      ...named.map(({ path: at, write }) => existing(at, write ? 'write' : 'read', changeable)),
    ]);
    const own: Mount[] = this.home === '/' ? [] : [{ at: this.home, mode: 'hidden' }];
    const sandbox = await isolation.sandbox([{ at: '/tmp', mode: 'hidden' }, ...own, ...seen.flat()]);
    return sandbox === undefined ? program : sandbox.enter(program);
  }

  #started({ command, args, cwd, env }: Program): Promise<CommandResult> {
    return new Promise((resolve) => {
      const options = { env, cwd, timeout: COMMAND_LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_BYTES } as const;
      const child = execFile(command, [...args], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
        resolve({ code, stdout, stderr, ...(code === undefined && (isCut(error) || isOfAMoment(error)) && { unheard: true }) });
      });
      child.stdin?.end();
    });
  }

  /** Where programs are looked for, first to last: an agent that is started with this as its PATH finds what was found here. */
  async searchPath(): Promise<string[]> {
    const nvm = path.join(this.home, '.nvm/versions/node');
    const versions = await readdir(nvm).catch((error: unknown): string[] => {
      if (isOfAMoment(error)) this.#isUnheard = true;
      return [];
    });
    return [
      ...USER_DIRS.map((dir) => path.join(this.home, dir)),
      ...versions
        .sort()
        .reverse()
        .map((version) => path.join(nvm, version, 'bin')),
      ...this.extraPath,
    ];
  }
}

/** It took too long; one that said too much is cut off as well. */
function isCut(error: ExecFileException | null): boolean {
  return error?.killed === true && error.code !== 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
}

async function executable(at: string): Promise<boolean> {
  try {
    await access(at, constants.X_OK);
    return (await stat(at)).isFile();
  } catch {
    return false;
  }
}
