import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { CLIENT, foreignEnvironment } from '../../test/support/cli.js';
import { folder, removeFolders } from '../../test/support/folders.js';
import { eventually } from '../../test/support/sse.js';

afterAll(removeFolders);

const pty = await import('@lydell/node-pty').catch(() => undefined);

(pty === undefined ? it.skip : it)('leaves Ctrl-C to the pager, and does not end before it', async () => {
  const home = await folder('svc-pager-');
  mkdirSync(join(home, 'svc'));
  const contexts = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`c${n}`, {}]));
  writeFileSync(join(home, 'svc/contexts.json'), JSON.stringify({ contexts }));
  const env = {
    ...foreignEnvironment(),
    TERM: 'xterm',
    XDG_CONFIG_HOME: home,
    SVC_PAGER: `trap 'echo heard' INT; echo begun; until read line < /dev/tty; do :; done; echo "over: $line"`,
  };
  const terminal = pty!.spawn(process.execPath, [...CLIENT, 'context', 'list'], { cwd: home, cols: 80, rows: 10, env });
  let seen = '';
  terminal.onData((data) => (seen += data));
  let code: number | undefined;
  terminal.onExit(({ exitCode }) => (code = exitCode));
  try {
    const shows = async (what: RegExp): Promise<void> => {
      await eventually(() => Promise.resolve(what.test(seen) || code !== undefined));
      expect(seen).toMatch(what);
    };
    await shows(/begun/);
    terminal.write('\u0003');
    await shows(/heard/);
    terminal.write('\u0003');
    await shows(/heard[^]*heard/);
    terminal.write('q\n');
    await shows(/over: q/);
    await eventually(() => Promise.resolve(code !== undefined));
    expect(code).toBe(0);
  } finally {
    terminal.kill('SIGKILL');
  }
});
