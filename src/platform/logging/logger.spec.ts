import { spawn } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** What a process has written that says three things and then comes to an end. */
async function said(end: string): Promise<string[]> {
  const program = `
    const { createLogger } = await import(${JSON.stringify(path.resolve('src/platform/logging/logger.ts'))});
    const log = createLogger('info');
    for (let n = 1; n <= 3; n++) log.info('line ' + n);
    ${end}`;
  const child = spawn(process.execPath, ['--import', path.resolve('scripts/typescript.mjs'), '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  return [...text.matchAll(/"msg":"([^"]*)"/g)].map(([, message]) => message!);
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
