import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../test/support/sse.js';
import { fakeIo } from '../testing/io.js';
import { publishBy, type Publication } from './exec.js';

const LOADER = new URL('../../../scripts/typescript.mjs', import.meta.url).href;
const CLAIMED = { claim_until: new Date(Date.now() + 3_600_000).toISOString() } as Publication;
let folder: string;
let server: Server | undefined;
let socket: Socket | undefined;
afterEach(async () => {
  socket?.destroy();
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A program that is connected for as long as it lives. Its shell has more to do behind it, so that it is a process of its own. */
async function living(): Promise<{ readonly program: string; readonly connected: Promise<[Socket]> }> {
  folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
  const path = join(folder, 's');
  server = createServer().listen(path);
  await once(server, 'listening');
  const program = `"${process.execPath}" -e "require('net').connect(process.argv[1]).resume().on('close', () => process.exit())" "${path}"; true`;
  return { program, connected: once(server, 'connection') as Promise<[Socket]> };
}

/** A process of the client that has a command publish. */
function clientOf(program: string): ChildProcess {
  const module = fileURLToPath(new URL('exec.ts', import.meta.url));
  const code = `const { publishBy } = await import(${JSON.stringify(module)});
    process.on('message', () => process.exit(0));
    const io = { env: process.env, cwd: ${JSON.stringify(folder)}, signal: new AbortController().signal };
    await publishBy(${JSON.stringify(program)}, ${JSON.stringify(CLAIMED)}, io);`;
  return spawn(process.execPath, ['--import', LOADER, '--input-type=module', '-e', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

describe('a command that publishes', () => {
  it('ends with all that its shell has started', async () => {
    const { program, connected } = await living();
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    const published = publishBy(program, CLAIMED, { ...io, cwd: folder });
    [socket] = await connected;
    const gone = once(socket.resume(), 'close');
    io.interrupt();
    expect(await published).toEqual({ delivered: false, failure_kind: 'transient', error: 'interrupted' });
    await gone;
  });

  it.each(['SIGHUP', 'SIGQUIT', 'SIGTERM', 'exit'] as const)('ends with the client, at %s', async (how) => {
    const { program, connected } = await living();
    const client = clientOf(program);
    const ended = once(client, 'exit');
    [socket] = await connected;
    const gone = once(socket.resume(), 'close');
    if (how === 'exit') client.send('exit');
    else client.kill(how);
    expect(await ended).toEqual(how === 'exit' ? [0, null] : [null, how]);
    await gone;
  });

  it('leaves the signals of the process as they were', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const before = ['SIGHUP', 'exit'].map((name) => process.listenerCount(name));
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    await Promise.all([1, 2].map(() => publishBy('true', CLAIMED, { ...io, cwd: folder })));
    expect(['SIGHUP', 'exit'].map((name) => process.listenerCount(name))).toEqual(before);
  });

  it.each([
    ['publishes all the same', 'echo id-1; exit 0', { delivered: true, message_id: 'id-1' }],
    ['fails', 'exit 1', { delivered: false, failure_kind: 'transient', error: 'interrupted' }],
  ])('that %s once it is told to end says so itself', async (_what, last, outcome) => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    const path = join(folder, 'begun');
    const published = publishBy(`trap "sleep 0.2; ${last}" TERM; : >"${path}"; while :; do sleep 0.05; done`, CLAIMED, {
      ...io,
      cwd: folder,
    });
    await eventually(() => existsSync(path));
    io.interrupt();
    expect(await published).toEqual(outcome);
  });

  it('that does not end when it is told to is ended', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    const path = join(folder, 'begun');
    const claim = { claim_until: new Date(Date.now() + 3_000).toISOString() } as Publication;
    const published = publishBy(`trap "" TERM; : >"${path}"; while :; do sleep 0.05; done`, claim, { ...io, cwd: folder });
    await eventually(() => existsSync(path));
    io.interrupt();
    expect(await published).toEqual({ delivered: false, failure_kind: 'transient', error: 'interrupted' });
  });

  it('is ended with its claim', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    const claim = { claim_until: new Date(Date.now() + 50).toISOString() } as Publication;
    const outcome = await publishBy('trap "" TERM; while :; do sleep 1; done', claim, { ...io, cwd: folder });
    expect(outcome).toEqual({ delivered: false, failure_kind: 'transient', error: 'the command took too long' });
  });
});
