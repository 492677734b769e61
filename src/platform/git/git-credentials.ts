import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { ruleFor, type GitRule } from '../isolation/git-rules.js';
import { readHostFile } from '../isolation/host-file.js';
import { Isolation } from '../isolation/isolation.js';
import { AppLogger } from '../logging/logger.js';
import { askHelper } from './credential-helper.js';
import type { Remote } from './git-environment.js';
import { GitFailure } from './git-failure.js';
import { NOBODY, type SignIn } from './sign-in.js';

const MAX_TOKEN = 16 * 1024;
/** Most hosts look at the token alone. */
const USERNAME = 'git';

/**
 * With what git signs in for a city, as the operator of this host says it (`[[git.credentials]]` of `host.toml`). What the service's user has
 * in its own home counts only where whoever calls is who runs the service, without keys, and no rule names the host.
 */
@Injectable()
export class GitCredentials {
  constructor(
    private readonly config: AppConfig,
    private readonly isolation: Isolation,
    private readonly log: AppLogger,
  ) {}

  /**
   * @param city undefined for what all cities share
   * @throws GitFailure credentials for ssh without a key, unavailable when what the operator names cannot be used
   */
  async of(remote: Remote, city: string | undefined, signal: AbortSignal): Promise<SignIn> {
    if (remote.transport === 'file') return NOBODY;
    try {
      return await this.#signIn(remote, city, signal);
    } catch (error) {
      if (error instanceof GitFailure && error.cause !== undefined)
        this.log.warn({ host: remote.host, why: firstLine(error.cause) }, error.message);
      throw error;
    }
  }

  async #signIn(remote: Remote, city: string | undefined, signal: AbortSignal): Promise<SignIn> {
    const rule = ruleFor(await this.#rules(), remote, city);
    if (rule !== undefined && rule !== 'closed') return signInBy(rule, remote, signal);
    if (rule === undefined && this.config.auth === 'off') return { kind: 'own' };
    if (remote.transport !== 'ssh') return NOBODY;
    const host = remote.port === undefined ? remote.host : `${remote.host}:${remote.port}`;
    throw new GitFailure('credentials', `the operator has named no key for ${host} under [[git.credentials]] of host.toml`);
  }

  /** Read each time: who names a credential need not start the service again. */
  async #rules(): Promise<readonly GitRule[]> {
    try {
      return (await readHostFile(this.isolation.hostFile)).git;
    } catch (cause) {
      throw new GitFailure('unavailable', 'host.toml of this host cannot be used', { cause });
    }
  }
}

async function signInBy(rule: GitRule, remote: Remote, signal: AbortSignal): Promise<SignIn> {
  const at = (file: string): Promise<string> => readable(file, remote);
  if (rule.ssh_key !== undefined) {
    const known = rule.known_hosts ?? path.join(homedir(), '.ssh/known_hosts');
    const key = await at(rule.ssh_key);
    await forNobodyElse(key, remote);
    return { kind: 'key', key, knownHosts: await at(known), user: rule.user };
  }
  const ca = rule.ca_cert === undefined ? undefined : await at(rule.ca_cert);
  if (rule.token_file !== undefined) {
    const password = await tokenIn(rule.token_file).catch((cause: unknown) => {
      throw unusable(remote, cause);
    });
    return { kind: 'token', username: rule.username ?? USERNAME, password, ca };
  }
  if (rule.helper === undefined) return { kind: 'none', ca };
  const told = await askHelper(rule.helper, remote, signal);
  return told === undefined ? { kind: 'none', ca } : { kind: 'token', ...told, ca };
}

/** Lines of a file that cannot be read follow, in which a token may stand that somebody has put there. */
function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n', 1)[0]!;
}

/** @throws Error for one that holds no token */
async function tokenIn(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_TOKEN), 0, MAX_TOKEN, 0);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    if (bytesRead === MAX_TOKEN || text === '' || /\p{Cc}/u.test(text)) throw new Error('the file of a token is not one line');
    return text;
  } finally {
    await handle.close();
  }
}

async function readable(file: string, remote: Remote): Promise<string> {
  try {
    const real = await realpath(file);
    await access(real, constants.R_OK);
    return real;
  } catch (cause) {
    throw unusable(remote, cause);
  }
}

/** Of a mode: what others than its owner may. ssh passes over a key of its user that has any of it, and the host then demands one. */
const OTHERS = 0o077;

async function forNobodyElse(key: string, remote: Remote): Promise<void> {
  const { uid, mode } = await stat(key);
  if (uid !== process.getuid?.() || (mode & OTHERS) === 0) return;
  throw unusable(remote, new Error(`${key} may be read or written by others, and ssh does not use it: chmod 600 ${key}`));
}

/** Where it lies is the operator's business: the cause has it, for the log of the host. */
function unusable({ host }: Remote, cause: unknown): GitFailure {
  return new GitFailure('unavailable', `what the operator has named for ${host} in host.toml cannot be used`, { cause });
}
