import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** What a process has written that says three things and then comes to an end. */
async function said(end: string): Promise<string[]> {
  const child = run(end, 'pipe');
  let text = '';
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  return [...text.matchAll(/"msg":"([^"]*)"/g)].map(([, message]) => message!);
}

function run(end: string, stderr: 'pipe' | number): ChildProcess {
  const program = `
    const { createLogger } = await import(${JSON.stringify(path.resolve('src/platform/logging/logger.ts'))});
    const log = createLogger('info');
    for (let n = 1; n <= 3; n++) log.info('line ' + n);
    ${end}`;
  return spawn(process.execPath, ['--import', path.resolve('scripts/typescript.mjs'), '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', stderr],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
}

describe('lines that wait for others', () => {
  // Guard: nothing that was said is lost with an orderly end, or before something fatal.
  it.each([
    ['comes to its end', ''],
    ['exits', 'process.exit(1);'],
    ['fails', "throw new Error('bad');"],
    ['says that it is fatal, and is killed', "log.fatal('line 4'); process.kill(process.pid, 'SIGKILL');"],
  ])('are written when the process %s', async (_what, end) => {
    expect(await said(end)).toEqual(['line 1', 'line 2', 'line 3', ...(end.includes('fatal') ? ['line 4'] : [])]);
  });
});

it('has nothing in its lines that a terminal obeys or nobody sees, and says the same', async () => {
  const words = String.raw`a\u009b31m\u202eb\u007f\u115f\udb40\udc41`;
  const [line] = (await said(`log.info('${words}');`)).slice(3);
  expect(line).toBe(words);
  expect(JSON.parse(`"${line}"`)).toBe('a\u009b31m\u202eb\u007f\u115f\u{e0041}');
});

// Linux has a file that is always full.
(existsSync('/dev/full') ? describe : describe.skip)('lines for which the disk has no room', () => {
  // Guard: a log on a full disk takes the service with it, or holds up its end.
  it('are lost, and nothing else: the process goes on, and ends when it wants to', async () => {
    const full = openSync('/dev/full', 'w');
    const more = "setTimeout(() => { log.error('more'); log.fatal('last'); console.log('went on'); process.exit(3); }, 300);";
    const child = run(more, full);
    closeSync(full);
    let text = '';
    child.stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, text }).toEqual({ code: 3, text: 'went on\n' });
  });
});
