import type { ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { Program } from '../runtime/port.js';
import { started } from '../runtime/started.js';
import { HEARS, PORTS, type Remote } from './git-environment.js';
import { GitFailure } from './git-failure.js';

const MAX_WORDS = 16 * 1024;
/** The place of git's other end among its files. */
const SAYS = 4;

/** What git takes for ssh. It looks at no arguments: the line has been opened to where the repository is. Git is told its kind, or would try it out. */
export const GIT_END = {
  GIT_SSH_COMMAND: `line() { cat <&${HEARS} ${SAYS}>&- & exec cat >&${SAYS}; }; line`,
  GIT_SSH_VARIANT: 'ssh',
} as const;

/** Where ssh finds what it signs in with, when that is not what its user has. */
export interface SshFiles {
  readonly key: string;
  readonly knownHosts: string;
}

/**
 * What calls for git.
 *
 * @param env has the command of a shell: ssh with its options
 * @throws GitFailure not_found for a path that no repository can have
 */
export function sshProgram(
  remote: Remote,
  { GIT_SSH_COMMAND: command = 'ssh', PATH = '' }: Readonly<Record<string, string>>,
  files?: SshFiles,
): Program {
  const { username, pathname } = new URL(remote.url);
  const port = String(remote.port ?? PORTS.ssh);
  const host = remote.host.replace(/^\[|\]$/g, '');
  const user = (remote.signIn?.kind === 'key' ? remote.signIn.user : undefined) ?? username;
  const to = ['-o', 'SendEnv=GIT_PROTOCOL', '-p', port, '--', user === '' ? host : `${user}@${host}`, asked(pathname)];
  const env = { PATH, HOME: homedir(), LC_ALL: 'C', GIT_PROTOCOL: 'version=2' };
  return {
    command: '/bin/sh',
    args: ['-c', `exec ${command} "$@"`, 'ssh', ...to],
    cwd: '/',
    env: files === undefined ? env : { ...env, GIT_KEY: files.key, GIT_KNOWN_HOSTS: files.knownHosts },
  };
}

/**
 * ssh beside a git that has neither keys nor a list of hosts: whatever a repository makes of git, they are not in its reach. It may talk to the
 * one program at the other end that gives the files of one repository, and to nobody else.
 */
export class SshLine {
  readonly #ssh: ChildProcess;
  readonly #over: Promise<void>;
  #isOver = false;
  #words = '';

  private constructor(ssh: ChildProcess) {
    this.#ssh = ssh;
    this.#ssh.stderr!.on('data', (chunk: Buffer) => (this.#words = (this.#words + chunk.toString('utf8')).slice(-MAX_WORDS)));
    for (const each of [this.#ssh.stdin!, this.#ssh.stdout!]) each.on('error', () => undefined);
    this.#over = new Promise((resolve) =>
      this.#ssh.once('close', () => {
        this.#isOver = true;
        resolve();
      }),
    );
  }

  /** @param program of `sshProgram`, or what starts that @throws GitFailure unavailable */
  static async open(program: Program): Promise<SshLine> {
    try {
      return new SshLine(await started(program));
    } catch (cause) {
      throw new GitFailure('unavailable', 'ssh cannot be started here', { cause });
    }
  }

  /** What ssh has said. */
  get words(): string {
    return this.#words;
  }

  /** @param git started with two pipes more, `HEARS` and `SAYS`: when it ends, so does the line */
  connect(git: ChildProcess): void {
    const [hears, says] = [git.stdio[HEARS] as Writable, git.stdio[SAYS] as Readable];
    for (const each of [hears, says]) each.on('error', () => undefined);
    this.#ssh.stdout!.pipe(hears);
    says.pipe(this.#ssh.stdin!);
    git.once('exit', () => void this.end());
  }

  /** Ends it; resolves when nothing of it is left. */
  async end(): Promise<void> {
    try {
      if (!this.#isOver) process.kill(-this.#ssh.pid!, 'SIGKILL');
    } catch {
      // It ends by itself.
    }
    await this.#over;
  }
}

/** As git asks for it: one word of the shell at the other end, whatever is in it. */
function asked(pathname: string): string {
  const path = decoded(pathname);
  const at = path.startsWith('/~') ? path.slice(1) : path;
  return `git-upload-pack '${at.replace(/['!]/g, (each) => `'\\${each}'`)}'`;
}

function decoded(pathname: string): string {
  const nowhere = new GitFailure('not_found', 'the URL of the repository has a path that none can have');
  try {
    const path = decodeURIComponent(pathname);
    if (!path.includes('\0')) return path;
  } catch (cause) {
    nowhere.cause = cause;
  }
  throw nowhere;
}
