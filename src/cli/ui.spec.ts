import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { fakeIo, type FakeIo } from './testing/io.js';
import { addUi } from './ui.command.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-home-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function ui(args: readonly string[], there: boolean, key?: string): Promise<{ started: string[][]; io: FakeIo }> {
  const started: string[][] = [];
  const io = fakeIo({ env: { HOME: home, SVC_API_URL: 'http://localhost:8372', ...(key === undefined ? {} : { SVC_API_KEY: key }) } });
  const program = new Command();
  addUi(program, io, (command, given) => {
    started.push([command, ...given]);
    return Promise.resolve(there);
  });
  await program.parseAsync(['ui', ...args], { from: 'user' });
  return { started, io };
}

describe('svc ui', () => {
  it('gives the key to the browser in a file of this account, and on no command line', async () => {
    const { started, io } = await ui([], true, 'svc_a_secret');
    expect(JSON.stringify(started)).not.toContain('secret');
    const file = fileURLToPath(started[0]![1]!);
    expect(readFileSync(file, 'utf8')).toContain('location.replace("http://localhost:8372/ui/#key=svc_a_secret")');
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
    // The second one removes it.
    expect([started.length, started[1]!.at(-1)]).toEqual([2, dirname(file)]);
    expect([io.stdout, io.stderr]).toEqual(['http://localhost:8372/ui/\n', '']);
  });

  it('leaves nothing behind where there is no browser, and prints the address', async () => {
    const { io } = await ui([], false, 'svc_a_secret');
    expect(readdirSync(home)).toEqual([]);
    expect([io.stdout, io.stderr]).toEqual(['http://localhost:8372/ui/\n', 'no browser could be opened here: open the address yourself\n']);
    expect((await ui(['--print'], true, 'svc_a_secret')).started).toEqual([]);
  });

  it('opens the address itself where there is no key', async () => {
    const { started } = await ui([], true);
    expect(started.map((one) => one.slice(1))).toEqual([['http://localhost:8372/ui/']]);
  });
});
