import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import { Console } from './console.js';
import { Keys } from './keys.js';
import { loadLibraries, openTerminal } from './terminal.js';

/** The optional package could not be built where there is no compiler; CI has one. */
const installed = await loadLibraries().then(
  () => true,
  () => process.env.CI !== undefined,
);
const described = installed ? describe : describe.skip;
const LOADER = new URL('../../../../scripts/typescript.mjs', import.meta.url).href;
const here = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
const HANGS_MS = 30_000;

/** What a process says that has an agent: one that stands still can be ended from outside alone. */
async function apart(line: string, act: string): Promise<string> {
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises';
    const { openTerminal } = await import(${here('terminal.ts')});
    const { Console } = await import(${here('console.ts')});
    const { PtyRuntime } = await import(${here('pty-runtime.ts')});
    const limits = { inputMs: 50, termMs: 50 };
    const spec = { command: '/bin/sh', args: ['-c', ${JSON.stringify(line)}], cwd: '/', env: { PATH: '/usr/bin:/bin', SVC_DEPLOYMENT: 'none-' + process.pid, SVC_CITY: 'c', SVC_SESSION_ID: 's', SVC_GENERATION: '1' }, timeoutMs: 30_000 };
    const until = async (condition) => { while (!(await condition())) await sleep(5); };
    ${act}
  `;
  const args = ['--import', LOADER, '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: HANGS_MS, killSignal: 'SIGKILL' });
  return stdout;
}

described('a program in a terminal that does not read', () => {
  // Guard: a terminal that nobody reads keeps the process of all sessions of a worker from nothing.
  it('and asks its terminal again and again, has nobody wait', async () => {
    const asks = `stty raw -echo; i=0; while [ $i -lt 3000 ]; do printf '\\033[c'; i=$((i+1)); done; echo done; exec sleep 300`;
    const act = `
      const one = new Console(await openTerminal(spec), spec.env, limits);
      one.onDrawn(() => undefined);
      await until(() => one.screen.tail(50).join('').includes('done'));
      const { waiting } = one;
      await one.end({ hard: true });
      process.stdout.write(JSON.stringify([waiting <= 4096, one.waiting, (await one.ended).signal]));
    `;
    expect(JSON.parse(await apart(asks, act))).toEqual([true, 0, 'SIGKILL']);
  });

  it('refuses what does not fit, and ends', async () => {
    const act = `
      const timing = { settleMs: 20, quietMs: 50, silentMs: 50, pauseMs: 10, pollMs: 10, typedMs: 100, sentMs: 100 };
      const agent = await new PtyRuntime(timing, limits).start({ ...spec, readyDelayMs: 200 }, new AbortController().signal);
      void (async () => { for await (const _ of agent.events); })();
      const refused = await agent.prompt('y'.repeat(200_000), () => undefined).catch((error) => error.cause_);
      process.stdout.write(JSON.stringify([refused, (await agent.stop({ hard: true })).cause]));
    `;
    expect(JSON.parse(await apart('stty raw -echo; echo ready; exec sleep 300', act))).toEqual(['refused', 'stopped']);
  });

  it('but slowly, has all of it in the end', async () => {
    const text = Array.from({ length: 20_000 }, (_, n) => `${n}€`).join('');
    const reads = `
      const fs = require('node:fs');
      const bytes = Buffer.alloc(${Buffer.byteLength(text)});
      for (let n = 0; n < bytes.length; n += fs.readSync(0, bytes, n, Math.min(700, bytes.length - n)))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      console.log(require('node:crypto').createHash('sha256').update(bytes).digest('hex'));
    `;
    const env = { PATH: '/usr/bin:/bin', READS: reads };
    const args = ['-c', `stty raw -echo; echo ready; exec "${process.execPath}" -e "$READS"`];
    const one = new Console(await openTerminal({ command: '/bin/sh', args, cwd: '/', env, timeoutMs: HANGS_MS }), env, {});
    one.onDrawn(() => undefined);
    await eventually(() => one.screen.tail(9).join('').includes('ready'));
    one.press(text);
    expect(one.waiting).toBeGreaterThan(0);
    expect(await one.ended).toEqual({ code: 0, signal: null });
    expect(one.lastWords).toContain(createHash('sha256').update(text).digest('hex'));
  });
});

describe('keys', () => {
  it('go in order as there is room, and those that nobody has pressed are bounded', async () => {
    let room = 3;
    let got = '';
    const keys = new Keys((bytes) => {
      const given = bytes.subarray(0, room);
      [room, got] = [room - given.length, got + given.toString()];
      return given.length;
    });
    keys.press('ab');
    keys.press('cd');
    keys.reply('e');
    expect([got, keys.waiting]).toEqual(['abc', 2]);
    keys.reply('x'.repeat(4_096));
    expect(keys.waiting).toBe(2);
    keys.reply('x'.repeat(4_095));
    keys.reply('y');
    expect(keys.waiting).toBe(4_097);
    room = 4;
    expect(await eventually(() => keys.waiting < 4_097 && got)).toBe('abcdexx');
    keys.drop();
    keys.press('z');
    expect([got, keys.waiting]).toEqual(['abcdexx', 1]);
    room = 1;
    expect(await eventually(() => keys.waiting === 0 && got)).toBe('abcdexxz');
    // What is pressed takes no room from answers, and what has been taken none from later ones.
    keys.press('p'.repeat(5_000));
    keys.reply('x'.repeat(4_096));
    expect(keys.waiting).toBe(9_096);
    room = 9_096;
    await eventually(() => keys.waiting === 0);
    keys.reply('e');
    expect(keys.waiting).toBe(1);
    keys.drop();
  });
});
