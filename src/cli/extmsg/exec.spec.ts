import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeIo } from '../testing/io.js';
import { publishBy, type Publication } from './exec.js';

let folder: string;
let server: Server | undefined;
let socket: Socket | undefined;
afterEach(async () => {
  socket?.destroy();
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a command that publishes', () => {
  it('ends with all that its shell has started', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const path = join(folder, 's');
    server = createServer().listen(path);
    await once(server, 'listening');
    const connected = once(server, 'connection') as Promise<[Socket]>;
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    // It says that it lives for as long as it does. The shell has more to do behind it, so that it is a process of its own.
    const program = `"${process.execPath}" -e "require('net').connect(process.argv[1]).resume().on('close', () => process.exit())" "${path}"; true`;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const published = publishBy(program, { claim_until: until } as Publication, { ...io, cwd: folder });
    [socket] = await connected;
    const gone = once(socket.resume(), 'close');
    io.interrupt();
    expect(await published).toEqual({ delivered: false, failure_kind: 'transient', error: 'interrupted' });
    await gone;
  }, 20_000);

  it('is ended with its claim', async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-exec-'));
    const io = fakeIo({ env: { PATH: process.env.PATH } });
    const claim = { claim_until: new Date(Date.now() + 50).toISOString() } as Publication;
    const outcome = await publishBy('trap "" TERM; while :; do sleep 1; done', claim, { ...io, cwd: folder });
    expect(outcome).toEqual({ delivered: false, failure_kind: 'transient', error: 'the command took too long' });
  }, 20_000);
});
