import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StartError, type Program, type Sandbox } from '../runtime/port.js';
import { isProgram, programsNamed } from '../runtime/programs.js';
import type { HostRules } from './host-file.js';

const PROBE_MS = 10_000;
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];
const TOOLS = ['setpriv', 'prlimit', 'nice'] as const;
type Tools = Readonly<Record<(typeof TOOLS)[number], string>>;
/** Inside, as the city's user: gives the variables their names, and lets its group write what it makes. */
const INSIDE = `umask 027; for n in $0; do eval "export $n=\\"\\$SVC_OF_$n\\""; unset "SVC_OF_$n"; done; exec "$@"`;
const OURS = /^SVC_/;
const NAME = /^[A-Za-z_]\w*$/;

/** Walls made by users of the system: what runs for a city has a number of its own, no groups and no way to another one. */
export class Users {
  private constructor(
    private readonly tools: Tools,
    private readonly limits: HostRules['limits'],
  ) {}

  /**
   * Tries it with everything that a session's program gets.
   *
   * @param id a number of the range that the operator has named
   * @throws Error that says why this host cannot
   */
  static async tryOn(limits: HostRules['limits'], id: number): Promise<Users> {
    if (process.platform !== 'linux') throw new Error('only Linux has it');
    if (process.getuid?.() !== 0) throw new Error('the service is not root');
    const found = await Promise.all(TOOLS.map(async (tool) => [tool, await toolAt(tool)] as const));
    const users = new Users(Object.fromEntries(found) as Tools, limits);
    const { command, args, env } = users.#wrapped({ command: '/bin/sh', args: ['-c', 'id -u; id -G'], cwd: '/', env: {} }, id);
    const { stdout } = await promisify(execFile)(command, args, { timeout: PROBE_MS, killSignal: 'SIGKILL', env, cwd: '/' });
    if (stdout !== `${id}\n${id}\n`) throw new Error('programs do not become the user that they are to be');
    return users;
  }

  /** @param id of the city: of its user and of its group */
  sandbox(id: number): Sandbox {
    return {
      enter: async (program) => {
        let command: string | undefined;
        for await (const file of programsNamed(program)) command ??= file;
        if (command === undefined) throw new StartError('not_found', `${program.command} is not a program that can be started here`);
        return this.#wrapped({ ...program, command }, id);
      },
    };
  }

  /** What a city says of its environment is not seen by what still runs as root: a library to load, for instance. */
  #wrapped({ command, args, cwd, env }: Program, id: number): Program {
    const { setpriv, prlimit, nice } = this.tools;
    const { memory, processes, files } = this.limits;
    const named = Object.keys(env).filter((name) => !OURS.test(name) && NAME.test(name));
    return {
      command: setpriv,
      args: [
        ...[`--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'],
        ...[prlimit, '--core=0', `--data=${memory}`, `--nproc=${processes}`, `--nofile=${files}`, nice, '-n', '5'],
        ...['/bin/sh', '-c', INSIDE, named.join(' '), command, ...args],
      ],
      cwd,
      env: {
        ...Object.fromEntries(Object.entries(env).filter(([name]) => OURS.test(name))),
        ...Object.fromEntries(named.map((name) => [`SVC_OF_${name}`, env[name]!])),
      },
    };
  }
}

/** Never by a search path that somebody else could have set. @throws Error */
async function toolAt(tool: string): Promise<string> {
  for (const folder of FOLDERS) if (await isProgram(`${folder}/${tool}`)) return `${folder}/${tool}`;
  throw new Error(`${tool} is not installed`);
}
