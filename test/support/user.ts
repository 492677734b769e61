import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { foreignEnvironment } from './cli.js';
import { folder } from './folders.js';
import { eventually } from './sse.js';
import { sleep } from '../../src/platform/time/clock.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const SERVER = join(root, 'dist/src/entry/serve.js');
const LOOK_MS = 500;

/** No call of the client may cost what npm costs: in the shell it does not exist. */
const WITHOUT_NPM = '.without-npm';
type Process = ChildProcessByStdio<null, Readable, Readable>;

/** A command that goes on. */
export interface Running {
  /** What it has written, both channels in the order of a terminal. */
  output(): string;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** Ctrl-C. */
  interrupt(): void;
}

/**
 * Somebody who has the product as `npm ci && npm start` gives it: the built server in a working directory of its own, with
 * its own database, and a shell there that finds `svc`.
 */
export class User {
  /** The server, as what it has printed says. */
  #server: { child: Process; url: string; output: string } | undefined;
  #port = '0';
  #settings: Readonly<Record<string, string>> = {};
  readonly #running = new Set<Process>();

  private constructor(readonly dir: string) {}

  /** An empty working directory, beside a link to the programs of the checkout. */
  static async arrive(): Promise<User> {
    const dir = await realpath(await folder('svc-user-'));
    for (const name of ['bin', 'examples']) await symlink(join(root, name), join(dir, name));
    await mkdir(join(dir, WITHOUT_NPM));
    for (const name of ['npm', 'npx'])
      await writeFile(join(dir, WITHOUT_NPM, name), '#!/bin/sh\necho "not by npm" >&2; exit 97\n', { mode: 0o755 });
    return new User(dir);
  }

  get url(): string {
    return this.#server!.url;
  }

  /** All that the running server has printed. */
  get banner(): string {
    return this.#server!.output;
  }

  /** What `npm start` runs; at the same port again when it ran before. @param settings variables that stay for later starts */
  async start(settings = this.#settings): Promise<void> {
    this.#settings = settings;
    const child = this.#spawn(process.execPath, [SERVER], { ...settings, SVC_PORT: this.#port, SVC_LOG_LEVEL: 'warn' });
    const server = { child, url: '', output: '' };
    const heard = (chunk: Buffer): void => void (server.output += chunk.toString());
    child.stdout.on('data', heard);
    child.stderr.on('data', heard);
    await eventually(() => server.output.includes('Ctrl-C stops it') || child.exitCode !== null);
    server.url = /API +(http\S+)/.exec(server.output)?.[1] ?? '';
    if (server.url === '') throw new Error(`the server did not start:\n${server.output}`);
    this.#port = new URL(server.url).port;
    this.#server = server;
  }

  /** Ctrl-C at the server. */
  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  /** `kill -9` of the server, its database left to itself. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends all that a test has left, the database too. */
  async leave(): Promise<void> {
    for (const child of this.#running) if (child !== this.#server?.child) signal(child, 'SIGKILL');
    if (this.#server !== undefined) await this.stop();
  }

  /** Runs a line of bash to its end. @throws with all that it wrote unless it ends well. */
  async run(line: string): Promise<string> {
    const { code, output } = await this.begin(line).ended;
    if (code !== 0) throw new Error(`$ ${line}\nended with ${code}:\n${output}`);
    return output;
  }

  /** Runs a line that only looks until it shows what is waited for. @throws with the last that it showed. */
  async sees(line: string, shows: RegExp): Promise<string> {
    let last = '';
    const look = async (): Promise<boolean> => {
      last = (await this.begin(line).ended).output;
      if (shows.test(last)) return true;
      // Each look costs a process, which those who work need more.
      await sleep(LOOK_MS);
      return false;
    };
    await eventually(look).catch(() => {
      throw new Error(`$ ${line}\nnever showed ${shows}, last:\n${last}`);
    });
    return last;
  }

  /** Begins a line of bash. What it exports is there for those after it, unless it stays in the background and may end at any moment. */
  begin(line: string, { behind = false } = {}): Running {
    const state = '"$HOME_OF_TEST/.exported"';
    const kept = behind ? '' : `export -p > ${state}.new && mv ${state}.new ${state}\n`;
    const script = `exec 2>&1\n. ${state} 2>/dev/null\n${line}\ncode=$?\n${kept}exit $code`;
    const child = this.#spawn('bash', ['-c', script], {
      HOME_OF_TEST: this.dir,
      PATH: `${join(this.dir, WITHOUT_NPM)}:${process.env.PATH}`,
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, output })),
    );
    return { output: () => output, ended, interrupt: () => signal(child, 'SIGINT') };
  }

  #spawn(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Process {
    const child = spawn(program, args, {
      cwd: this.dir,
      env: { ...foreignEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#running.add(child);
    child.once('close', () => this.#running.delete(child));
    return child;
  }

  async #end(how: NodeJS.Signals): Promise<void> {
    const { child } = this.#server!;
    this.#server = undefined;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(how);
      await ended;
    }
  }
}

/** To the command and all that it has started, as a terminal does it. */
function signal(child: Process, name: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, name);
  } catch {
    // It has ended.
  }
}
