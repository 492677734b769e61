import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Authority, type PairFiles } from '../support/authority.js';
import { consoleBlocks } from '../support/console-blocks.js';
import { folder, removeFolders } from '../support/folders.js';
import { freePort } from '../support/redis.js';
import { eventually } from '../support/sse.js';
import { User } from '../support/user.js';

/** `docs/how-to/https.md`: its server has a certificate, so it is one of its own. */
const root = new URL('../../', import.meta.url);
const SERVER = `${process.execPath} ${fileURLToPath(new URL('dist/src/entry/serve.js', root))}`;
const [start, ask] = consoleBlocks(readFileSync(new URL('docs/how-to/https.md', root), 'utf8'))[0]!.steps.map(({ command }) => command) as [
  string,
  string,
];

describe('the page about HTTPS', () => {
  let user: User;
  let authority: Authority;
  let pair: PairFiles;
  let port: number;
  beforeAll(async () => {
    const dir = await folder('svc-https-');
    authority = await Authority.in(dir);
    pair = await authority.issue();
    port = await freePort();
    user = await User.arrive();
    await user.run('export PATH="$PWD/bin:$PATH"');
  });
  afterAll(async () => {
    await user?.leave();
    await removeFolders();
  });

  const typed = (command: string): string =>
    [
      ['/etc/svc/tls.crt', pair.cert],
      ['/etc/svc/tls.key', pair.key],
      ['svc.example.com', '127.0.0.1'],
      [':8372', `:${port}`],
      ['company-ca.pem', authority.file],
      ['npm start', `SVC_PORT=${port} ${SERVER}`],
    ].reduce((changed, [written, is]) => changed.replaceAll(written!, is!), command);

  it('has a server that speaks it, and a client that believes nobody else', async () => {
    const server = user.begin(`exec env ${typed(start)}`, { behind: true });
    const up = (): boolean => server.output().includes('Ctrl-C stops it');
    await Promise.race([eventually(up), server.ended]);
    const said = await user.sees(typed(ask), new RegExp(`https://127\\.0\\.0\\.1:${port}`));
    expect(said).toMatch(/ok|healthy/i);
    const unknown = await user.begin(typed(ask).replace(/--ca-cert.*/, '')).ended;
    expect(unknown.code).not.toBe(0);
    expect(unknown.output).toMatch(/certificate/i);
    server.interrupt();
    expect((await server.ended).output).not.toMatch(/uncaught|unhandled/i);
  });
});
