import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { freePort } from '../../../../test/support/redis.js';
import { eventually } from '../../../../test/support/sse.js';

const SSHD = '/usr/sbin/sshd';

/** Otherwise the tests that need one are skipped. */
export const hasSshServer = existsSync(SSHD);

export interface SshServer {
  readonly port: number;
  /** Whoever runs the test: nobody else can sign in at a server of an ordinary user. */
  readonly user: string;
  /** The only key that it lets in, one that it does not know, and what is known of it: the truth, and another key. */
  readonly key: string;
  readonly stranger: string;
  readonly knownHosts: string;
  readonly wrongHosts: string;
  /** All that it has said so far. */
  said(): string;
  close(): Promise<void>;
}

export interface SshServerOptions {
  /** A file of public keys that it lets in, which may come later; its own key unless given. */
  readonly lets?: string;
  /** The folder that it has as its root, as hosts of repositories do; the whole host unless given. */
  readonly root?: string;
}

/** A real server of ssh on a port of its own, with keys of its own, in an empty folder. It listens at 127.0.0.1 and 127.0.0.2. */
export async function sshServer(folder: string, { lets, root }: SshServerOptions = {}): Promise<SshServer> {
  const at = (name: string): string => path.join(folder, name);
  await mkdir(folder, { recursive: true });
  for (const name of ['key', 'stranger', 'host', 'other']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  const port = await freePort();
  for (const [file, key] of [
    ['known', 'host'],
    ['wrong', 'other'],
  ] as const) {
    const known = await readFile(at(`${key}.pub`), 'utf8');
    await writeFile(at(file), ['127.0.0.1', '127.0.0.2'].map((address) => `[${address}]:${port} ${known}`).join(''));
  }
  const lines = [`Port ${port}`, 'ListenAddress 127.0.0.1', 'ListenAddress 127.0.0.2', `HostKey ${at('host')}`];
  const serve = ['#!/bin/sh', `exec sh -c "git-upload-pack '${root}/\${SSH_ORIGINAL_COMMAND#git-upload-pack ?/}"`, ''];
  if (root !== undefined) await writeFile(at('serve'), serve.join('\n'), { mode: 0o755 });
  const access = [`AuthorizedKeysFile ${lets ?? at('key.pub')}`, ...(root === undefined ? [] : [`ForceCommand ${at('serve')}`])];
  const others = ['StrictModes no', 'UsePAM no', 'PermitRootLogin yes', 'AcceptEnv GIT_PROTOCOL'];
  await writeFile(at('sshd.conf'), [...lines, ...access, ...others, `PidFile ${at('sshd.pid')}`, ''].join('\n'));
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });
  const server = spawn(SSHD, ['-D', '-e', '-f', at('sshd.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  await eventually(() => said.split('listening on').length > 2 || server.exitCode !== null);
  if (server.exitCode !== null) throw new Error(`sshd has ended:\n${said}`);
  return {
    port,
    user: userInfo().username,
    key: at('key'),
    stranger: at('stranger'),
    knownHosts: at('known'),
    wrongHosts: at('wrong'),
    said: () => said,
    close: async () => {
      server.kill();
      await ended;
    },
  };
}
