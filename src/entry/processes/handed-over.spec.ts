import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

interface Said {
  readonly port?: number;
  readonly pid?: number;
  readonly handed?: true;
}

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
let main: ChildProcess;
let at: { port: number; pid: number };

const said = async (): Promise<Said> => ((await once(main, 'message')) as [Said])[0];
const call = (): Socket => connect(at.port, '127.0.0.1').on('error', () => undefined);

beforeEach(async () => {
  main = fork(path('testing/sharing.ts'), [], { execArgv: ['--import', path('../../../scripts/typescript.mjs')] });
  at = (await said()) as typeof at;
});
afterEach(() => {
  main.kill('SIGKILL');
});

describe('connections to processes that share a port', () => {
  it('end with the process that they were handed to, also when it has not taken them', async () => {
    process.kill(at.pid, 'SIGSTOP');
    const handed = said();
    const waiting = call();
    const closed = once(waiting, 'close');
    expect(await handed).toEqual({ handed: true });
    process.kill(at.pid, 'SIGKILL');
    // Without it this would never come.
    await closed;
    expect(waiting.bytesRead).toBe(0);
  });

  it('are answered when it has', async () => {
    const socket = call();
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toBe('answered');
    await once(socket, 'close');
  });
});
